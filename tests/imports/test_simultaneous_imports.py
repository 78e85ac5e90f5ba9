"""Two imports at once store an answer once; one that is interrupted or suspended is gone on with safely."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from postgres_server import PostgresServer
from sweep_kit import answer_text, finish, harness, labels_of, spawn, wait_said, write_cases

from harness.cache.claims import ClaimStore
from harness.cache.store import Store
from harness.errors import StoreError
from harness.imports.turns import TURN, turn

# Processes that import at the same time.
pytestmark = pytest.mark.slow

CASES = 6

ON_SQLITE = pytest.mark.parametrize("place", ["sqlite"], indirect=True)

GATED = """
import asyncio, pathlib, sys
from harness.imports import importing
add = importing.Importer._add
async def gated(importer, batch, stored):
    print("in the middle", file=sys.stderr, flush=True)
    async with asyncio.timeout(60):  # whoever started this may have failed
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.005)
    await add(importer, batch, stored)
importing.Importer._add = gated
from harness.cli.main import main
main()
"""

INTERRUPTED = """
import os, signal
from harness.imports import comparing, importing
comparing.BATCH = 2
add = importing.Importer._add
async def interrupted(importer, batch, stored):
    await add(importer, batch, stored)
    os.kill(os.getpid(), signal.SIGINT)
importing.Importer._add = interrupted
from harness.cli.main import main
main()
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite3")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_store()


@pytest.fixture(autouse=True)
def answers(tmp_path: Path) -> None:
    """Six cases, and a file with their answers."""
    write_cases(tmp_path / "data", CASES)
    rows = [{"id": f"c{number:03}", "answer": answer_text(labels_of(number))} for number in range(CASES)]
    lines = map(json.dumps, rows)
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def words(place: str) -> list[str]:
    given = ["import", "a.jsonl", "--benchmark", "triage", "--model", "old", "--data", "data", "--json"]
    return [*given, "--store", place]


def stored_in(place: str) -> Mapping[str, int]:
    """Return how many exchanges, links and finished units a store holds."""

    async def read() -> Mapping[str, int]:
        async with await Store.open(place, create=False) as store:
            last = await store.last_exchange_id()
            units = [unit async for unit in store.linked_units((await store.find_run()).id)]
            assert await store.verify() == []
            assert await store.claims([TURN]) == set()
            return {
                "exchanges": len(await store.exchanges(range(1, last + 1))),
                "links": sum(len(unit.links) for unit in units),
                "finished": sum(unit.state.outcome is not None for unit in units),
            }

    return asyncio.run(read())


ONCE = {"exchanges": CASES, "links": CASES, "finished": CASES}


def test_two_imports_of_one_file_at_once_store_its_answers_once(place: str, tmp_path: Path) -> None:
    first = spawn(*words(place), cwd=tmp_path, code=GATED)
    wait_said(first, "in the middle")
    second = spawn(*words(place), cwd=tmp_path)
    wait_said(second, "another import into this store is at work")
    (tmp_path / "go").touch()
    done, waited = finish(first), finish(second)
    assert (done.code, waited.code) == (0, 0), done.err + waited.err
    assert (done.json["added"], waited.json["added"], waited.json["known"]) == (CASES, 0, CASES)
    assert stored_in(place) == ONCE


@ON_SQLITE
def test_an_import_that_was_killed_keeps_nobody_waiting(place: str, tmp_path: Path) -> None:
    first = spawn(*words(place), cwd=tmp_path, code=GATED)
    wait_said(first, "in the middle")
    first.kill()
    first.communicate()
    done = harness(*words(place))
    assert done.code == 0 and "another import" not in done.err
    assert stored_in(place) == ONCE


@ON_SQLITE
def test_an_interrupted_import_says_how_to_go_on_and_the_same_goes_on(place: str, tmp_path: Path) -> None:
    done = finish(spawn(*words(place), cwd=tmp_path, code=INTERRUPTED))
    assert done.code == 130 and "Traceback" not in done.err
    assert "interrupted; give the same command again" in done.err
    assert stored_in(place)["exchanges"] < CASES
    again = harness(*words(place))
    assert again.code == 0 and again.json["known"] > 0
    assert stored_in(place) == ONCE


@ON_SQLITE
def test_an_import_that_lost_its_turn_ends_before_it_stores_anything(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(_store: Store, _key: str) -> bool:
        return False

    with monkeypatch.context() as patch:
        patch.setattr(ClaimStore, "still_claimed", lost)
        done = harness(*words(place))
    assert done.code == 1 and "give the same command again" in done.err
    assert stored_in(place)["exchanges"] == 0
    assert harness(*words(place)).code == 0
    assert stored_in(place) == ONCE


async def test_an_import_whose_turn_was_taken_while_it_slept_stores_nothing_more(place: str) -> None:
    now = 0

    def clock() -> int:
        return now

    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(await Store.open(place, clock=clock)) for _ in range(2)]
        check = await stack.enter_async_context(turn(one, print))
        await check()
        now += 7_200_000_000
        theirs = await stack.enter_async_context(turn(two, print))
        await theirs()
        with pytest.raises(StoreError, match="give the same command again"):
            await check()
        await theirs()
