"""Tables to import cases from, in every form that is read, and small images to stand in them."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from harness.benchmarks.registry import get_benchmark
from harness.case_import.column_map import Wish, resolved
from harness.case_import.fields import case_table
from harness.case_import.importing import Imported, ImportOptions, import_cases
from harness.case_import.row import Source

Rows = Sequence[Mapping[str, Any]]


def image_bytes(shade: int = 0, form: str = "PNG", size: tuple[int, int] = (40, 30)) -> bytes:
    """Return a small image of one grey; equal shades give equal bytes."""
    out = io.BytesIO()
    Image.new("L", size, shade).save(out, form)
    return out.getvalue()


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def cell(value: Any) -> str:
    """Return a value as people put it into a cell of text: lists as JSON, bytes in base64."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return in_base64(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def write_delimited(path: Path, rows: Rows, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(list(rows[0]))
        writer.writerows([cell(value) for value in row.values()] for row in rows)
    return path


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: in_base64(value) if isinstance(value, bytes) else value for name, value in row.items()}


def write_json_lines(path: Path, rows: Rows) -> Path:
    path.write_bytes(b"".join(json.dumps(plain(row)).encode() + b"\n" for row in rows))
    return path


def write_json(path: Path, rows: Rows) -> Path:
    path.write_text(json.dumps([plain(row) for row in rows], indent=1), encoding="utf-8")
    return path


def arrow_table(rows: Rows) -> pa.Table:
    """Return the rows with images as `datasets` keeps them: struct of bytes and path."""
    found = [
        {
            name: {"bytes": value, "path": None} if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        for row in rows
    ]
    return pa.Table.from_pylist(found)


def write_parquet(path: Path, rows: Rows) -> Path:
    pq.write_table(arrow_table(rows), path, row_group_size=20)
    return path


def write_saved(
    folder: Path, rows: Rows, *, shards: int = 2, features: Mapping[str, Any] | None = None
) -> Path:
    """Write what `Dataset.save_to_disk` writes: a stream a shard, and two JSON files about them."""
    folder.mkdir(parents=True)
    table = arrow_table(rows)
    names = [f"data-{shard:05d}-of-{shards:05d}.arrow" for shard in range(shards)]
    each = -(-len(rows) // shards)
    for shard, name in enumerate(names):
        with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(shard * each, each), max_chunksize=7)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0a", "_split": "test"}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "dataset_info.json").write_text(
        json.dumps({"features": dict(features or {})}), encoding="utf-8"
    )
    return folder


def write_saved_splits(folder: Path, rows: Rows) -> Path:
    """Write what `DatasetDict.save_to_disk` writes, the rows as the split "test"."""
    write_saved(folder / "test", rows)
    write_saved(folder / "train", rows[:1])
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")
    return folder


FORMS: Mapping[str, Callable[[Path, Rows], Path]] = {
    "csv": lambda folder, rows: write_delimited(folder / "t.csv", rows),
    "tsv": lambda folder, rows: write_delimited(folder / "t.tsv", rows, "\t"),
    "csv-bom": lambda folder, rows: write_delimited(folder / "t.csv", rows, encoding="utf-8-sig"),
    "jsonl": lambda folder, rows: write_json_lines(folder / "t.jsonl", rows),
    "json": lambda folder, rows: write_json(folder / "t.json", rows),
    "parquet": lambda folder, rows: write_parquet(folder / "t.parquet", rows),
    "saved": lambda folder, rows: write_saved(folder / "saved", rows),
    "splits": lambda folder, rows: write_saved_splits(folder / "splits", rows),
}
"""Form -> writes rows below a folder and returns the path to import."""


def imported(
    source: Source, out: Path, benchmark: str = "triage", wish: Wish | None = None, **options: Any
) -> Imported:
    table = case_table(benchmark)
    columns = resolved(wish or Wish(), [one.name for one in source.columns()], table)
    options.setdefault("check", get_benchmark(benchmark).check)
    return import_cases(source, table, columns, ImportOptions(out, **options))


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "cases.jsonl").read_bytes().split(b"\n") if line]
