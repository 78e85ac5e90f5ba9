"""Images and videos of cells as files of a case folder, named by their digest, with not a byte changed."""

from __future__ import annotations

import base64
import binascii
import errno
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from harness.benchmarks.case_files import path_fault
from harness.case_import.literals import looks_like_one, read_literal
from harness.case_import.row import CellError
from harness.errors import ConfigError, MediaError
from harness.image_structure import sniff
from harness.media import Media, probe
from harness.video_structure import sniff_video

FOLDER: Final = "media"
SUFFIXES: Final[Mapping[str, str]] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/gif": "gif",
    "image/bmp": "bmp",
    "image/tiff": "tiff",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/3gpp": "3gp",
    "video/x-msvideo": "avi",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
}
_KNOWN_SUFFIXES: Final = (
    "png",
    "jpg",
    "jpeg",
    "webp",
    "gif",
    "bmp",
    "tif",
    "tiff",
    "mp4",
    "mov",
    "avi",
    "webm",
    "mkv",
)

_SPACE: Final = {ord(one): None for one in " \t\r\n"}
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HEAD: Final = 64
"""Characters of base64 that show what begins there."""
_LONGEST_PATH: Final = 4096


@dataclass(frozen=True, slots=True)
class Taken:
    """A medium in the case folder: its path as case files name it, and what it is."""

    path: str
    media: Media


@dataclass(slots=True)
class MediaFiles:
    """Puts media into the folder `out`; paths in cells lead below `source`. `link`: hard links, no copies."""

    out: Path
    source: Path
    link: bool = False
    _new: list[Path] = field(default_factory=list)

    def begin(self) -> None:
        """Start with the media of another case."""
        self._new.clear()

    def discard(self) -> None:
        """Remove the files that this case alone brought: it is no case."""
        for path in self._new:
            path.unlink()
        self._new.clear()

    def take(self, cell: object) -> Iterator[Taken]:
        """Yield the media of a cell, in order: one, or those of a list. Raises CellError."""
        if isinstance(cell, str) and looks_like_one(cell):
            cell = read_literal(cell)
        for item in cell if isinstance(cell, list | tuple) else (cell,):
            yield self._one(item)

    def _one(self, item: object) -> Taken:
        if isinstance(item, Mapping) and {*item} <= {"bytes", "path"} and item:
            item = item.get("bytes") if item.get("bytes") is not None else item.get("path")
        match item:
            case bytes():
                return self._written(item)
            case str() if item.startswith("data:"):
                return self._written(_data_url(item))
            case str() if _ADDRESS.match(item):
                raise CellError(
                    f"is an address ({item[:60]!r}), and nothing is fetched; save the file and give its path"
                )
            case str():
                data = _from_base64(item)
                return self._found(item) if data is None else self._written(data)
            case None:
                raise CellError("holds an empty place in its list")
            case _:
                raise CellError(f"must be a path, base64 or bytes, got {type(item).__name__}")

    def _written(self, data: bytes) -> Taken:
        incoming = self._incoming()
        incoming.write_bytes(data)
        return self._kept(incoming, "(its bytes)")

    def _found(self, written: str) -> Taken:
        path = self._path(written)
        incoming = self._incoming()
        try:
            if self.link:
                os.link(path, incoming)
            else:
                shutil.copyfile(path, incoming)
        except OSError as error:
            incoming.unlink(missing_ok=True)
            if error.errno == errno.EXDEV:
                raise ConfigError(
                    f"{str(path)!r} and --out are on two file systems, which no link joins; leave out --link"
                ) from error
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise CellError(f"cannot be read: {written!r}: {error.strerror or error}") from error
        return self._kept(incoming, written)

    def _path(self, written: str) -> Path:
        """Return the file that a path means; one without a suffix may mean the one image of that name."""
        if len(written) > _LONGEST_PATH:
            raise CellError(f"is neither a path nor the base64 of an image ({len(written):,} characters)")
        if not written.strip():
            raise CellError("is empty")
        if "\\" in written or "\0" in written:
            raise CellError(f"must be a path with forward slashes, got {written!r}")
        if path_fault("path", written) is not None:
            raise CellError(f"must be a path that stays below {str(self.source)!r}, got {written!r}")
        try:
            return self._below(self.source.resolve(), written)
        except OSError as error:
            told = error.strerror or str(error)
            raise CellError(f"is no path that can be looked at: {written[:60]!r}: {told}") from error

    def _below(self, root: Path, written: str) -> Path:
        path = root / written
        if not path.is_file() and not path.suffix:
            several = [path.with_name(f"{path.name}.{suffix}") for suffix in _KNOWN_SUFFIXES]
            named = [one for one in several if one.is_file()]
            path = named[0] if len(named) == 1 else path
        if not path.resolve().is_relative_to(root):
            raise CellError(f"leads out of {str(self.source)!r} by a link: {written!r}; copy the file there")
        if not path.is_file():
            what = "is no file" if path.exists() else "does not exist"
            raise CellError(f"{what}: {written!r} below {str(self.source)!r}; add it, or give --media-dir")
        return path.resolve()

    def _incoming(self) -> Path:
        folder = self.out / FOLDER
        folder.mkdir(exist_ok=True)
        return folder / ".incoming"

    def _kept(self, incoming: Path, name: str) -> Taken:
        try:
            found = probe(incoming, name=name)
        except MediaError as error:
            incoming.unlink()
            raise CellError(f"is unusable: {error}") from error
        relative = f"{FOLDER}/{found.sha256[:2]}/{found.sha256}.{SUFFIXES[found.mime]}"
        path = self.out / relative
        if path.exists():
            incoming.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            incoming.rename(path)
            self._new.append(path)
        return Taken(relative, replace(found, path=path))


def kind_in_base64(text: str) -> str | None:
    """Return the MIME type of an image or video that a text begins to be in base64; None where it is none."""
    head = text[: 2 * _HEAD].translate(_SPACE)[:_HEAD]
    if len(head) < _HEAD or not _BASE64.fullmatch(head):
        return None
    data = base64.b64decode(head[: len(head) // 4 * 4])
    return sniff(data) or sniff_video(data)


def _from_base64(text: str) -> bytes | None:
    """Return the bytes of a medium in base64; None for a text that is no such thing. Raises CellError."""
    if kind_in_base64(text) is None:
        bare = text.translate(_SPACE) if len(text) > _LONGEST_PATH else ""
        if bare and _BASE64.fullmatch(bare):
            raise CellError("is base64 of something that is neither image nor video")
        return None
    return _decoded(text)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.translate(_SPACE), validate=True)
    except (binascii.Error, ValueError) as error:
        raise CellError(f"is damaged base64 ({error}); export the table again") from error


def _data_url(text: str) -> bytes:
    head, comma, rest = text.partition(",")
    if not comma or not head.endswith(";base64"):
        raise CellError("is a data: address that is not in base64; write data:image/png;base64,...")
    return _decoded(rest)
