"""What a session tells of itself: bounded, finite, and to nobody's harm."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from store_examples import a_session, an_exchange

from harness.budget import Budget, MaxCost, Spending
from harness.cache.exchange_rows import packed_json
from harness.cache.owner import Owner, this_process
from harness.cache.rows import Session, UnitId
from harness.cache.store import Store
from harness.canonical import JSON, canonical_json
from harness.errors import StoreError
from harness.live_state import (
    MOST_CHARACTERS,
    MOST_MODELS,
    LiveState,
    Observed,
    Tally,
    ToldOwner,
    import_state,
    live_state,
    read_state,
)
from harness.live_telling import TELL_EVERY_S, telling
from harness.messages import Fault
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.session_standing import SILENT_AFTER_S, Standing, standing

ME = this_process()
OTHER_MACHINE = Owner("elsewhere", "boot", 1, "1")


def seen(pools: Mapping[str, Pool], tally: Tally, budget: Budget | None = None, **more: Any) -> Observed:
    given: dict[str, Any] = {"claim_waits": {}, "sends": 0, "served": 0, "causes": {}} | more
    return Observed(pools=pools, budget=budget or Budget(MaxCost()), tally=tally, **given)


def told(state: Mapping[str, JSON]) -> LiveState:
    found = read_state(state)
    assert found is not None
    return found


def test_it_comes_back_as_it_was_told() -> None:
    tally = Tally({"a": 3, "b": 2, "done before": 0})
    pool, other = Pool("lab/a", PoolLimits()), Pool("lab/c", PoolLimits())
    pool.report(Fault(ExchangeOutcome.UNAVAILABLE, "broken"))
    for outcome in (UnitOutcome.VALID, UnitOutcome.UNPARSABLE, UnitOutcome.NOT_ATTEMPTED):
        tally.unit_done(UnitId("a", "both", "c1"), outcome)
    budget = Budget(MaxCost(2.0, {"a": 1.0}))
    budget.by_model["a"] = Spending(0.25, 4, 1, 0.5)
    state = told(
        live_state(
            seen(
                {"a": pool, "b": pool, "c": other},
                tally,
                budget,
                claim_waits={"a": 2, "b": 0},
                sends=4,
                causes={"unavailable": 1},
            ),
            ME,
            elapsed_s=7.5,
            stopping=True,
        )
    )
    assert state.owned_by() == ME and state.stopping
    assert (state.open, state.done, state.models) == (5, 2, 2)
    assert state.by_model["a"].outcomes == {"not_attempted": 1, "unparsable": 1, "valid": 1}
    assert [(one.name, one.models, one.failures) for one in state.pools] == [
        ("lab/a", ("a", "b"), {"unavailable": 1}),
        ("lab/c", ("c",), {}),
    ]
    assert (state.claim_waits, state.causes) == ({"a": 2}, {"unavailable": 1})
    assert (state.usd, state.unknown_cost, state.at_most_usd) == (0.25, 1, 0.75)
    assert (state.max_usd, state.max_usd_by_model) == (2.0, {"a": 1.0})
    assert state.spent_by_model == {"a": dict(budget.by_model["a"].to_json())}


def test_thousands_of_models_with_long_names_make_no_long_row() -> None:
    names = [f"{n:04}" + "x" * 5_000 for n in range(2_000)]
    pools = {name: Pool(name, PoolLimits()) for name in names}
    for pool in pools.values():
        pool.close("quota exhausted: " + "y" * 5_000)
    state = live_state(seen(pools, Tally(dict.fromkeys(names, 2))), ME, elapsed_s=1.0, stopping=False)
    assert len(canonical_json(state)) < MOST_MODELS * (5 * MOST_CHARACTERS + 200)
    assert len(packed_json(state)) < 40_000
    back = told(state)
    assert len(back.pools) == len(back.by_model) == MOST_MODELS and (back.models, back.open) == (2_000, 4_000)


def test_thirty_three_pools_are_told_whole_in_few_bytes() -> None:
    pools = {f"model-{n}": Pool(f"provider/KEY/model-{n}@address", PoolLimits()) for n in range(33)}
    state = live_state(seen(pools, Tally(dict.fromkeys(pools, 1000))), ME, elapsed_s=1.0, stopping=False)
    assert len(told(state).pools) == 33 and len(packed_json(state)) < 2_000


def test_halves_of_characters_and_endless_waits_can_be_told() -> None:
    clock = FakeClock()
    pool = Pool("lab/m", PoolLimits(max_wait_s=float("inf")), clock=clock.time, sleep=clock.sleep)
    pool.report(Fault(ExchangeOutcome.RATE_LIMITED, "slow", wait_s=float("inf")))
    shut = Pool("lab/\ud800", PoolLimits(), clock=clock.time, sleep=clock.sleep)
    shut.close("they said \udfff", float("inf"))
    tally = Tally({"m\ud83d": 1})
    state = live_state(seen({"m": pool, "m\ud83d": shut}, tally), ME, elapsed_s=1.0, stopping=False)
    assert packed_json(state)
    assert [one.closed for one in told(state).pools] == [None, "they said ?"]


def test_what_another_version_told_is_passed_over_or_not_read() -> None:
    assert told({"kind": "sweep", "done": 3, "new": {"x": 1}}).done == 3
    assert read_state({"kind": "something new"}) is None
    assert told(import_state(ME, answers=5)).answers == 5


def test_the_rate_is_that_of_the_last_minute() -> None:
    tally = Tally({"m": 1_000})
    rates = []
    for second in range(0, 300, 2):
        for _ in range(8 if second < 200 else 1):
            tally.unit_done(UnitId("m", "both", "c"), UnitOutcome.VALID)
        rates.append(tally.recent(float(second)))
    assert rates[0] == (0, 0.0)
    assert rates[50] == (240, 60.0) and rates[-1] == (30, 60.0)


async def test_it_is_told_every_two_seconds_and_at_the_end_however_that_comes(tmp_path: Path) -> None:
    now, waits = [0], []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            reached.set()
            await asyncio.Event().wait()

    def state() -> Mapping[str, JSON]:
        now[0] += 1
        return {"done": now[0]}

    reached = asyncio.Event()
    async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
        run, session = await a_session(store)
        with pytest.raises(ZeroDivisionError):
            async with telling(store, session, state, pytest.fail, sleep=sleep):
                await reached.wait()
                assert (await store.live_sessions(run))[0].state == {"done": 3}
                raise ZeroDivisionError
        await store.end_session(session, 1)
        assert (await store.live_sessions(run))[0].state == {"done": 4}
    assert waits == [TELL_EVERY_S] * 3


async def test_a_store_that_takes_no_words_takes_answers_and_it_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    tries = 0
    reached = asyncio.Event()

    async def sleep(seconds: float) -> None:
        nonlocal tries
        tries += 1
        if tries == 3:
            reached.set()
            await asyncio.Event().wait()

    async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
        _, session = await a_session(store)
        async with telling(store, 99, dict, said.append, sleep=sleep):
            await reached.wait()
            assert await store.append(an_exchange(), session=session, serve=True) == 1
    [note] = said
    assert note.startswith("note: what this session is doing cannot be watched just now: the store")


async def test_a_store_that_fails_all_the_same_ends_the_session_as_without_words(tmp_path: Path) -> None:
    store = await Store.open(str(tmp_path / "store.sqlite3"))
    _, session = await a_session(store)
    with pytest.raises(StoreError, match="is closed"):
        async with telling(store, session, dict, lambda told: None):
            await store.close()
            await store.append(an_exchange(), session=session, serve=True)


CANNOT = "note: what this session is doing cannot be watched"


async def test_a_fault_in_what_is_told_is_said_once_and_hides_nothing_of_the_block(
    tmp_path: Path,
) -> None:
    said: list[str] = []

    def broken() -> Mapping[str, JSON]:
        raise RuntimeError("words of a case")

    async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
        _, session = await a_session(store)
        async with telling(store, session, broken, said.append):
            await asyncio.sleep(0)
        with pytest.raises(ZeroDivisionError):
            async with telling(store, session, broken, said.append):
                await asyncio.sleep(0)
                raise ZeroDivisionError
        assert len(said) == 2, "once for each"
        for note in said:
            assert note.startswith(f"{CANNOT}: RuntimeError in keep_telling (live_telling.py:")
            assert "words" not in note


async def test_a_fault_at_the_last_word_alone_and_one_of_the_warning_hide_nothing_either(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    at_work, told = True, asyncio.Event()

    async def sleep(seconds: float) -> None:
        told.set()
        await asyncio.Event().wait()

    def state() -> Mapping[str, JSON]:
        if at_work:
            return {}
        raise KeyError("words of a case")

    def dumb(told: str) -> None:
        said.append(told)
        raise OSError("the terminal is gone")

    async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
        _, session = await a_session(store)
        with pytest.raises(ZeroDivisionError):
            async with telling(store, session, state, dumb, sleep=sleep):
                await told.wait()
                at_work = False
                raise ZeroDivisionError
    [note] = said
    assert note.startswith(f"{CANNOT}: KeyError in tell_last (live_telling.py:")
    assert "words" not in note


def a_row(ended: int | None = None) -> Session:
    return Session(1, 1, 0, ended, None if ended is None else 0, {})


def by(owner: Owner, **more: Any) -> LiveState:
    return LiveState(
        owner=ToldOwner(host=owner.host, boot=owner.boot, pid=owner.pid, started=owner.started), **more
    )


@pytest.mark.parametrize(
    ("session", "state", "ago_s", "expected"),
    [
        (a_row(ended=5), by(ME), 1.0, Standing.ENDED),
        (a_row(), by(ME), 1.0, Standing.AT_WORK),
        (a_row(), by(ME, stopping=True), 1.0, Standing.STOPPING),
        (a_row(), by(ME), SILENT_AFTER_S + 1, Standing.SILENT),
        (a_row(), by(Owner(ME.host, ME.boot, ME.pid, "1")), 1.0, Standing.KILLED),
        (a_row(), by(Owner(ME.host, "before it was started anew", 1, "1")), 1.0, Standing.KILLED),
        (a_row(), by(OTHER_MACHINE), 1.0, Standing.AT_WORK),
        (a_row(), by(OTHER_MACHINE), SILENT_AFTER_S + 1, Standing.SILENT),
        (a_row(), None, 1.0, Standing.AT_WORK),
        (a_row(), None, SILENT_AFTER_S + 1, Standing.SILENT),
    ],
)
def test_how_a_session_stands(
    session: Session, state: LiveState | None, ago_s: float, expected: Standing
) -> None:
    assert standing(session, state, ago_s) is expected
