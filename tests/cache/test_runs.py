from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from harness.cache.store import Store
from harness.errors import ConfigError, RunNameTakenError, StoreError, UnknownNameError

A, B = "abcd1111" + "a" * 56, "abcd2222" + "b" * 56


@pytest.fixture
async def timed(place: str) -> AsyncIterator[Store]:
    """A store whose clock goes one microsecond on with every look."""
    now = iter(range(1_000, 1_000_000))
    async with await Store.open(place, clock=lambda: next(now)) as store:
        yield store


async def test_a_run_comes_back_as_it_was_saved(store: Store) -> None:
    manifest = {"cases": ["a\x00", "\ud800", "😀"], "policy": {"attempts": 3}, "none": None}
    saved = await store.save_run("mine", A, "triage", manifest)
    assert (saved.name, saved.digest, saved.benchmark, saved.manifest) == ("mine", A, "triage", manifest)
    assert await store.find_run("mine") == saved
    assert await store.runs() == (saved,)


async def test_the_same_run_is_saved_once_and_keeps_its_name(store: Store) -> None:
    first = await store.save_run("mine", A, "triage", {})
    assert await store.save_run("other", A, "triage", {}) == first
    assert await store.save_run(None, A, "triage", {}) == first


async def test_many_who_save_the_same_run_at_once_get_the_same(store: Store) -> None:
    runs = await asyncio.gather(*(store.save_run(None, A, "triage", {}) for _ in range(5)))
    assert len({run.id for run in runs}) == 1


async def test_a_name_held_by_another_run_is_refused(store: Store) -> None:
    await store.save_run("mine", A, "triage", {})
    with pytest.raises(RunNameTakenError, match="'mine' is held by a run that wants something else"):
        await store.save_run("mine", B, "triage", {})
    assert len(await store.runs()) == 1


@pytest.mark.parametrize("name", ["latest", "", " "])
async def test_names_that_could_not_be_found_again_are_refused(store: Store, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be a run's name"):
        await store.save_run(name, A, "triage", {})


async def test_a_run_without_a_name_is_called_after_its_digest_as_long_as_needed(store: Store) -> None:
    await store.save_run("triage-abcd1111", B, "triage", {})
    await store.save_run("triage-abcd1111a", "c" * 64, "triage", {})
    assert (await store.save_run(None, A, "triage", {})).name == "triage-abcd1111aa"
    assert (await store.save_run(None, "d" * 64, "triage", {})).name == "triage-dddddddd"


async def test_runs_are_found_by_name_before_digest(store: Store) -> None:
    named = await store.save_run("abcd1111", B, "triage", {})
    await store.save_run("other", A, "triage", {})
    assert await store.find_run("abcd1111") == named
    assert (await store.find_run("abcd1111a")).name == "other"


async def test_a_short_digest_must_mean_one_run(store: Store) -> None:
    await store.save_run("first", A, "triage", {})
    await store.save_run("second", B, "triage", {})
    assert (await store.find_run("abcd1")).name == "first"
    with pytest.raises(UnknownNameError, match=r"'abcd' is short for 'first' \(.*\) and 'second'"):
        await store.find_run("abcd")
    with pytest.raises(UnknownNameError, match="unknown run 'abc'; known: first, second"):
        await store.find_run("abc")


async def test_the_beginning_of_a_name_is_enough_where_one_run_has_it(store: Store) -> None:
    one = await store.save_run("triage-6b01", A, "triage", {})
    two = await store.save_run("triage-6b", B, "triage", {})
    other = await store.save_run("Triage-9%", "c" * 64, "triage", {})
    assert await store.find_run("triage-6b") == two, "a whole name comes first"
    assert await store.find_run("triage-6b0") == one
    assert await store.find_run("Tri") == other
    with pytest.raises(UnknownNameError, match="'triage-' is the beginning of triage-6b01, triage-6b; give"):
        await store.find_run("triage-")
    for unknown in ("tRIAGE", "%", ""):
        with pytest.raises(UnknownNameError, match="unknown run"):
            await store.find_run(unknown)


async def test_of_many_runs_the_newest_are_named(store: Store) -> None:
    for number in range(13):
        await store.save_run(f"r{number}", f"{number:064}", "triage", {})
    with pytest.raises(UnknownNameError, match=r"known: r3, r4, .* r12 and 3 older ones"):
        await store.find_run("x")


async def test_an_unknown_run_names_the_known_ones(store: Store) -> None:
    with pytest.raises(UnknownNameError, match="unknown run 'x_%'; known: none yet"):
        await store.find_run("x_%")
    with pytest.raises(UnknownNameError, match="there is no run in this store yet"):
        await store.find_run("latest")


async def test_the_latest_run_is_the_one_worked_on_last(timed: Store) -> None:
    old = await timed.save_run("old", A, "triage", {})
    await timed.start_session(old.id, {})
    new = await timed.save_run("new", B, "triage", {})
    assert await timed.find_run() == new
    await timed.start_session(old.id, {})
    assert await timed.find_run("latest") == old


async def test_sessions_of_one_run_stand_side_by_side(timed: Store) -> None:
    run = await timed.save_run("r", A, "triage", {})
    other = await timed.save_run("s", B, "triage", {})
    first, second, third = await asyncio.gather(
        timed.start_session(run.id, {"version": "1", "shard": None}),
        timed.start_session(run.id, {"version": "2"}),
        timed.start_session(other.id, {}),
    )
    await timed.end_session(first, 3, {"shard": "1/2", "spent_usd": 0.5})
    one, two = await timed.sessions(run.id)
    assert (one.id, one.exit_code, one.info) == (first, 3, {"version": "1", "shard": "1/2", "spent_usd": 0.5})
    assert one.ended_at_us is not None
    assert one.ended_at_us > one.started_at_us
    assert (two.id, two.exit_code, two.ended_at_us, two.info) == (second, None, None, {"version": "2"})
    assert [session.id for session in await timed.sessions(other.id)] == [third]
    await timed.save_run("t", "c" * 64, "triage", {})  # which nobody worked on
    every = await timed.sessions_by_run()
    assert every == {run.id: await timed.sessions(run.id), other.id: await timed.sessions(other.id)}


async def test_a_session_that_does_not_exist_cannot_be_ended(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no session 7"):
        await store.end_session(7, 0)
