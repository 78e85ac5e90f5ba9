"""Fingerprints: which files need not be read again, and which must."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cache import media_index
from harness.cache.store import Store
from harness.media import Media
from harness.media_reading import Note, Stamp

PATH = Path("/data/one \udcff.png")
MEDIA = Media("1" * 64, "image/png", 100, 30, 20, PATH, plain=True)
READ_AT_US = 1_700_000_000_000_000
STAMP = Stamp(100, 1_600_000_000_000_000_001, 1_600_000_000_000_000_002, 7)


def note(media: Media = MEDIA, stamp: Stamp = STAMP, read_at_us: int = READ_AT_US) -> Note:
    return Note(media, stamp, read_at_us)


async def known(store: Store, stamp: Stamp, path: Path = PATH) -> Media | None:
    return (await store.remembered({path: stamp})).get(path)


async def test_an_unchanged_file_is_known_with_all_that_was_seen(store: Store) -> None:
    await store.remember([note(), note(replace(MEDIA, sha256="2" * 64, path=Path("/data/b"), plain=False))])
    found = await known(store, STAMP)
    assert found == MEDIA and found.plain is True
    other = await known(store, STAMP, Path("/data/b"))
    assert other is not None and other.plain is False


@pytest.mark.parametrize(
    "change", [{"size": 101}, {"mtime_ns": 1}, {"ctime_ns": 1}, {"inode": 8}], ids=lambda one: next(iter(one))
)
async def test_a_file_that_differs_in_any_part_is_read_again(store: Store, change: dict[str, Any]) -> None:
    # F4: an editor that keeps size and mtime still changes ctime or inode
    await store.remember([note()])
    assert await known(store, replace(STAMP, **change)) is None
    assert await known(store, STAMP, Path("/data/other.png")) is None


@pytest.mark.parametrize("part", ["mtime_ns", "ctime_ns"])
@pytest.mark.parametrize(("age_s", "settled"), [(0, False), (1.9, False), (2, True), (-5, False)])
async def test_a_file_changed_just_before_it_was_read_is_read_again(
    store: Store, part: str, age_s: float, settled: bool
) -> None:  # F4
    stamp = replace(STAMP, **{part: READ_AT_US * 1_000 - int(age_s * 1e9)})
    await store.remember([note(stamp=stamp)])
    assert (await known(store, stamp) is not None) is settled


async def test_a_file_system_without_ctime_is_never_believed(store: Store) -> None:  # F4
    stamp = replace(STAMP, ctime_ns=0)
    await store.remember([note(stamp=stamp)])
    assert await known(store, stamp) is None


async def test_what_another_reader_saw_is_read_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.remember([note()])
    monkeypatch.setattr(media_index, "READER_VERSION", media_index.READER_VERSION + 1)
    assert await known(store, STAMP) is None
    await store.remember([note()])
    assert await known(store, STAMP) == MEDIA


async def test_a_file_with_new_bytes_is_known_by_those(store: Store) -> None:  # F4
    await store.remember([note()])
    new, stamp = replace(MEDIA, sha256="2" * 64, size=200), replace(STAMP, size=200)
    await store.remember([note(new, stamp)])
    assert (await known(store, stamp), await known(store, STAMP)) == (new, None)


async def test_one_image_in_two_places_is_one_medium(store: Store) -> None:  # F4
    copy = replace(MEDIA, path=Path("/data/copy.png"))
    await store.remember([note(), note(copy)])
    paths = (PATH, Path("/data/copy.png"), Path("/data/none.png"))
    assert await store.remembered(dict.fromkeys(paths, STAMP)) == {PATH: MEDIA, Path("/data/copy.png"): copy}
    assert (await store.stats())["media"] == 1


async def test_inodes_may_use_all_64_bits(store: Store) -> None:
    for inode in ((1 << 64) - 1, 1 << 63, (1 << 63) - 1):
        stamp = replace(STAMP, inode=inode)
        await store.remember([note(stamp=stamp)])
        assert await known(store, stamp) == MEDIA
        assert await known(store, replace(STAMP, inode=inode - 1)) is None


async def test_a_file_that_is_forgotten_is_read_again(store: Store) -> None:
    await store.remember([note()])
    await store.forget(Path("/data/other.png"))
    assert await known(store, STAMP) == MEDIA
    await store.forget(PATH)
    assert await known(store, STAMP) is None


async def test_a_medium_without_a_file_is_not_noted(store: Store) -> None:
    await store.remember([note(replace(MEDIA, path=None))])
    assert (await store.stats())["media"] == 0


def make_first_version(path: Path) -> None:
    """Turn a store into one of version 1, which knew no fingerprints."""
    with closing(sqlite3.connect(path)) as database:
        for column in ("media.plain", "media_place.ctime_ns", "media_place.inode", "media_place.reader"):
            table, _, name = column.partition(".")
            database.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
        for table in ("scored_run", "row_units", "grading", "session_live"):
            database.execute(f"DROP TABLE {table}")
        database.execute("UPDATE meta SET value = '1' WHERE name = 'schema_version'")
        database.execute("PRAGMA user_version=1")
        database.commit()


def layout(path: Path) -> dict[str, set[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: {row[1:4] for row in database.execute(f"PRAGMA table_info({name})")} for name in tables}


async def test_a_store_of_version_1_becomes_like_a_new_one_and_its_notes_are_not_believed(
    store_path: Path, tmp_path: Path
) -> None:
    async with await Store.open(str(store_path)) as store:
        await store.remember([note()])
    new = layout(store_path)
    make_first_version(store_path)
    assert layout(store_path) != new
    warnings: list[str] = []
    async with await Store.open(str(store_path), warn=warnings.append) as store:
        assert len(warnings) == 1 and "v1-backup-1" in warnings[0]
        assert await known(store, STAMP) is None and (await store.stats())["media"] == 1
        assert await known(store, Stamp(100, STAMP.mtime_ns, 0, 0)) is None
        await store.remember([note()])
        assert await known(store, STAMP) == MEDIA
        assert await store.verify() == []
    assert layout(store_path) == new
