from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ConfigError
from harness.offline.export import (
    COLUMNS,
    FORMATS,
    Format,
    Record,
    open_writer,
    read_csv,
    read_jsonl,
    whole_file,
)

NASTY = {
    "long": "ä" * 200_000,
    "formula": "=HYPERLINK(\"http://x\")",
    "nul": "a\x00b",
    "surrogate": "a\ud83db\udc00",
    "emoji": "🦷👩‍⚕️",
    "lines": "one\ntwo\r\nthree\u2028four\u0085\x0b\x0cfive\ttab",
    "quotes": 'he said "no", \\ and \\n',
    "bom": "\ufeffstart",
    "empty": "",
}


def record(text: str, **changes: Any) -> Record:
    whole: dict[str, Any] = {
        "run": "r",
        "benchmark": "triage",
        "case_id": text,
        "condition": "both",
        "model": "=m",
        "repeat": 1,
        "step": None,
        "imported": False,
        "outcome": "valid",
        "stage": None,
        "prediction": {"reasoning": text, text or "k": [1, 2.5, True, None]},
        "error": None,
        "filled_keys": [],
        "unsupported": [text],
        "dropped_params": [],
        "exchanges": [{"text": text, "cost_usd": None}],
        "evidence_cost_usd": 0.1 + 0.2,
        "spent_usd": None,
        "prompt": {"id": "p", "sha256": "0"},
        "schema": None,
        "media": [],
        "params": {"temperature": 0.7},
    }
    return whole | changes


def write(records: Sequence[Record], file_format: Format) -> bytes:
    stream = io.BytesIO()
    writer = open_writer(file_format, stream)
    for one in records:
        writer.write(one)
    writer.close()
    return stream.getvalue()


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_jsonl_gives_every_text_back(text: str, tmp_path: Path) -> None:  # F45
    path = tmp_path / "out.jsonl"
    path.write_bytes(write([record(text), record("b")], "jsonl"))
    assert list(read_jsonl(path)) == [record(text), record("b")]


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_csv_gives_every_text_back(text: str, tmp_path: Path) -> None:  # F45
    path = tmp_path / "out.csv"
    path.write_bytes(write([record(text), record("b")], "csv"))
    assert list(read_csv(path)) == [record(text), record("b")]


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_each_csv_record_is_one_line_without_a_live_formula(text: str) -> None:  # F45
    data = write([record(text)], "csv").decode("utf-8")
    assert len(data.splitlines()) == 2
    csv.field_size_limit(sys.maxsize)
    cells = list(csv.reader(io.StringIO(data)))[1]
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell]


def test_csv_json_columns_are_plain_json() -> None:
    data = write([record("x\ny")], "csv").decode("utf-8")
    row = next(csv.DictReader(io.StringIO(data)))
    assert json.loads(row["prediction"])["reasoning"] == "x\ny"
    assert row["stage"] == ""


def test_csv_columns_are_the_fields_of_a_record() -> None:
    assert list(record("a")) == list(COLUMNS)


def test_a_csv_file_from_before_a_column_gives_null_for_it(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    head, line = write([record("a")], "csv").decode("utf-8").splitlines()
    place = head.split(",").index("step")
    cells = next(csv.reader([line]))
    old = [",".join(head.split(",")[:place] + head.split(",")[place + 1 :])]
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([old[0].split(","), [*cells[:place], *cells[place + 1 :]]])
    assert list(read_csv(path)) == [record("a")]


def test_parquet_without_its_package_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="pyarrow"):
        open_writer("parquet", io.BytesIO())


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_parquet_gives_every_text_back(text: str, tmp_path: Path) -> None:  # F45
    pytest.importorskip("pyarrow")
    from harness.offline.export import read_parquet

    path = tmp_path / "out.parquet"
    path.write_bytes(write([record(text)] * 3, "parquet"))
    assert list(read_parquet(path)) == [record(text)] * 3


def test_a_file_that_exists_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="--force"), whole_file(path):
        pass
    assert path.read_text(encoding="utf-8") == "mine"
    with whole_file(path, force=True) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with pytest.raises(RuntimeError), whole_file(path) as stream:
        stream.write(b"half")
        assert not path.exists()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no folder"), whole_file(tmp_path / "no" / "out.csv"):
        pass


def test_the_formats_are_those_of_the_command() -> None:
    assert FORMATS == ("jsonl", "csv", "parquet")
