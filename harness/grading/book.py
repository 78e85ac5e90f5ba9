"""All grades of one grading's raters, in memory: what stands now, and what stood at a moment."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.cache.grades import Grade, GradeValue
from harness.cache.rows import UnitId
from harness.canonical import canonical_json


@dataclass(frozen=True, slots=True)
class Said:
    """One grade as the store has it. `kept` is its place in the order in which the store got all of them."""

    graded_at_us: int
    value: GradeValue
    kept: int


@dataclass(slots=True)
class Book:
    """Takes grades in the order of the store. `items`: unit -> number; grades of other units are passed over.

    Those of everybody are taken: whoever is added as a rater may have graded before.

    Which grade is the newest is told by its moment; where two are equal, as joined stores may have them, the
    greater value stands, as in `harness.cache.grades`. What stood when something happened is told by the
    order in which the store got them, which no clock that was set meanwhile changes.
    """

    items: Mapping[UnitId, int]
    last: int = 0
    """The place of the last grade that was taken."""
    _said: dict[tuple[int, str], dict[str, list[Said]]] = field(default_factory=dict)

    def add(self, grades: Iterable[tuple[int, Grade]]) -> None:
        """Take over grades with their places."""
        for kept, grade in grades:
            self.last = max(self.last, kept)
            number = self.items.get(grade.unit)
            if number is None:
                continue
            said = self._said.setdefault((number, grade.rater), {}).setdefault(grade.question, [])
            insort(said, Said(grade.graded_at_us, grade.value, kept), key=_moment)

    def standing(
        self, number: int, rater: str, since_us: int = 0, kept: int | None = None
    ) -> dict[str, GradeValue]:
        """Return question -> a rater's newest grade of an item, if it is not older than `since_us`.

        `kept`: of those alone that the store had with that place.
        """
        found = {}
        for question, said in self._said.get((number, rater), {}).items():
            newest = next((one for one in reversed(said) if kept is None or one.kept <= kept), None)
            if newest is not None and newest.graded_at_us >= since_us:
                found[question] = newest.value
        return found

    def first(self, number: int, rater: str, question: str, since_us: int = 0) -> Said | None:
        """Return the grade by which a rater first answered a question of an item as it is answered now."""
        said = self._said.get((number, rater), {}).get(question, [])
        return min((one for one in said if one.graded_at_us >= since_us), key=_place, default=None)

    def newest_us(self, number: int, rater: str, question: str) -> int:
        """Return when a rater graded a question last, whatever it was about; -1: never."""
        said = self._said.get((number, rater), {}).get(question, [])
        return said[-1].graded_at_us if said else -1


def _moment(said: Said) -> tuple[int, bytes]:
    return said.graded_at_us, canonical_json(said.value)


def _place(said: Said) -> int:
    return said.kept
