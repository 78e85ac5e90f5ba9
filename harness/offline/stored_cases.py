"""The cases of a stored run, read from its snapshot one at a time: memory holds eight bytes for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import overload

from harness.benchmarks.base import Case, CaseSet
from harness.line_spool import LineSpool
from harness.snapshot import decode_case


def stored_cases(snapshot: bytes) -> CaseSet:
    """Return what `snapshot.decode_cases` returns, with the cases left where they can be read again.

    Raises SpoolError where there is no room for them on the disk of temporary files.
    """
    start = snapshot.find(b"\n")
    start = len(snapshot) if start < 0 else start
    head = json.loads(snapshot[:start])
    lines = LineSpool()
    while start < len(snapshot):
        end = snapshot.find(b"\n", start + 1)
        end = len(snapshot) if end < 0 else end
        lines.append(snapshot[start + 1 : end])
        start = end
    lines.flush()
    return CaseSet(cases=_StoredCases(lines), raters=head["raters"], synthetic=head["synthetic"])


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
