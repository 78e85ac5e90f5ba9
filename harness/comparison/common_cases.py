"""The cases that all contenders have, unit by unit: the one set on which they are compared.

A case is common if every contender has it with the same content and with the same units, that is, in the
same conditions of a union and the same repeats. All pairs are compared on this one set, so that every number
has the same denominator; what each pair alone would share is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import UnitTable
from harness.comparison.contenders import NO_ANSWER, Contender

Reading: TypeAlias = Literal["as_answered", "valid_only"]

OTHER_CONTENT: Final = "another content or reference under the same id"
NOT_IN_RUN: Final = "not among the cases of its run"
NOT_ASKED: Final = "not asked in this condition"
UNUSABLE: Final = "no usable answer"
NOT_GRADED: Final = "no grade that counts"
PARTIAL: Final = "an answer to some of its units only"
OTHER_CONDITIONS: Final = "asked in other conditions of the union"

_NONE: Final = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Cases (ids, in order) that are not compared: why, and because of whom; a case may have several."""

    why: str
    whose: tuple[str, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommonCases:
    """The common cases, and what is not common.

    `cases` (units) says which case, by its place in `ids`, each unit is of: the same for every contender.
    `without` has one entry a contender, in order: the cases that the others would share if that one were
    left out; `shared` (contenders, contenders) is what each pair shares by itself.
    `wanted` cases are asked of some contender. `clusters` are drawn as one; `grouped_alike` is False where
    runs group cases differently: then all that any of them groups is drawn together.
    """

    ids: tuple[str, ...]
    cases: NDArray[np.int64]
    wanted: int
    left_out: tuple[LeftOut, ...]
    without: tuple[int, ...]
    shared: NDArray[np.int64]
    clusters: int
    repeats: int
    grouped_alike: bool
    _tables: Callable[[], Iterator[UnitTable]]

    def tables(self) -> Iterator[UnitTable]:
        """Yield the units of each contender, aligned: row i of every table is the same unit.

        Each is made as it is asked for: together they are as large as all that is compared.
        """
        return self._tables()

    @property
    def units(self) -> int:
        """Return how many units each contender is compared by."""
        return len(self.cases)

    @property
    def independent(self) -> bool:
        """True if each unit is a cluster of its own: one repeat, and no groups of cases."""
        return self.clusters == self.units


def common_cases(
    contenders: Sequence[Contender], reading: Reading, graded: int | None = None
) -> CommonCases:
    """Return what the contenders (two at least) have in common; repeats beyond the fewest are left out.

    `valid_only` leaves out every case to which any of them has an unusable answer. `graded`: the place of the
    number that is 1 where a unit is graded; every case of which any unit is not is left out.
    """
    repeats = min(contender.repeats for contender in contenders)
    universe = sorted({one.cases.ids[place] for one in contenders for place in one.wanted})
    number = {case: place for place, case in enumerate(universe)}
    kinds: dict[tuple[str, bytes], int] = {}
    members = list(dict.fromkeys(name for one in contenders for name in one.units.conditions))
    sides = [_Side(one, number, members, repeats, reading, kinds, graded) for one in contenders]
    codes = np.stack([side.codes for side in sides])
    is_common = _alike(codes)
    chosen = np.flatnonzero(is_common)
    groups, grouped_alike = _joined([side.clusters[chosen] for side in sides])

    def tables() -> Iterator[UnitTable]:
        return (side.table(is_common, groups) for side in sides)

    return CommonCases(
        ids=tuple(universe[place] for place in chosen),
        cases=next(tables()).cases,
        wanted=len(universe),
        left_out=tuple(_left_out(universe, np.flatnonzero(~is_common), sides)),
        without=tuple(int(_alike(np.delete(codes, place, axis=0)).sum()) for place in range(len(contenders))),
        shared=np.array([[int(_alike(np.stack([one, other])).sum()) for other in codes] for one in codes]),
        clusters=len(np.unique(groups)),
        repeats=repeats,
        grouped_alike=grouped_alike,
        _tables=tables,
    )


class _Side:
    """One contender's units by the numbers of the cases that anybody was asked.

    `codes` are equal where contenders have a case alike, and 0 where this one has nothing to compare.
    """

    def __init__(
        self,
        contender: Contender,
        number: dict[str, int],
        members: Sequence[str],
        repeats: int,
        reading: Reading,
        kinds: dict[tuple[str, bytes], int],
        graded: int | None,
    ) -> None:
        self.contender = contender
        self._ids = frozenset(contender.cases.ids)
        self._wanted = {contender.cases.ids[place]: place for place in contender.wanted}
        of_place = np.array([number.get(case, -1) for case in contender.cases.ids], dtype=np.int64)
        cases = of_place[contender.units.cases]
        kept = np.flatnonzero((cases >= 0) & (contender.units.repeats <= repeats))
        units = contender.units
        # By name: runs may ask different conditions of a union, so that their places in it say nothing.
        place = [members.index(name) for name in units.conditions]
        asked = np.array(place, dtype=np.int64)[units.members] if len(units) else np.zeros(0, dtype=np.int64)
        order = kept[np.lexsort((asked[kept], units.repeats[kept], cases[kept]))]
        self._order, self._cases, self._asked = order, cases[order], asked[order]
        self.unusable: set[int] = set()
        if reading == "valid_only":
            self.unusable = set(self._cases[~contender.usable[order]].tolist())
        self.ungraded: set[int] = set()
        if graded is not None:
            self.ungraded = set(self._cases[units.numbers[order, graded] != 1].tolist())
        self.codes = np.zeros(len(number), dtype=np.int64)
        self.clusters = np.full(len(number), -1, dtype=np.int64)
        self.clusters[self._cases] = units.clusters[order]
        self.size = np.bincount(self._cases, minlength=len(number))
        self._note_codes(kinds)

    def _note_codes(self, kinds: dict[tuple[str, bytes], int]) -> None:
        units, digests = self.contender.units, self.contender.cases.digests
        what = (units.repeats[self._order].astype(np.int64) * 2**32) + self._asked
        places = units.cases[self._order]
        starts = np.flatnonzero(np.diff(self._cases, prepend=-1))
        for start, end in zip(starts.tolist(), np.append(starts[1:], len(what)).tolist(), strict=False):
            case = int(self._cases[start])
            if case not in self.unusable and case not in self.ungraded:
                key = digests[int(places[start])], what[start:end].tobytes()
                self.codes[case] = kinds.setdefault(key, len(kinds) + 1)

    def table(self, is_common: NDArray[np.bool_], groups: NDArray[np.int64]) -> UnitTable:
        """Return the units of the common cases, which are numbered in order; `groups` by that number."""
        inside = is_common[self._cases] if len(self._cases) else np.zeros(0, dtype=np.bool_)
        renumbered = (np.cumsum(is_common) - 1)[self._cases[inside]]
        rows = self._order[inside]
        units = self.contender.units
        return UnitTable(
            units.numbers[rows],
            renumbered,
            groups[renumbered],
            units.repeats[rows],
            units.members[rows],
            units.conditions,
        )

    def digest(self, case: str) -> str | None:
        place = self._wanted.get(case)
        return None if place is None else self.contender.cases.digests[place]

    def why_absent(self, case: str, number: int, most: int) -> str | None:
        """Return why a case cannot be compared because of this contender; `most` units any of them has."""
        if case not in self._wanted:
            return NOT_ASKED if case in self._ids else NOT_IN_RUN
        if number in self.unusable:
            return UNUSABLE
        if number in self.ungraded:
            return NOT_GRADED
        if self.size[number] < most or not most:
            known = self.contender.absent.get(self._wanted[case])
            return known or (PARTIAL if self.size[number] else NO_ANSWER)
        return None


def _alike(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which cases (contenders, cases) all contenders have alike."""
    found: NDArray[np.bool_] = (codes[0] != _NONE) & (codes == codes[0]).all(axis=0)
    return found


def _left_out(
    universe: Sequence[str], numbers: NDArray[np.intp], sides: Sequence[_Side]
) -> Iterator[LeftOut]:
    """Yield the cases that are not common by reason, those of the most cases first."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for number in numbers.tolist():
        case = universe[number]
        most = max(int(side.size[number]) for side in sides)
        for why, whose in _reasons(case, number, most, sides):
            by_reason.setdefault((why, whose), []).append(case)
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (why, whose), cases in by_reason.items():
        alike.setdefault((why, tuple(cases)), []).append(whose)
    for (why, listed), names in sorted(alike.items(), key=lambda one: (-len(one[0][1]), one[0])):
        yield LeftOut(why, tuple(names), listed)


def _reasons(case: str, number: int, most: int, sides: Sequence[_Side]) -> Iterator[tuple[str, str]]:
    found = [(why, side.contender.label) for side in sides if (why := side.why_absent(case, number, most))]
    if len({digest for side in sides if (digest := side.digest(case)) is not None}) > 1:
        found = [(OTHER_CONTENT, side.contender.label) for side in sides if side.digest(case) is not None]
    elif len({frozenset(side.contender.units.conditions) for side in sides}) > 1:
        found = [(OTHER_CONDITIONS if why == PARTIAL else why, whose) for why, whose in found]
        found = found or [(OTHER_CONDITIONS, side.contender.label) for side in sides]
    yield from found or [(PARTIAL, side.contender.label) for side in sides]


def _joined(partitions: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], bool]:
    """Return the cluster of each common case, named by its first case; whether all partitions agree."""
    plain = [_by_first(one) for one in partitions]
    if all(np.array_equal(one, plain[0]) for one in plain):
        return plain[0], True
    joined = plain[0]
    while True:
        before = joined
        for one in plain:  # the least name in each cluster of either, until nothing moves
            least = np.full(len(one), len(one), dtype=np.int64)
            np.minimum.at(least, one, joined)
            joined = np.minimum(joined, least[one])
        if np.array_equal(before, joined):
            return joined, False


def _by_first(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int64)
