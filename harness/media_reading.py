"""Many media files read by a few threads; those that a fingerprint tells unchanged are not read at all.

A fingerprint is what the file system says of a file: size, times of the last change of its bytes (mtime) and
of anything about it (ctime), inode. As in git's index, it is believed only where the file was last changed
well before it was read: within one tick of a file system's clock, a file can change and keep its times
("racy git"). A file system without ctime (0) is never believed. Wherever a fingerprint errs all the same,
`media.load` finds it before anything is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from harness.errors import HarnessError, MediaError
from harness.media import Media, duration_of, probe
from harness.moments import now_us

THREADS: Final = 4
TOGETHER: Final = 16
TOGETHER_BYTES: Final = 1_000_000
"""Files, and bytes of them, that one thread reads before it hands over what they are."""
RACY_NS: Final = 2_000_000_000
"""A file changed this short before it was read may change again within its file system's clock tick
(FAT's is 2 s, the coarsest in use)."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file's fingerprint: size in bytes, times in nanoseconds since 1970 UTC."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def is_settled(self, read_at_us: int) -> bool:
        """Tell whether a file read at that time (microseconds) has not changed since, if this still fits."""
        changed_ns = max(self.mtime_ns, self.ctime_ns)
        return self.ctime_ns > 0 and changed_ns + RACY_NS <= read_at_us * 1_000


@dataclass(frozen=True, slots=True)
class Note:
    """What a file was when its bytes were read: fingerprint and time (microseconds) from just before that."""

    media: Media
    stamp: Stamp
    read_at_us: int


_Found: TypeAlias = "Media | Note | MediaError"

Recall: TypeAlias = Callable[[Mapping[Path, Stamp]], Mapping[Path, Media]]
"""Returns what files are that have not changed since they were noted; others are left out."""


class ReadingStoppedError(HarnessError):
    """Reading was stopped from outside, by Ctrl-C say."""


@dataclass(slots=True)
class ReadingCounts:
    """How far reading has come; `expected` files in all, where known."""

    expected: int = 0
    known: int = 0
    read: int = 0
    read_bytes: int = 0


class MediaReader:
    """Tells what files are. `recall` None: every file is read. `stop` ends it early, from any thread."""

    def __init__(
        self,
        recall: Recall | None = None,
        *,
        stop: threading.Event | None = None,
        clock: Callable[[], int] | None = None,
        counts: ReadingCounts | None = None,
    ) -> None:
        self._recall = recall
        self._stop = stop or threading.Event()
        self._clock = clock or now_us
        self._pool: ThreadPoolExecutor | None = None
        self.counts = counts or ReadingCounts()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the threads; files that wait to be read are left."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def read(self, files: Sequence[tuple[Path, str]]) -> Iterator[Media | Note | MediaError]:
        """Give what each file is, in order; `files` are paths with the names that messages use.

        A Media was known, a Note was read just now and is worth keeping. Raises ReadingStoppedError.
        """
        stamps = {path: stamp for path, _ in files if (stamp := stamp_of(path)) is not None}
        self._check_stop()
        known = self._recall(stamps) if self._recall is not None and stamps else {}
        unknown = {path: name for path, name in reversed(files) if path not in known}
        waiting: dict[Path, Future[Mapping[Path, _Found]]] = {}
        for group in _groups([path for path, _ in files if path in unknown], stamps):
            looking = [(path, unknown[path], stamps.get(path)) for path in group]
            waiting |= dict.fromkeys(group, self._threads().submit(self._look_at_all, looking))
        for path, _ in files:
            if path in known:
                self.counts.known += 1
                found = known[path]
                # Not noted with the others, and read off a few pages.
                yield found if found.kind == "image" else replace(found, duration_s=duration_of(path))
            else:
                yield waiting[path].result()[path]

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, "media")
        return self._pool

    def _look_at_all(self, files: Sequence[tuple[Path, str, Stamp | None]]) -> Mapping[Path, _Found]:
        return {path: self._look(path, name, stamp) for path, name, stamp in files}

    def _look(self, path: Path, name: str, stamp: Stamp | None) -> _Found:
        self._check_stop()
        read_at_us = self._clock()
        try:
            media = probe(path, name=name)
        except MediaError as error:
            return error
        finally:
            self.counts.read += 1
        self.counts.read_bytes += media.size
        return media if stamp is None else Note(media, stamp, read_at_us)

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise ReadingStoppedError("reading the media was stopped; run again to go on")


def _groups(paths: Sequence[Path], stamps: Mapping[Path, Stamp]) -> Iterator[list[Path]]:
    """Give the paths, each once, in groups for one hop to a thread: a hop costs more than a small file."""
    group: list[Path] = []
    size = 0
    for path in dict.fromkeys(paths):
        group.append(path)
        size += stamps[path].size if path in stamps else 0
        if len(group) >= TOGETHER or size >= TOGETHER_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def stamp_of(path: Path) -> Stamp | None:
    """Return a file's fingerprint, links followed; None where there is no such file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
