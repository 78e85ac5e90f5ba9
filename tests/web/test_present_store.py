"""A store that is lost, replaced, put back or written to while its pages are open: said, and shown again."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from bulk_run import bulk_plan, fill
from postgres_server import PostgresServer, schema_of
from site_crawler import Crawled, crawled, ready, wrong_in
from stored_run_builder import Plan, build, built_run, case
from sweep_kit import spawn, wait_until, write_cases
from web_site import view_site

from harness.cache import opening
from harness.cache.database import StoreGoneError
from harness.cache.dialects import Access
from harness.cache.store import Store
from harness.errors import StoreError
from harness.web.viewing import present_store

LOST, OTHER = "The store is not there right now", "This is another store than the one"


@pytest.fixture
def a_store(tmp_path: Path) -> Path:
    return _made(tmp_path / "one", "first", "a", "b")


@pytest.fixture(autouse=True)
def _looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(present_store, "_AGAIN_S", 0.0)


def _made(folder: Path, name: str, *ids: str) -> Path:
    folder.mkdir()

    async def make() -> None:
        async with built_run(folder, Plan([case(id, "Exodontia") for id in ids]), name=name):
            pass

    asyncio.run(make())
    return folder / "store.sqlite3"


def _text(client: httpx.Client, address: str) -> str:
    return ready(client, address).text.replace("<wbr>", "")


def _lost(client: httpx.Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 503 and LOST in answer.text
    assert '<meta http-equiv="refresh" content="2">' in answer.text
    return answer.text.replace("<wbr>", "")


def test_a_store_that_goes_and_comes_back_is_shown_again(a_store: Path) -> None:
    with view_site(a_store) as site, site.client() as client:
        before = _text(client, "/units?run=first")
        a_store.rename(a_store.with_name("elsewhere"))
        for address in ("/units?run=first", "/", "/run?run=first", "/unit?run=first&case=a", "/live"):
            assert "is not where it was" in _lost(client, address)
        assert client.get("/static/app.css").status_code == 200
        a_store.with_name("elsewhere").rename(a_store)
        assert _text(client, "/units?run=first") == before  # the same one: no word of another


def test_of_a_store_that_was_replaced_nothing_is_shown_any_more(a_store: Path, tmp_path: Path) -> None:
    other = _made(tmp_path / "two", "second", "x", "y", "z")
    with view_site(a_store) as site, site.client() as client:
        assert "unit=" not in _text(client, "/units?run=latest") and "first" in _text(client, "/")
        Path(other).replace(a_store)
        units = _text(client, "/units?run=latest")
        assert OTHER in units and "<strong>3</strong>" in units
        assert client.get("/units?run=first").status_code == 404
        assert "second" in _text(client, "/") and "first" not in _text(client, "/").partition("<h1>")[2]


def test_a_backup_that_is_copied_over_the_file_itself_is_noticed(a_store: Path, tmp_path: Path) -> None:
    shutil.copy(a_store, tmp_path / "backup")

    async def go_on() -> None:
        async with await Store.open(str(a_store)) as store:
            run = await store.find_run("first")
            await store.start_session(run.id, {})

    with view_site(a_store) as site, site.client() as client:
        asyncio.run(go_on())
        _text(client, "/units?run=first")
        with closing(sqlite3.connect(a_store)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copyfile(tmp_path / "backup", a_store)  # the same inode, with fewer rows
        assert OTHER in _text(client, "/units?run=first")


def test_what_lies_there_and_is_no_store_is_told(a_store: Path) -> None:
    with view_site(a_store) as site, site.client() as client:
        a_store.rename(a_store.with_name("elsewhere"))
        a_store.write_bytes(b"not a database at all" * 100)
        assert "is no store of this program" in _lost(client, "/")


def test_a_store_that_is_not_there_is_looked_for_once_in_a_while(
    a_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(present_store, "_AGAIN_S", 3600.0)
    looks: list[str] = []
    real = Store.open

    async def counted(url: str, **options: object) -> Store:
        looks.append(url)
        return await real(url, **options)  # type: ignore[arg-type]

    with view_site(a_store) as site, site.client() as client:
        a_store.rename(a_store.with_name("elsewhere"))
        monkeypatch.setattr(present_store.Store, "open", counted)
        for _ in range(20):
            _lost(client, "/")
    assert len(looks) == 1


def test_an_answer_that_was_made_while_the_store_was_replaced_does_not_leave(
    a_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = _made(tmp_path / "two", "second", "x", "y", "z")
    real = Store.find_run

    def swap() -> None:
        if other.exists():
            other.replace(a_store)

    async def slow(store: Store, reference: str) -> object:
        found = await real(store, reference)
        await asyncio.to_thread(swap)
        return found

    with view_site(a_store) as site, site.client() as client:
        _text(client, "/units?run=latest")
        monkeypatch.setattr(Store, "find_run", slow)
        units = _text(client, "/units?run=latest")
        assert OTHER in units and "<strong>3</strong>" in units


def test_a_file_read_as_one_that_nobody_changes_is_read_anew_once_written_to(
    a_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[tuple[Access, ...]] = [("immutable",)]
    monkeypatch.setattr(opening, "ways_to_look", lambda path: ways[0])
    with view_site(a_store) as site, site.client() as client:
        assert "it is shown as it stood at" in _text(client, "/units?run=first")

        async def end() -> None:
            async with await Store.open(str(a_store)) as store:
                await store.end_session(1, 3)

        asyncio.run(end())  # who wrote is gone again, and all is in the file
        assert "some units have no answer" in _text(client, "/")
        assert not a_store.with_name("store.sqlite3-wal").exists()
        ways[0] = ("ro", "immutable")

        async def write() -> None:
            async with await Store.open(str(a_store)) as store:
                await store.start_session((await store.find_run("first")).id, {})
                # what a sweep commits stands in the log: the file itself has not changed
                text = await asyncio.to_thread(_text, client, "/units?run=first")
                assert "as it stood" not in text
                assert OTHER not in text
                assert "The run goes on" in text

        asyncio.run(write())


def test_the_log_does_not_grow_because_somebody_looks(a_store: Path) -> None:  # F44
    """No read stays open between two pages: each checkpoint finishes, and the log begins anew."""
    with view_site(a_store) as site, site.client() as client:
        for page in ("/run", "/units", "/unit", "/live"):
            _text(client, f"{page}?run=first")
        with closing(sqlite3.connect(a_store)) as writer:
            writer.isolation_level = None
            for number in range(3):
                writer.execute("UPDATE session SET exit_code = ?", (number,))
                busy, in_log, moved = writer.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
                assert (busy, in_log) == (0, moved)
                _text(client, "/units?run=first")
            assert a_store.with_name("store.sqlite3-wal").stat().st_size < 100_000


@pytest.mark.slow
def test_a_sweep_into_postgres_is_browsed_and_its_server_stopped_and_started(  # F44
    postgres: PostgresServer, tmp_path: Path
) -> None:
    place = postgres.new_store()
    cases = write_cases(tmp_path / "cases", 60)
    args = ("--benchmark", "triage", "--models", "sim/steady,sim/messy", "--repeats", "2", "--name", "night")
    sweep = spawn("run", *args, "--data", cases, "--store", place, cwd=tmp_path)
    try:
        wait_until(lambda: asyncio.run(_runs(place)) > 0)
        with view_site(place) as site, site.client() as client:
            while sweep.poll() is None:
                _crawled(client)
            assert sweep.returncode == 0 and len(_crawled(client)) > 50
            whole = _text(client, "/units?run=night")
            assert "<strong>240</strong>" in whole
            if postgres.owned:
                postgres.restart()
                assert client.get("/units?run=night").status_code == 200
                postgres.stop()
                began = time.monotonic()
                assert "has a server that does not answer" in _lost(client, "/units?run=night")
                assert time.monotonic() - began < 10  # a sweep waits longer; no page does
                postgres.start()
                assert "<strong>240</strong>" in _text(client, "/units?run=night")
            postgres.run(f'DROP SCHEMA "{schema_of(place)}" CASCADE')
            _lost(client, "/units?run=night")
            asyncio.run(_runs(place, create=True))
            assert OTHER in _text(client, "/") and client.get("/units?run=night").status_code == 404
    finally:
        sweep.kill()
        sweep.communicate()


async def _runs(place: str, *, create: bool = False) -> int:
    try:
        opened = await Store.open(place, create=create, only_read=not create, warn=lambda told: None)
        async with opened as store:
            return len(await store.runs())
    except StoreError:
        return 0


def _crawled(client: httpx.Client) -> list[Crawled]:
    pages = crawled(client, each=8)
    assert [wrong for page in pages for wrong in wrong_in(page)] == []
    return pages


@pytest.mark.slow
async def test_how_units_stand_is_read_in_time_from_tables_that_nobody_analysed(
    postgres: PostgresServer,
) -> None:
    async with await Store.open(postgres.new_store(), warn=lambda told: None) as store:
        built = await build(store, bulk_plan(8_000, ("alpha",)))
        await fill(built)
        async with asyncio.timeout(10):  # compared each with each, they take 40 s
            glances = await store.unit_glances(built.run.id, "alpha", "both")
    assert len(glances) == 8_000 and all(one.last for one in glances)


async def test_no_two_connections_of_a_store_are_to_two_files(a_store: Path, tmp_path: Path) -> None:
    other = await asyncio.to_thread(_made, tmp_path / "two", "second", "x")
    async with await Store.open(str(a_store), create=False, only_read=True) as store:
        await asyncio.to_thread(other.replace, a_store)
        async with store._database.reading():  # one that was open already
            with pytest.raises(StoreGoneError, match="was replaced"):
                async with store._database.reading():
                    pass
