"""Files of records: JSON lines, CSV and Parquet, each with the reader that gives the same records back."""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias

from harness.canonical import JSON
from harness.errors import ConfigError
from harness.offline.cells import escape_cell, json_cell, unescape_cell

Record: TypeAlias = Mapping[str, JSON]
Format: TypeAlias = Literal["jsonl", "csv", "parquet"]
ColumnKind: TypeAlias = Literal["text", "integer", "number", "json"]

FORMATS: tuple[Format, ...] = ("jsonl", "csv", "parquet")

COLUMNS: Mapping[str, ColumnKind] = {
    "run": "text",
    "benchmark": "text",
    "case_id": "text",
    "condition": "text",
    "model": "text",
    "repeat": "integer",
    "step": "json",
    "imported": "json",
    "outcome": "text",
    "stage": "text",
    "prediction": "json",
    "error": "json",
    "filled_keys": "json",
    "unsupported": "json",
    "dropped_params": "json",
    "exchanges": "json",
    "evidence_cost_usd": "number",
    "spent_usd": "number",
    "prompt": "json",
    "schema": "json",
    "media": "json",
    "params": "json",
}
"""The fields of a record in order. Tables hold `text` escaped by `harness.offline.cells`, `json` as JSON,
null as an empty cell."""

_ENDINGS: Mapping[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_ROWS_A_GROUP = 256


def format_for(wanted: Format | None, path: Path | None) -> Format:
    """Return the format of a file: the one that is wanted, else the one that its ending says, else jsonl.

    `path` None: standard output. Raises ConfigError where the ending says another format than is wanted.
    """
    ending = "" if path is None else path.suffix.casefold()
    named = _ENDINGS.get(ending)
    if wanted is not None and named not in (None, wanted):
        raise ConfigError(
            f"{str(path)!r} ends in {ending}, which is {named}, and --format says {wanted}; leave --format "
            "out, or name the file otherwise"
        )
    return wanted or named or "jsonl"


class RecordWriter(Protocol):
    """Takes records one by one; `close` ends the file's last block."""

    def write(self, record: Record) -> None:
        """Write one record."""
        ...

    def close(self) -> None:
        """Write what is held back; the stream stays open."""
        ...


def open_writer(file_format: Format, stream: IO[bytes]) -> RecordWriter:
    """Return a writer onto a binary stream. Raises ConfigError for Parquet where pyarrow is missing."""
    match file_format:
        case "jsonl":
            return _JsonLines(stream)
        case "csv":
            return _Csv(stream)
        case "parquet":
            return _Parquet(stream)


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when all of it is written.

    Raises ConfigError if the file exists and not `force`, or its folder does not exist. The mode is
    0600: records hold case text.
    """
    if path.exists() and not force:
        raise ConfigError(f"{str(path)!r} exists already; give another name, or --force to replace it")
    if not path.parent.is_dir():
        raise ConfigError(f"there is no folder {str(path.parent)!r}; make it first")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_jsonl(path: Path) -> Iterator[Record]:
    """Yield the records of a JSON lines file."""
    with path.open("rb") as stream:
        for line in stream:
            yield json.loads(line)


def read_csv(path: Path) -> Iterator[Record]:
    """Yield the records of a CSV export, exactly as they were written; null for columns that came later."""
    # The default limit of 131,072 characters a cell is below what a long answer takes.
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, strict=True):
            yield {name: _from_cell(row.get(name) or "", kind) for name, kind in COLUMNS.items()}


def read_parquet(path: Path) -> Iterator[Record]:
    """Yield the records of a Parquet export likewise."""
    with path.open("rb") as stream:
        for batch in _pyarrow("pyarrow.parquet").ParquetFile(stream).iter_batches(batch_size=_ROWS_A_GROUP):
            for row in batch.to_pylist():
                yield {name: _from_value(row.get(name), kind) for name, kind in COLUMNS.items()}


class _JsonLines:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, record: Record) -> None:
        self._stream.write(json.dumps(record, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n")

    def close(self) -> None:
        self._stream.flush()


class _Csv:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._writer = csv.writer(_Utf8(stream), lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def write(self, record: Record) -> None:
        self._writer.writerow([_to_cell(record[name], kind) for name, kind in COLUMNS.items()])

    def close(self) -> None:
        self._stream.flush()


class _Utf8:
    """Encodes the csv module's text; a TextIOWrapper would close the stream that it is given."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.encode("utf-8"))


class _Parquet:
    def __init__(self, stream: IO[bytes]) -> None:
        self._arrow = _pyarrow("pyarrow")
        kinds = {"integer": self._arrow.int64(), "number": self._arrow.float64()}
        self._schema = self._arrow.schema(
            [(name, kinds.get(kind, self._arrow.large_string())) for name, kind in COLUMNS.items()]
        )
        self._file = _pyarrow("pyarrow.parquet").ParquetWriter(stream, self._schema)
        self._rows: list[dict[str, JSON]] = []

    def write(self, record: Record) -> None:
        self._rows.append({name: _to_value(record[name], kind) for name, kind in COLUMNS.items()})
        if len(self._rows) >= _ROWS_A_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            self._file.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


def _to_cell(value: JSON, kind: ColumnKind) -> str:
    stored = _to_value(value, kind)
    if stored is None:
        return ""
    return stored if isinstance(stored, str) else json.dumps(stored, allow_nan=False)


def _from_cell(cell: str, kind: ColumnKind) -> JSON:
    if cell == "":
        return None
    return _from_value(json.loads(cell) if kind in {"integer", "number"} else cell, kind)


def _to_value(value: JSON, kind: ColumnKind) -> JSON:
    if value is None or kind in {"integer", "number"}:
        return value
    if kind == "json":
        return json_cell(value)
    return escape_cell(str(value))


def _from_value(value: JSON, kind: ColumnKind) -> JSON:
    if not isinstance(value, str):
        return value
    parsed: JSON = json.loads(value) if kind == "json" else unescape_cell(value)
    return parsed


def _pyarrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(
            "Parquet needs the package 'pyarrow', which is not installed; install it, or use --format jsonl"
        ) from error
