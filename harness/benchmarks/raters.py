"""Who graded the answers that a step looked at, and what several people came to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from harness.benchmarks.steps import Graded, agreed_grade, is_consensus
from harness.canonical import JSON

RESOLVED: Final = "people (agreed, else consensus)"
"""Beside each rater: what the scores use where several graded. A consensus alone is of what raters disagreed
on, which says nothing of agreement."""


def raters_of(graded: Iterable[Graded]) -> list[str]:
    """Return who graded, in order; a consensus is nobody."""
    return sorted({rater for one in graded for rater in one.grades if not is_consensus(rater)})


def has_several(graded: Iterable[Graded]) -> bool:
    """Tell whether more than one rater graded, a consensus counted."""
    return len({rater for one in graded for rater in one.grades}) > 1


def resolved(one: Graded, questions: Collection[str]) -> dict[str, JSON]:
    """Return question -> the grade that the scores use: that of a consensus, else what all raters say.

    Grades that wait for those of other raters are none.
    """
    said = {
        name: {rater: grades[name] for rater, grades in one.grades.items() if name in grades}
        for name in questions
    }
    for name, waiting in one.waiting.items():
        if name in said and not any(map(is_consensus, said[name])):
            said[name] = {rater: value for rater, value in said[name].items() if rater not in waiting}
    agreed = {name: agreed_grade(raters) for name, raters in said.items() if raters}
    return {name: value for name, value in agreed.items() if value is not None}
