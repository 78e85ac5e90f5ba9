"""Groups of cases by which units are looked at: tags, and what the benchmark says of each case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.base import Case

_WORDS: Final = {True: "yes", False: "no"}


class Strata:
    """Which cases, by their places, are of which groups."""

    def __init__(self, cases: Iterable[Case], fields: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        groups: list[int] = []
        places: list[int] = []
        for place, case in enumerate(cases):
            for name in dict.fromkeys(_names(case, fields)):
                groups.append(numbers.setdefault(name, len(numbers)))
                places.append(place)
        self.names: Final = tuple(numbers)
        self._groups = np.array(groups, np.int64)
        self._places = np.array(places, np.int64)

    def cases_of(self, names: Collection[str], size: int) -> NDArray[np.bool_]:
        """Return which of `size` cases are of any of these groups."""
        found = np.zeros(size, np.bool_)
        wanted = np.array([name in names for name in self.names], np.bool_)
        if len(self._groups):
            found[self._places[wanted[self._groups]]] = True
        return found

    def counts(self, by_place: NDArray[np.int64]) -> Sequence[int]:
        """Return the units of each group, given how many each case has."""
        if not len(self._groups):
            return []
        counts = np.bincount(self._groups, weights=by_place[self._places], minlength=len(self.names))
        return [int(count) for count in counts]


def _names(case: Case, fields: Sequence[str]) -> Iterator[str]:
    yield from case.tags
    for name in fields:
        value = case.reference.get(name)
        if isinstance(value, bool):
            yield f"{name}: {_WORDS[value]}"
        elif isinstance(value, str) and value:
            yield f"{name}: {value}"
