"""A file to import: its lines and digest, read with limits, in little memory."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Final

from harness.errors import ImportFileError

MAX_LINE_BYTES: Final = 64_000_000
"""Longest line or cell that is read: images in base64 stand in some."""
MAX_DOCUMENT_BYTES: Final = 1_000_000_000
"""Largest file that has to be read whole, because it is one JSON value."""
MAX_MEMBER_BYTES: Final = 256_000_000
"""Largest member of an archive, unpacked."""
MAX_UNPACKED: Final = 1_000_000_000
MAX_RATIO: Final = 200
"""An archive may unpack to `MAX_UNPACKED` bytes, or to this many times its own size."""

_HEAD_BYTES = 65_536
_BOM = b"\xef\xbb\xbf"
_PICKLE = b"\x80"


@dataclass(frozen=True)
class SourceFile:
    """One file as the user named it. Only its name and digest are ever stored."""

    path: Path

    @property
    def name(self) -> str:
        """The name without folders."""
        return self.path.name

    @property
    def suffix(self) -> str:
        """The last part of the name, with its dot, in lower case."""
        return self.path.suffix.lower()

    @cached_property
    def start(self) -> bytes:
        """The first bytes, without a byte order mark. Raises ImportFileError for what is no readable file."""
        with self.opened() as stream:
            return stream.read(_HEAD_BYTES).removeprefix(_BOM)

    @property
    def is_zip(self) -> bool:
        """True for a ZIP archive, which spreadsheets and `.eval` logs are too."""
        return self.start.startswith(b"PK")

    @property
    def is_pickle(self) -> bool:
        """True for what only running it would read."""
        return self.suffix in {".pkl", ".pickle"} or self.start.startswith(_PICKLE)

    def error(self, what: str) -> ImportFileError:
        """Return the error about this file."""
        return ImportFileError(f"{self.name!r}: {what}")

    def sha256(self) -> str:
        """Return the digest of the whole file."""
        digest = hashlib.sha256()
        with self.opened() as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
        return digest.hexdigest()

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for reading. Raises ImportFileError."""
        try:
            if not self.path.is_file():
                raise self.error("there is no such file" if not self.path.exists() else "it is no file")
            with self.path.open("rb") as stream:
                yield stream
        except OSError as error:
            raise self.error(f"it cannot be read: {error.strerror or error}") from error

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield number and bytes of every line that is not blank, without its end; "" for one too long."""
        with self.opened() as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(_BOM)
                if len(line) > MAX_LINE_BYTES:
                    _skip_line(stream, line)
                    yield number, b""
                elif line.strip():
                    yield number, line.rstrip(b"\r\n")

    def whole(self) -> bytes:
        """Return all bytes. Raises ImportFileError for a file too large to be read in one."""
        with self.opened() as stream:
            data = stream.read(MAX_DOCUMENT_BYTES + 1)
        if len(data) > MAX_DOCUMENT_BYTES:
            raise self.error(
                f"it is one JSON value of more than {MAX_DOCUMENT_BYTES} bytes; write it with one object a "
                "line"
            )
        return data.removeprefix(_BOM)

    @contextmanager
    def archive(self) -> Iterator[zipfile.ZipFile]:
        """Open a ZIP archive that unpacks to a sane size. Raises ImportFileError."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                self._check_size(archive)
                yield archive
        except (zipfile.BadZipFile, EOFError) as error:
            raise self.error(f"it is a damaged archive ({error}); get it again") from error
        except OSError as error:
            raise self.error(f"it cannot be read: {error.strerror or error}") from error

    def member(self, archive: zipfile.ZipFile, name: str) -> bytes:
        """Return a member's bytes, never more than `MAX_MEMBER_BYTES`. Raises ImportFileError."""
        try:
            with archive.open(name) as stream:
                data = stream.read(MAX_MEMBER_BYTES + 1)
        except (NotImplementedError, RuntimeError) as error:
            raise self.error(
                f"its member {name[:80]!r} is packed or locked in a way that is not known here; write the "
                "log as JSON with its own tool"
            ) from error
        if len(data) > MAX_MEMBER_BYTES:
            raise self.error(f"its member {name[:80]!r} unpacks to more than {MAX_MEMBER_BYTES} bytes")
        return data

    def _check_size(self, archive: zipfile.ZipFile) -> None:
        allowed = max(MAX_UNPACKED, MAX_RATIO * self.path.stat().st_size)
        unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > allowed:
            raise self.error(f"it would unpack to {unpacked} bytes, which no log of this size does")


def _skip_line(stream: IO[bytes], line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE_BYTES)
