"""The units that the rows of scores are made of: packed while a run is scored, unpacked a row at a time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import UnitTable
from harness.cache.stored_scores import PackedUnits, UnitsKey
from harness.errors import StoreError
from harness.line_spool import LineSpool
from harness.offline.row_units import OUTCOMES, RowKey, RowUnits

PLACE: Final = np.dtype("<i4")
REPEAT: Final = np.dtype("<i4")
SMALL: Final = np.dtype("u1")
NUMBER: Final = np.dtype("<f8")
_BYTES: Final = PLACE.itemsize + REPEAT.itemsize + 2 * SMALL.itemsize
"""Of a unit, its numbers apart."""
_LEVEL: Final = 1
"""Of zlib: columns of small whole numbers get little smaller by more, and scoring must not wait for it."""


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """The units that a row's `as_answered` numbers are made of.

    `units.cases` are places in the run's `case_index`. `outcomes` (units of `units`) are places in
    `row_units.OUTCOMES`.
    """

    units: UnitTable
    outcomes: NDArray[np.uint8]


class KeptUnits:
    """The units of all rows of a run, packed, in a file without a name. Raises SpoolError."""

    def __init__(self) -> None:
        self._spool = LineSpool("what is scored")
        self._places: dict[RowKey, tuple[int, int, int]] = {}

    def keep(self, key: RowKey, units: RowUnits) -> None:
        """Take the units that a row's `as_answered` numbers are made of."""
        numbers = units.numbers
        self._places[key] = (len(self._spool), *numbers.shape)
        self._spool.append(pack_units(units.places, units.repeats, units.members, units.outcomes, numbers))

    def rows(self, order: Sequence[RowKey]) -> Iterator[PackedUnits]:
        """Yield the kept ones of these rows."""
        self._spool.flush()
        for key in order:
            if key in self._places:
                yield self.row(key)

    def row(self, key: RowKey) -> PackedUnits:
        """Return the units of one row. Raises KeyError for one that is not kept."""
        position, units, width = self._places[key]
        self._spool.flush()
        return PackedUnits(UnitsKey(*key), units, width, self._spool.line(position))

    def __contains__(self, key: RowKey) -> bool:
        """Tell whether the units of a row are kept."""
        return key in self._places


def pack_units(
    places: NDArray[np.int64],
    repeats: NDArray[np.int32],
    members: NDArray[np.uint8],
    outcomes: NDArray[np.uint8],
    numbers: NDArray[np.float64],
) -> bytes:
    """Return columns of equal length, one after the other, compressed; `numbers` number by number."""
    packer = zlib.compressobj(_LEVEL)
    columns = (
        places.astype(PLACE), repeats.astype(REPEAT), members.astype(SMALL), outcomes.astype(SMALL),
        numbers.T.astype(NUMBER),
    )  # fmt: skip
    return b"".join(packer.compress(column.tobytes()) for column in columns) + packer.flush()


def unpack_units(
    packed: PackedUnits, clusters: NDArray[np.int64], conditions: tuple[str, ...]
) -> RowNumbers:
    """Undo `pack_units`; `clusters` has one number a case, by its place.

    Raises StoreError for what is damaged.
    """
    count, width = packed.units, packed.width
    try:
        data = zlib.decompress(packed.data)
    except zlib.error:
        data = b""
    if len(data) != count * (_BYTES + width * NUMBER.itemsize):
        raise _damaged(packed)
    at = 0

    def column(kind: np.dtype[Any], size: int) -> NDArray[Any]:
        nonlocal at
        found: NDArray[Any] = np.frombuffer(data, kind, size, at)
        at += found.nbytes
        return found

    places = column(PLACE, count).astype(np.int64)
    repeats = column(REPEAT, count).astype(np.int32)
    members, outcomes = column(SMALL, count).astype(np.int32), column(SMALL, count).astype(np.uint8)
    numbers = np.ascontiguousarray(column(NUMBER, count * width).reshape(width, count).T, dtype=np.float64)
    known = (places < len(clusters)) & (places >= 0) & (members < len(conditions))
    if not known.all() or (outcomes >= len(OUTCOMES)).any():
        raise _damaged(packed)
    return RowNumbers(UnitTable(numbers, places, clusters[places], repeats, members, conditions), outcomes)


def _damaged(packed: PackedUnits) -> StoreError:
    return StoreError(
        f"the stored numbers of row {packed.key.name!r} in {packed.key.condition!r} are damaged; make them "
        "anew with `harness score`"
    )


def pack_clusters(clusters: NDArray[np.int64]) -> bytes:
    """Return clusters of cases as bytes, 8 a case."""
    return clusters.astype("<i8").tobytes()


def unpack_clusters(data: bytes) -> NDArray[np.int64]:
    """Undo `pack_clusters`."""
    return np.frombuffer(data, "<i8").astype(np.int64)
