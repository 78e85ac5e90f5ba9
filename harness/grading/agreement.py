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
    from harness.benchmarks.rater_agreement import Item, dimension

    # A grade from a file can be one that no sheet offers.
    labels = tuple(dict.fromkeys([*texts, *(text for _, *both in pairs for text in both)]))
    place = {label: index for index, label in enumerate(labels)}
    items = [Item(group, place[first], place[second]) for group, first, second in pairs]
    found = cast("Mapping[str, Any]", dimension(items, labels))
    kappa = found["kappa"]
    low, high = kappa["ci"] or (None, None)
    reason = kappa["reason"] or kappa.get("ci_reason")
    return Agreement(kappa["value"], low, high, found["accuracy"]["value"], found["n"], reason)
