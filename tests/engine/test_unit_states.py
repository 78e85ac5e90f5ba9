"""How far a run has come, in one byte a unit: read from a store, counted, and marked again."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from harness.again import again_list
from harness.cache.rows import Link, Session, UnitId, UnitState
from harness.cache.store import Store
from harness.canonical import JSON
from harness.outcomes import ASKED_AGAIN_ON_RESUME, UnitOutcome
from harness.shards import Shard
from harness.state_reading import read_states, read_totals
from harness.unit_states import UnitStates, Wanted

MODELS, CONDITIONS, CASES = ("m", "n"), ("both", "opg"), tuple(f"c{n}" for n in range(7))
WANTED = Wanted(CASES, MODELS, CONDITIONS, 2)
NO_LINKS: tuple[Link, ...] = ()


def all_units(wanted: Wanted = WANTED) -> list[UnitId]:
    """In the order in which a model's units are asked."""
    return [
        UnitId(model, condition, case, repeat)
        for model in wanted.models
        for condition in wanted.conditions
        for place, case in enumerate(wanted.case_ids)
        for repeat in range(1, wanted.repeats + 1)
        if condition not in wanted.asked or wanted.asked[condition][place]
        if wanted.shard is None or wanted.shard.holds(case)
    ]


def mixed(seed: int, wanted: Wanted = WANTED) -> dict[UnitId, UnitState]:
    """Some units finished with any outcome, some begun, some marked, some never begun."""
    chance = random.Random(seed)
    states = {}
    for unit in all_units(wanted):
        outcome = chance.choice([*UnitOutcome, UnitOutcome.VALID, UnitOutcome.VALID, None])
        if chance.random() < 0.8:
            states[unit] = UnitState(unit, outcome, chance.choice([0, 0, 5, 9]), error="e")
    return states


async def a_store(path: Path, states: dict[UnitId, UnitState]) -> tuple[Store, int]:
    store = await Store.open(str(path))
    run = await store.save_run(None, "a" * 64, "triage", {})
    for state in states.values():
        await store.finish_unit(run.id, state, NO_LINKS)
    return store, run.id


def found(states: UnitStates) -> dict[UnitId, int]:
    """Return what is open, with `again_after`."""
    wanted = states.wanted
    open_units = {}
    for model in wanted.models:
        for condition in wanted.conditions:
            for index in states.open_indexes(model, condition, ASKED_AGAIN_ON_RESUME):
                position, repeat = divmod(index, wanted.repeats)
                unit = UnitId(model, condition, wanted.case_ids[position], repeat + 1)
                open_units[unit] = states.again_after(model, condition, index)
    return open_units


@pytest.mark.parametrize("asked", [{}, {"opg": b"\1\0\1\1\0\1\0"}], ids=["all", "some"])
@pytest.mark.parametrize("shard", [None, Shard(1, 2), Shard(2, 2)], ids=str)
@pytest.mark.parametrize("seed", range(3))
async def test_what_is_open_is_what_never_ended_or_is_asked_again(
    tmp_path: Path, seed: int, shard: Shard | None, asked: dict[str, bytes]
) -> None:
    whole = Wanted(CASES, MODELS, CONDITIONS, 2, asked=asked)
    stored = mixed(seed, whole)
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    wanted = Wanted(CASES, MODELS, CONDITIONS, 2, shard, asked)
    async with store:
        states = await read_states(store, run_id, wanted)
        totals = await read_totals(store, run_id, wanted)
    units = all_units(wanted)
    is_open = {
        unit: stored[unit].again_after if unit in stored else 0
        for unit in units
        if unit not in stored or stored[unit].outcome in {None, *ASKED_AGAIN_ON_RESUME}
    }
    assert found(states) == is_open and list(found(states)) == list(is_open)
    for model in MODELS:
        own = [unit for unit in units if unit.model == model]
        ended = [stored[unit].outcome if unit in stored else None for unit in own]
        counts = Counter(outcome or UnitOutcome.NOT_ATTEMPTED for outcome in ended)
        assert states.outcomes(model) == totals[model] == counts
        assert states.n_units(model) == len(own)
        assert states.count_open(model, ASKED_AGAIN_ON_RESUME) == sum(unit.model == model for unit in is_open)
    assert states.n_elsewhere == len(all_units(whole)) - len(units)
    assert wanted.n_units == len(all_units(whole))


async def test_a_settled_block_is_counted_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {unit: UnitState(unit, UnitOutcome.VALID) for unit in all_units()}
    last = all_units()[-1]
    stored[last] = UnitState(last, UnitOutcome.PROVIDER_ERROR)
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    read: list[tuple[str, str]] = []
    marks = store.unit_marks

    def noted(run_id: int, model: str, condition: str) -> object:
        read.append((model, condition))
        return marks(run_id, model, condition)

    monkeypatch.setattr(store, "unit_marks", noted)
    async with store:
        states = await read_states(store, run_id, WANTED)
        assert read == [("n", "opg")] and list(found(states)) == [last]
        assert states.outcomes("m") == {UnitOutcome.VALID: 28}
        assert states.outcomes("n") == {UnitOutcome.VALID: 27, UnitOutcome.PROVIDER_ERROR: 1}
        read.clear()
        await read_totals(store, run_id, WANTED)
        assert read == [], "how a run ended is counted, not read"
        whole = await read_states(store, run_id, WANTED, whole=True)
        assert len(read) == 4 and len(whole.units({UnitOutcome.VALID})) == 55


async def test_a_block_that_lacks_a_unit_is_not_settled(tmp_path: Path) -> None:
    stored = {unit: UnitState(unit, UnitOutcome.VALID) for unit in all_units()}
    gone = all_units()[3]
    del stored[gone]
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    async with store:
        assert list(found(await read_states(store, run_id, WANTED))) == [gone]


async def test_units_that_the_run_does_not_want_are_left_out(tmp_path: Path) -> None:
    odd = [UnitId("m", "both", "gone"), UnitId("m", "both", "c0", 3), UnitId("x", "both", "c0")]
    store, run_id = await a_store(
        tmp_path / "store.sqlite3", {unit: UnitState(unit, UnitOutcome.VALID) for unit in odd}
    )
    async with store:
        states = await read_states(store, run_id, WANTED)
    assert len(found(states)) == len(all_units())


@pytest.mark.parametrize("page", [1, 3, 4, 100])
async def test_marks_come_in_order_whatever_the_page(tmp_path: Path, page: int) -> None:
    stored = {unit: UnitState(unit, UnitOutcome.VALID, unit.repeat) for unit in all_units()}
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    async with store:
        pages = [list(one) async for one in store.unit_marks(run_id, "m", "opg", page=page)]
    assert [tuple(mark) for one in pages for mark in one] == [
        (case, repeat, "valid", repeat) for case in CASES for repeat in (1, 2)
    ]


async def test_the_most_frequent_errors_are_counted(tmp_path: Path) -> None:
    errors = ["rare", *["often"] * 3, *["twice"] * 2]
    units = all_units()[: len(errors)]
    stored = {
        unit: UnitState(unit, UnitOutcome.REJECTED, error=error)
        for unit, error in zip(units, errors, strict=True)
    }
    usable = all_units()[len(errors)]
    stored[usable] = UnitState(usable, UnitOutcome.VALID, error="of no interest")
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    async with store:
        found = await store.unit_errors(run_id, "m", but={UnitOutcome.VALID}, most=2)
        assert found == [("often", 3), ("twice", 2)]
        assert await store.unit_errors(run_id, "n") == []


async def test_a_new_list_is_marked_in_the_store_and_in_the_states_alike(tmp_path: Path) -> None:
    stored = {unit: UnitState(unit, UnitOutcome.VALID) for unit in all_units()}
    refused = all_units()[5]
    stored[refused] = UnitState(refused, UnitOutcome.REFUSED)
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    async with store:
        states = await read_states(store, run_id, WANTED, whole=True)
        new = again_list(states, (), [UnitOutcome.VALID]).new
        assert new is not None and len(new) == 55 and refused not in new
        assert list(new) == list(new) == [unit for unit in all_units() if unit != refused]
        assert await store.mark_again(run_id, new, last_exchange_id=40) == 40
        states.mark(new, 40)
        assert found(states) == found(await read_states(store, run_id, WANTED)) == dict.fromkeys(new, 40)
        assert states.list_counts(40) == {None: 55}


def test_one_unit_takes_one_byte() -> None:  # F36
    states = UnitStates(Wanted([str(n) for n in range(1_000)], ["m"], ["both"], 3))
    states.add_block("m", "both")
    assert len(states._blocks["m", "both"].codes) == 3_000 and states._blocks["m", "both"].after is None


async def test_a_share_of_a_settled_block_counts_its_own_units(tmp_path: Path) -> None:
    stored = {unit: UnitState(unit, UnitOutcome.VALID) for unit in all_units()}
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    shard = Wanted(CASES, MODELS, CONDITIONS, 2, Shard(1, 2))
    own = sum(unit.model == "m" for unit in all_units(shard))
    async with store:
        states = await read_states(store, run_id, shard)
        assert 0 < own < 28
        assert states.outcomes("m") == (await read_totals(store, run_id, shard))["m"] == {"valid": own}


def a_session(shard: str | None, last: int) -> Session:
    info: dict[str, JSON] = {"again": ["valid"], "again_after": last, "again_second": False, "shard": shard}
    return Session(1, 1, 0, 1, 130, info)


@pytest.mark.parametrize(
    ("shard", "left"), [(Shard(1, 2), True), (Shard(2, 2), False), (None, False)], ids=str
)
async def test_a_list_of_one_share_is_finished_by_that_share_alone(
    tmp_path: Path, shard: Shard | None, left: bool
) -> None:
    stored = {unit: UnitState(unit, UnitOutcome.VALID) for unit in all_units()}
    marked = all_units(Wanted(CASES, MODELS, CONDITIONS, 2, Shard(1, 2)))[:3]
    stored |= {unit: UnitState(unit, None, 40) for unit in marked}
    store, run_id = await a_store(tmp_path / "store.sqlite3", stored)
    wanted = Wanted(CASES, MODELS, CONDITIONS, 2, shard)
    async with store:
        states = await read_states(store, run_id, wanted, whole=True)
    found = again_list(states, [a_session("1/2", 40)], [UnitOutcome.VALID])
    valid = [unit for unit in all_units(wanted) if unit not in marked]
    assert (found.left, found.new and list(found.new)) == ((3, None) if left else (0, valid))
