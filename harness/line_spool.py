"""Lines in a temporary file without a name: written once, then read in any order; 8 bytes of memory each."""

from __future__ import annotations

import os
import pathlib
import tempfile
import weakref
from array import array
from typing import Final

from harness.errors import SpoolError

_WRITE_BYTES: Final = 1 << 20


class LineSpool:
    """Takes lines of bytes, then gives them by their position; reading is safe from any thread.

    The file (mode 0600) is unlinked at once, so it is gone with the process or with this object. It may hold
    the text of cases. Raises SpoolError where the disk does not take it; `what` is what its message calls the
    lines.
    """

    def __init__(self, what: str = "the cases") -> None:
        self._what = what
        self._ends = array("Q")
        self._written = 0
        self._waiting = bytearray()
        try:
            self._fd, name = tempfile.mkstemp(prefix="harness-")
            weakref.finalize(self, os.close, self._fd)
            pathlib.Path(name).unlink()
        except OSError as error:
            raise spool_error(self._what, error) from error

    def __len__(self) -> int:
        return len(self._ends)

    def append(self, line: bytes) -> None:
        """Keep a line."""
        self._waiting += line
        self._ends.append(self._written + len(self._waiting))
        if len(self._waiting) >= _WRITE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits in memory; `line` reads only what was written."""
        try:
            with memoryview(self._waiting) as left:
                done = 0
                while done < len(left):
                    done += os.write(self._fd, left[done:])
        except OSError as error:
            raise spool_error(self._what, error) from error
        self._written += len(self._waiting)
        self._waiting.clear()

    def line(self, position: int) -> bytes:
        """Return a line, by its position from 0."""
        start = self._ends[position - 1] if position else 0
        length = self._ends[position] - start
        data = os.pread(self._fd, length, start)
        if len(data) != length:
            raise SpoolError(f"the temporary file of {self._what} was cut; free disk space, then run again")
        return data


def spool_error(what: str, error: OSError) -> SpoolError:
    """Return the error of a temporary file that does not take what is to be kept in it."""
    return SpoolError(
        f"cannot keep {what} in a temporary file in {tempfile.gettempdir()!r}: "
        f"{error.strerror}; free some space there, or name another folder in TMPDIR"
    )
