"""The text files of a bundled sample: its cases, and the mark that all of it is synthetic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_sample(out: Path, cases: Iterable[Mapping[str, Any]], note: str) -> None:
    """Write `cases.jsonl` and `dataset.json`; `note` says what is made up."""
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / "cases.jsonl", cases)
    mark = {"synthetic": True, "note": f"{note}; no patient's data; numbers from it mean nothing"}
    (out / "dataset.json").write_bytes((json.dumps(mark, indent=2) + "\n").encode("utf-8"))


def write_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    """Write one object a line, in UTF-8."""
    text = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    path.write_bytes(text.encode("utf-8"))
