"""All grades of one grading's raters, in memory: what stands now, and what stood at a moment."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from harness.cache.grades import Grade, GradeValue
from harness.cache.rows import UnitId
from harness.canonical import canonical_json

Said: TypeAlias = list[tuple[int, bytes, GradeValue]]
"""What one rater said of one question of one answer: moment, what orders equal moments, value."""


@dataclass(slots=True)
class Book:
    """Takes grades in any order. `items`: unit -> number; grades of other units and by other raters are
    passed over.

    Where two moments are equal, as joined stores may have them, the greater value stands, as in
    `harness.cache.grades`.
    """

    items: Mapping[UnitId, int]
    raters: frozenset[str]
    last_id: int = 0
    _said: dict[tuple[int, str], dict[str, Said]] = field(default_factory=dict)

    def add(self, grades: Iterable[Grade]) -> set[int]:
        """Take over grades; return the numbers of the items that they are about."""
        touched = set()
        for grade in grades:
            number = self.items.get(grade.unit)
            if number is None or grade.rater not in self.raters:
                continue
            said = self._said.setdefault((number, grade.rater), {}).setdefault(grade.question, [])
            insort(said, (grade.graded_at_us, canonical_json(grade.value), grade.value), key=_moment)
            touched.add(number)
        return touched

    def standing(self, number: int, rater: str, since_us: int = 0) -> dict[str, GradeValue]:
        """Return question -> a rater's newest grade of an item, if it is not older than `since_us`."""
        theirs = self._said.get((number, rater), {})
        return {question: said[-1][2] for question, said in theirs.items() if said[-1][0] >= since_us}

    def stood(self, number: int, rater: str, at_us: int, since_us: int = 0) -> dict[str, GradeValue]:
        """Return the same as it was at a moment."""
        found = {}
        for question, said in self._said.get((number, rater), {}).items():
            known = [value for moment, _, value in said if since_us <= moment <= at_us]
            if known:
                found[question] = known[-1]
        return found

    def first_us(self, number: int, rater: str, question: str, since_us: int = 0) -> int | None:
        """Return when a rater first graded a question of an item as it is answered now; None: not yet."""
        said = self._said.get((number, rater), {}).get(question, [])
        return next((moment for moment, _, _ in said if moment >= since_us), None)

    def newest_us(self, number: int, rater: str, question: str) -> int:
        """Return when a rater graded a question last, whatever it was about; -1: never."""
        said = self._said.get((number, rater), {}).get(question, [])
        return said[-1][0] if said else -1


def _moment(said: tuple[int, bytes, GradeValue]) -> tuple[int, bytes]:
    return said[0], said[1]
