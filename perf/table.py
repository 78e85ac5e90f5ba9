"""The table of all rows that were measured."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from perf.rows import Row

_HEAD = ("what", "budget", "ours", "bare", "ratio", "met")


def as_json(rows: Mapping[str, Row], *, quick: bool) -> str:
    """Return the rows with all their facts as JSON."""
    document = {
        "python": platform.python_version(),
        "machine": machine(),
        "quick": quick,
        "rows": {name: {**asdict(row), "ratio": row.ratio} for name, row in rows.items()},
    }
    return json.dumps(document, indent=2)


def as_text(rows: Mapping[str, Row], *, quick: bool) -> str:
    """Return the table with a note below each row; `quick` sizes prove nothing, and say so."""
    cells = [_HEAD, *(_cells(row, quick=quick) for row in rows.values())]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    lines = [f"{machine()}, Python {platform.python_version()}", ""]
    notes = ["", *(row.note for row in rows.values())]
    for line, note in zip(cells, notes, strict=True):
        texts = [cell.ljust(width) for cell, width in zip(line[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True)]
        lines.append("  ".join(texts + numbers))
        if note:
            lines.append(f"    {note}")
    if quick:
        lines += ["", "--quick: the sizes are too small for the budgets; only full sizes count"]
    return "\n".join(lines)


def machine() -> str:
    """Return the processor's name and how many there are."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{os.cpu_count()} x {name}"


def _cells(row: Row, *, quick: bool) -> tuple[str, ...]:
    met = "-" if quick else "yes" if row.met else "NO"
    return (
        row.what,
        row.budget,
        _number(row.ours, row.unit),
        "" if row.bare is None else _number(row.bare, row.unit),
        "" if row.ratio is None else f"{row.ratio:.1f}",
        met,
    )


def _number(value: float, unit: str) -> str:
    digits = 0 if value >= 100 or not unit else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()
