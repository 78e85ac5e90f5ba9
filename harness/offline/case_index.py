"""The cases of a run by id, in some thirty bytes a case: nothing of a case itself is held."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from harness.benchmarks.base import Case
from harness.errors import StoreError


class CaseIndex:
    """Ids in sorted order: the place of a case in it is the whole number that scoring knows it by."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        ids = [_encoded(case.id) for case in cases]
        order = sorted(range(len(ids)), key=ids.__getitem__)
        self._ids = b"".join(ids[number] for number in order)
        self._ends = array("Q", [0])
        for number in order:
            self._ends.append(self._ends[-1] + len(ids[number]))
        self._numbers = array("I", order)
        self._places = array("I", bytes(len(ids) * array("I").itemsize))
        for place, number in enumerate(order):
            self._places[number] = place
        self._last = 0
        if any(self._id(place) == self._id(place + 1) for place in range(len(ids) - 1)):
            raise StoreError("the run's cases hold an id twice; go back to a backup of the store")

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        """Yield the places in the order of the cases."""
        return iter(self._places)

    def find(self, case_id: str) -> int | None:
        """Return the place of an id, None where no case has it."""
        wanted = _encoded(case_id)
        # Units mostly come in the order of the ids: the same again, or the next one.
        for place in (self._last, self._last + 1):
            if place < len(self) and self._id(place) == wanted:
                self._last = place
                return place
        place = bisect_left(range(len(self)), wanted, key=self._id)
        if place == len(self) or self._id(place) != wanted:
            return None
        self._last = place
        return place

    def place(self, case_id: str) -> int:
        """Return the place of an id that a case has. Raises KeyError."""
        place = self.find(case_id)
        if place is None:
            raise KeyError(case_id)
        return place

    def id(self, place: int) -> str:
        """Return the id at a place."""
        return self._id(place).decode("utf-8", "surrogatepass")

    def case(self, place: int) -> Case:
        """Return the case at a place."""
        return self._cases[self._numbers[place]]

    def group(self, case_id: str) -> str:
        """Return what is equal for cases that are resampled together: the case's group, else its own id."""
        place = self.find(case_id)
        group = None if place is None else self.case(place).group
        return case_id if group is None else group

    def _id(self, place: int) -> bytes:
        return self._ids[self._ends[place] : self._ends[place + 1]]


def _encoded(case_id: str) -> bytes:
    # Sorts like the text itself.
    return case_id.encode("utf-8", "surrogatepass")
