"""The folder of a report: every format of it, written whole or not at all, and its marker.

| file | |
|---|---|
| `index.html` | the page, with all figures in it |
| `report.json`, `report.md` | the whole report |
| `tables/ID.csv`, `tables/ID.tex` | each table |
| `tables.tex` | a document that reads all `tables/ID.tex` |
| `figures/ID.svg`, `figures/ID.png` | each figure |
| `.harness-report` | the marker: the files with their SHA-256 |

A report replaces a report: a folder whose marker names all that lies in it, unchanged. Whatever else lies
there is somebody's work, and the folder is left alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from harness.errors import ConfigError
from harness.new_folder import check_free, check_left, new_folder
from harness.report.csv_tables import csv_table
from harness.report.document import Figure, Report
from harness.report.json_report import report_json
from harness.report.latex import latex_document, latex_table
from harness.report.markdown import markdown
from harness.report.parts import check_report, figures, tables

if TYPE_CHECKING:
    from harness.report.figures.forms import Drawn

MARKER: Final = ".harness-report"
_FORMAT: Final = "harness report folder"

_BY_PRODUCTS: Final = frozenset(
    [
        ".DS_Store",
        "Thumbs.db",
        "desktop.ini",
        *(f"tables.{end}" for end in ("aux", "fdb_latexmk", "fls", "log", "out", "pdf", "synctex.gz")),
    ]
)
"""What file managers and LaTeX leave beside a report; it goes with it."""


@dataclass(frozen=True, slots=True)
class Drawers:
    """What makes pages and pictures: `page` of the report and its figures as inline SVG, by id; `draw`."""

    page: Callable[[Report, Mapping[str, str]], str]
    draw: Callable[[Figure], Drawn]


Files: TypeAlias = Iterator[tuple[str, bytes]]


def write_report(report: Report, out: Path, drawers: Drawers) -> Sequence[str]:
    """Write a report into a new or empty folder, or in place of another report; return its files' names.

    Raises ConfigError where `out` is anything else, SpoolError where the disk fails, and ValueError for a
    report that `check_report` refuses. Then what stood there stands there still.
    """
    check_report(report)
    digests: dict[str, str] = {}
    with new_folder(out, check_replaceable) as draft:
        for name, data in _files(report, drawers):
            path = draft.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            digests[name] = hashlib.sha256(data).hexdigest()
        marker = {"format": _FORMAT, "files": digests}
        (draft.path / MARKER).write_text(json.dumps(marker, indent=1) + "\n", encoding="ascii")
        draft.keep()
    return list(digests)


def check_replaceable(out: Path) -> None:
    """Raise ConfigError unless a report may be written at a place: nothing, an empty folder, a report."""
    check_left(out)
    if not out.is_dir() or not (out / MARKER).is_file():
        check_free(out)
        return
    known = _known_files(out)
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        if name not in known and path.name not in _BY_PRODUCTS and name != MARKER:
            raise ConfigError(
                f"{name!r} in {str(out)!r} is no part of the report there; move it, or change --out"
            )
        if name in known and _sha256(path) != known[name]:
            raise ConfigError(
                f"{name!r} in {str(out)!r} was changed since the report was written; move it, or change --out"
            )


def _known_files(out: Path) -> Mapping[str, str]:
    try:
        marker = json.loads((out / MARKER).read_bytes())
        if marker["format"] == _FORMAT:
            return {str(name): str(digest) for name, digest in marker["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise ConfigError(f"{MARKER!r} in {str(out)!r} is none that this program wrote; change --out")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _files(report: Report, drawers: Drawers) -> Files:
    inline: dict[str, str] = {}
    for figure in figures(report):  # one at a time: a drawing is far larger than what is written of it
        drawn = drawers.draw(figure)
        inline[figure.id] = drawn.svg("report")
        yield f"figures/{figure.id}.svg", drawn.svg_file()
        yield f"figures/{figure.id}.png", drawn.png()
    yield "index.html", drawers.page(report, inline).encode("utf-8")
    yield "report.json", report_json(report).encode("ascii")
    yield "report.md", markdown(report).encode("utf-8")
    yield "tables.tex", latex_document(report).encode("utf-8")
    for table in tables(report):
        yield f"tables/{table.id}.csv", csv_table(table, report.warnings).encode("utf-8")
        yield f"tables/{table.id}.tex", latex_table(table, report.warnings).encode("utf-8")
