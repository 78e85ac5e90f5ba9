"""The file itself: recognised, private, migrated, opened for reading."""

# ruff: noqa: ASYNC240  (nothing else runs in these loops)

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from store_examples import a_key, a_session, an_exchange

import harness
from harness.cache import files
from harness.cache.database import Transaction
from harness.cache.dialects import APPLICATION_ID
from harness.cache.store import Store
from harness.cache.tables import SCHEMA_VERSION
from harness.errors import NotAStoreError, StoreError, StoreVersionError

READER = Path(__file__).with_name("store_opened_for_reading.py")
WRITER = Path(__file__).with_name("store_written_once.py")
LEAVE_THE_LOG = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0).execute("PRAGMA journal_mode=DELETE")
except sqlite3.OperationalError as error:
    sys.stdout.write(str(error))
"""


async def filled(path: Path, exchanges: int = 3) -> None:
    async with await Store.open(str(path)) as store:
        _, session = await a_session(store)
        for n in range(exchanges):
            await store.append(an_exchange(n), session=session, serve=True)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_only_the_owner_can_read_the_store_and_its_side_files(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "store.sqlite3"
    async with await Store.open(str(path)) as store:
        await a_session(store)
        names = sorted(item.name for item in path.parent.iterdir())
        assert names == ["store.sqlite3", "store.sqlite3-shm", "store.sqlite3-wal"]
        assert {mode(item) for item in path.parent.iterdir()} == {0o600}


async def test_a_closed_store_is_one_file(store_path: Path) -> None:
    await filled(store_path)
    assert [item.name for item in store_path.parent.iterdir()] == [store_path.name]


async def test_a_missing_store_is_not_made_where_that_is_not_wanted(store_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        await Store.open(str(store_path), create=False)
    assert not store_path.exists()


async def test_a_place_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot create a store at"):
        await Store.open(str(tmp_path / "file" / "store.sqlite3"))


async def test_the_stores_address_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with await Store.open("s.db") as store:
        assert store.url == f"sqlite+aiosqlite:///{tmp_path / 's.db'}"


async def test_writes_are_flushed_to_the_disk_before_they_count(store_path: Path) -> None:  # F23
    async with await Store.open(str(store_path)) as store, store._database.writing() as transaction:
        settings = [
            (await transaction.connection.execute(text(f"PRAGMA {name}"))).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert settings == ["wal", 2, 1]


@pytest.mark.parametrize("content", [b"a picture\n", b"SQLite format 3\x00", b"\x00" * 4096])
async def test_a_file_of_another_kind_is_refused_and_untouched(store_path: Path, content: bytes) -> None:
    store_path.write_bytes(content)
    with pytest.raises(NotAStoreError, match="is no store of this program"):
        await Store.open(str(store_path))
    assert store_path.read_bytes() == content
    assert list(store_path.parent.iterdir()) == [store_path]


async def test_another_programs_database_is_refused_and_untouched(store_path: Path) -> None:
    with closing(sqlite3.connect(store_path)) as other:
        other.execute("CREATE TABLE exchange (id)")
        other.commit()
    before = store_path.read_bytes()
    with pytest.raises(NotAStoreError):
        await Store.open(str(store_path))
    assert store_path.read_bytes() == before
    assert list(store_path.parent.iterdir()) == [store_path]


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(NotAStoreError, match="is a folder"):
        await Store.open(str(tmp_path))


def test_a_file_that_cannot_be_opened_is_named_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 250) / ("b" * 250)  # longer than SQLite takes
    folder.mkdir(parents=True)
    path = folder / "store.sqlite3"
    with pytest.raises(StoreError, match=r"store.sqlite3' \(No such file or directory\); check its path"):
        files.check_file(path)
    path.write_bytes(b"x" * 200)
    with pytest.raises(StoreError, match=r"store.sqlite3' \(unable to open database file\); check its path"):
        files.check_file(path)


async def test_a_newer_store_is_refused_and_untouched(store_path: Path) -> None:
    await filled(store_path)
    set_version(store_path, 99)
    before = store_path.read_bytes()
    with pytest.raises(StoreVersionError, match="has version 99, written by a newer version"):
        await Store.open(str(store_path))
    assert store_path.read_bytes() == before
    assert list(store_path.parent.iterdir()) == [store_path]


async def test_a_newer_store_is_known_by_its_tables_too(store_path: Path) -> None:
    await filled(store_path)
    set_version(store_path, 99, header=1)
    with pytest.raises(StoreVersionError, match="has version 99"):
        await Store.open(str(store_path))


async def test_an_empty_file_becomes_a_store(store_path: Path) -> None:
    store_path.touch()
    await filled(store_path)
    assert int.from_bytes(store_path.read_bytes()[68:72], "big") == APPLICATION_ID


async def test_a_store_whose_making_was_interrupted_is_made_whole(store_path: Path) -> None:  # F23
    with closing(sqlite3.connect(store_path)) as half:
        half.execute(f"PRAGMA application_id={APPLICATION_ID}")
    await filled(store_path)
    async with await Store.open(str(store_path)) as store:
        assert (await store.stats())["exchanges"] == 3


def set_version(path: Path, version: int, *, header: int | None = None) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (str(version),))
        database.execute(f"PRAGMA user_version={version if header is None else header}")
        database.commit()


async def add_column(transaction: Transaction) -> None:
    await transaction.connection.execute(text("ALTER TABLE blob ADD COLUMN added INTEGER"))


async def add_column_too(transaction: Transaction) -> None:
    await transaction.connection.execute(text("ALTER TABLE blob ADD COLUMN added_too INTEGER"))


async def nothing(_transaction: Transaction) -> None:
    """A version that changed nothing."""


async def test_an_older_store_is_migrated_after_a_backup(store_path: Path) -> None:
    await filled(store_path)
    set_version(store_path, 0)
    warnings: list[str] = []
    steps = {0: add_column, 1: add_column_too, 2: nothing, 3: nothing}
    async with await Store.open(str(store_path), migrations=steps, warn=warnings.append) as store:
        assert len(await store.served([a_key(0), a_key(1), a_key(2)])) == 3
    backup = store_path.with_name("store.sqlite3.v0-backup-1")
    assert mode(backup) == 0o600
    assert [str(backup) in warning for warning in warnings] == [True]
    assert columns(backup, "blob") == ["sha256", "data"]
    assert columns(store_path, "blob") == ["sha256", "data", "added", "added_too"]
    assert (rows(backup), version(backup), version(store_path)) == (3, "0", str(SCHEMA_VERSION))
    async with await Store.open(str(store_path), migrations={}) as store:
        assert await store.verify() == []


async def test_a_migration_that_fails_leaves_the_older_store(store_path: Path) -> None:
    async def fails(transaction: Transaction) -> None:
        await add_column_too(transaction)
        await transaction.connection.execute(text("SELECT nonsense"))

    await filled(store_path)
    set_version(store_path, 0)
    with pytest.raises(StoreError):
        await Store.open(str(store_path), migrations={0: add_column, 1: fails})
    assert (columns(store_path, "blob"), version(store_path)) == (["sha256", "data"], "0")


async def test_a_store_too_old_to_migrate_is_refused(store_path: Path) -> None:
    await filled(store_path)
    set_version(store_path, 0)
    with pytest.raises(StoreVersionError, match="too old for this program"):
        await Store.open(str(store_path))
    assert [item.name for item in store_path.parent.iterdir()] == [store_path.name]


def columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("SELECT count(*) FROM exchange").fetchone()[0])


def version(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        return str(database.execute("SELECT value FROM meta").fetchone()[0])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "folder"
    made.mkdir()
    yield made
    made.chmod(0o755)


def read_where_writing_is_forbidden(path: Path) -> str:
    """Return what the reader said; root has to lose the power to write everywhere first."""
    command = [sys.executable, str(READER), str(path)]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may write everywhere, and there is no setpriv")
        command = [setpriv, "--bounding-set=-dac_override,-dac_read_search", *command]
    package = Path(harness.__file__).parents[1]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_store_in_a_read_only_folder_is_open_for_reading(folder: Path) -> None:
    path = folder / "store.sqlite3"
    await filled(path)
    path.chmod(0o444)
    folder.chmod(0o555)
    said = read_where_writing_is_forbidden(path)
    assert said.startswith("3 ")
    assert "can only be read; make its file and folder writable" in said


async def test_a_read_only_file_is_open_for_reading(folder: Path) -> None:
    path = folder / "store.sqlite3"
    await filled(path)
    path.chmod(0o444)
    assert read_where_writing_is_forbidden(path).startswith("3 ")




async def test_reading_only_is_warned_about_and_writing_refused(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(store_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    warnings: list[str] = []
    async with await Store.open(str(store_path), warn=warnings.append) as store:
        assert (store.read_only, len(warnings)) == (True, 1)
        assert len(await store.served([a_key(n) for n in range(3)])) == 3
        for write in (store.put_blob(b"x"), store.claim("k"), store.save_run(None, "b" * 64, "triage", {})):
            with pytest.raises(StoreError, match="can only be read"):
                await write


def test_a_read_only_store_with_commits_in_its_log_is_never_read_without_them(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    store_path.touch()
    assert files.ways_to_open(store_path) == ("ro", "immutable")
    store_path.with_name("store.sqlite3-wal").write_bytes(b"frames")
    assert files.ways_to_open(store_path) == ("ro",)


async def test_a_store_that_is_opened_twice_keeps_its_locks(store_path: Path) -> None:  # F44
    """As the viewer does it: others who come and go must not think themselves alone and take the log away."""
    await filled(store_path)
    log = store_path.with_name(f"{store_path.name}-wal")
    async with await Store.open(str(store_path), only_read=True) as first:
        await first.stats()
        async with await Store.open(str(store_path), only_read=True) as second:
            for exchanges in (4, 5):
                await asyncio.to_thread(in_a_process, str(WRITER), str(store_path))
                assert log.exists()
                assert [(await store.stats())["exchanges"] for store in (first, second)] == [exchanges] * 2
        said = await asyncio.to_thread(in_a_process, "-c", LEAVE_THE_LOG, str(store_path))
        assert said == "database is locked"
        assert (await first.stats())["exchanges"] == 5


def in_a_process(*command: str) -> str:
    """Return what another process said, which has to succeed."""
    package, tests = Path(harness.__file__).parents[1], READER.parents[1]
    paths = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{tests}"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=60, check=False, env=paths
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_kind_of_file_system_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda / ext4 rw 0 0\n"
        "server:/x /mnt/my\\040data nfs4 rw 0 0\n"
        "tmpfs /mnt/my\\040data/local tmpfs rw 0 0\n",
        encoding="utf-8",
    )
    kinds = {
        place: files.network_file_system(Path(place), mounts=mounts)
        for place in ("/home/s.db", "/mnt/my data/a/s.db", "/mnt/my data/local/s.db", "/mnt/my database/s.db")
    }
    assert kinds == {
        "/home/s.db": None,
        "/mnt/my data/a/s.db": "nfs4",
        "/mnt/my data/local/s.db": None,
        "/mnt/my database/s.db": None,
    }


def test_where_mounts_cannot_be_read_nothing_is_claimed(tmp_path: Path) -> None:
    assert files.network_file_system(tmp_path, mounts=tmp_path / "none") is None


async def test_a_network_file_system_is_warned_about(store_path: Path, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} nfs rw 0 0\n", encoding="utf-8")
    warnings: list[str] = []
    async with await Store.open(str(store_path), mounts=mounts, warn=warnings.append):
        pass
    assert ["network file system (nfs)" in warning for warning in warnings] == [True]
