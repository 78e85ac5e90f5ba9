"""How the scores of RadM-Bench are shown, and which conditions are compared besides.

There are no baselines: nobody graded an answer that nobody gave, and one that names no diagnosis scores 0 by
definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from harness.benchmarks.radm.conditions import (
    TEXT,
    TEXT_IMAGES,
    TEXT_TRANSLATED,
    TEXT_VOLUME_FPS2,
    TEXT_VOLUME_FPS10,
)
from harness.benchmarks.radm.ranking import MOST, TOP
from harness.benchmarks.radm.scores import GRADED_ONLY, NUMBERS
from harness.benchmarks.scored import MetricColumn, ScoreTable

LANGUAGES: Final = "languages"
"""The union of the cross-language control; see `radm.languages`."""

TRANSITIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        f"{before}_to_{after}": (before, after)
        for before, after in (
            (TEXT, TEXT_IMAGES),
            (TEXT_IMAGES, TEXT_VOLUME_FPS2),
            (TEXT_IMAGES, TEXT_VOLUME_FPS10),
            (TEXT_VOLUME_FPS2, TEXT_VOLUME_FPS10),
            (TEXT, TEXT_VOLUME_FPS2),
            (TEXT, TEXT_VOLUME_FPS10),
        )
    }
)
"""Union -> from which condition to which (see `radm.transitions`): the paper's transitions case by case, and
what volumes bring to the history alone, which it tells of means."""

UNIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {**TRANSITIONS, LANGUAGES: (TEXT, TEXT_TRANSLATED)}
)

_LEGEND: Final = (
    "score: mean of max(weight of rank x tier), 0 to 3; top-k: share of cases with a diagnosis of tier 1 or "
    "more within the first k; tiers: 0 none, 1 basic recognition, 2 partial, 3 comprehensive; an unusable "
    "answer scores 0"
)
_ACCURACIES: Final = tuple(MetricColumn(f"top{k}", (f"top-{k}", "acc")) for k in TOP)
_SUBSETS: Final = (
    MetricColumn("RadEdu.score", ("RadEdu", "score"), best=MOST),
    MetricColumn("RealClin.score", ("RealClin", "score"), best=MOST),
)

_WILCOXON: Final = frozenset({"score"})
"""The paper compares scores of the same cases by Wilcoxon's signed ranks ("Cross-Linguistic Control")."""

_RIGHT: Final = "top1"
"""A unit whose first diagnosis is of tier 1 or more."""

_GRADED_ONLY: Final = (
    MetricColumn(f"{GRADED_ONLY}score", ("graded", "score"), best=MOST),
    *(MetricColumn(f"{GRADED_ONLY}top{k}", (f"top-{k}", "acc")) for k in TOP),
)

_TABLE: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric="score",
    columns=(MetricColumn("score", ("", "score"), best=MOST), *_SUBSETS, *_ACCURACIES),
    legend=_LEGEND,
    wilcoxon=_WILCOXON,
    right=_RIGHT,
    graded_only=_GRADED_ONLY,
    graded="graded",
)
_ONE_SUBSET: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric="score",
    columns=(MetricColumn("score", ("", "score"), best=MOST), *_ACCURACIES),
    legend=_LEGEND,
    wilcoxon=_WILCOXON,
    right=_RIGHT,
    graded_only=_GRADED_ONLY,
    graded="graded",
)
"""Of conditions that the paper asks of RealClin alone."""

_TRANSITION: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric=None,
    columns=(
        MetricColumn("mean_difference", ("score", "diff"), best=None),
        MetricColumn("improved.share", ("impr", "share")),
        MetricColumn("unchanged.share", ("same", "share"), better=None, best=None),
        MetricColumn("declined.share", ("decl", "share"), better="lower", best=0),
        MetricColumn("relative_change", ("rel", "change"), best=None),
        MetricColumn("before.score", ("before", "score"), best=MOST),
        MetricColumn("after.score", ("after", "score"), best=MOST),
    ),
    legend=(
        "A_to_B: the same cases in both conditions; diff: mean score in B less that in A; impr, same, decl: "
        "cases that score higher, the same, lower in B; rel: diff over the mean score in A; n: cases scored "
        "in both"
    ),
)
_JSON_ONLY: Final = ScoreTable(numbers=NUMBERS, main_metric=None)

_LANGUAGES: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric=None,
    columns=(
        MetricColumn("mean_difference", ("score", "diff"), best=None),
        MetricColumn("wilcoxon.p", ("", "p"), is_p=True, better=None, best=None),
        MetricColumn("wilcoxon.p_adjusted", ("BH", "adj. p"), is_p=True, better=None, best=None),
        MetricColumn(
            "wilcoxon.significant",
            ("q=.05", ""),
            words={0: "n.s.", 1: "signif."},
            better=None,
            best=None,
        ),
        MetricColumn("original.score", ("zh", "score"), best=MOST),
        MetricColumn("translated.score", ("en", "score"), best=MOST),
    ),
    legend=(
        "languages: Chinese cases with their history (zh) and its English translation (en); diff: en less "
        "zh; p: Wilcoxon signed rank, two-tailed; adj. p: Benjamini-Hochberg over the complete models of "
        "this run; n.s.: not significant; n: cases scored in both"
    ),
)


def unions(conditions: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the unions both of whose conditions a run asks."""
    return {name: pair for name, pair in UNIONS.items() if all(one in conditions for one in pair)}


def table(condition: str) -> ScoreTable:
    """Return how the rows of a condition or union are scored and shown."""
    if condition == LANGUAGES:
        return _LANGUAGES
    if condition in TRANSITIONS:
        before, after = TRANSITIONS[condition]
        return _JSON_ONLY if before == TEXT and after != TEXT_IMAGES else _TRANSITION
    return _TABLE if condition in (TEXT, TEXT_IMAGES) else _ONE_SUBSET
