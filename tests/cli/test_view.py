"""`harness view`, as a process: the link that it prints, what it reads, how it ends."""

from __future__ import annotations

import asyncio
import re
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from postgres_server import PostgresServer
from site_crawler import ready
from starlette.applications import Starlette
from stored_run_builder import Plan, build, built_run, case
from sweep_kit import Done, finish, harness, spawn, wait_until
from web_site import FROM_TERMINAL, view_site

from harness.cache.store import Store

WAIT_S = 60.0
COMPLAINT = "It hurts where nobody looks."


@pytest.fixture
def a_store(tmp_path: Path) -> Path:
    """The file of a store with one run, which nobody has open."""

    async def make() -> None:
        async with built_run(tmp_path, Plan([case("a", "Exodontia", complaint=COMPLAINT)]), name="one & two"):
            pass

    asyncio.run(make())
    return tmp_path / "store.sqlite3"


@contextmanager
def viewing(*args: str | Path, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Give the process and the link that it printed; it is ended afterwards, whatever happened."""
    process = spawn("view", *args, cwd=cwd, env={"COLUMNS": "80"})
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait()


def _end(process: subprocess.Popen[str], number: int) -> Done:
    process.send_signal(number)
    return finish(process, WAIT_S)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_it_prints_a_link_that_opens_and_ends_quietly(a_store: Path, tmp_path: Path, number: int) -> None:
    with viewing("--store", a_store, cwd=tmp_path) as (process, link):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", link)
        with httpx.Client(trust_env=False, timeout=WAIT_S) as client:
            found = client.get(link, headers=FROM_TERMINAL, follow_redirects=True)
            assert "token" not in str(found.url)
            assert "one &amp; two" in ready(client, str(found.url)).text
            assert client.get(link.replace("token=", "token=x")).status_code == 403
            done = _end(process, number)  # while the browser keeps its connection
    port = link.split(":")[2].split("/")[0]
    assert (done.code, done.out) == (0, "")
    assert "the pages are closed" in done.err and f"`ssh -N -L {port}:127.0.0.1:{port} " in done.err
    assert link.partition("token=")[2] not in done.err and COMPLAINT not in done.err


@pytest.mark.slow
def test_a_run_is_named_and_its_page_is_linked(a_store: Path, tmp_path: Path) -> None:
    with viewing("latest", "--store", a_store, cwd=tmp_path) as (process, link):
        assert "/run?run=one%20%26%20two&token=" in link
        assert _end(process, signal.SIGINT).code == 0


def test_what_cannot_be_shown_is_told_before_anything_is_served(a_store: Path, tmp_path: Path) -> None:
    unknown = harness("view", "one & twoo", "--store", a_store)
    assert unknown.code == 2 and "unknown run 'one & twoo'; known: one & two" in unknown.err
    none = harness("view", "--store", tmp_path / "none.sqlite3")
    assert none.code != 0 and "none.sqlite3" in none.err and not (tmp_path / "none.sqlite3").exists()
    with view_site(a_store) as site:
        port = site.url.rpartition(":")[2]
        taken = harness("view", "--store", a_store, "--port", port)
    assert taken.code == 2 and f"cannot listen on 127.0.0.1:{port}" in taken.err
    assert "http://" not in unknown.out + none.out + taken.out


@pytest.mark.slow
def test_a_host_of_other_machines_is_warned_of(a_store: Path, tmp_path: Path) -> None:
    with viewing("--store", a_store, "--host", "0.0.0.0", cwd=tmp_path) as (process, link):
        port = link.split(":")[2].split("/")[0]
        local = f"http://127.0.0.1:{port}/?token={link.partition('token=')[2]}"
        with httpx.Client(trust_env=False, timeout=WAIT_S) as client:
            assert client.get(local, headers=FROM_TERMINAL, follow_redirects=True).status_code == 200
            numbered = client.get(local, headers={"host": "10.1.2.3:80"})
            named = client.get(local, headers={"host": "evil.example"})
        done = _end(process, signal.SIGINT)
    assert (numbered.status_code, named.status_code) == (200, 421)
    assert "warning: other machines can reach these pages" in done.err and "not encrypted" in done.err


@pytest.mark.parametrize(("asked", "opened"), [((), 0), (("--open",), 1), (("--no-open",), 0)])
def test_a_browser_is_opened_when_asked(
    a_store: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...], opened: int
) -> None:
    links: list[str] = []
    told = threading.Event()

    async def serve(app: Starlette, listening: object, *, ready: Callable[[], None]) -> None:
        async with app.router.lifespan_context(app):
            ready()
            assert told.wait(WAIT_S if opened else 0) or not opened

    def browser(link: str) -> None:
        links.append(link)
        told.set()

    monkeypatch.setattr("harness.web.serving.serve", serve)
    monkeypatch.setattr("webbrowser.open", browser)
    done = harness("view", "--store", a_store, *asked)
    assert done.code == 0
    assert links == [done.out.strip()] * opened


@pytest.mark.parametrize(("version", "words"), [(1, "older version"), (99, "newer version")])
def test_a_store_of_another_version_is_told_and_left(a_store: Path, version: int, words: str) -> None:
    with closing(sqlite3.connect(a_store)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (str(version),))
    before = a_store.read_bytes()
    done = harness("view", "--store", a_store)
    assert done.code in (1, 2) and words in done.err and done.out == ""
    assert a_store.read_bytes() == before


def test_nothing_is_written_to_a_store_that_is_looked_at(a_store: Path) -> None:
    before = a_store.read_bytes()
    a_store.chmod(0o444)
    with view_site(a_store) as site, site.client() as client:
        assert client.get("/").status_code == 200
    assert a_store.read_bytes() == before


async def test_a_run_that_begins_meanwhile_is_seen(tmp_path: Path) -> None:
    plan = Plan([case("a", "Exodontia")])
    async with built_run(tmp_path, plan, name="first") as built:
        await asyncio.to_thread(_sees_what_begins, tmp_path / "store.sqlite3", built.store, plan)


def _sees_what_begins(place: Path | str, store: Store, plan: Plan) -> None:
    with view_site(place) as site, site.client() as client:
        assert "second" not in ready(client, "/").text
        asyncio.run(_begin(place, plan))
        wait_until(lambda: "second" in ready(client, "/").text)


async def _begin(place: Path | str, plan: Plan) -> None:
    async with await Store.open(str(place)) as store:
        await build(store, Plan([*plan.cases, case("b", "Exodontia")]), name="second")


def test_a_store_on_postgres_is_looked_at_too(postgres: PostgresServer) -> None:
    place = postgres.new_store()

    async def begin() -> None:
        async with await Store.open(place) as store:
            await build(store, Plan([case("a", "Exodontia")]), name="on postgres")

    asyncio.run(begin())
    with view_site(place) as site, site.client() as client:
        assert "on postgres" in ready(client, "/").text
