"""A backup is a whole store or nothing."""

from __future__ import annotations

import asyncio
import resource
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from store_examples import a_session, an_exchange, dump
from sweep_kit import harness

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.errors import ConfigError, StoreError

WORKER = Path(__file__).with_name("store_worker.py")

ON_SQLITE = pytest.mark.parametrize("empty_place", ["sqlite"], indirect=True)
"""For tests that look into the file itself."""


async def filled(store: Store, count: int = 3) -> None:
    run, session = await a_session(store)
    for number in range(count):
        link = (run, UnitId("m", "both", str(number)))
        await store.append(an_exchange(number), session=session, serve=True, link=link)


def spoil(path: Path) -> None:
    """Damage the pages of a store in which its exchanges lie."""
    content = bytearray(path.read_bytes())
    for place in range(len(content) // 2 // 4096 * 4096, len(content), 4096):
        content[place : place + 64] = b"\xff" * 64
    path.write_bytes(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@ON_SQLITE
async def test_a_backup_holds_everything_and_is_private(
    store: Store, store_path: Path, tmp_path: Path
) -> None:
    await filled(store)
    target = tmp_path / "copies" / "b.sqlite3"
    target.parent.mkdir()
    made = await store.backup(target)
    assert (made.runs, made.exchanges, made.size) == (1, 3, target.stat().st_size)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert dump(target) == dump(store_path)
    assert names(target.parent) == ["b.sqlite3"]
    async with await Store.open(str(target), create=False) as copy:
        assert await copy.verify() == []
        assert not copy.read_only


async def test_nothing_is_overwritten(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "b.sqlite3"
    target.write_text("precious")
    with pytest.raises(ConfigError, match="nothing is overwritten"):
        await store.backup(target)
    assert target.read_text() == "precious"
    dangling = tmp_path / "link.sqlite3"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="exists already"):
        await store.backup(dangling)


async def test_a_name_that_was_taken_meanwhile_is_left_alone(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copies" / "b.sqlite3"
    target.parent.mkdir()
    copy = store._database.dialect.backup

    async def slow(connection: object, place: Path) -> None:
        await copy(connection, place)  # type: ignore[arg-type]
        target.write_text("precious")

    monkeypatch.setattr(store._database.dialect, "backup", slow)
    with pytest.raises(ConfigError, match="made meanwhile"):
        await store.backup(target)
    assert target.read_text() == "precious"
    assert names(target.parent) == ["b.sqlite3"]


async def test_a_folder_that_does_not_exist_is_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no folder .*nowhere"):
        await store.backup(tmp_path / "nowhere" / "b.sqlite3")


async def test_a_copy_that_lacks_something_is_deleted(
    store: Store, tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(store)

    async def poor(connection: object, place: Path) -> None:
        shutil.copy(empty_store, place)

    monkeypatch.setattr(store._database.dialect, "backup", poor)
    folder = tmp_path / "copies"
    folder.mkdir()
    with pytest.raises(StoreError, match="lacks entries"):
        await store.backup(folder / "b.sqlite3")
    assert names(folder) == []


async def test_a_damaged_store_gives_no_backup_that_looks_sound(store_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    async with await Store.open(str(store_path)) as store:
        await filled(store, 300)
    spoil(store_path)
    async with await Store.open(str(store_path)) as store:
        with pytest.raises(StoreError, match=r"damaged|not sound"):
            await store.backup(folder / "b.sqlite3")
    assert names(folder) == []


async def test_a_store_for_reading_only_can_be_copied(
    store_path: Path, empty_store: Path, tmp_path: Path
) -> None:
    shutil.copy(empty_store, store_path)
    async with await Store.open(str(store_path)) as store:
        await filled(store)
    from harness.cache.database import Database
    from harness.cache.dialects import SqliteDialect

    reader = Store(str(store_path), Database(SqliteDialect(store_path), str(store_path), "ro"))
    try:
        assert (await reader.backup(tmp_path / "b.sqlite3")).exchanges == 3
    finally:
        await reader._database.close()


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_behind(store_path: Path, tmp_path: Path) -> None:
    async def make() -> None:
        async with await Store.open(str(store_path)) as store:
            await filled(store, 200)

    asyncio.run(make())
    folder = tmp_path / "copies"
    folder.mkdir()

    def no_large_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    command = [sys.executable, "-m", "harness", "store", "backup", str(folder / "b.sqlite3")]
    done = subprocess.run(
        [*command, "--store", str(store_path)], preexec_fn=no_large_files, capture_output=True, text=True
    )
    assert store_path.stat().st_size > 100_000
    assert (done.returncode, names(folder)) == (1, []), done.stderr
    assert done.stderr.count("\n") == 2 and "the backup" in done.stderr, done.stderr


def test_a_backup_while_a_process_writes_is_consistent(store_path: Path, tmp_path: Path) -> None:  # F44
    command = [sys.executable, str(WORKER), "append_for_ever", str(store_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for turn in range(3):
                committed = int(process.stdout.readline())
                done = harness("store", "backup", tmp_path / f"{turn}", "--store", store_path, "--json")
                assert done.code == 0, done.err
                assert done.json["exchanges"] >= committed
                # As many links as exchanges: both were made in one commit.
                found = dump(tmp_path / f"{turn}")
                assert len(found["unit_exchange"]) == len(found["exchange"]) == done.json["exchanges"]
        finally:
            process.kill()


def test_scores_from_a_backup_are_the_same_to_the_byte(tmp_path: Path) -> None:
    store, copy = tmp_path / "store.sqlite3", tmp_path / "copy.sqlite3"
    args = ("--benchmark", "triage", "--models", "sim/messy", "--limit", "3", "--store", store)
    assert harness("run", *args).code == 0
    done = harness("store", "backup", copy, "--store", store)
    assert done.code == 0 and "checked and sound" in done.out
    scores = [harness("score", "--json", "--store", place) for place in (store, copy)]
    assert scores[0].out == scores[1].out and scores[0].code == scores[1].code == 0
    # A restored store is a store: the run goes on from it, with nothing left to ask.
    again = harness("run", *args[:-1], copy)
    assert again.code == 0 and "nothing is left to ask" in again.err
