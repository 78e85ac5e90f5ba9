"""Whole scores in the store, and the digest that says whether they are out of date: on each database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from store_examples import a_session, an_exchange

from harness.cache.derived import RecordRow, record_values
from harness.cache.grades import NewGrade
from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store
from harness.cache.stored_scores import PackedUnits, StoredScore, UnitsKey
from harness.canonical import pack
from harness.errors import StoreError
from harness.outcomes import UnitOutcome

ONE = UnitId("m", "both", "1")
KEYS = (UnitsKey("model", "\ud800 \\u0000 \x00", "both"), UnitsKey("baseline", "a", "b|oth"))
ROWS = tuple(PackedUnits(key, 3, 2, pack(bytes([place]) * 70_000)) for place, key in enumerate(KEYS))
SCORE = StoredScore("me", {"form": 1}, '{"z":1.0,"a":"\\ud800"}', "{}", bytes(16))


async def scored(store: Store, run: int, *, scoring: str = "me") -> bool:
    await store.replace_records(run, [], scoring=scoring)
    await store.replace_unit_scores(run, [], scoring=scoring)
    return await store.store_score(run, replace(SCORE, scoring=scoring), iter(ROWS))


async def test_a_score_comes_back_as_it_was_with_its_rows_in_order(store: Store) -> None:
    run, _ = await a_session(store)
    assert await store.stored_score(run) is None
    for _ in range(2):
        assert await scored(store, run)
        assert await store.stored_score(run) == replace(SCORE, rows=list(KEYS))
        assert [await store.row_units(run, "me", key) for key in KEYS] == list(ROWS)
        assert await store.row_units(run, "me", UnitsKey("model", "x", "both")) is None
    assert await store.verify() == []


async def test_nobody_stores_the_scores_of_records_that_another_one_has_replaced(store: Store) -> None:
    run, _ = await a_session(store)
    await store.replace_records(run, [], scoring="first")
    unit_score = [(run, "m", "both", "1", 1, "f1", 0.5, None, "s")]
    record = record_values(run, RecordRow(ONE, UnitOutcome.VALID, None, None, "", "p"))
    await store.replace_records(run, [record], scoring="second")
    await store.replace_unit_scores(run, unit_score, scoring="first")
    assert [one async for one in store.unit_scores(run)] == []
    assert not await store.store_score(run, replace(SCORE, scoring="first"), iter(ROWS))
    assert await store.stored_score(run) is None, "nobody has finished yet"
    await store.replace_unit_scores(run, unit_score, scoring="second")
    assert len([one async for one in store.unit_scores(run)]) == 1
    assert await store.store_score(run, replace(SCORE, scoring="second"), iter(ROWS))
    with pytest.raises(StoreError, match="was scored again meanwhile"):
        await store.row_units(run, "first", KEYS[0])


@pytest.mark.parametrize("how", ["records", "scores", "another scoring"])
async def test_whatever_replaces_what_they_are_made_of_drops_them(store: Store, how: str) -> None:
    run, _ = await a_session(store)
    other, _ = await a_session(store, "other", "b" * 64)
    await scored(store, run)
    await scored(store, other, scoring="them")
    if how == "records":
        await store.replace_records(run, [])
    elif how == "scores":
        await store.replace_unit_scores(run, [])
    else:
        await store.replace_records(run, [], scoring="next")
    assert await store.stored_score(run) is None
    kept = await store.stored_score(other)
    assert kept is not None and kept.scoring == "them" and len(kept.rows) == 2


async def test_damaged_scores_are_told(store: Store) -> None:
    run, _ = await a_session(store)
    await scored(store, run)
    for column, table in (("score", "scored_run"), ("data", "row_units")):
        async with store._database.writing() as transaction:
            zero = "x'00'" if transaction.connection.dialect.name == "sqlite" else "'\\x00'::bytea"
            await transaction.connection.exec_driver_sql(f"UPDATE {table} SET {column} = {zero}")
    assert await store.stored_score(run) is None, "they are made anew"
    assert await store.verify() == [
        "the whole scores of run 1 are damaged; `harness score` makes them anew",
        "numbers of units of run 1 are damaged, row 0; `harness score` makes them anew",
        "numbers of units of run 1 are damaged, row 1; `harness score` makes them anew",
    ]


async def test_rows_without_scores_are_told(store: Store) -> None:
    run, _ = await a_session(store)
    await scored(store, run)
    async with store._database.writing() as transaction:
        await transaction.connection.exec_driver_sql("DELETE FROM scored_run")
    assert await store.verify() == [
        "run 1 has numbers of units without the scores that they belong to; `harness score` makes both anew"
    ]


async def test_a_backup_has_them(store: Store, tmp_path: Path) -> None:
    run, _ = await a_session(store)
    await scored(store, run)
    evidence = await store.evidence_digest(run)
    await store.backup(tmp_path / "copy.sqlite3")
    async with await Store.open(str(tmp_path / "copy.sqlite3")) as copy:
        assert await copy.stored_score(run) == replace(SCORE, rows=list(KEYS))
        assert [await copy.row_units(run, "me", key) for key in KEYS] == list(ROWS)
        assert await copy.evidence_digest(run) == evidence


async def test_every_change_of_the_evidence_gives_another_digest(store: Store) -> None:
    run, session = await a_session(store)
    seen = [await store.evidence_digest(run)]

    async def note() -> None:
        seen.append(await store.evidence_digest(run))

    for state in (
        UnitState(ONE, None),
        UnitState(ONE, UnitOutcome.NOT_ATTEMPTED),
        UnitState(ONE, UnitOutcome.NOT_ATTEMPTED, 0, "x"),
        UnitState(ONE, UnitOutcome.NOT_ATTEMPTED, 0, "y"),
        UnitState(ONE, UnitOutcome.NOT_ATTEMPTED, 1, "y"),
        UnitState(replace(ONE, repeat=2), None),
        UnitState(replace(ONE, case_id="2"), None),
        UnitState(replace(ONE, case_id="1|1|valid|0\n1:2"), None),
        UnitState(replace(ONE, case_id="\\u0000 \x00 \ud800 c'"), None),
        UnitState(replace(ONE, condition="opg"), None),
        UnitState(replace(ONE, model="n"), None),
    ):
        await store.finish_unit(run, state, [])
        await note()
    ids = [await store.append(an_exchange(n), session=session, serve=True) for n in range(2)]
    assert await store.evidence_digest(run) == seen[-1], "nothing is linked to them"
    first = Link(ids[0], "answer", 1)
    used = replace(first, used=True)
    for links in ([first], [used], [replace(used, attempt=2)], [replace(used, purpose="reformat")],
                  [used, Link(ids[1], "answer", 1)]):  # fmt: skip
        await store.finish_unit(run, UnitState(ONE, UnitOutcome.VALID), links)
        await note()
    await store.mark_again(run, [ONE])
    await note()
    await store.add_grades(run, [NewGrade(ONE, "me", "q", 1, 5)])
    await note()
    await store.add_grades(run, [NewGrade(ONE, "me", "q", 2, 6)])
    await note()
    other = await store.start_session(run, {"models": {}})
    await note()
    await store.end_session(other, 0, {"models": {"m": 1}})
    await note()
    assert len(set(seen)) == len(seen) == 22


async def test_outcomes_that_change_places_give_another_digest(store: Store) -> None:
    run, _ = await a_session(store)
    seen = set()
    for outcomes in (("valid", "empty"), ("empty", "valid")):
        for case, outcome in zip("ab", outcomes, strict=True):
            await store.finish_unit(run, UnitState(replace(ONE, case_id=case), UnitOutcome(outcome)), [])
        seen.add(await store.evidence_digest(run))
    assert len(seen) == 2


async def test_the_ids_of_cases_are_in_the_digest(store: Store) -> None:
    seen = set()
    for case in ("a", "b", "a"):
        run = await store.save_run(None, case * 64 if not seen else f"{len(seen)}{case}" * 32, "triage", {})
        await store.finish_unit(run.id, UnitState(replace(ONE, case_id=case), UnitOutcome.VALID), [])
        seen.add(await store.evidence_digest(run.id))
    assert len(seen) == 2, "and nothing else of a run is"


async def test_a_change_in_the_middle_of_much_evidence_gives_another_digest(store: Store) -> None:
    run, session = await a_session(store)
    units = [replace(ONE, case_id=f"case-{place:03d}") for place in range(60)]
    for unit in units:
        await store.finish_unit(run, UnitState(unit, UnitOutcome.VALID), [])
    await store.end_session(session, 0, {"models": {str(place): place for place in range(200)}})
    seen = {await store.evidence_digest(run)}
    await store.finish_unit(run, UnitState(units[30], UnitOutcome.EMPTY), [])
    seen.add(await store.evidence_digest(run))
    await store.finish_unit(run, UnitState(units[30], UnitOutcome.REJECTED, 0, "a" * 900), [])
    seen.add(await store.evidence_digest(run))
    await store.finish_unit(run, UnitState(units[30], UnitOutcome.REJECTED, 0, "a" * 450 + "b" * 450), [])
    seen.add(await store.evidence_digest(run))
    changed = {str(place): place + (place == 100) for place in range(200)}
    await store.end_session(session, 0, {"models": changed})
    seen.add(await store.evidence_digest(run))
    assert len(seen) == 5
