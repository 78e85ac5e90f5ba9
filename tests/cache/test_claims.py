# ruff: noqa: ASYNC110  (waits for another task's commit, which has no event)
from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from store_examples import a_key, a_session, an_exchange

from harness.cache.claims import ALIVE_GRACE_S, LEASE_S, RENEW_EVERY_S
from harness.cache.owner import Owner, this_process
from harness.cache.store import Store
from harness.errors import StoreError

KEY = a_key("one")
SECOND_US = 1_000_000


class Clock:
    def __init__(self) -> None:
        self.now_us = 1_700_000_000 * SECOND_US

    def __call__(self) -> int:
        return self.now_us

    def pass_s(self, seconds: float) -> None:
        self.now_us += int(seconds * SECOND_US)


class Ticks:
    """A sleep that ends when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._tick = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._tick.wait()
        self._tick.clear()

    def tick(self) -> None:
        self._tick.set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def ours(place: str, clock: Clock) -> AsyncIterator[Store]:
    async with await Store.open(place, clock=clock) as store:
        yield store


@pytest.fixture
async def theirs(ours: Store, place: str, clock: Clock) -> AsyncIterator[Store]:
    async with await Store.open(place, clock=clock) as store:
        yield store


def gone(**changes: object) -> Owner:
    return replace(this_process(), **changes)  # type: ignore[arg-type]


async def test_one_of_many_askers_gets_the_claim(ours: Store) -> None:  # F25
    assert sorted(await asyncio.gather(*(ours.claim(KEY) for _ in range(10)))) == [False] * 9 + [True]


async def test_a_claim_holds_against_every_other_store_object(ours: Store, theirs: Store) -> None:  # F25
    assert await ours.claim(KEY)
    assert not await theirs.claim(KEY)
    assert await theirs.claims([KEY, a_key("free")]) == {KEY}
    holder = await theirs.claim_holder(KEY)
    assert holder is not None
    assert (holder.owner, holder.ours) == (this_process(), False)
    assert (await ours.claim_holder(KEY)) == replace(holder, ours=True)


async def test_a_released_claim_is_free(ours: Store, theirs: Store) -> None:
    await ours.claim(KEY)
    await ours.release(KEY)
    assert await theirs.claim_holder(KEY) is None
    assert await theirs.claim(KEY)


async def test_nobody_releases_anothers_claim(ours: Store, theirs: Store) -> None:
    await ours.claim(KEY)
    await theirs.release(KEY)
    assert not await theirs.claim(KEY)


async def test_an_append_gives_the_claim_up_in_the_same_commit(ours: Store, theirs: Store) -> None:
    _, session = await a_session(ours)
    await ours.claim(KEY)
    await ours.append(an_exchange(), session=session, serve=True, release=True)
    assert await theirs.claims([KEY]) == set()
    await ours.claim(KEY)
    await ours.append(an_exchange(), session=session, serve=True, release=False)
    assert await theirs.claims([KEY]) == {KEY}


async def test_a_lapsed_lease_is_taken_over_and_its_late_owner_cannot_undo_that(
    place: str, theirs: Store, clock: Clock
) -> None:
    elsewhere = gone(host="another machine")
    async with await Store.open(place, clock=clock, owner=elsewhere) as ours:
        await ours.claim(KEY)
        clock.pass_s(LEASE_S - 0.001)
        assert not await theirs.claim(KEY)
        clock.pass_s(0.001)
        assert await theirs.claim_holder(KEY) is None
        assert await theirs.claim(KEY)
        await ours.renew_claims()
        await ours.release(KEY)
        holder = await theirs.claim_holder(KEY)
    assert holder is not None
    assert holder.ours


async def test_a_clock_that_was_set_takes_no_claim_from_a_process_that_lives(
    ours: Store, theirs: Store, clock: Clock
) -> None:  # F25
    await ours.claim(KEY)
    clock.pass_s(LEASE_S + ALIVE_GRACE_S - 1)
    assert not await theirs.claim(KEY)
    clock.pass_s(1)
    assert await theirs.claim(KEY)


async def test_leases_are_renewed_every_twenty_seconds(place: str, clock: Clock) -> None:
    ticks = Ticks()
    async with (
        await Store.open(place, clock=clock, sleep=ticks.sleep) as ours,
        await Store.open(place, clock=clock) as theirs,
    ):
        await ours.claim(KEY)
        for _ in range(5):
            clock.pass_s(RENEW_EVERY_S)
            ticks.tick()
            expires = clock.now_us + LEASE_S * SECOND_US
            async with asyncio.timeout(10):
                while (holder := await theirs.claim_holder(KEY)) is None or holder.expires_at_us != expires:
                    await asyncio.sleep(0)
        assert not await theirs.claim(KEY)
    assert set(ticks.asked) == {RENEW_EVERY_S}


async def test_renewing_goes_on_after_a_fault(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = Ticks()
    async with await Store.open(place, sleep=ticks.sleep) as store:
        tried = asyncio.Event()

        async def fails() -> None:
            tried.set()
            raise StoreError("the disk is full")

        monkeypatch.setattr(store, "renew_claims", fails)
        for _ in range(2):
            tried.clear()
            ticks.tick()
            await asyncio.wait_for(tried.wait(), 10)


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param({"pid": 2**22 + 1}, id="no such process"),
        pytest.param({"started": "1"}, id="another process with its number"),
        pytest.param({"boot": "another start of this machine"}, id="before the machine was started anew"),
    ],
)
async def test_the_claim_of_a_dead_process_is_taken_over_at_once(
    place: str, ours: Store, owner: dict[str, object]
) -> None:
    dead = await Store.open(place, owner=gone(**owner))
    await dead.claim(KEY)
    assert await ours.claims([KEY]) == set()
    assert await ours.claim(KEY)
    await dead.close()
    holder = await ours.claim_holder(KEY)
    assert holder is not None
    assert holder.ours


async def test_the_claim_of_another_machine_holds_until_its_lease_ends(
    place: str, ours: Store, clock: Clock
) -> None:
    other = gone(host="another machine", pid=2**22 + 1)
    async with await Store.open(place, owner=other, clock=clock) as far:
        await far.claim(KEY)
        assert not await ours.claim(KEY)
        clock.pass_s(LEASE_S)
        assert await ours.claim(KEY)


async def test_closing_gives_up_all_claims(place: str, ours: Store) -> None:
    other = await Store.open(place)
    await asyncio.gather(*(other.claim(a_key(n)) for n in range(5)))
    await other.close()
    assert await ours.claims([a_key(n) for n in range(5)]) == set()


async def test_an_answer_that_came_in_between_is_not_asked_for_again(ours: Store, theirs: Store) -> None:
    # F25: theirs looked it up and found nothing; ours answered it; then theirs claims.
    _, session = await a_session(ours)
    id = await ours.append(an_exchange(), session=session, serve=True)
    assert not await theirs.claim(KEY, unless_served_after=0)
    assert await theirs.claim_holder(KEY) is None
    assert await theirs.claim(KEY, unless_served_after=id)


async def test_a_cancelled_asker_leaves_no_claim(ours: Store, theirs: Store) -> None:  # F25
    task = asyncio.create_task(ours.claim(KEY))
    await asyncio.sleep(0)  # the entry is queued now
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(10):
        await ours.put_blob(b"after the claim")
        while not await theirs.claim(KEY):
            await asyncio.sleep(0)


async def test_an_asker_cancelled_as_its_claim_is_committed_leaves_no_claim(
    ours: Store, theirs: Store, monkeypatch: pytest.MonkeyPatch
) -> None:  # F25
    enqueue = ours._writer.enqueue

    def cancelling(*arguments: Any, **options: Any) -> asyncio.Future[Any]:
        done = enqueue(*arguments, **options)
        # Before the asker's own wake-up: it is cancelled although its result is there.
        done.add_done_callback(lambda _: task.cancel())
        return done

    monkeypatch.setattr(ours._writer, "enqueue", cancelling)
    task = asyncio.create_task(ours.claim(KEY))
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    async with asyncio.timeout(10):
        while not await theirs.claim(KEY):
            await asyncio.sleep(0)


def test_a_process_that_ended_is_dead_before_its_parent_has_noticed() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert gone(pid=child.pid, started="").is_dead()
    child.wait()


def test_this_process_is_alive() -> None:
    assert this_process().pid == os.getpid()
    assert not this_process().is_dead()


def test_a_process_of_another_machine_is_never_called_dead() -> None:
    assert not gone(host="elsewhere", pid=2**22 + 1, boot="x").is_dead()


async def test_a_process_that_slept_through_its_lease_learns_that_its_claim_is_gone(
    place: str, theirs: Store, clock: Clock
) -> None:  # F25
    elsewhere = gone(host="another machine")
    async with await Store.open(place, clock=clock, owner=elsewhere) as ours:
        await ours.claim(KEY)
        await ours.claim(a_key("kept"))
        assert await ours.still_claimed(KEY)
        clock.pass_s(LEASE_S + 1)
        assert await theirs.claim(KEY)
        assert not await ours.still_claimed(KEY)
        await ours.renew_claims()
        assert not await ours.still_claimed(KEY)
        assert await ours.still_claimed(a_key("kept"))


async def test_a_lease_that_a_set_clock_ended_is_ours_still_unless_somebody_took_it(
    place: str, theirs: Store, clock: Clock
) -> None:  # F25
    elsewhere = gone(host="another machine")
    async with await Store.open(place, clock=clock, owner=elsewhere) as ours:
        await ours.claim(KEY)
        clock.pass_s(18_000)
        assert await ours.still_claimed(KEY)
        assert not await theirs.claim(KEY)
