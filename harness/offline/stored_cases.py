"""The cases of a stored run, read from its snapshot one at a time: memory holds eight bytes for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from harness.benchmarks.base import Case, CaseSet
from harness.line_spool import LineSpool
from harness.snapshot import decode_case


def stored_cases(snapshot: Iterable[bytes]) -> CaseSet:
    """Return what `snapshot.decode_cases` returns, with the cases left where they can be read again.

    The snapshot comes in pieces, cut anywhere, and is never in memory whole. Raises SpoolError where there is
    no room for the cases on the disk of temporary files.
    """
    lines = _lines(snapshot)
    head_line, spool = next(lines), LineSpool()
    for line in lines:
        spool.append(line)
    spool.flush()
    head = json.loads(head_line)  # only now: damage is told by the last piece
    return CaseSet(cases=_StoredCases(spool), raters=head["raters"], synthetic=head["synthetic"])


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Give what stands between line feeds, as `split` does."""
    begun = b""
    for piece in pieces:
        *whole, begun = (begun + piece).split(b"\n")
        yield from whole
    yield begun


class _StoredCases(Sequence[Case]):
    """Lines of a snapshot, each decoded anew when it is asked for."""

    def __init__(self, lines: LineSpool) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Case]: ...
    def __getitem__(self, index: int | slice) -> Case | Sequence[Case]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        if not 0 <= index < len(self):
            raise IndexError(index)
        return decode_case(self._lines.line(index))
