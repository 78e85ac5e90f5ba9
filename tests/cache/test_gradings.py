"""Gradings in the store: changed by one at a time, joined with those of another store, checked."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from sweep_kit import harness

from harness.cache.grades import NewGrade
from harness.cache.gradings import StoredGrading
from harness.cache.rows import UnitId, UnitState
from harness.cache.store import Store, bring_up_to_date
from harness.cache.tables import GRADING
from harness.errors import ConfigError, StoreError
from harness.outcomes import UnitOutcome

UNITS = [UnitId("m", "both", f"c {number} \\ \u2028 \ud800") for number in range(3)]


def settings(seed: int = 1) -> dict[str, Any]:
    items = [[one.model, one.condition, one.case_id, one.repeat, "d"] for one in UNITS]
    return {"seed": seed, "items": items}


def state(token: str, rounds: int = 1, *, ended: bool = False, opened: bool = False) -> dict[str, Any]:
    last = rounds - 1
    made = [{"items": [1], "ended_at_us": 5 if ended or n < last else None} for n in range(rounds)]
    return {"seats": [token], "rounds": made, "opened": {"by": "lead"} if opened else None, "port": 7}


async def a_run(store: Store, digest: str = "a" * 64, name: str = "night") -> int:
    run = await store.save_run(name, digest, "triage", {})
    for one in UNITS:
        await store.finish_unit(run.id, UnitState(one, UnitOutcome.NOT_ATTEMPTED), [])
    return run.id


async def merged(store: Store, other: Path, **more: Any) -> Any:
    return await store.merge(other, bring_up_to_date, **more)


@pytest.fixture
def other_path(tmp_path: Path, empty_store: Path) -> Path:
    return Path(shutil.copy(empty_store, tmp_path / "other.sqlite3"))


async def test_a_grading_is_kept_found_and_named_once(store: Store) -> None:
    run = await a_run(store)
    made = await store.add_grading(run, "g \ud800", settings(), state("t"))
    assert list(await store.gradings()) == [made]
    with pytest.raises(ConfigError, match="in this store already"):
        await store.add_grading(run, "g \ud800", settings(2), state("u"))
    assert (await store.stats())["gradings"] == 1


async def test_of_two_who_change_a_state_one_is_told_to_look_again(store: Store) -> None:
    made = await store.add_grading(await a_run(store), "g", settings(), state("t"))
    done = await asyncio.gather(*(store.change_grading(made, state(name)) for name in "abcde"))
    assert sorted(done) == [False] * 4 + [True]
    now = await store.grading_now(made)
    assert now is not None and now.settings == made.settings
    assert now.state["seats"] == ["abcde"[done.index(True)]]
    assert await store.grading_now(now) is now
    assert await store.change_grading(now, state("z", opened=True))


async def test_a_grading_that_is_gone_is_said_to_be(store: Store) -> None:
    made = await store.add_grading(await a_run(store), "g", settings(), state("t"))
    assert await store.grading_now(StoredGrading(9, made.run_id, "x", {}, {}, 0)) is None


async def test_grades_come_in_the_order_in_which_they_were_kept_each_once(store: Store) -> None:
    run, other = await a_run(store), await a_run(store, "b" * 64, "day")
    for at in (30, 10, 20):
        await store.add_grades(run, [NewGrade(UNITS[0], "ann", f"q{at}", 1, at)])
        await store.add_grades(other, [NewGrade(UNITS[0], "ann", "q", 1, at)])
    first = await store.grades_after(run, 0)
    assert [grade.question for _, grade in first] == ["q30", "q10", "q20"]
    assert await store.grades_after(run, first[1][0]) == first[2:]
    assert await store.grades_after(run, first[-1][0]) == []


async def test_units_that_were_marked_are_told_with_how_they_ended(store: Store) -> None:
    run = await a_run(store)
    assert await store.asked_again(run) == {}
    await store.mark_again(run, [UNITS[1]], last_exchange_id=4)
    assert await store.asked_again(run) == {UNITS[1]: (4, None)}


async def test_a_grading_moves_with_its_links_and_not_twice(store: Store, other_path: Path) -> None:
    async with await Store.open(str(other_path)) as other:
        await a_run(other, "b" * 64, "day")
        await other.add_grading(await a_run(other), "g", settings(), state("theirs"))
    report = await merged(store, other_path, dry_run=True)
    assert (report.gradings_new, await store.gradings()) == (1, ())
    report = await merged(store, other_path)
    assert report.gradings_new == 1 and not report.is_nothing
    [found] = await store.gradings()
    assert (found.name, found.settings, found.state) == ("g", settings(), state("theirs"))
    assert found.run_id == (await store.find_run("night")).id
    report = await merged(store, other_path)
    assert report.is_nothing and len(await store.gradings()) == 1


async def test_who_came_or_left_in_either_store_did_so_in_both(store: Store, other_path: Path) -> None:
    def seated(*names: str) -> list[dict[str, str]]:
        raters = [{"role": "rater", "name": name, "token": f"{name}-here"} for name in names]
        return [*raters, {"role": "consensus", "name": "consensus", "token": "c"}]

    def joined(name: str, rounds: int = 0) -> dict[str, Any]:
        return {"name": name, "rounds": [{"ended_at_us": 5}] * rounds, "opened": None}

    ours = {**state("", opened=True), "seats": seated("ann", "cy"), "joined": [joined("cy")]}
    await store.add_grading(await a_run(store), "g", settings(), ours)
    theirs = {
        **state(""), "version": 2, "seats": seated("ann", "cy", "dan"),
        "joined": [joined("cy", 1), joined("dan")], "retired": [{"name": "ann", "at_us": 1}],
    }  # fmt: skip
    async with await Store.open(str(other_path)) as other:
        await other.add_grading(await a_run(other), "g", settings(), theirs)
    assert (await merged(store, other_path)).gradings_updated == 1
    [found] = await store.gradings()
    assert found.state == {
        **ours, "version": 2, "seats": seated("cy", "dan"), "joined": theirs["joined"],
        "retired": theirs["retired"],
    }  # fmt: skip
    assert (await merged(store, other_path)).is_nothing


async def test_who_joined_a_round_that_ended_elsewhere_without_them_grades_it_alone(
    store: Store, other_path: Path
) -> None:
    def round_of(ended: int | None) -> dict[str, Any]:
        pairs = [] if ended is None else [{"raters": ["ann", "bo"]}]
        return {"items": [2, 0], "begun_at_us": 1, "ended_at_us": ended, "pairs": pairs}

    with_all = {"at_us": 3, "by": "with all", "reason": ""}
    dan: dict[str, Any] = {"name": "dan", "at_us": 3, "after": 0, "rounds": [], "opened": with_all}
    seats = [{"role": "rater", "name": name, "token": name} for name in ("ann", "bo", "dan")]
    opened = {"at_us": 5, "by": "agreement", "reason": ""}
    here = {"version": 2, "seats": seats[:2], "rounds": [round_of(5)], "opened": opened}
    there = {"version": 2, "seats": seats, "rounds": [round_of(None)], "opened": None, "joined": [dan]}
    await store.add_grading(await a_run(store), "g", settings(), here)
    async with await Store.open(str(other_path)) as other:
        await other.add_grading(await a_run(other), "g", settings(), there)
    await merged(store, other_path)
    [found] = await store.gradings()
    alone = {"items": [2, 0], "begun_at_us": 3, "ended_at_us": None, "pairs": []}
    assert found.state["joined"] == [{**dan, "rounds": [alone], "opened": None}]
    assert (found.state["opened"], found.state["rounds"]) == (opened, [round_of(5)])
    assert (await merged(store, other_path)).is_nothing


async def test_an_older_copy_retires_nobody_who_came_back_since(store: Store, other_path: Path) -> None:
    def seated(*names: str) -> list[dict[str, str]]:
        return [{"role": "rater", "name": name, "token": f"{name}-link"} for name in names]

    form: dict[str, Any] = {**state(""), "version": 2, "joined": []}
    gone = {**form, "seats": seated("bob"), "retired": [{"name": "ann", "at_us": 3}], "returned": []}
    back = {**form, "seats": seated("ann", "bob"), "retired": [], "returned": [{"name": "ann", "at_us": 4}]}
    made = await store.add_grading(await a_run(store), "g", settings(), back)
    async with await Store.open(str(other_path)) as other:
        older = await other.add_grading(await a_run(other), "g", settings(), gone)
    assert (await merged(store, other_path)).is_nothing
    assert await store.grading_now(made) is made
    for left in (
        {**gone, "rounds": state("", ended=True)["rounds"]},  # a round may have ended there without ann
        {**gone, "retired": [{"name": "ann", "at_us": 5}]},
    ):
        async with await Store.open(str(other_path)) as other:
            [older] = await other.gradings()
            assert await other.change_grading(older, left)
        assert await store.change_grading(await _now(store), back)
        assert (await merged(store, other_path)).gradings_updated == 1
        assert (await _now(store)).state == {**left, "returned": back["returned"]}
        assert (await merged(store, other_path)).is_nothing


async def _now(store: Store) -> StoredGrading:
    [found] = await store.gradings()
    return found


async def test_one_that_was_withdrawn_is_another_one(store: Store, other_path: Path) -> None:
    made = await store.add_grading(await a_run(store), "g", settings(), state("ours"))
    assert not await store.remove_grading(dataclasses.replace(made, state=state("older")), 0)
    assert await store.withdraw_grading(made, {**state("ours"), "withdrawn_at_us": 9}, 0)
    async with await Store.open(str(other_path)) as other:
        await other.add_grading(await a_run(other), "g", settings(), state("theirs"))
    assert (await merged(store, other_path)).gradings_new == 1
    assert [one.name for one in await store.gradings()] == ["g (withdrawn)", "g"]
    assert (await merged(store, other_path)).is_nothing


async def test_one_name_for_two_gradings_gets_a_number(store: Store, other_path: Path) -> None:
    await store.add_grading(await a_run(store), "g", settings(1), state("ours"))
    async with await Store.open(str(other_path)) as other:
        await other.add_grading(await a_run(other), "g", settings(2), state("theirs"))
    report = await merged(store, other_path)
    assert report.gradings_renamed == {"g": "g-2"}
    assert [one.name for one in await store.gradings()] == ["g", "g-2"]
    assert (await merged(store, other_path)).is_nothing


@pytest.mark.parametrize(
    ("ours", "theirs", "updated"),
    [
        ({}, {"ended": True}, True),
        ({}, {"rounds": 2}, True),
        ({"rounds": 2}, {"opened": True}, True),
        ({"opened": True}, {"rounds": 2}, False),
        ({"ended": True}, {}, False),
        ({}, {}, False),
    ],
)
async def test_the_rounds_of_whoever_has_come_further_stand_and_our_links(
    store: Store, other_path: Path, ours: dict[str, Any], theirs: dict[str, Any], updated: bool
) -> None:
    await store.add_grading(await a_run(store), "g", settings(), state("ours", **ours))
    async with await Store.open(str(other_path)) as other:
        await other.add_grading(await a_run(other), "called otherwise", settings(), state("theirs", **theirs))
    report = await merged(store, other_path)
    [found] = await store.gradings()
    assert (report.gradings_new, report.gradings_updated) == (0, int(updated))
    assert found.name == "g" and found.state == state("ours", **(theirs if updated else ours))
    assert (await merged(store, other_path)).is_nothing


async def test_a_sound_grading_is_no_problem(store: Store) -> None:
    await store.add_grading(await a_run(store), "g", settings(), state("t"))
    assert await store.verify() == []


async def test_what_is_wrong_with_a_grading_is_named(store: Store) -> None:
    run = await a_run(store)
    await store.add_grading(run, "torn", settings(), state("t"))
    await store.add_grading(run, "bare", {"seed": 1}, state("t"))
    await store.add_grading(run, "cut", {"items": [["m", "both"]]}, state("t"))
    await store.add_grading(run, "odd", {"items": [["m", "both", ["c"], 1, "d"]]}, state("t"))
    elsewhere = {"items": [["m", "both", "nobody", 1, "d"], ["m", "both", UNITS[0].case_id, 1, "d"]]}
    await store.add_grading(run, "elsewhere", elsewhere, state("t"))

    async def tear(transaction: Any, items: Any) -> list[None]:
        torn = update(GRADING).where(GRADING.c.name == "torn").values(state=b"no")
        await transaction.connection.execute(torn)
        return [None] * len(items)

    await store._writer.submit(tear, None)
    found = await store.verify()
    assert found == [
        "grading 'torn' has damaged state",
        "the settings of grading 'bare' do not say which answers it is about",
        "the settings of grading 'cut' do not say which answers it is about",
        "the settings of grading 'odd' do not say which answers it is about",
        f"grading 'elsewhere' is about units that run {run} does not have: 1",
    ]
    with pytest.raises(StoreError, match="a grading in this store is damaged"):
        await store.gradings()


def test_vacuum_and_backup_keep_gradings(store_path: Path, tmp_path: Path) -> None:
    async def make() -> StoredGrading:
        async with await Store.open(str(store_path)) as store:
            return await store.add_grading(await a_run(store), "g", settings(), state("t"))

    async def kept(path: Path) -> tuple[StoredGrading, ...]:
        async with await Store.open(str(path), create=False) as opened:
            return tuple(await opened.gradings())

    made = asyncio.run(make())
    for command in (("vacuum", "--derived"), ("backup", tmp_path / "copy.sqlite3")):
        done = harness("store", *command, "--store", store_path)
        assert done.code == 0, done.err
    assert asyncio.run(kept(store_path)) == asyncio.run(kept(tmp_path / "copy.sqlite3")) == (made,)
