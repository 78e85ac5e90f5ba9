from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text
from store_examples import a_session, an_exchange

from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store
from harness.errors import StoreError
from harness.outcomes import ExchangeOutcome, UnitOutcome

UNIT = UnitId("m", "both", "case-1")
VALID = UnitState(UNIT, UnitOutcome.VALID)


async def appended(store: Store, session: int, count: int, **changes: object) -> list[int]:
    return [await store.append(an_exchange(n, **changes), session=session, serve=True) for n in range(count)]


async def links_of(store: Store, run: int) -> dict[UnitId, list[Link]]:
    return {unit.state.unit: [link for link, _ in unit.links] async for unit in store.linked_units(run)}


async def test_a_units_state_comes_back_as_it_was(store: Store) -> None:
    run, _ = await a_session(store)
    odd = UnitId("m\\", "a:b\x00", "case \ud800 😀", 3)
    state = UnitState(odd, UnitOutcome.PROVIDER_ERROR, 4, "no \x00 answer \udfff")
    await store.finish_unit(run, state, [])
    await store.finish_unit(run, VALID, [])
    assert await store.unit_states(run) == {odd: state, UNIT: VALID}


@pytest.mark.parametrize("outcome", list(UnitOutcome))
async def test_every_outcome_is_kept(store: Store, outcome: UnitOutcome) -> None:
    run, _ = await a_session(store)
    await store.finish_unit(run, UnitState(UNIT, outcome), [])
    assert (await store.unit_states(run))[UNIT].outcome is outcome


async def test_runs_have_units_of_their_own(store: Store) -> None:
    run, _ = await a_session(store)
    other, _ = await a_session(store, "other", "b" * 64)
    await store.finish_unit(run, VALID, [])
    assert await store.unit_states(other) == {}


async def test_one_and_the_text_one_are_different_cases_and_repeats_are_units(store: Store) -> None:
    # F10 F18
    run, _ = await a_session(store)
    units = [UnitId("m", "c", case, repeat) for case in ("1", "01", " 1") for repeat in range(1, 6)]
    await asyncio.gather(*(store.finish_unit(run, UnitState(unit, UnitOutcome.VALID), []) for unit in units))
    assert set(await store.unit_states(run)) == set(units)


async def test_finishing_again_replaces_the_state_and_the_use_of_links(store: Store) -> None:
    run, session = await a_session(store)
    one, two = await appended(store, session, 2)
    before = [Link(one, "answer", 1), Link(two, "reformat", 1, used=True)]
    await store.finish_unit(run, VALID, before)
    assert await links_of(store, run) == {UNIT: before}
    after = [Link(one, "answer", 1, used=True), Link(two, "reformat", 1)]
    await store.finish_unit(run, UnitState(UNIT, UnitOutcome.RECOVERED), after)
    assert await links_of(store, run) == {UNIT: after}
    assert (await store.unit_states(run))[UNIT].outcome is UnitOutcome.RECOVERED


async def test_links_keep_their_order_when_a_stored_answer_is_older_than_what_led_to_it(store: Store) -> None:
    run, session = await a_session(store)
    ids = await appended(store, session, 4)
    order = [Link(ids[n], "answer", attempt) for attempt, n in enumerate((2, 0, 3, 1), start=1)]
    await store.finish_unit(run, VALID, order)
    assert await links_of(store, run) == {UNIT: order}


async def test_a_send_linked_when_it_was_committed_comes_after_a_stored_answer_linked_at_the_end(
    store: Store,
) -> None:
    run, session = await a_session(store)
    [stored] = await appended(store, session, 1)
    sent = await store.append(an_exchange("sent", attempt=2), session=session, serve=True, link=(run, UNIT))
    links = [Link(stored, "answer", 1), Link(sent, "answer", 2, used=True)]
    await store.finish_unit(run, VALID, links)
    assert await links_of(store, run) == {UNIT: links}


async def test_earlier_rounds_stay_linked_before_the_later_ones(store: Store) -> None:
    run, session = await a_session(store)
    failed = await store.append(
        an_exchange(outcome=ExchangeOutcome.UNAVAILABLE), session=session, serve=True, link=(run, UNIT)
    )
    await store.finish_unit(run, UnitState(UNIT, UnitOutcome.PROVIDER_ERROR), [Link(failed, "answer", 1)])
    good = await store.append(an_exchange(), session=session, serve=True, link=(run, UNIT))
    await store.finish_unit(run, VALID, [Link(good, "answer", 1, used=True)])
    both = [Link(failed, "answer", 1), Link(good, "answer", 1, used=True)]
    assert await links_of(store, run) == {UNIT: both}


@pytest.mark.parametrize("late", [UnitOutcome.PROVIDER_ERROR, UnitOutcome.UNPARSABLE, UnitOutcome.VALID])
async def test_a_late_word_changes_no_answer_of_its_own_round(store: Store, late: UnitOutcome) -> None:
    run, session = await a_session(store)
    failed, good = await appended(store, session, 2)
    answered = [Link(failed, "answer", 1), Link(good, "answer", 1, used=True)]
    await store.finish_unit(run, VALID, answered)
    word = UnitState(UNIT, late, error="too late")
    await store.finish_unit(run, word, [Link(failed, "answer", 1, used=True)], unless_answered=True)
    assert (await store.unit_states(run), await links_of(store, run)) == ({UNIT: VALID}, {UNIT: answered})
    later = UnitState(UNIT, late, again_after=good)
    await store.finish_unit(run, later, [], unless_answered=True)
    assert await store.unit_states(run) == {UNIT: later}


@pytest.mark.parametrize("stands", [None, UnitOutcome.PROVIDER_ERROR, UnitOutcome.NOT_ATTEMPTED])
async def test_a_late_word_counts_where_there_is_no_answer(store: Store, stands: UnitOutcome | None) -> None:
    run, _ = await a_session(store)
    others = [UnitId("m", "both", "case-1", 2), UnitId("m", "both", "case-2"), UnitId("n", "both", "case-1")]
    for unit in others:
        await store.finish_unit(run, UnitState(unit, UnitOutcome.EMPTY), [])
    await store.finish_unit(run, UnitState(UNIT, stands), [])
    await store.finish_unit(run, VALID, [], unless_answered=True)
    assert (await store.unit_states(run))[UNIT] == VALID


async def test_a_link_to_an_exchange_that_does_not_exist_is_refused(store: Store) -> None:
    run, _ = await a_session(store)
    good = store.finish_unit(run, UnitState(UnitId("m", "c", "2"), UnitOutcome.EMPTY), [])
    bad = store.finish_unit(run, VALID, [Link(99, "answer", 1)])
    results = await asyncio.gather(good, bad, return_exceptions=True)
    assert results[0] is None
    assert isinstance(results[1], StoreError)
    assert list(await store.unit_states(run)) == [UnitId("m", "c", "2")]


async def test_units_to_be_asked_again_are_marked_in_one_commit(store: Store) -> None:
    run, session = await a_session(store)
    ids = await appended(store, session, 3)
    units = [UnitId("m", "c", f"{n}") for n in range(3)]
    for unit in units:
        state = UnitState(unit, UnitOutcome.TRUNCATED, error="cut")
        await store.finish_unit(run, state, [Link(ids[0], "answer", 1, used=True)])
    new = UnitId("m", "c", "never begun")
    assert await store.mark_again(run, [units[0], units[1], new]) == ids[-1]
    states = await store.unit_states(run)
    assert states[units[0]] == UnitState(units[0], None, ids[-1])
    assert states[new] == UnitState(new, None, ids[-1])
    assert states[units[2]].outcome is UnitOutcome.TRUNCATED
    assert (await links_of(store, run))[units[0]] == [Link(ids[0], "answer", 1, used=True)]


async def test_units_can_be_marked_up_to_an_earlier_exchange(store: Store) -> None:
    run, session = await a_session(store)
    await appended(store, session, 3)
    assert await store.mark_again(run, [UNIT], last_exchange_id=1) == 1
    assert (await store.unit_states(run))[UNIT].again_after == 1


async def test_linked_units_come_in_order_and_in_pages_with_nothing_lost(store: Store) -> None:  # F8 F49
    run, session = await a_session(store)
    units = [
        UnitId(model, condition, f"case\\{case}", repeat)
        for model in ("b", "a")
        for condition in ("y", "x")
        for case in range(3)
        for repeat in (2, 1, 10)
    ]

    async def ask(unit: UnitId) -> None:
        id = await store.append(an_exchange(unit), session=session, serve=True, link=(run, unit))
        await store.finish_unit(run, UnitState(unit, UnitOutcome.VALID), [Link(id, "answer", 1, used=True)])

    await asyncio.gather(*map(ask, units))
    for batch in (1, 5, 36, 500):
        found = [unit async for unit in store.linked_units(run, batch=batch)]
        assert [unit.state.unit for unit in found] == sorted(units)
        assert all(unit.links[0][1].data == an_exchange(unit.state.unit) for unit in found)
    pages = [page async for page in store.unit_state_pages(run, page=7)]
    assert [len(page) for page in pages] == [7, 7, 7, 7, 7, 1]
    assert [state.unit for page in pages for state in page] == sorted(units)


async def test_pages_of_units_are_found_by_the_index_and_not_by_sorting(store: Store) -> None:  # F38 F49
    run, _ = await a_session(store)
    is_postgres = "://" in store._database.place
    plan = text(
        f"EXPLAIN {'' if is_postgres else 'QUERY PLAN'} SELECT case_id FROM unit WHERE run_id = :run AND "
        "(model, condition, case_id, repeat) > ('m', 'c', 'x', 1) "
        "ORDER BY model, condition, case_id, repeat LIMIT 10"
    )
    async with store._database.reading() as connection:
        if is_postgres:
            for choice in ("seqscan", "bitmapscan"):  # it would read a table as small as this from end to end
                await connection.execute(text(f"SET enable_{choice} = off"))
        steps = [row[-1] for row in await connection.execute(plan, {"run": run})]
    if is_postgres:
        assert "Sort" not in str(steps) and "Index Cond: ((run_id = 1) AND (ROW(model" in str(steps), steps
        return
    assert len(steps) == 1
    assert "USING PRIMARY KEY (run_id=? AND (model,condition,case_id,repeat)>(?,?,?,?))" in steps[0]


async def test_a_unit_killed_before_it_ended_is_there_without_an_outcome(store: Store) -> None:  # F23
    run, session = await a_session(store)
    id = await store.append(an_exchange(), session=session, serve=True, link=(run, UNIT))
    assert await store.unit_states(run) == {UNIT: UnitState(UNIT, None)}
    assert await links_of(store, run) == {UNIT: [Link(id, "answer", 1)]}


async def test_a_new_send_leaves_the_units_state_alone(store: Store) -> None:
    run, session = await a_session(store)
    await store.finish_unit(run, VALID, [])
    await store.append(an_exchange(), session=session, serve=True, link=(run, UNIT))
    assert await store.unit_states(run) == {UNIT: VALID}
