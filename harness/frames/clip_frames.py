"""Frames of clips by index: decoded once however many ask, and kept in a folder."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from harness.frames.folder import FrameFolder
from harness.video_structure import BadVideoError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Keep: TypeAlias = Callable[[int, bytes], None]
Decode: TypeAlias = Callable[[Collection[int], Keep], None]
"""Decodes a clip once and hands over those of its frames that are wanted."""

MEMORY_BYTES: Final = 64 * 1024 * 1024
"""Of frames that are held where no folder keeps them; one clip may have more."""
MOST_EXPECTED: Final = 256
"""Clips of which it is remembered which frames will be asked for."""

_log = logging.getLogger(__name__)


class ClipFrames:
    """Frames of all clips. `folder` None: they are kept in memory alone, and only the latest."""

    def __init__(self, folder: FrameFolder | None = None) -> None:
        self._folder = folder
        self._memory = _Memory()
        self._expected: dict[str, frozenset[int]] = {}
        self._damaged: dict[str, str] = {}
        self._at_work: dict[str, _Work] = {}
        self._guard = threading.Lock()
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    def get(self, clip: str, indices: Iterable[int], decode: Decode) -> Mapping[int, bytes]:
        """Return index -> JPEG of frames of the clip with this SHA-256; `decode` is called for what is
        missing.

        Blocking. Of several at once that lack frames of a clip, one decodes, all that are expected at that. A
        damaged clip is decoded once. Raises what `decode` does.
        """
        wanted = frozenset(indices)
        found = self._kept(clip, wanted)
        if len(found) == len(wanted):
            return found
        with self._work(clip) as work, work.lock:
            found |= self._kept(clip, wanted - found.keys())
            missing = wanted - found.keys()
            if missing:
                with self._guard:
                    others = self._expected.get(clip, frozenset()) - wanted
                self._decode(clip, missing | (others - self._kept(clip, others).keys()), found, decode)
        return {index: found[index] for index in wanted}

    def lacks(self, clip: str, indices: Iterable[int]) -> bool:
        """Tell whether a frame would have to be made. Blocking."""
        wanted = frozenset(indices)
        left = wanted - self._memory.read(clip, wanted).keys()
        return bool(left) and (self._folder is None or not self._folder.holds(clip, left))

    def expect(self, clip: str, indices: Iterable[int]) -> None:
        """Say which frames of a clip will be asked for, one by one perhaps: the first makes all of them."""
        with self._guard:
            self._expected[clip] = self._expected.pop(clip, frozenset()).union(indices)
            while len(self._expected) > MOST_EXPECTED:
                del self._expected[next(iter(self._expected))]

    @asynccontextmanager
    async def turn(self, clip: str) -> AsyncIterator[None]:
        """Wait until no other task of this loop is within for the clip: so none waits in a thread."""
        lock, users = self._turns.get(clip) or (asyncio.Lock(), 0)
        self._turns[clip] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._turns.pop(clip)
            if users > 1:
                self._turns[clip] = lock, users - 1

    def _kept(self, clip: str, indices: Collection[int]) -> dict[int, bytes]:
        found = self._memory.read(clip, indices)
        if self._folder is not None and len(found) < len(indices):
            found |= self._folder.read(clip, [index for index in indices if index not in found])
        return found

    def _decode(
        self, clip: str, missing: Collection[int], found: dict[int, bytes], decode: Decode
    ) -> None:
        """Decode frames into `found` and, once all of them proved sound, into where they are kept."""
        if clip in self._damaged:
            raise BadVideoError(self._damaged[clip])
        made: dict[int, bytes] = {}
        try:
            decode(missing, made.__setitem__)
        except BadVideoError as error:
            self._damaged[clip] = str(error)
            raise
        found |= made
        for index, jpeg in made.items():
            self._keep(clip, index, jpeg)

    def _keep(self, clip: str, index: int, jpeg: bytes) -> None:
        folder = self._folder
        if folder is not None:
            try:
                folder.write(clip, index, jpeg)
                return
            except OSError as error:
                # Without one, everything is right and only slower.
                self._folder = None
                _log.warning(
                    "frames of clips cannot be kept in %r (%s): they are made again when needed; make room "
                    "there, or name another folder in HARNESS_FRAMES",
                    str(folder.root),
                    error.strerror or type(error).__name__,
                )
        self._memory.write(clip, index, jpeg)

    @contextmanager
    def _work(self, clip: str) -> Iterator[_Work]:
        with self._guard:
            work = self._at_work.setdefault(clip, _Work())
            work.users += 1
        try:
            yield work
        finally:
            with self._guard:
                work.users -= 1
                if not work.users:
                    del self._at_work[clip]


@dataclass(slots=True, eq=False)
class _Work:
    """A clip of which frames are missing: who decodes holds `lock`."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class _Memory:
    """The frames of the clips that came last: up to `MEMORY_BYTES`, but all of the latest."""

    def __init__(self) -> None:
        self._clips: OrderedDict[str, dict[int, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def read(self, clip: str, indices: Iterable[int]) -> dict[int, bytes]:
        with self._lock:
            kept = self._clips.get(clip)
            return {} if kept is None else {index: kept[index] for index in indices if index in kept}

    def write(self, clip: str, index: int, jpeg: bytes) -> None:
        with self._lock:
            kept = self._clips.setdefault(clip, {})
            self._clips.move_to_end(clip)
            self._bytes += len(jpeg) - len(kept.get(index, b""))
            kept[index] = jpeg
            while self._bytes > MEMORY_BYTES and len(self._clips) > 1:
                self._bytes -= sum(map(len, self._clips.popitem(last=False)[1].values()))


_current = ClipFrames()


def clip_frames() -> ClipFrames:
    """Return the frames of this process."""
    return _current


def keep_frames_in(folder: Path | None) -> None:
    """Keep frames in this folder from now on; None: in memory."""
    global _current
    _current = ClipFrames(None if folder is None else FrameFolder(folder))
