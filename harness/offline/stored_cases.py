"""The cases of a stored run, read from its snapshot one at a time: memory holds eight bytes for each."""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from array import array
from collections.abc import Sequence
from typing import overload

from harness.benchmarks.base import Case, CaseSet
from harness.errors import StoreError
from harness.snapshot import decode_case


def stored_cases(snapshot: bytes) -> CaseSet:
    """Return what `snapshot.decode_cases` returns, with the cases left where they can be read again.

    Raises StoreError where there is no room for them on the disk of temporary files.
    """
    head_line = snapshot.partition(b"\n")[0]
    head = json.loads(head_line)
    return CaseSet(
        cases=_SnapshotCases(snapshot, len(head_line)), raters=head["raters"], synthetic=head["synthetic"]
    )


class _SnapshotCases(Sequence[Case]):
    """Lines of a snapshot in a file without a name, each decoded anew when it is asked for."""

    def __init__(self, snapshot: bytes, start: int) -> None:
        self._ends = array("Q", [start])
        while self._ends[-1] < len(snapshot):
            end = snapshot.find(b"\n", self._ends[-1] + 1)
            self._ends.append(len(snapshot) if end < 0 else end)
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives as long as the cases
            weakref.finalize(self, self._file.close)
            with memoryview(snapshot) as left:
                written = 0
                while written < len(left):
                    written += self._file.write(left[written:])
        except OSError as error:
            raise StoreError(
                f"the run's cases do not fit into {tempfile.gettempdir()!r} ({error.strerror}); "
                "free some space there, or set TMPDIR to another folder"
            ) from error

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Case]: ...
    def __getitem__(self, index: int | slice) -> Case | Sequence[Case]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = self._ends[index] + 1
        return decode_case(os.pread(self._file.fileno(), self._ends[index + 1] - start, start))
