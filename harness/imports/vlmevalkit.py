"""Prediction files of VLMEvalKit: a table with `index`, `question` and `prediction`.

It writes `MODEL_DATASET.xlsx`, or `.tsv` or `.json` by PRED_FORMAT (vlmeval/smp/file.py), the last as a list
of records; a table that could not be written falls back to a pickle, which is never read here. With
SPLIT_THINK the reasoning stands in `thinking`. A prediction of an agent may be an object with `prediction` in
it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from importlib import import_module
from typing import IO, Any

from harness.canonical import canonical_json
from harness.errors import ImportFileError
from harness.imports.documents import MISSING, BadRowError, Document, kind_of, parse_any
from harness.imports.format import Format, Head, Place, Row
from harness.imports.hints import FIELDS, Hints
from harness.imports.json_lines import first_document, line_rows, read_counts, read_id, text_digest
from harness.imports.source import MAX_LINE_BYTES, SourceFile
from harness.imports.stated import Stated

_TABLES = {".csv": ",", ".tsv": "\t"}


class PredictionTable:
    """One such file, in any of its kinds."""

    name = "vlmevalkit"
    noun = "row"
    first_position: int | None = None
    positions_only = False
    mapped = frozenset(FIELDS) - {"repeat", "attempt", "cost_usd", "total_s", "error"}

    def fits(self, source: SourceFile) -> bool:
        """Tell by the name for tables, by the first record for JSON."""
        if source.suffix in {*_TABLES, ".xlsx"}:
            return True
        if source.suffix == ".jsonl":
            first = first_document(source)
            return first is not None and {"index", "prediction"} <= first.keys()
        return source.suffix == ".json" and source.start.lstrip().startswith(b"[")

    def head(self, source: SourceFile) -> Head:
        """Return nothing: such a file says nothing of itself."""
        return Head()

    def rows(self, source: SourceFile) -> Iterator[Row]:
        """Yield the table's rows; a cell that was text is a text, whatever it looks like."""
        if source.suffix in _TABLES:
            return _delimited(source, _TABLES[source.suffix])
        if source.is_zip:
            return _spreadsheet(source)
        if source.start.lstrip().startswith(b"["):
            return _records(source)
        return line_rows(source)

    def places(self, document: Document, hints: Hints) -> Sequence[Place]:
        """Return the one ask of a row."""
        return (Place(read_id(hints.find(document, "id", "index"), hints.paths.get("id", "index"))),)

    def state(self, document: Document, hints: Hints) -> Stated:
        """Return what a row states."""
        value = hints.find(document, "answer", "prediction")
        if isinstance(value, dict) and "prediction" in value:
            value = value["prediction"]
        if value is MISSING:
            raise BadRowError("it has no 'prediction'; --map answer=NAME names the column of the answers")
        return Stated(
            text=_cell_text(value),
            reasoning=hints.text(document, "reasoning", "thinking"),
            finish_reason=hints.text(document, "finish_reason"),
            usage=read_counts(document, hints),
            served_model=hints.text(document, "served_model"),
            prompt_sha256=text_digest(document.get("question")),
        )


def _cell_text(value: object) -> str | None:
    """Return a cell's text; a spreadsheet makes numbers of answers that are nothing else."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float | dict | list):
        return json.dumps(value, ensure_ascii=False)
    raise BadRowError(f"its answer is {kind_of(value)}, and no text")


def _delimited(source: SourceFile, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(MAX_LINE_BYTES)
    with source.opened() as stream, _as_text(stream) as text:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        names: list[str] | None = None
        number = 0
        try:
            for cells in reader:
                if names is None:
                    names = _columns(source, cells)
                elif cells:
                    number += 1
                    yield _row(number, names, list(cells))
        except UnicodeDecodeError as error:
            raise source.error(f"it is not UTF-8 after row {number}; save it as UTF-8") from error
        except csv.Error as error:
            raise source.error(f"after row {number} (line {reader.line_num}): {error}") from error


@contextmanager
def _as_text(stream: IO[bytes]) -> Iterator[IO[str]]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield text
    finally:
        text.detach()


def _spreadsheet(source: SourceFile) -> Iterator[Row]:
    openpyxl = _openpyxl(source)
    with source.archive():
        pass
    try:
        # Formulas as they were written: a text that begins with "=" was stored as one.
        book = openpyxl.load_workbook(source.path, read_only=True, data_only=False)
    except Exception as error:  # the library raises what its XML and ZIP readers raise
        raise source.error(f"it is no spreadsheet that can be read ({type(error).__name__})") from error
    try:
        names: list[str] | None = None
        number = 0
        for cells in book.worksheets[0].iter_rows(values_only=True):
            if names is None:
                names = _columns(source, ["" if cell is None else str(cell) for cell in cells])
            elif any(cell is not None for cell in cells):
                number += 1
                yield _row(number, names, [_plain(cell) for cell in cells])
    except ImportFileError:
        raise
    except Exception as error:
        raise source.error(f"it is a damaged spreadsheet ({type(error).__name__}); write it again") from error
    finally:
        book.close()


def _openpyxl(source: SourceFile) -> Any:
    try:
        return import_module("openpyxl")
    except ImportError as error:
        raise source.error(
            "spreadsheets are read with openpyxl; install the extra `xlsx`, or save the table as .tsv"
        ) from error


def _plain(cell: object) -> object:
    return (
        cell.isoformat()
        if isinstance(cell, date | time)
        else str(cell)
        if isinstance(cell, timedelta)
        else cell
    )


def _columns(source: SourceFile, names: list[str]) -> list[str]:
    while names and not names[-1]:
        names = names[:-1]
    twice = {name for name in names if names.count(name) > 1}
    if not names or twice:
        what = f"its first line names {sorted(twice)[0]!r} twice" if twice else "it has no line with names"
        raise source.error(f"{what}; the first line must name the columns, each once")
    return names


def _row(number: int, names: list[str], cells: list[object]) -> Row:
    cells = cells[: len(names)] if all(cell in (None, "") for cell in cells[len(names) :]) else cells
    if len(cells) != len(names):
        return Row(number, b"", f"it has {len(cells)} cells, and there are {len(names)} columns")
    try:
        return Row(number, canonical_json(dict(zip(names, cells, strict=True))))
    except (TypeError, ValueError) as error:
        return Row(number, b"", f"it holds a cell that is no JSON ({error})")


def _records(source: SourceFile) -> Iterator[Row]:
    try:
        found = parse_any(source.whole())
    except BadRowError as error:
        raise source.error(f"{error}; a list of objects was looked for") from error
    for number, record in enumerate(found, start=1):
        try:
            yield Row(number, canonical_json(record))
        except (TypeError, ValueError, RecursionError) as error:
            yield Row(number, b"", f"it cannot be kept as JSON ({type(error).__name__})")


formats: tuple[Format, ...] = (PredictionTable(),)
