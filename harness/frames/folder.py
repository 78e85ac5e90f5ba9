"""Frames on disk, so that each is made once: a folder that may be deleted at any time.

A frame is a file `ab/SHA256-vVERSION/INDEX.jpg`, by the SHA-256 of its clip and the version of the rules by
which it was made. After the JPEG stand 32 bytes, the SHA-256 over clip, version, index and JPEG: a file that
was cut, damaged or moved is not believed, and made again. Files are put in place whole, so that processes may
share them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from harness.recipes import RECIPE_VERSIONS

TAG_BYTES = 32


@dataclass(frozen=True, slots=True)
class FrameFolder:
    """The folder at `root`; made when something is kept, for its user's eyes only."""

    root: Path

    def read(self, clip: str, indices: Iterable[int]) -> dict[int, bytes]:
        """Return index -> JPEG of those frames that are kept and sound."""
        place = self._place(clip)
        found: dict[int, bytes] = {}
        for index in indices:
            with suppress(OSError):
                data = (place / f"{index}.jpg").read_bytes()
                jpeg, tag = data[:-TAG_BYTES], data[-TAG_BYTES:]
                if tag == _tag(clip, index, jpeg):
                    found[index] = jpeg
        return found

    def holds(self, clip: str, indices: Iterable[int]) -> bool:
        """Tell whether all these frames are kept; not whether they are sound. What cannot be seen is not."""
        place = self._place(clip)
        try:
            return all((place / f"{index}.jpg").exists() for index in indices)
        except OSError:  # of a folder of somebody else's, say
            return False

    def write(self, clip: str, index: int, jpeg: bytes) -> None:
        """Keep a frame. Raises OSError where that cannot be done; nothing half-written is left."""
        place = self._place(clip)
        for folder in (self.root, place.parent, place):
            folder.mkdir(mode=0o700, parents=folder is self.root, exist_ok=True)
        made = place / f".{secrets.token_hex(8)}"
        try:
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(jpeg + _tag(clip, index, jpeg))
            made.replace(place / f"{index}.jpg")
        except BaseException:
            with suppress(OSError):
                made.unlink(missing_ok=True)
            raise

    def _place(self, clip: str) -> Path:
        return self.root / clip[:2] / f"{clip}-v{RECIPE_VERSIONS['frame']}"


def _tag(clip: str, index: int, jpeg: bytes) -> bytes:
    return sha256(f"{clip} {RECIPE_VERSIONS['frame']} {index} ".encode("ascii") + jpeg).digest()
