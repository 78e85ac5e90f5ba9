from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from stored_run_builder import SCALING, Plan, built_run, case

from harness.cache.rows import UnitId
from harness.cli.main import cli
from harness.offline.export import format_for, read_csv, read_jsonl
from harness.outcomes import UnitOutcome

TEXT = "=cmd|' /C calc'!A0 \x00 \ud83d 🦷\r\n" + "long " * 40_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with one run of a good answer, a nasty one and a unit that was never begun."""

    async def make() -> None:
        plan = Plan([case("c1", SCALING), case("=c2"), case("c3")], attempts=1)
        async with built_run(tmp_path, plan) as built:
            await built.valid(UnitId("alpha", "both", "c1"), SCALING)
            await built.answers(UnitId("alpha", "both", "=c2"), UnitOutcome.UNPARSABLE, TEXT)

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HARNESS_STORE", raising=False)
    asyncio.run(make())
    return str(tmp_path / "store.sqlite3")


def harness(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


def exported(store: str, *args: str) -> list[Any]:
    return [json.loads(line) for line in harness("export", "--store", store, *args).stdout.splitlines()]


def test_jsonl_goes_to_stdout_one_line_a_unit(store: str) -> None:
    records = exported(store)
    assert [(one["case_id"], one["outcome"]) for one in records] == [
        ("=c2", "unparsable"), ("c1", "valid"), ("c3", "not_attempted"),
    ]  # fmt: skip
    assert records[0]["exchanges"][0]["text"] == TEXT  # F45


def test_csv_and_jsonl_hold_the_same_records(store: str, tmp_path: Path) -> None:  # F45
    for name in ("csv", "jsonl"):
        found = harness("export", "--store", store, "--format", name, "--out", f"out.{name}")
        assert (found.exit_code, found.stdout) == (0, "")
    records = list(read_jsonl(tmp_path / "out.jsonl"))
    assert list(read_csv(tmp_path / "out.csv")) == records
    assert len(records) == 3


def test_the_ending_of_the_file_says_its_format(store: str, tmp_path: Path) -> None:
    found = harness("export", "--store", store, "--out", "out.CSV")
    assert (found.exit_code, "3 records written to out.CSV as csv" in found.stderr) == (0, True)
    assert len(list(read_csv(tmp_path / "out.CSV"))) == 3
    found = harness("export", "--store", store, "--out", "out.txt")
    assert "3 records written to out.txt as jsonl" in found.stderr
    assert list(read_jsonl(tmp_path / "out.txt")) == list(read_csv(tmp_path / "out.CSV"))
    found = harness("export", "--store", store, "--format", "jsonl", "--out", "other.csv")
    assert found.exit_code == 2 and not (tmp_path / "other.csv").exists()
    assert "'other.csv' ends in .csv, which is csv, and --format says jsonl; leave" in found.stderr
    assert format_for("csv", Path("x.txt")) == "csv" and format_for(None, Path("a.parquet")) == "parquet"
    assert format_for(None, None) == format_for(None, Path("a.json")) == "jsonl"


def test_a_file_is_replaced_only_by_force(store: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine", encoding="utf-8")
    refused = harness("export", "--store", store, "--out", str(out))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert out.read_text(encoding="utf-8") == "mine"
    assert harness("export", "--store", store, "--out", str(out), "--force").exit_code == 0
    assert len(out.read_bytes().splitlines()) == 3


def test_an_unknown_run_leaves_no_file(store: str, tmp_path: Path) -> None:
    found = harness("export", "nothing", "--store", store, "--out", "out.jsonl")
    assert found.exit_code == 2
    assert not [one for one in tmp_path.iterdir() if "out.jsonl" in one.name]


def test_raw_adds_bodies(store: str) -> None:
    [send] = exported(store, "--raw")[1]["exchanges"]
    assert json.loads(send["body"])["choices"]
    assert "body" not in exported(store)[1]["exchanges"][0]


def test_parquet_needs_a_file(store: str) -> None:
    found = harness("export", "--store", store, "--format", "parquet")
    assert found.exit_code == 2
    assert "--out" in found.stderr


def test_the_number_of_records_is_said_on_stderr(store: str) -> None:
    assert "3 records written to stdout" in harness("export", "--store", store).stderr
