"""A text file to import: decoded strictly, so that a wrong encoding is an error and never a wrong letter."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from harness.errors import ConfigError, ImportFileError

_CHUNK: Final = 1 << 20
_WIDE_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file and the encoding that the user named, else UTF-8; a byte order mark is no text."""

    path: Path
    encoding: str | None = None

    def __post_init__(self) -> None:
        """Refuse an encoding that Python does not know. Raises ConfigError."""
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError as error:
            raise ConfigError(
                f"unknown encoding {self.encoding!r}; try utf-8, utf-16, latin-1, cp1252 or gb18030"
            ) from error

    def error(self, what: str) -> ImportFileError:
        """Return the error about this file."""
        return ImportFileError(f"{self.path.name!r}: {what}")

    @contextmanager
    def opened(self) -> Iterator[IO[str]]:
        """Open it, line ends as they are. Raises ImportFileError, for bytes that are no text as well."""
        self._refuse_wide()
        try:
            with self.path.open("rb") as raw:
                yield io.TextIOWrapper(raw, encoding=self._codec, errors="strict", newline="")
        except UnicodeDecodeError:
            raise self.error(self._bad_byte()) from None
        except OSError as error:
            raise self.error(f"it cannot be read: {error.strerror or error}") from error

    @property
    def _codec(self) -> str:
        name = codecs.lookup(self.encoding or "utf-8").name
        return "utf-8-sig" if name == "utf-8" else name

    def _refuse_wide(self) -> None:
        if self.encoding is not None:
            return
        try:
            with self.path.open("rb") as raw:
                start = raw.read(4)
        except OSError as error:
            raise self.error(f"it cannot be read: {error.strerror or error}") from error
        for mark, name in _WIDE_MARKS:
            if start.startswith(mark):
                raise self.error(f"it is {name.upper()}; give --encoding {name}, or save it as UTF-8")

    def _bad_byte(self) -> str:
        """Return which byte is no text, by reading again."""
        decoder = codecs.getincrementaldecoder(self._codec)("strict")
        offset, line = 0, 1
        with self.path.open("rb") as raw:
            while True:
                chunk = raw.read(_CHUNK)
                pending = len(decoder.getstate()[0])
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    at = offset - pending + error.start
                    line += chunk.count(b"\n", 0, max(0, error.start - pending))
                    return self._told(at, line, error.object[error.start])
                if not chunk:
                    return "its bytes changed while it was read; run again"
                line += chunk.count(b"\n")
                offset += len(chunk)

    def _told(self, at: int, line: int, byte: int) -> str:
        written = (self.encoding or "UTF-8").upper()
        convert = f"iconv -f LATIN1 -t UTF-8 {self.path.name} > new{self.path.suffix}"
        return (
            f"byte {at + 1:,} (0x{byte:02x}, line {line:,}) is not {written}; name the encoding, as in "
            f"--encoding latin-1 or cp1252, or convert it: `{convert}`"
        )
