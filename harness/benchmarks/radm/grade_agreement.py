"""How far the grader agrees with people who graded the same answers, and people with each other.

The paper had 50 random cases graded by two radiologists, each alone, asked for a Cohen kappa of at least .75
and found .78, before they graded everything and agreed on one value ("Diagnostic Quality Grading"). It does
not say whether kappa was of diagnoses or of scores, nor weighted; all are here, by name:

- `diagnoses`: all ranks together, a diagnosis an item; `tier_1` ... `tier_5`: one rank; `score`: what the
  five tiers come to, of answers for which both have all five.
- of each: `accuracy`, the share on which both say the same; `kappa`, Cohen's, unweighted; `weighted_kappa`,
  with quadratic weights (Cohen 1968, Psychological Bulletin 70:213-220); `confusion`: how often both say the
  same, and how often the first is higher or lower; `table`: counts by (first, second), labels in order.
- `reaches_threshold`: whether kappa of all diagnoses is at least .75.

An answer that the grader gave no tiers is no disagreement: `not_judged` counts it. Intervals are BCa over
cases, or groups of cases, with all that was said of them. Raises ValueError for a grade that is no tier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.radm.ranking import FIFTHS, QUESTION_NAMES, TIERS, fifths, tier_of, tiers_of
from harness.benchmarks.scored import MetricValue
from harness.benchmarks.steps import Graded, agreed_grade, is_consensus
from harness.canonical import JSON
from harness.scoring.agreement import cohen_kappa
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.resampling import Resampling, Values

THRESHOLD: Final = 0.75
"""Kappa that the paper asked of its two radiologists before they went on."""

DIAGNOSES: Final = "diagnoses"
SCORE: Final = "score"
RESOLVED: Final = "people (agreed, else consensus)"
"""Beside each rater: the tiers that the scores use where several graded. A consensus alone is of what raters
disagreed on, which says nothing of agreement."""
_SCORES: Final = (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15)
"""All that five tiers can come to, in fifths."""
_NOTHING: Final = "nothing was graded by both"


@dataclass(frozen=True, slots=True)
class _Item:
    """What two graders say of one thing, as places among its labels."""

    group: str
    first: int
    second: int


def agreement(graded: Sequence[tuple[Graded, Mapping[str, JSON]]]) -> dict[str, JSON]:
    """Return the comparison with each rater as it stands in the scores: of graded units, each with what the
    grader says of it by question (empty: nothing).
    """
    raters = sorted({rater for one, _ in graded for rater in one.grades if not is_consensus(rater)})
    people = {
        f"{first} and {second}": _of_two_people(graded, first, second)
        for first, second in combinations(raters, 2)
    }
    several = len({rater for one, _ in graded for rater in one.grades}) > 1
    return {
        "raters": {rater: _with(graded, _of_rater(rater)) for rater in raters}
        | ({RESOLVED: _with(graded, _resolved)} if several else {}),
        **({"between_people": people} if people else {}),
    }


def _of_two_people(graded: Sequence[tuple[Graded, Mapping[str, JSON]]], first: str, second: str) -> JSON:
    """Compare two people on the answers that both graded: once, however often the grader was asked."""
    both = [
        (one.group, grades, others)
        for one, _ in graded
        if one.repeat == 1
        and (grades := _tiers_alone(one.grades.get(first, {})))
        and (others := _tiers_alone(one.grades.get(second, {})))
    ]
    return {"n_graded": len(both), **_compared(both)}


def _with(
    graded: Sequence[tuple[Graded, Mapping[str, JSON]]], grades_of: Callable[[Graded], Mapping[str, JSON]]
) -> JSON:
    theirs = [(one.group, said, grades) for one, said in graded if (grades := grades_of(one))]
    judged = [one for one in theirs if one[1]]
    found = _compared(judged)
    return {"n_graded": len(theirs), "not_judged": len(theirs) - len(judged), **found}


def _of_rater(rater: str) -> Callable[[Graded], Mapping[str, JSON]]:
    return lambda one: _tiers_alone(one.grades.get(rater, {}))


def _resolved(one: Graded) -> Mapping[str, JSON]:
    """Return the tiers that the scores use: those of a consensus, else those that all raters agree on."""
    said = {
        name: {rater: grades[name] for rater, grades in one.grades.items() if name in grades}
        for name in QUESTION_NAMES
    }
    agreed = {name: agreed_grade(raters) for name, raters in said.items() if raters}
    return {name: value for name, value in agreed.items() if value is not None}


def _tiers_alone(grades: Mapping[str, JSON]) -> Mapping[str, JSON]:
    return {name: value for name, value in grades.items() if name in QUESTION_NAMES}


def _compared(answers: Sequence[tuple[str, Mapping[str, JSON], Mapping[str, JSON]]]) -> dict[str, JSON]:
    """Compare (group, first's grades, second's grades) of answers."""
    by_rank = {name: _items(answers, name) for name in QUESTION_NAMES}
    pooled = [item for items in by_rank.values() for item in items]
    scores = [
        _Item(group, _SCORES.index(fifths(one)), _SCORES.index(fifths(other)))
        for group, first, second in answers
        if (one := tiers_of(first)) is not None and (other := tiers_of(second)) is not None
    ]
    dimensions = {
        DIAGNOSES: _dimension(pooled, TIERS),
        **{name: _dimension(items, TIERS) for name, items in by_rank.items()},
        SCORE: _dimension(scores, tuple(worth / FIFTHS for worth in _SCORES)),
    }
    all_of_them = dimensions[DIAGNOSES]
    kappa = cohen_kappa([item.first for item in pooled], [item.second for item in pooled], TIERS).kappa
    reaches = None if kappa is None else kappa >= THRESHOLD
    if reaches is not None:
        how = "reaches" if reaches else "is below"
        all_of_them["note"] = f"kappa {how} {THRESHOLD:g}, which the paper asked of its two radiologists"
    return {
        "mean_accuracy": all_of_them["accuracy"],
        "kappa_threshold": THRESHOLD,
        "reaches_threshold": reaches,
        "dimensions": {**dimensions},
    }


def _items(answers: Sequence[tuple[str, Mapping[str, JSON], Mapping[str, JSON]]], name: str) -> list[_Item]:
    return [
        _Item(group, tier_of(name, first[name]), tier_of(name, second[name]))
        for group, first, second in answers
        if name in first and name in second
    ]


def _dimension(items: Sequence[_Item], labels: Sequence[float]) -> dict[str, JSON]:
    n, size = len(items), len(labels)
    first, second = [item.first for item in items], [item.second for item in items]
    table = np.zeros((size, size), dtype=np.int64)
    np.add.at(table, (first, second), 1)
    same = int(np.trace(table))
    kappa = cohen_kappa(first, second, range(size))
    weighted, why_not = _weighted(table, labels)
    intervals = _intervals(items, labels) if n else {}
    return {
        "n": n,
        "confusion": {
            "same": same,
            "higher": int(np.tril(table, -1).sum()),
            "lower": int(np.triu(table, 1).sum()),
        },
        "labels": list(labels),
        "table": table.tolist(),
        "accuracy": _number(same / n if n else None, n, intervals.get("accuracy"), _NOTHING),
        "kappa": _number(kappa.kappa, n, intervals.get("kappa"), kappa.reason),
        "weighted_kappa": _number(weighted, n, intervals.get("weighted_kappa"), why_not),
        "note": None,
    }


def _weighted(table: NDArray[np.int64], labels: Sequence[float]) -> tuple[float | None, str | None]:
    """Return kappa with quadratic weights, or why there is none."""
    n = int(table.sum())
    if not n:
        return None, "no items"
    weights = _distances(labels)
    by_chance = float((weights * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    if by_chance == 0:
        return None, "both used one and the same label only, so that kappa is 0/0"
    return 1 - n * float((weights * table).sum()) / by_chance, None


def _distances(labels: Sequence[float]) -> Values:
    """Return the squared distances of labels, (labels, labels), in whole fifths."""
    places = np.rint(np.array(labels, dtype=np.float64) * FIFTHS)
    found: Values = (places[:, np.newaxis] - places[np.newaxis, :]) ** 2
    return found


def _intervals(items: Sequence[_Item], labels: Sequence[float]) -> Mapping[str, Interval]:
    size, weights = len(labels), _distances(labels)

    def statistic(sums: Values) -> Mapping[str, Values]:
        table = sums.reshape(*sums.shape[:-1], size, size)
        n = table.sum(axis=(-2, -1))
        rows, columns = table.sum(axis=-1), table.sum(axis=-2)
        agreed = np.trace(table, axis1=-2, axis2=-1)
        by_chance = (rows * columns).sum(axis=-1)
        expected = np.einsum("...i,ij,...j->...", rows, weights, columns)
        return {
            "accuracy": agreed / n,
            "kappa": (agreed * n - by_chance) / (n * n - by_chance),
            "weighted_kappa": 1 - n * (table * weights).sum(axis=(-2, -1)) / expected,
        }

    summands = np.zeros((len(items), size * size))
    summands[np.arange(len(items)), [item.first * size + item.second for item in items]] = 1
    return sum_intervals(summands, [item.group for item in items], None, statistic, Resampling())


def _number(value: float | None, n: int, interval: Interval | None, reason: str | None) -> JSON:
    return MetricValue(value, n, reason if value is None else None, interval=interval).to_json()
