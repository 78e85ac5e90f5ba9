"""The cross-language control: Chinese cases asked once more with an English history and the English prompt.

The union `languages` pairs the answers in `text` and `text_translated` about the same Chinese case (the
paper's "Cross-Linguistic Control Experiment", where all of them are in RealClin):

- `mean_difference`: mean score with the translated history less that with the original; below 0, translation
  costs. `relative_change`: that over the original's; `original.score`, `translated.score`: the two means.
- `wilcoxon.p`: of Wilcoxon's signed rank test, paired and two-tailed, by R's conventions
  (`harness.scoring.paired_tests`), on whole numbers of fifths, so that equal differences tie. `wilcoxon.v`:
  the sum of ranks of cases that are better translated; `wilcoxon.n`: differences that were ranked;
  `wilcoxon.effect`: the rank-biserial correlation.
- `wilcoxon.p_adjusted`: by Benjamini and Hochberg over all complete models of the run that have a p;
  `wilcoxon.significant`: 1 where it is at most q = .05, else 0; `wilcoxon.tests`: how many models that were.
- `unusable.share`: pairs in which at least one answer is unusable; as answered it scores 0. `unpaired`:
  Chinese cases that are scored in one of the two only.

With several repeats the test is that of the first, since the mean of p values is no p value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from harness.benchmarks.radm.pairs import (
    UNUSABLE,
    Pairs,
    means,
    pair_intervals,
    pairs_of,
    unusable_share,
    without_value,
)
from harness.benchmarks.radm.scores import Answers
from harness.benchmarks.scored import MetricValue, UnitTable
from harness.scoring.intervals import Interval
from harness.scoring.many_tests import benjamini_hochberg
from harness.scoring.paired_tests import wilcoxon_signed_rank
from harness.scoring.resampling import Resampling

FIRST_REPEAT: Final = 1

_NO_PAIR: Final = "no Chinese case was scored in both languages"
_NOT_FIRST: Final = "the test is that of the first repeat"
_NAMES: Final = {"before.score": "original.score", "after.score": "translated.score"}
_TEST: Final = ("wilcoxon.p", "wilcoxon.v", "wilcoxon.n", "wilcoxon.effect")


def languages(units: UnitTable) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units of the union, but those of `adjusted`."""
    pairs = _chinese(units)
    return {**dict(_measured(pairs)), "unpaired": _unpaired(pairs)}


def language_intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval of the means and the share, over cases with all their repeats."""
    pairs = _chinese(units)
    if not len(pairs):
        return {}
    return {_NAMES.get(path, path): one for path, one in pair_intervals(pairs, {}, resampling).items()}


def adjusted(rows: Mapping[str, Mapping[str, MetricValue]]) -> dict[str, dict[str, MetricValue]]:
    """Return model -> its p adjusted for all models in `rows` (model -> metrics) that have one."""
    models = sorted(rows)
    p_values = [rows[model]["wilcoxon.p"].value for model in models]
    found = benjamini_hochberg(p_values)
    told: dict[str, dict[str, MetricValue]] = {}
    for model, p, is_rejected in zip(models, found.adjusted, found.rejected, strict=True):
        raw = rows[model]["wilcoxon.p"]
        if p is None or is_rejected is None:
            absent = MetricValue(None, raw.n, raw.reason)
            told[model] = {"wilcoxon.p_adjusted": absent, "wilcoxon.significant": absent}
        else:
            told[model] = {
                "wilcoxon.p_adjusted": MetricValue(p, raw.n),
                "wilcoxon.significant": MetricValue(float(is_rejected), raw.n),
            }
        told[model]["wilcoxon.tests"] = MetricValue(float(found.tests), raw.n)
    return told


def _chinese(units: UnitTable) -> Pairs:
    return pairs_of(units.where(Answers(units.numbers).of("chinese") == 1))


def _measured(pairs: Pairs) -> Iterator[tuple[str, MetricValue]]:
    n, reason = len(pairs), without_value(pairs, _NO_PAIR)
    yield UNUSABLE, unusable_share(pairs, _NO_PAIR)
    yield from ((_NAMES.get(path, path), value) for path, value in means(pairs, reason).items())
    if reason is None and int(pairs.repeats[0]) != FIRST_REPEAT:
        reason = _NOT_FIRST
    if reason is None:
        yield from _tested(pairs)
    else:
        yield from ((path, MetricValue(None, n, reason)) for path in _TEST)


def _tested(pairs: Pairs) -> Iterator[tuple[str, MetricValue]]:
    n = len(pairs)
    test = wilcoxon_signed_rank(pairs.after.astype(np.float64), pairs.before.astype(np.float64))
    yield "wilcoxon.n", MetricValue(float(test.n), n)
    for name, value in (("p", test.p), ("v", test.v), ("effect", test.effect)):
        yield f"wilcoxon.{name}", MetricValue(value, n, test.reason)


def _unpaired(pairs: Pairs) -> MetricValue:
    return MetricValue(float(pairs.unpaired), len(pairs) + pairs.unpaired)
