"""`conversion.jsonl`: beside the outputs, one line an output, how each was made."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from harness.errors import ConfigError

NAME: Final = "conversion.jsonl"


class ConversionRecord:
    """The lines of one output folder: written when the output is in place, each replaces an older one.

    A line that a crash cut off is left out; any other that is none of ours raises ConfigError, so that
    nobody's file is written over.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._lines: dict[str, dict[str, Any]] = {}
        self._superseded = False
        self._read()

    def get(self, output: str) -> Mapping[str, Any] | None:
        """Return the line of an output, None where there is none."""
        return self._lines.get(output)

    def add(self, line: dict[str, Any]) -> None:
        """Write a line to the disk."""
        self._superseded |= line["output"] in self._lines
        self._lines[line["output"]] = line
        with self._path.open("ab") as file:
            file.write(_encoded(line))
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        """Leave one line an output: lines that were replaced go, in one step that loses nothing."""
        if not self._superseded:
            return
        part = self._path.with_name(f".{NAME}-{os.getpid()}.part")
        with part.open("wb") as file:
            file.writelines(_encoded(line) for line in self._lines.values())
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._path)
        self._superseded = False

    def _read(self) -> None:
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        whole, _, torn = data.rpartition(b"\n")
        for number, text in enumerate(whole.split(b"\n") if whole else [], 1):
            try:
                line = json.loads(text)
                self._superseded |= line["output"] in self._lines
                self._lines[line["output"]] = line
            except (ValueError, TypeError, KeyError):
                raise ConfigError(
                    f"line {number} of {str(self._path)!r} is no line of a conversion; "
                    "take the file away, or name another --out"
                ) from None
        if torn:
            self._superseded = True
            self.close()


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"
