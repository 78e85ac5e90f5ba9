from __future__ import annotations

from collections.abc import Iterator

import pytest
from store_examples import a_session

from harness.cache import derived
from harness.cache.derived import RecordRow, UnitScore, Values, record_values, score_values
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.errors import StoreError
from harness.outcomes import UnitOutcome


def a_record(case: str, **changes: object) -> RecordRow:
    values = {
        "unit": UnitId("m", "both", case),
        "outcome": UnitOutcome.VALID,
        "stage": "attempt-1",
        "prediction": {"labels": ["a"]},
        "text": "the answer",
        "parser": "p" * 64,
    }
    return RecordRow(**(values | changes))  # type: ignore[arg-type]


async def test_records_come_back_as_they_were_in_order(store: Store) -> None:
    run, _ = await a_session(store)
    first = a_record("1", text="NUL \x00, \ud800, C:\\new", prediction={"x": ["\ud800\x00", None, 1.5, True]})
    second = a_record("2", outcome=UnitOutcome.REFUSED, stage=None, prediction=None, text="")
    await store.replace_records(run, [record_values(run, row) for row in (second, first)])
    assert [record async for record in store.records(run)] == [first, second]


async def test_scores_come_back_as_they_were_in_order(store: Store) -> None:
    run, _ = await a_session(store)
    unit = UnitId("m", "both", "1")
    scores = [
        UnitScore(unit, "case_f1", 0.1 + 0.2, None, "triage-1"),
        UnitScore(unit, "grade", None, "no worst value", "triage-1"),
    ]
    given = {one.metric: (one.value, one.reason) for one in reversed(scores)}
    await store.replace_unit_scores(run, score_values(run, unit, given, "triage-1"))
    assert [score async for score in store.unit_scores(run)] == scores


async def test_the_new_ones_take_the_place_of_all_of_that_run_only(store: Store) -> None:
    run, _ = await a_session(store)
    other, _ = await a_session(store, "other", "b" * 64)
    await store.replace_records(run, [record_values(run, a_record("1")), record_values(run, a_record("2"))])
    await store.replace_records(other, [record_values(other, a_record("1"))])
    await store.replace_records(run, [record_values(run, a_record("3"))])
    assert [record.unit.case_id async for record in store.records(run)] == ["3"]
    assert [record.unit.case_id async for record in store.records(other)] == ["1"]


async def test_thousands_of_rows_are_written_and_read_in_pages(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived, "PAGE", 10)
    run, _ = await a_session(store)
    await store.replace_records(run, (record_values(run, a_record(f"{n:03}")) for n in range(105)))
    assert [int(record.unit.case_id) async for record in store.records(run)] == list(range(105))


async def test_a_fault_on_the_way_leaves_the_old_ones(store: Store) -> None:
    run, _ = await a_session(store)

    def breaks() -> Iterator[Values]:
        yield record_values(run, a_record("new"))
        raise StoreError("the scorer failed")

    await store.replace_records(run, [record_values(run, a_record("old"))])
    with pytest.raises(StoreError, match="the scorer failed"):
        await store.replace_records(run, breaks())
    assert [record.unit.case_id async for record in store.records(run)] == ["old"]
