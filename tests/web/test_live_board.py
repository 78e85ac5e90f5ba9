"""What is read for live pages: seldom, in short reads, and true whatever clocks say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from live_pages import viewer
from store_examples import an_exchange
from stored_run_builder import SCALING, Built, Plan, answer, built_run, case, session_info

from harness.cache.owner import Owner, this_process
from harness.cache.rows import UnitId, UnitState
from harness.cache.store import Store
from harness.outcomes import UnitOutcome
from harness.session_standing import Standing
from harness.web.viewing.live_board import LiveBoard, Seen
from harness.web.viewing.live_rows import limits, pools, waits
from harness.web.viewing.live_words import lasting, rate, share

PLAN = Plan([case(f"c{n}", SCALING) for n in range(1, 4)], models=("alpha", "beta"))
SECOND_US = 1_000_000
ELSEWHERE = Owner("elsewhere", "boot", 1, "1")


class Clocks:
    """A time of day, and the time since some moment; both in our hands."""

    def __init__(self) -> None:
        self.s = 100.0
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return self.s

    def wall_us(self) -> int:
        return int((1_000_000 + self.s + self.ahead_s) * SECOND_US)


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[tuple[Built, LiveBoard, Clocks]]:
    """A run with a session; the store's clock and the board's are those of one machine, unless set."""
    clocks = Clocks()
    async with built_run(folder, PLAN) as built:
        built.store._clock = lambda: int((1_000_000 + clocks.s) * SECOND_US)
        board = LiveBoard(built.store, clock=clocks.monotonic, wall_us=clocks.wall_us)
        try:
            yield built, board, clocks
        finally:
            await board.close()


def words(owner: Owner, **more: Any) -> dict[str, Any]:
    return {"owner": asdict(owner), **more}


def reads_of(store: Store) -> list[None]:
    """Return a list that grows with each read of how a run stands."""
    found: list[None] = []
    asked = store.claimed_by

    async def claimed_by() -> Any:
        found.append(None)
        return await asked()

    store.claimed_by = claimed_by  # type: ignore[method-assign]
    return found


async def test_however_many_ask_it_is_read_once_a_second(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, board, clocks):
        reads = reads_of(built.store)
        await asyncio.gather(*(board.seen(built.run) for _ in range(50)))
        clocks.s += 0.9
        await asyncio.gather(*(board.seen(built.run) for _ in range(50)))
        assert len(reads) == 1
        clocks.s += 0.2
        await asyncio.gather(*(board.seen(built.run) for _ in range(50)))
        assert len(reads) == 2


async def test_what_takes_long_to_read_is_read_less_often(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, board, clocks):
        read, reads = built.store.count_units, reads_of(built.store)

        async def slowly(run: int) -> Any:
            clocks.s += 0.5
            return await read(run)

        built.store.count_units = slowly  # type: ignore[method-assign]
        await board.seen(built.run)
        clocks.s += 4.9
        await board.seen(built.run)
        assert len(reads) == 1
        clocks.s += 0.2
        await board.seen(built.run)
        assert len(reads) == 2


async def one_session(built: Built, board: LiveBoard, clocks: Clocks) -> Any:
    clocks.s += 1.5
    return (await board.seen(built.run)).sessions[0]


async def test_clocks_of_two_machines_do_not_decide_alone(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, board, clocks):
        clocks.ahead_s = 3_600.0  # ours is an hour ahead of theirs
        await built.store.tell_live(built.session, words(ELSEWHERE, done=1))
        assert (await one_session(built, board, clocks)).standing is Standing.SILENT
        await built.store.tell_live(built.session, words(ELSEWHERE, done=2))
        found = await one_session(built, board, clocks)
        assert (found.standing, found.told_s_ago) == (Standing.AT_WORK, 0.0), "new words came in"
        clocks.s += 29
        assert (await one_session(built, board, clocks)).standing is Standing.SILENT


async def test_a_clock_that_is_ahead_makes_nobody_live_for_ever(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, board, clocks):
        clocks.ahead_s = -3_600.0
        await built.store.tell_live(built.session, words(ELSEWHERE))
        assert (await one_session(built, board, clocks)).standing is Standing.AT_WORK
        clocks.s += 31
        assert (await one_session(built, board, clocks)).standing is Standing.SILENT


async def test_a_session_that_never_told_is_begun_and_then_silent(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, board, clocks):
        session = await built.store.start_session(built.run.id, session_info(PLAN))
        found = (await board.seen(built.run)).sessions
        assert [one.session.id for one in found][-1] == session
        assert (found[-1].standing, found[-1].told_s_ago) == (Standing.AT_WORK, None)
        clocks.s += 31
        assert (await board.seen(built.run)).sessions[-1].standing is Standing.SILENT


async def test_units_are_counted_as_the_store_has_them(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, board, _):
        unit = UnitId("alpha", "both", "c1")
        id = await built.exchange(unit, answer(SCALING))
        await built.finish(unit, UnitOutcome.VALID, [(id, "answer", 1)], used=[id])
        await built.store.finish_unit(
            built.run.id, UnitState(UnitId("alpha", "both", "c2"), UnitOutcome.PROVIDER_ERROR), []
        )
        seen = await board.seen(built.run)
        assert (seen.units, seen.done) == (6, 1)
        assert [(one.name, one.units, one.done, dict(one.outcomes)) for one in seen.models] == [
            ("alpha", 3, 1, {"valid": 1, "provider_error": 1}),
            ("beta", 3, 0, {}),
        ]


async def seen_with(tmp_path: Path, *told: dict[str, Any]) -> Seen:
    async with watched(tmp_path) as (built, board, _):
        sessions = [built.session, *[await built.store.start_session(built.run.id, {}) for _ in told[1:]]]
        for session, state in zip(sessions, told, strict=True):
            await built.store.tell_live(session, words(this_process(), **state))
        return await board.seen(built.run)


async def test_time_left_is_that_of_the_slowest_session_and_rates_add_up(tmp_path: Path) -> None:
    seen = await seen_with(
        tmp_path,
        {"open": 100, "done": 40, "recent_done": 30, "recent_s": 60.0},
        {"open": 100, "done": 90, "recent_done": 120, "recent_s": 60.0},
    )
    assert (seen.rate, seen.left_s) == (2.5, 120.0)


async def test_time_left_is_not_guessed_while_one_session_has_no_rate(tmp_path: Path) -> None:
    seen = await seen_with(
        tmp_path,
        {"open": 100, "done": 40, "recent_done": 30, "recent_s": 60.0},
        {"open": 100, "done": 1, "recent_done": 1, "recent_s": 2.0},
    )
    assert (seen.rate, seen.left_s) == (0.5, None)


async def test_limits_are_told_with_what_counts_against_them(tmp_path: Path) -> None:
    spent = {"alpha": {"known_usd": 0.25, "sends": 5, "unknown": 2, "usd": None, "at_most_usd": None}}
    seen = await seen_with(
        tmp_path,
        {"max_usd": 2.0, "counted_usd": 0.75, "unknown_cost": 2, "spent_by_model": spent,
         "max_usd_by_model": {"alpha": 1.0}},
    )  # fmt: skip
    unknown = "; 2 sends of unknown cost count with the most that they may have cost"
    assert [(one.told, one.counted, one.most) for one in limits(seen)] == [
        (f"$0.7500 of --max-cost $2.0000 count{unknown}", 0.75, 2.0),
        (f"$0.2500 of --max-cost $1.0000 for alpha{unknown}", 0.25, 1.0),
    ]
    assert seen.spent["models"] == [
        {"model": "alpha", "usd": None, "known_usd": 0.25, "sends": 5, "unknown": 2}
    ]


async def test_a_wait_is_told_until_it_is_over(tmp_path: Path) -> None:
    pool = {"name": "p", "models": ["alpha"], "held_s": 10.0, "held_why": "rate limited"}
    async with watched(tmp_path) as (built, board, clocks):
        await built.store.tell_live(built.session, words(this_process(), pools=[pool]))
        clocks.s += 4
        assert waits(await board.seen(built.run)) == ["alpha: rate limited: 6 s more, until 13:48:30 UTC"]
        clocks.s += 7
        assert waits(await board.seen(built.run)) == []


async def test_a_closed_pool_says_until_when_where_that_is_known(tmp_path: Path) -> None:
    closed = {"name": "p", "models": ["alpha"], "closed": "the day's quota is used up"}
    async with watched(tmp_path) as (built, board, clocks):
        told = []
        for pool in (closed, {**closed, "closed_s": 86_400.0}):
            await built.store.tell_live(built.session, words(this_process(), pools=[pool]))
            clocks.s += 2
            (row,) = pools(await board.seen(built.run))
            told += row.waits
    why = "no more requests in this session: the day's quota is used up"
    assert told == [why, f"{why}; until 1970-01-13 13:48:22 UTC"]


async def test_words_of_a_killed_session_stand_until_its_answers_are_counted(tmp_path: Path) -> None:
    gone = Owner(this_process().host, this_process().boot, this_process().pid, "1")
    async with watched(tmp_path) as (built, board, clocks):
        for n in range(1, 4):
            await built.exchange(UnitId("alpha", "both", f"c{n}"), answer(SCALING))
        spent = {
            "alpha": {"known_usd": 0.0001, "sends": 2, "unknown": 0, "usd": 0.0001, "at_most_usd": 0.0001}
        }
        await built.store.tell_live(built.session, words(gone, spent_by_model=spent, sends=2))
        first = await board.seen(built.run)
        assert first.sessions[0].spent == "counting" and first.spent["models"][0]["sends"] == 2
        await board._spent.counted()
        clocks.s += 2
        then = await board.seen(built.run)
        assert then.sessions[0].spent == "exchanges"
        assert then.spent["models"] == [
            {"model": "alpha", "usd": pytest.approx(360e-6), "known_usd": pytest.approx(360e-6), "sends": 3,
             "unknown": 0}
        ]  # fmt: skip


@pytest.mark.slow
async def test_the_log_of_the_store_is_as_short_with_pages_as_without(tmp_path: Path) -> None:
    """While pages read all the time, the write-ahead log is folded into the file as ever."""

    async def log_bytes(folder: Path, look: Callable[[], Any] | None) -> int:
        async with built_run(folder, PLAN) as built:
            place = folder / "store.sqlite3"
            async with viewer(place) as page:
                reads = reads_of(page.store)

                async def polled() -> None:
                    while True:
                        await page.text()

                polls = asyncio.create_task(polled()) if look else None
                for n in range(700):
                    await built.store.append(an_exchange(n), session=built.session, serve=True)
                if polls:
                    polls.cancel()
                    await asyncio.wait({polls})
                    assert len(reads) > 10
                return place.with_name("store.sqlite3-wal").stat().st_size

    for name in ("alone", "watched"):
        (tmp_path / name).mkdir()
    alone = await log_bytes(tmp_path / "alone", None)
    assert await log_bytes(tmp_path / "watched", lambda: None) < 1.5 * alone


async def test_names_and_reasons_are_shown_as_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\u202e"
    async with watched(tmp_path) as (built, _, __):
        pool = {"name": "p", "models": [hostile], "sends": 1, "closed": f'"><img src=x>{hostile}'}
        limit = {"max_usd_by_model": {hostile: 1.0}, "stopped": [hostile]}
        await built.store.tell_live(built.session, words(this_process(), pools=[pool], **limit))
        async with viewer(tmp_path / "store.sqlite3") as page:
            for html in (await page.html(), await page.html(part=False)):
                assert "<script>alert" not in html and "<img" not in html and "\u202e" not in html
                assert "&lt;script&gt;alert(1)" in html


async def test_a_page_without_scripts_loads_itself_again_while_something_goes_on(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, _, __), viewer(tmp_path / "store.sqlite3") as page:
        await built.store.tell_live(built.session, words(this_process()))
        refresh = '<noscript><meta http-equiv="refresh" content="5"></noscript>'
        assert refresh in await page.html(part=False)
        brief = await page.html("/live?run=latest&brief=1")
        assert 'hx-trigger="every 2s"' in brief and "<table" not in brief and "brief=1" in brief
        assert "harness resume" not in brief
        await built.store.end_session(built.session, 0)
        assert refresh not in await page.html(part=False)
        assert "hx-trigger" not in await page.html("/live?run=latest&brief=1")
        goes_on = "harness resume test-run goes on with it"
        assert goes_on in await page.text()


async def test_a_page_is_told_of_units_that_it_does_not_know_to_have_ended(tmp_path: Path) -> None:
    async with watched(tmp_path) as (built, _, __), viewer(tmp_path / "store.sqlite3") as page:
        await built.store.tell_live(built.session, words(this_process()))
        await built.store.finish_unit(
            built.run.id, UnitState(UnitId("alpha", "both", "c2"), UnitOutcome.PROVIDER_ERROR), []
        )

        async def brief(more: str) -> tuple[bool, bool]:
            """Return whether the page is told that units ended, and whether it will ask again."""
            found = await page.http.get(f"/live?run=latest&brief=1{more}", headers={"hx-request": "true"})
            return found.headers.get("hx-trigger") == "units-ended", "hx-get" in found.text

        assert await brief("") == (False, True)
        assert await brief("&ended=1") == (False, True)
        assert await brief("&ended=0") == (True, True)
        assert await brief("&ended=nonsense") == (False, True)
        await built.store.end_session(built.session, 3)
        assert await brief("&ended=1") == (False, False)
        assert await brief("&ended=0") == (True, True), "the page lags behind: once more"
        assert await brief("&ended=0&after=10") == (True, False), "but not for ever"
        since = await page.text("/live?run=latest&since=0")
        assert since == "1 more unit has ended: show it"
        assert await page.text("/live?run=latest&since=1") == ""


def test_times_rates_and_shares_are_worded_as_they_are_read() -> None:
    assert [lasting(s) for s in (0.2, 59.5, 89, 91, 5_340, 5_400, 90_000)] == [
        "1 s", "60 s", "89 s", "2 min", "89 min", "1 h 30 min", "1 d 1 h",
    ]  # fmt: skip
    assert [rate(r) for r in (12.34, 1.0, 0.5, 0.001, 0.0)] == [
        "12.3 units/s", "1.0 units/s", "30.0 units/min", "3.6 units/h", "no unit ended lately",
    ]  # fmt: skip
    assert [share(*of) for of in ((0, 9), (1, 99_999), (99_999, 100_000), (9, 9))] == [
        "0 %",
        "0.1 %",
        "99.9 %",
        "100 %",
    ]
