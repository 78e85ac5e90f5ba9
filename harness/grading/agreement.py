"""How far two raters agree beyond chance, over all questions of a task together and over each.

Cohen's kappa, unweighted, of two raters' grades of the same answers, an item a question of an answer; its
interval is BCa over cases, or groups of cases, with everything that was graded of them
(`harness.scoring.intervals`). Where both used one label only kappa is 0/0: there is none, however well they
agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from harness.canonical import JSON, canonical_json

POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cohen's kappa of `n` pairs of grades, with the ends of its 95 % interval, and the raw share of equal
    ones.

    `reason` says why there is no kappa, or no interval.
    """

    kappa: float | None
    low: float | None
    high: float | None
    share: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two raters agree: over the pooled questions, and question by question."""

    raters: tuple[str, str]
    pooled: Agreement
    questions: Mapping[str, Agreement]

    def to_json(self) -> dict[str, JSON]:
        """Return it as status and state have it."""
        return {
            "raters": list(self.raters),
            "pooled": asdict(self.pooled),
            "questions": {name: asdict(one) for name, one in self.questions.items()},
        }


def read_pair(stored: JSON) -> PairAgreement:
    """Undo `PairAgreement.to_json`."""
    found = cast("Mapping[str, Any]", stored)
    first, second = found["raters"]
    questions = {name: Agreement(**one) for name, one in found["questions"].items()}
    return PairAgreement((first, second), Agreement(**found["pooled"]), questions)


@dataclass(frozen=True, slots=True)
class GradedByTwo:
    """What two raters said of one answer: question -> value. `group`: equal for those of one patient."""

    group: str
    first: Mapping[str, JSON]
    second: Mapping[str, JSON]


def pair_agreement(
    raters: tuple[str, str],
    graded: Sequence[GradedByTwo],
    labels: Mapping[str, Sequence[JSON]],
    pooled: Sequence[str],
) -> PairAgreement:
    """Compare two raters on the questions of `labels`, question -> all that can be said.

    A question that one of them left open is no disagreement: it is left out, and n says so.
    """
    texts = {name: tuple(map(_text, values)) for name, values in labels.items()}
    pairs = {name: _pairs(graded, name) for name in labels}
    together = [pair for name in pooled for pair in pairs[name]]
    all_texts = [text for name in pooled for text in texts[name]]
    return PairAgreement(
        raters,
        _agreement(together, all_texts),
        {name: _agreement(pairs[name], texts[name]) for name in labels},
    )


def _text(value: JSON) -> str:
    return canonical_json(value).decode("ascii")


def _pairs(graded: Sequence[GradedByTwo], name: str) -> list[tuple[str, str, str]]:
    return [
        (one.group, _text(one.first[name]), _text(one.second[name]))
        for one in graded
        if name in one.first and name in one.second
    ]


def _agreement(pairs: Sequence[tuple[str, str, str]], texts: Sequence[str]) -> Agreement:
    from harness.scoring.agreement import cohen_kappa

    # A grade from a file can be one that no sheet offers.
    labels = tuple(dict.fromkeys([*texts, *(text for _, *both in pairs for text in both)]))
    first, second = [pair[1] for pair in pairs], [pair[2] for pair in pairs]
    found = cohen_kappa(first, second, labels)
    if found.kappa is None:
        return Agreement(None, None, None, found.agreement, found.n, found.reason)
    low, high, reason = _interval(pairs, labels)
    return Agreement(found.kappa, low, high, found.agreement, found.n, reason)


def _interval(
    pairs: Sequence[tuple[str, str, str]], labels: Sequence[str]
) -> tuple[float | None, float | None, str | None]:
    import numpy as np

    from harness.scoring.bootstrap import sum_intervals
    from harness.scoring.resampling import Resampling, Values

    size, place = len(labels), {label: index for index, label in enumerate(labels)}

    def kappa(sums: Values) -> Mapping[str, Values]:
        table = sums.reshape(*sums.shape[:-1], size, size)
        n = table.sum(axis=(-2, -1))
        agreed = np.trace(table, axis1=-2, axis2=-1)
        by_chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"kappa": (agreed * n - by_chance) / (n * n - by_chance)}

    summands = np.zeros((len(pairs), size * size))
    cells = [place[first] * size + place[second] for _, first, second in pairs]
    summands[np.arange(len(pairs)), cells] = 1
    groups = [group for group, _, _ in pairs]
    found = sum_intervals(summands, groups, None, kappa, Resampling())["kappa"]
    return found.low, found.high, found.reason
