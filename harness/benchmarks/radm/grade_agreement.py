"""How far the grader agrees with people who graded the same answers, and people with each other.

The paper had 50 random cases graded by two radiologists, each alone, asked for a Cohen kappa of at least .75
and found .78, before they graded everything and agreed on one value ("Diagnostic Quality Grading"). It does
not say whether kappa was of diagnoses or of scores, nor weighted; all are here, by name:

- `diagnoses`: all ranks together, a diagnosis an item; `tier_1` ... `tier_5`: one rank; `score`: what the
  five tiers come to, of answers for which both have all five.
- of each: what `rater_agreement` says, kappa unweighted and with quadratic weights among it.
- `reaches_threshold`: whether kappa of all diagnoses is at least .75.

An answer that the grader gave no tiers is no disagreement: `not_judged` counts it. Intervals are BCa over
cases, or groups of cases, with all that was said of them. Raises ValueError for a grade that is no tier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final

from harness.benchmarks.radm.ranking import FIFTHS, QUESTION_NAMES, TIERS, fifths, tier_of, tiers_of
from harness.benchmarks.rater_agreement import Item, dimension, kappa_of
from harness.benchmarks.raters import RESOLVED, has_several, raters_of, resolved
from harness.benchmarks.steps import Graded
from harness.canonical import JSON

THRESHOLD: Final = 0.75
"""Kappa that the paper asked of its two radiologists before they went on."""

DIAGNOSES: Final = "diagnoses"
SCORE: Final = "score"
_SCORES: Final = (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15)
"""All that five tiers can come to, in fifths."""


def agreement(graded: Sequence[tuple[Graded, Mapping[str, JSON]]]) -> dict[str, JSON]:
    """Return the comparison with each rater as it stands in the scores: of graded units, each with what the
    grader says of it by question (empty: nothing).
    """
    raters = raters_of(one for one, _ in graded)
    people = {
        f"{first} and {second}": _of_two_people(graded, first, second)
        for first, second in combinations(raters, 2)
    }
    several = has_several(one for one, _ in graded)
    return {
        "raters": {rater: _with(graded, _of_rater(rater)) for rater in raters}
        | ({RESOLVED: _with(graded, lambda one: resolved(one, QUESTION_NAMES))} if several else {}),
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


def _tiers_alone(grades: Mapping[str, JSON]) -> Mapping[str, JSON]:
    return {name: value for name, value in grades.items() if name in QUESTION_NAMES}


def _compared(answers: Sequence[tuple[str, Mapping[str, JSON], Mapping[str, JSON]]]) -> dict[str, JSON]:
    """Compare (group, first's grades, second's grades) of answers."""
    by_rank = {name: _items(answers, name) for name in QUESTION_NAMES}
    pooled = [item for items in by_rank.values() for item in items]
    scores = [
        Item(group, _SCORES.index(fifths(one)), _SCORES.index(fifths(other)))
        for group, first, second in answers
        if (one := tiers_of(first)) is not None and (other := tiers_of(second)) is not None
    ]
    dimensions = {
        DIAGNOSES: dimension(pooled, TIERS, TIERS),
        **{name: dimension(items, TIERS, TIERS) for name, items in by_rank.items()},
        SCORE: dimension(scores, tuple(worth / FIFTHS for worth in _SCORES), _SCORES),
    }
    all_of_them = dimensions[DIAGNOSES]
    kappa = kappa_of(pooled, len(TIERS))
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


def _items(answers: Sequence[tuple[str, Mapping[str, JSON], Mapping[str, JSON]]], name: str) -> list[Item]:
    return [
        Item(group, tier_of(name, first[name]), tier_of(name, second[name]))
        for group, first, second in answers
        if name in first and name in second
    ]
