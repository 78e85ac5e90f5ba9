"""Files whose bytes are still those of a medium: opened once, checked by digest, read without a path.

What is served is read from the file that was checked, through the same descriptor: a link that is turned
elsewhere afterwards, or a file put in its place, changes nothing. A file that is written to meanwhile is told
by its fingerprint, which is looked at again after each read. The fingerprint of a file also saves reading it
anew for each request, under the conditions of `harness.media_reading`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.media import MAX_BYTES, Media
from harness.media_reading import RACY_NS

_Stamp: TypeAlias = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime in nanoseconds."""

_PIECE: Final = 1 << 20
_REMEMBERED: Final = 4_096


class NotShownError(Exception):
    """A medium cannot be shown. The message says why, in words that name no file and no case."""


@dataclass(frozen=True, slots=True)
class SoundFile:
    """An open file with the bytes of a medium."""

    descriptor: int
    stamp: _Stamp

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.stamp[2]

    def read(self, at: int, count: int) -> bytes:
        """Return so many bytes from a place on. Blocking. Raises NotShownError where the file has changed."""
        pieces, end = [], min(at + count, self.size)
        while at < end:
            piece = os.pread(self.descriptor, min(_PIECE, end - at), at)
            if not piece:
                raise NotShownError(_CHANGED)
            pieces.append(piece)
            at += len(piece)
        if _stamp(self.descriptor) != self.stamp:
            raise NotShownError(_CHANGED)
        return b"".join(pieces)


_CHANGED: Final = "the file is not shown: its bytes are no longer those that were asked about"
_UNKNOWN: Final = "the file was not found where the run read it"


@contextmanager
def sound_file(media: Media) -> Iterator[SoundFile]:
    """Give the file of a medium while its bytes are the medium's. Blocking.

    Raises NotShownError where it is gone, cannot be read, is no regular file, is too large, or has changed.
    """
    descriptor = _opened(media)
    try:
        before = _stamp(descriptor)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise NotShownError("what lies there now is no regular file")
        if before[2] > MAX_BYTES:
            raise NotShownError(f"the file is larger than {MAX_BYTES:,} bytes")
        file = SoundFile(descriptor, before)
        if _known.get(before) != media.sha256:
            _check(file, media)
        yield file
    except OSError as error:
        raise NotShownError(f"the file cannot be read ({error.strerror or 'input/output error'})") from error
    finally:
        os.close(descriptor)


def _opened(media: Media) -> int:
    if media.path is None:
        raise NotShownError(_UNKNOWN)
    try:
        # O_NONBLOCK: a pipe without a writer would keep a thread waiting for ever.
        return os.open(media.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise NotShownError(f"the file cannot be opened ({error.strerror})") from error
        raise NotShownError("the file is no longer where the run read it") from error


def _check(file: SoundFile, media: Media) -> None:
    """Read a file to its end. Raises NotShownError where its bytes are not the medium's."""
    begun_ns = time.time_ns()
    digest, at = hashlib.sha256(), 0
    while at < file.size:
        piece = file.read(at, _PIECE)
        digest.update(piece)
        at += len(piece)
    if digest.hexdigest() != media.sha256:
        raise NotShownError(_CHANGED)
    *_, mtime_ns, ctime_ns = file.stamp
    if ctime_ns > 0 and max(mtime_ns, ctime_ns) + RACY_NS <= begun_ns:
        _known.put(file.stamp, media.sha256)


def _stamp(descriptor: int) -> _Stamp:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class _Known:
    """Fingerprints of files that were read, with their digests: the latest ones."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Stamp, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stamp: _Stamp) -> str | None:
        with self._lock:
            return self._found.get(stamp)

    def put(self, stamp: _Stamp, sha256: str) -> None:
        with self._lock:
            self._found[stamp] = sha256
            while len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)


_known = _Known()
