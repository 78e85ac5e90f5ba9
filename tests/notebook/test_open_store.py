"""`harness.open_store`: runs, records, scores and metrics as Arrow tables, true and read-only."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import itertools
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from bulk_run import bulk_plan, fill, kind_of
from postgres_server import PostgresServer
from scripted_server import ScriptedServer
from step_examples import answering, ready_source, step_args, with_small_judge, write_config
from stored_run_builder import EXTRACTION, SCALING, Built, Plan, answer, build, built_run, case
from sweep_kit import harness as command

import harness
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.errors import ConfigError, NotAStoreError, StoreError, StoreVersionError, UnknownNameError
from harness.notebook.apart import run_apart, stream_apart
from harness.notebook.columns import METRICS, RECORDS, RUNS, SCORES, Column
from harness.offline.cells import escape_cell, unescape_cell
from harness.outcomes import UnitOutcome

HOSTILE = {
    "nul": "a\x00b",
    "surrogate": 'half \ud83d of a pair, "\\ud800" spelt out and C:\\dir',
    "lines": "one\u2028two\u2029three\rfour\n\x85",
    "formula": "=HYPERLINK(1)",
    "rtl": "\u202eabc\ufeff",
    "long": "\u53e3\U0001f9b7 " * 50_000,
}


BULK = bulk_plan(80, ("alpha", "beta"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def unescaped(row: dict[str, Any], name: str) -> Any:
    return unescape_cell(row[name]) if name in (row["escaped"] or ()) else row[name]


@pytest.fixture
async def bulk(tmp_path: Path) -> AsyncIterator[Path]:
    """A store with a run of 160 units, scored by nobody yet, and let go."""
    async with built_run(tmp_path, BULK, name="bulk") as built:
        await fill(built)
    yield tmp_path / "store.sqlite3"


def exported(path: Path, run: str = "latest") -> list[Any]:
    done = command("export", run, "--store", path)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_records_are_those_of_an_export(bulk: Path) -> None:
    found = exported(bulk)
    with harness.open_store(bulk) as store:
        table = store.records("bulk", exchanges=True)
    assert table.schema.names == [column.name for column in RECORDS]
    assert table.num_rows == len(found) == 160
    for row, record in zip(table.to_pylist(), found, strict=True):
        same = ("run", "benchmark", "model", "condition", "case_id", "repeat", "outcome", "stage", "imported")
        assert [row[name] for name in same] == [record[name] for name in same]
        prediction = None if row["prediction"] is None else json.loads(row["prediction"])
        assert prediction == record["prediction"]
        assert json.loads(row["exchanges"]) == record["exchanges"]
        for name in ("filled_keys", "unsupported", "evidence_cost_usd", "spent_usd"):
            assert row[name] == record[name]
        assert (row["error_kind"], row["error"]) == (
            (None, None) if record["error"] is None else (record["error"]["kind"], record["error"]["message"])
        )
        sends = record["exchanges"]
        assert row["sends"] == len(sends)
        told = [one["usage"]["output_tokens"] for one in sends if one["usage"]["output_tokens"] is not None]
        assert row["output_tokens"] == (sum(told) if told else None)
        used = [one for one in sends if one["used"] and one["purpose"] == "answer"]
        assert row["latency_s"] == (used[-1]["latency_s"] if used else None)
        assert row["escaped"] is None


def test_filters_leave_exactly_what_they_say(bulk: Path) -> None:
    found = exported(bulk)
    with harness.open_store(bulk) as store:
        everything = store.records().num_rows
        some = store.records(models=["alpha"], conditions="both", outcomes={"valid", "reformatted"})
        none = store.records(outcomes="gap")
    wanted = [
        (one["model"], one["case_id"])
        for one in found
        if one["model"] == "alpha" and one["outcome"] in {"valid", "reformatted"}
    ]
    assert [(row["model"], row["case_id"]) for row in some.to_pylist()] == wanted
    assert 0 < len(wanted) < everything == 160
    assert (none.num_rows, none.schema.names) == (0, [column.name for column in RECORDS])


@pytest.mark.parametrize("only", [{"models": "beta"}, {"conditions": "both"}, {"conditions": "opg"}])
async def test_units_that_are_not_wanted_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only: dict[str, Any]
) -> None:
    async with built_run(tmp_path, bulk_plan(30, ("alpha", "beta"), conditions=("both", "opg"))) as built:
        await fill(built)
        read: list[int] = []
        exchanges = Store.exchanges

        async def counted(self: Store, ids: Any) -> Any:
            found = await exchanges(self, ids)
            read.extend(one.id for one in found.values())
            return found

        monkeypatch.setattr(Store, "exchanges", counted)
        with harness.open_store(tmp_path / "store.sqlite3") as store:
            rows = store.records(**only).to_pylist()
    assert len(rows) == 60
    assert all(row[name.removesuffix("s")] == value for row in rows for name, value in only.items())
    assert len(read) == sum(row["sends"] for row in rows)


def test_scores_and_metrics_are_those_of_harness_score(bulk: Path, caplog: pytest.LogCaptureFixture) -> None:
    with harness.open_store(bulk) as store:
        made = store.metrics().to_pylist()
        assert "scoring run 'bulk' first: it has no stored scores" in caplog.text
        scored = command("score", "bulk", "--store", bulk, "--json").json
        caplog.clear()
        stored = store.metrics().to_pylist()
        values = store.scores().to_pylist()
    assert caplog.text == ""
    assert made == stored
    rows = {(one["kind"], one["model"], one["condition"]): one for one in scored["rows"]}
    n_metrics = 0
    for one in stored:
        row = rows[one["kind"], one["model"], one["condition"]]
        metric = row[one["reading"]][one["metric"]]
        assert (one["value"], one["n"], one["rank"]) == (metric["value"], metric["n"], row["rank"])
        assert [one["ci_low"], one["ci_high"]] == (metric["ci"] or [None, None])
        assert one["value"] is not None or one["reason"]
        n_metrics += 1
    readings = ("as_answered", "valid_only", "without_reformatter")
    assert n_metrics == sum(len(row[reading] or {}) for row in rows.values() for reading in readings)
    assert {one["reading"] for one in stored} == set(readings)
    by_unit: dict[tuple[str, ...], list[float]] = {}
    for one in values:
        if one["value"] is not None:
            by_unit.setdefault((one["model"], one["metric"]), []).append(one["value"])
    for model in ("alpha", "beta"):
        metric = rows["model", model, "both"]["as_answered"]["case_f1"]
        of_units = by_unit[model, "case_f1"]
        assert len(of_units) == metric["n"]
        assert sum(of_units) / len(of_units) == pytest.approx(metric["value"], abs=1e-12)


async def test_units_of_a_union_stand_once_in_their_own_condition(tmp_path: Path) -> None:
    plan = bulk_plan(6, ("alpha",), conditions=("both", "opg"))
    async with built_run(tmp_path, plan) as built:
        await fill(built)
    with harness.open_store(tmp_path / "store.sqlite3") as store:
        metrics, scores = store.metrics().to_pylist(), store.scores().to_pylist()
    assert {row["condition"] for row in metrics} == {"both", "opg", "ablation"}
    units = [(row["condition"], row["case_id"], row["metric"]) for row in scores]
    assert {condition for condition, _, _ in units} == {"both", "opg"}
    assert len(units) == len({*units}) == 6 * 2 * 5


async def derived(path: Path) -> dict[tuple[Any, ...], Any]:
    async with await Store.open(str(path), create=False) as store:
        run = await store.find_run()
        return {
            (one.unit.model, one.unit.condition, one.unit.case_id, one.unit.repeat, one.metric): one.value
            async for one in store.unit_scores(run.id)
        }


def test_unit_scores_are_those_of_the_derived_table(bulk: Path) -> None:
    assert command("score", "bulk", "--store", bulk, "--json").code == 0
    names = ("model", "condition", "case_id", "repeat", "metric")
    with harness.open_store(bulk) as store:
        rows = store.scores().to_pylist()
    found = {tuple(row[name] for name in names): row["value"] for row in rows}
    assert found == asyncio.run(derived(bulk))
    assert len(found) == len(rows)
    assert all((row["value"] is None) == (row["reason"] is not None) for row in rows)


async def test_a_store_on_postgres_gives_the_same_tables(
    tmp_path: Path, postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    plan, place = bulk_plan(12, ("alpha", "\u53e3")), postgres.new_store()
    async with built_run(tmp_path, plan, name="bulk") as built:
        await fill(built)
    async with await Store.open(place) as store:
        await fill(await build(store, plan, name="bulk"))
    with harness.open_store(tmp_path / "store.sqlite3") as here, harness.open_store(place) as there:
        for table in ("records", "scores", "metrics"):
            found = getattr(there, table)().to_pylist()
            assert found == getattr(here, table)().to_pylist() and found
        names = ("run", "digest", "models", "n_units", "sessions")
        (run,), (same,) = there.runs().to_pylist(), here.runs().to_pylist()
        assert [run[name] for name in names] == [same[name] for name in names]
        assert sum(batch.num_rows for batch in there.record_batches(models="alpha")) == 12
        with pytest.raises(UnknownNameError, match="unknown run 'bukl'"):
            there.records("bukl")
        assert there.place in repr(there) and "runs: 'bulk'" in repr(there)
    assert caplog.text.count("scoring run 'bulk' first") == 4  # nothing is ever written, so each call scores


def test_outdated_scores_are_never_shown(bulk: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert command("score", "bulk", "--store", bulk, "--json").code == 0

    async def one_more() -> None:
        async with await Store.open(str(bulk)) as store:
            run = await store.find_run()
            unit = next(
                UnitId("alpha", "both", f"case-{n:06d}")
                for n in range(80)
                if kind_of(UnitId("alpha", "both", f"case-{n:06d}")) == "unavailable"
            )
            built = Built(store, run, 1, BULK)
            await built.valid(unit, EXTRACTION)

    with harness.open_store(bulk) as store:
        before = store.scores(models="alpha").num_rows
        assert caplog.text == ""
        asyncio.run(one_more())
        after = store.scores(models="alpha").num_rows
    assert "have changed" in caplog.text
    assert after == before + 5  # one more unit, with its five metrics


def test_other_conventions_give_other_numbers_and_their_names_are_checked(bulk: Path) -> None:
    def macro(store: Any, **conventions: str) -> list[float]:
        rows = store.metrics(conventions=conventions).to_pylist()
        return [row["value"] for row in rows if row["metric"] == "fine.macro_f1"]

    with harness.open_store(bulk) as store:
        assert macro(store) != macro(store, zero_division="skip-empty")
        with pytest.raises(ConfigError, match="zero"):
            store.metrics(conventions={"zero_divison": "0"})


def test_pandas_and_polars_read_every_table(bulk: Path) -> None:
    tables: tuple[tuple[str, tuple[Column, ...]], ...] = (
        ("runs", RUNS), ("records", RECORDS), ("scores", SCORES), ("metrics", METRICS)
    )  # fmt: skip
    with harness.open_store(bulk) as store:
        for name, columns in tables:
            table = getattr(store, name)()
            assert table.num_rows > 0
            names = [column.name for column in columns]
            frame: Any = table.to_pandas()
            assert list(frame.columns) == names and len(frame) == table.num_rows
            polars: Any = pl.from_arrow(table)
            assert polars.columns == names and polars.height == table.num_rows
            assert isinstance(frame, pd.DataFrame)
            for column in columns:
                field = table.schema.field(column.name)
                assert field.metadata[b"about"].decode() == column.about
    scores = pl.from_arrow(harness.open_store(bulk).scores())
    assert isinstance(scores, pl.DataFrame) and scores["value"].dtype == pl.Float64


async def test_hostile_texts_survive(tmp_path: Path) -> None:  # F45
    cases = [case(name, SCALING) for name in HOSTILE]
    async with built_run(tmp_path, Plan(cases, attempts=1)) as built:
        for name, text in HOSTILE.items():
            unit = UnitId("alpha", "both", name)
            await built.valid(unit, text=answer(SCALING, reasoning=text))
    with harness.open_store(tmp_path / "store.sqlite3") as store:
        rows = {row["case_id"]: row for row in store.records(exchanges=True).to_pylist()}
    for name, text in HOSTILE.items():
        assert json.loads(rows[name]["prediction"])["reasoning"] == text
        [exchange] = json.loads(rows[name]["exchanges"])
        assert exchange["text"] == rows[name]["text"] == answer(SCALING, reasoning=text)
        assert rows[name]["escaped"] is None  # a JSON answer has escapes of its own


async def test_text_that_arrow_cannot_hold_is_escaped_and_no_other(tmp_path: Path) -> None:  # F45
    cases = [case(name, SCALING) for name in HOSTILE]
    async with built_run(tmp_path, Plan(cases, attempts=1)) as built:
        for name, text in HOSTILE.items():
            await built.answers(UnitId("alpha", "both", name), UnitOutcome.UNPARSABLE, text)
    with harness.open_store(tmp_path / "store.sqlite3") as store:
        table = store.records()
    rows = {row["case_id"]: row for row in table.to_pylist()}
    assert {name: unescaped(row, "text") for name, row in rows.items()} == HOSTILE
    assert {name: row["escaped"] for name, row in rows.items() if row["escaped"]} == {"surrogate": ["text"]}
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    texts = dict(zip(frame["case_id"], frame["text"], strict=True))
    assert texts.pop("surrogate") == escape_cell(HOSTILE["surrogate"])
    assert texts == {name: text for name, text in HOSTILE.items() if name != "surrogate"}


async def test_it_works_while_an_event_loop_runs_and_others_write(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan([case("c1", SCALING), case("c2")])) as built:
        store = harness.open_store(tmp_path / "store.sqlite3")  # as Jupyter does it: within a running loop
        assert [row["outcome"] for row in store.records().to_pylist()] == ["not_attempted"] * 2
        await built.valid(UnitId("alpha", "both", "c1"), SCALING)
        assert [row["outcome"] for row in store.records().to_pylist()] == ["valid", "not_attempted"]
        await built.valid(UnitId("alpha", "both", "c2"))
        assert store.records(outcomes="valid").num_rows == 2


def small_store(folder: Path) -> Path:
    async def make() -> None:
        async with built_run(folder, Plan([case("c1", SCALING)]), name="night") as built:
            await built.valid(UnitId("alpha", "both", "c1"), SCALING)

    asyncio.run(make())
    return folder / "store.sqlite3"


def test_the_store_and_its_folder_stay_as_they_are(tmp_path: Path) -> None:
    path = small_store(tmp_path)
    before = {one.name: (sha256(one), one.stat().st_mtime_ns) for one in tmp_path.iterdir()}
    with harness.open_store(path) as store:
        for ask in (store.runs, store.records, store.scores, store.metrics):
            assert ask().num_rows > 0
    assert {one.name: (sha256(one), one.stat().st_mtime_ns) for one in tmp_path.iterdir()} == before


async def test_nothing_can_be_written_through_it(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    async with built_run(tmp_path, Plan([case("c1")])):
        pass
    async with await Store.open(str(path), only_read=True) as store:
        assert store.read_only
        with pytest.raises(StoreError, match="can only be read"):
            await store.put_blobs([b"new"])


def test_a_log_with_commits_is_read_and_left_behind(tmp_path: Path) -> None:
    path = small_store(tmp_path)
    other = tmp_path / "killed" / "store.sqlite3"
    other.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_autocheckpoint=0")
        database.execute("UPDATE run SET name = 'renamed'")
        database.commit()
        for end in ("", "-wal"):
            other.with_name(f"store.sqlite3{end}").write_bytes(path.with_name(f"store.sqlite3{end}").read_bytes())
    database.close()
    log = other.with_name("store.sqlite3-wal")
    before = sha256(other), sha256(log)
    with harness.open_store(other) as store:
        assert store.runs()["run"].to_pylist() == ["renamed"]
        assert store.records().num_rows == 1
    assert (sha256(other), sha256(log)) == before


@pytest.mark.parametrize(("version", "words"), [(1, "older version"), (99, "newer version")])
def test_a_store_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, version: int, words: str
) -> None:
    path = small_store(tmp_path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (str(version),))
        database.execute(f"PRAGMA user_version = {version}")
        database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    before = sha256(path), sorted(one.name for one in tmp_path.iterdir())
    with pytest.raises(StoreVersionError, match=f"version {version}, written by an? {words}"):
        harness.open_store(path)
    assert (sha256(path), sorted(one.name for one in tmp_path.iterdir())) == before


def test_no_store_is_made_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        harness.open_store()
    with pytest.raises(StoreError, match="there is no store at"):
        harness.open_store(tmp_path / "away" / "store.sqlite3")
    (tmp_path / "empty").touch()
    with pytest.raises(NotAStoreError, match="is empty"):
        harness.open_store(tmp_path / "empty")
    (tmp_path / "notes").write_text("no store")
    with pytest.raises(NotAStoreError, match="no store of this program"):
        harness.open_store(str(tmp_path / "notes"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["empty", "notes"]
    assert (tmp_path / "empty").stat().st_size == 0


def test_it_is_found_as_the_command_line_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = small_store(tmp_path)
    below = tmp_path / "work" / "deeper"
    below.mkdir(parents=True)
    (tmp_path / "harness.toml").write_text('store = "store.sqlite3"\n', encoding="utf-8")
    monkeypatch.chdir(below)
    assert harness.open_store().place == str(path)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("HARNESS_STORE", str(small_store(other)))
    assert harness.open_store().place == str(other / "store.sqlite3")


def test_wrong_names_are_answered_with_the_near_ones(bulk: Path) -> None:
    with harness.open_store(bulk) as store:
        with pytest.raises(UnknownNameError, match="unknown run 'night'; known: bulk"):
            store.records("night")
        with pytest.raises(UnknownNameError, match="no model 'alpa' in run 'bulk'; did you mean 'alpha'"):
            store.records(models="alpa")
        with pytest.raises(UnknownNameError, match="no condition 'bothh' in run 'bulk'; did you mean 'both'"):
            store.scores(conditions=["both", "bothh"])
        with pytest.raises(UnknownNameError, match="no outcome 'vald'; did you mean 'valid'"):
            store.records(outcomes=["vald"])
        with pytest.raises(UnknownNameError, match="no kind 'modell'; did you mean 'model'"):
            store.scores(kinds="modell")


def test_it_says_what_it_is_and_is_closed_for_good(bulk: Path) -> None:
    store = harness.open_store(bulk)
    assert repr(store) == (
        f"<harness store {str(bulk)!r}; runs: 'bulk'; .runs() .records(run) .scores(run) .metrics(run)>"
    )
    store.close()
    store.close()
    assert repr(store).endswith("; closed>")
    for ask in (store.runs, store.records, store.record_batches, store.scores, store.metrics):
        with pytest.raises(ValueError, match="is closed"):
            ask()


def test_batches_hold_a_thousand_units_and_stopping_early_ends_their_thread(
    bulk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.notebook.notebook_store.UNITS_A_BATCH", 50)
    with harness.open_store(bulk) as store:
        assert [batch.num_rows for batch in store.record_batches()] == [50, 50, 50, 10]
        reader = store.record_batches()
        assert next(iter(reader)).num_rows == 50
        assert "harness store" in [thread.name for thread in threading.enumerate()]
        del reader
        gc.collect()
    assert "harness store" not in [thread.name for thread in threading.enumerate()]


def test_importing_the_package_brings_in_neither_pyarrow_nor_the_store() -> None:  # F48
    code = "import harness, sys; print(*sys.modules)"
    named = program(code).stdout.split()
    assert not {"pyarrow", "numpy", "sqlalchemy", "asyncio", "harness.cache", "harness.notebook"} & {*named}
    assert "harness" in named


def program(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_a_program_ends_that_left_a_reader_half_read(bulk: Path) -> None:
    code = (
        "import harness, harness.notebook.notebook_store as n; n.UNITS_A_BATCH = 10\n"
        f"reader = harness.open_store({str(bulk)!r}).record_batches(); print(next(iter(reader)).num_rows)"
    )
    done = program(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10\n", "")


def test_without_pyarrow_it_says_what_to_install(bulk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = harness.open_store(bulk)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="need the package 'pyarrow'"):
        store.records()


small_judge = pytest.fixture(with_small_judge)


@pytest.mark.usefixtures("small_judge")
def test_a_steps_units_name_whose_answers_they_are_about(tmp_path: Path) -> None:
    ready_source(tmp_path, 3, models="a,b")
    with ScriptedServer(answering) as server:
        write_config(tmp_path, server.url, ("a", "b", "j"))
        assert command(*step_args(tmp_path)).code == 0
    with harness.open_store(tmp_path / "store.sqlite3") as store:
        runs = store.runs().to_pylist()
        records = store.records().to_pylist()
        scores = store.scores().to_pylist()
    assert [(row["benchmark"], row["source"]) for row in runs] == [
        ("triage.judge", runs[1]["digest"]), ("triage", None)
    ]  # fmt: skip
    about = [(row["model"], row["about_model"], row["about_case_id"], row["about_repeat"]) for row in records]
    assert about == [("j", name, f"c{n:03}", 1) for name in "ab" for n in range(3)]
    assert {(row["model"], row["condition"], row["metric"]) for row in scores} == {
        ("a", "both", "share"), ("b", "both", "share")
    }  # fmt: skip
    assert [row["value"] for row in scores if row["model"] == "b"] == [0.0, 1.0, 0.0]


class Opened:
    """Something to open and to close, which takes its time; it notes what happens to it."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[list[str]]:
        try:
            yield self.events
        finally:
            self.events.append("closing")
            for _ in range(20):
                await asyncio.sleep(0)
            self.events.append("closed")


async def forever(events: list[str]) -> AsyncIterator[int]:
    for number in itertools.count():
        yield number


async def one(events: list[str]) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("work", [forever, one])
def test_who_stops_early_never_cuts_the_closing_short(work: Any) -> None:
    for _ in range(50):  # the iterator that ends by itself is mostly caught while it is being closed
        opened = Opened()
        items: Any = stream_apart(opened.open, work)
        assert next(items) in (0, 1)
        items.close()
        assert opened.events == ["closing", "closed"]
    assert "harness store" not in [thread.name for thread in threading.enumerate()]


def test_an_error_in_the_thread_reaches_the_caller_once_all_is_closed() -> None:
    opened = Opened()

    async def broken(events: list[str]) -> int:
        raise StoreError("it broke")

    with pytest.raises(StoreError, match="it broke"):
        run_apart(opened.open, broken)
    assert opened.events == ["closing", "closed"]


def test_an_interrupt_ends_the_work_before_it_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, begun = Opened(), threading.Event()

    async def slow(events: list[str]) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("cancelled")

    def interrupted(self: Any, timeout: float | None = None) -> None:
        assert begun.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr("queue.Queue.get", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_apart(opened.open, slow)
    assert opened.events == ["cancelled", "closing", "closed"]
    assert "harness store" not in [thread.name for thread in threading.enumerate()]


def test_a_store_is_closed_whole_by_who_takes_only_what_is_there(
    bulk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = harness.open_store(bulk)
    for _ in range(20):
        assert next(iter(store.record_batches(models="alpha"))).num_rows == 80
    assert caplog.text == ""
