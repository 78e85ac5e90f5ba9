"""Vacuuming a store: what goes, what stays, and who keeps it from working."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from store_examples import a_session, an_exchange, dump
from sweep_kit import harness

from harness.cache.derived import RecordRow, record_values
from harness.cache.owner import Owner
from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store
from harness.canonical import sha256_hex
from harness.outcomes import UnitOutcome

WORKER = Path(__file__).with_name("store_worker.py")
ONE = UnitId("m", "both", "1")
IMAGE, LOST = b"an image that a case shows", b"an image that no case shows"


def vacuum(path: Path, *more: str) -> Any:
    done = harness("store", "vacuum", "--store", path, "--json", *more)
    assert done.code == 0, done.err
    return done.json


@pytest.fixture
def filled(store_path: Path) -> Path:
    """A store with one run, what it refers to, and what nothing refers to."""

    async def fill() -> None:
        async with await Store.open(str(store_path)) as store:
            part = json.dumps({"media": [sha256_hex(IMAGE)]}).encode()
            snapshot = json.dumps({"parts": [sha256_hex(part)]}).encode()
            await store.put_blobs([b"prompt", snapshot, part, IMAGE, LOST, os.urandom(300_000)])
            manifest = {"cases": {"id": "cases", "sha256": sha256_hex(snapshot)},
                        "prompt": {"id": "p", "sha256": sha256_hex(b"prompt")}}  # fmt: skip
            run = await store.save_run("night", "a" * 64, "triage", manifest)
            session = await store.start_session(run.id, {"version": "0"})
            id = await store.append(an_exchange(), session=session, serve=True, link=(run.id, ONE))
            state = UnitState(ONE, UnitOutcome.VALID)
            await store.finish_unit(run.id, state, [Link(id, "answer", 1, used=True)])
            await store.replace_records(
                run.id, [record_values(run.id, RecordRow(ONE, UnitOutcome.VALID, None, None, "", "p"))]
            )

    asyncio.run(fill())
    return store_path


def blobs(path: Path) -> set[str]:
    return {row[0] for row in dump(path)["blob"]}


def test_what_nothing_refers_to_goes_and_all_else_stays(filled: Path) -> None:
    before = dump(filled)
    done = vacuum(filled)
    assert (done["blobs"], done["derived"]) == (2, 0)
    assert done["bytes_before"] - done["bytes_after"] > 250_000
    assert done["bytes_after"] == filled.stat().st_size
    after = dump(filled)
    assert sha256_hex(IMAGE) in blobs(filled) and sha256_hex(LOST) not in blobs(filled)
    assert len(after["blob"]) == 4
    for table in before:
        assert table == "blob" or before[table] == after[table], table
    assert harness("store", "verify", "--store", filled).code == 0
    assert vacuum(filled)["blobs"] == 0


def test_derived_tables_go_only_when_asked(filled: Path) -> None:
    assert vacuum(filled, "--derived")["derived"] == 1
    assert dump(filled)["record"] == []


def test_kept_bytes_of_media_go_where_no_case_shows_them(filled: Path) -> None:
    with sqlite3.connect(filled) as database:
        for data in (IMAGE, LOST):
            row = (sha256_hex(data), "image/png", 1, 1, 1, data)
            database.execute("INSERT INTO media VALUES (?, ?, ?, ?, ?, ?, NULL)", row)
    database.close()
    assert vacuum(filled)["media"] == 1
    kept = {row[0]: row[5] for row in dump(filled)["media"]}
    assert kept == {sha256_hex(IMAGE): IMAGE, sha256_hex(LOST): None}


def claim(path: Path, owner: Owner, expires_at_us: int) -> None:
    with sqlite3.connect(path) as database:
        row = ("k", "t", owner.document(), expires_at_us)
        database.execute("INSERT INTO claim VALUES (?, ?, ?, ?)", row)
    database.close()


def test_lapsed_claims_go(filled: Path) -> None:
    claim(filled, Owner("another machine", "b", 1, "1"), 5)
    assert vacuum(filled)["claims"] == 1


def test_a_claim_of_another_machine_that_holds_is_a_process_at_work(filled: Path) -> None:
    claim(filled, Owner("another machine", "b", 1, "1"), 2**60)
    before = dump(filled)
    done = harness("store", "vacuum", "--store", filled)
    assert (done.code, "being asked right now" in done.err) == (1, True), done.err
    assert dump(filled) == before
    assert journal_mode(filled) == "wal"


def journal_mode(path: Path) -> str:
    with sqlite3.connect(path) as database:
        (mode,) = database.execute("PRAGMA journal_mode").fetchone()
    database.close()
    return str(mode)


def test_a_store_that_another_process_has_open_is_left_alone(filled: Path) -> None:
    before = dump(filled)
    command = [sys.executable, str(WORKER), "hold", str(filled), "k"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "True\n"
        done = harness("store", "vacuum", "--store", filled)
        process.stdin.write("\n")
        process.stdin.flush()
    assert (done.code, "in use by another process" in done.err) == (1, True), done.err
    assert dump(filled) == before
    assert vacuum(filled)["blobs"] == 2


def test_afterwards_the_store_is_as_it_was_for_everyone(filled: Path) -> None:
    vacuum(filled)
    assert journal_mode(filled) == "wal"
    assert oct(filled.stat().st_mode & 0o777) == "0o600"

    async def use() -> int:
        async with await Store.open(str(filled), create=False) as store:
            _, session = await a_session(store, "more", "b" * 64)
            return await store.append(an_exchange("two"), session=session, serve=True)

    assert asyncio.run(use()) == 2


def limited(path: Path, most: int) -> subprocess.CompletedProcess[str]:
    def no_large_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [sys.executable, "-m", "harness", "store", "vacuum", "--store", str(path)]
    return subprocess.run(command, preexec_fn=no_large_files, capture_output=True, text=True)


@pytest.mark.slow
def test_a_full_disk_loses_nothing(filled: Path) -> None:
    async def grow() -> None:
        async with await Store.open(str(filled)) as store:
            _, session = await a_session(store, "night")
            for _ in range(60):
                await store.append(an_exchange(os.urandom(8_000).hex()), session=session, serve=True)

    asyncio.run(grow())
    vital = ("run", "session", "exchange", "served", "unit", "unit_exchange", "grade")
    before = dump(filled)
    done = limited(filled, 300_000)
    assert done.returncode == 1 and done.stderr.count("\n") == 2, done.stderr
    after = dump(filled)
    assert {name: before[name] for name in vital} == {name: after[name] for name in vital}
    assert vacuum(filled)["bytes_after"] < 2_000_000


def test_a_vacuum_that_is_killed_loses_nothing(filled: Path, tmp_path: Path) -> None:  # F23
    code = (
        "import asyncio, os, signal, sys\nfrom pathlib import Path\n"
        "from harness.cache.dialects import SqliteDialect\nfrom harness.cache.vacuum import vacuum\n"
        "async def killed(self, connection): os.kill(os.getpid(), signal.SIGKILL)\n"
        "SqliteDialect.compact = killed\n"
        "asyncio.run(vacuum(Path(sys.argv[1]), derived=False))\n"
    )
    before = dump(filled)
    done = subprocess.run([sys.executable, "-c", code, str(filled)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    after = dump(filled)
    assert before["exchange"] == after["exchange"] and len(after["blob"]) == 4
    assert vacuum(filled)["blobs"] == 0
    assert journal_mode(filled) == "wal"


def test_a_sweep_keeps_its_images_prompts_and_scores(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    args = ("--benchmark", "triage", "--models", "sim/messy", "--limit", "3", "--store", store)
    assert harness("run", *args, "--keep-media").code == 0
    score, kept = harness("score", "--json", "--store", store).out, blobs(store)
    done = vacuum(store, "--derived")
    assert (done["blobs"], done["media"]) == (0, 0) and done["derived"] > 0
    assert blobs(store) == kept
    assert harness("score", "--json", "--store", store).out == score
    assert harness("store", "verify", "--store", store).code == 0


def test_a_database_that_is_no_file_is_pointed_to_its_own_means() -> None:
    done = harness("store", "vacuum", "--store", "postgresql+asyncpg://me:hush-hush@db/store")
    assert (done.code, "VACUUM FULL in psql" in done.err, "hush" in done.err) == (2, True, False), done.err
