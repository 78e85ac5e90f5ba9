"""Several processes on one store, and processes that die."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from store_examples import a_key

import harness
from harness.cache.store import Store
from harness.canonical import sha256_hex

# Processes that are killed while they write: half a minute of a core.
pytestmark = pytest.mark.slow

WORKER = Path(__file__).with_name("store_worker.py")
PATIENCE_S = 60


@asynccontextmanager
async def worker(*arguments: object) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(WORKER),
        *map(str, arguments),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(harness.__file__).parents[1])},
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


def go_on(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")


async def test_a_killed_process_loses_nothing_that_it_was_told_is_committed(place: str) -> None:  # F23
    async with worker("append_for_ever", place) as process:
        told = [int(await line(process)) for _ in range(200)]
        process.kill()
        rest, errors = await process.communicate()
    told += [int(text) for text in rest.decode().split("\n")[:-1]]
    assert errors == b""
    async with await Store.open(place) as store:
        assert set(await store.exchanges(told)) == set(told)
        assert await store.verify() == []
        # Exchange, served key and link of one entry are there together, or not at all.
        stats = await store.stats()
        assert stats["exchanges"] == stats["served_keys"] == stats["units"] == await store.last_exchange_id()
        [run] = await store.runs()
        assert all([len(unit.links) == 1 async for unit in store.linked_units(run.id)])
        assert await store.start_session(run.id, {}) == 2


async def test_two_processes_with_many_writers_and_readers_never_meet_a_lock(place: str) -> None:  # F44
    async with (
        worker("write_and_read", place, "a", 64, 3) as one,
        worker("write_and_read", place, "b", 64, 3) as two,
    ):
        (said_one, error_one), (said_two, error_two) = await asyncio.gather(
            one.communicate(), two.communicate()
        )
        assert (said_one, error_one, one.returncode) == (b"done\n", b"", 0)
        assert (said_two, error_two, two.returncode) == (b"done\n", b"", 0)
    async with await Store.open(place) as store:
        stats = await store.stats()
        assert (stats["exchanges"], stats["units"], stats["claims"]) == (384, 384, 0)
        assert await store.verify() == []


async def test_a_reader_polls_while_others_write(place: str) -> None:  # F44
    async with await Store.open(place) as reader:
        run = await reader.save_run(None, "a" * 64, "triage", {"cases": 3})
        async with worker("write_and_read", place, "a", 16, 4) as writer:
            while writer.returncode is None:
                await asyncio.gather(reader.stats(), reader.unit_states(run.id), reader.runs())
                await asyncio.sleep(0)
            assert writer.returncode == 0
        assert len(await reader.unit_states(run.id)) == 64


async def test_a_key_is_claimed_by_one_of_two_processes(place: str) -> None:  # F25
    async with (
        worker("claim_all", place, 200) as one,
        worker("claim_all", place, 200) as two,
    ):
        assert [await line(one), await line(two)] == ["ready", "ready"]
        go_on(one)
        go_on(two)
        got = [(await line(one)).split(), (await line(two)).split()]
    assert sorted(got[0] + got[1], key=int) == [str(n) for n in range(200)]


async def test_a_claim_holds_while_its_process_lives_and_is_free_when_it_is_killed(place: str) -> None:
    # F25
    key = a_key("one")
    async with await Store.open(place) as store, worker("hold", place, key) as holder:
        assert await line(holder) == "True"
        assert not await store.claim(key)
        found = await store.claim_holder(key)
        assert found is not None
        assert (found.owner.pid, found.ours) == (holder.pid, False)
        holder.kill()
        await holder.wait()
        assert await store.claim(key)


async def test_a_claim_is_free_when_its_process_ends(place: str) -> None:
    key = a_key("one")
    async with await Store.open(place) as store, worker("hold", place, key) as holder:
        assert await line(holder) == "True"
        go_on(holder)
        assert await holder.wait() == 0
        assert await store.claim(key)


async def test_several_processes_make_one_store_at_the_same_time(place: str) -> None:  # F44
    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(finishes("write_and_read", place, f"p{number}", 2, 2))
    async with await Store.open(place) as store:
        assert (await store.stats())["exchanges"] == 12
        assert len(await store.runs()) == 1


async def test_a_process_that_forgets_to_close_ends_all_the_same(place: str) -> None:
    await finishes("leave_open", place)
    async with await Store.open(place) as store:
        assert await store.get_blob(sha256_hex(b"committed")) == b"committed"


async def finishes(*arguments: object) -> None:
    async with worker(*arguments) as process:
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
