"""How many units stand, without their answers: alike on each database."""

from __future__ import annotations

from stored_run_builder import SCALING, Built, Plan, build, case

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.cache.unit_glances import REFORMATTED, Glance
from harness.outcomes import ExchangeOutcome, UnitOutcome

ODD = "c\0\ud800\\/<b>"
PLAN = Plan([case("c1", SCALING), case("c2"), case("c3"), case("c4"), case(ODD)], reformatter="rewriter")


def unit(case_id: str) -> UnitId:
    return UnitId("alpha", "both", case_id)


async def a_run(store: Store) -> Built:
    built = await build(store, PLAN)
    await built.valid(unit("c1"), SCALING)
    await built.answers(unit("c2"), UnitOutcome.UNPARSABLE, "no", "no", "no")
    first = await built.exchange(unit("c3"), "no")
    restated = await built.exchange(unit("c3"), "{}", purpose="reformat")
    links = [(first, "answer", 1), (restated, "reformat", 1)]
    await built.finish(unit("c3"), UnitOutcome.REFORMATTED, links, used=[first, restated])  # type: ignore[arg-type]
    return built


async def test_a_glance_says_how_a_unit_ended_at_which_attempt_and_what_was_asked_last(store: Store) -> None:
    built = await a_run(store)
    failed = await built.exchange(
        unit(ODD), None, status=500, outcome=ExchangeOutcome.UNAVAILABLE, key="k" * 64, twin="t" * 64
    )
    await built.finish(unit(ODD), UnitOutcome.PROVIDER_ERROR, [(failed, "answer", 1)])

    found = {one.case_id: one for one in await store.unit_glances(built.run.id, "alpha", "both")}

    assert found == {
        "c1": Glance("c1", 1, "valid", 1, 1),
        "c2": Glance("c2", 1, "unparsable", 4, 3),
        "c3": Glance("c3", 1, "reformatted", 6, REFORMATTED),
        ODD: Glance(ODD, 1, "provider_error", 7, 0),
    }
    some = await store.unit_glances(built.run.id, "alpha", "both", {ODD, "c1", "c9"})
    assert {one.case_id for one in some} == {ODD, "c1"}
    assert not await store.unit_glances(built.run.id, "beta", "both")


async def test_answers_of_an_earlier_round_are_not_glanced_at(store: Store) -> None:
    built = await a_run(store)
    await store.mark_again(built.run.id, [unit("c2")])

    marked = await store.unit_glances(built.run.id, "alpha", "both", {"c2"})
    assert list(marked) == [Glance("c2", 1, None, None, 0)]

    again = await built.exchange(unit("c2"), "{}")
    await built.finish(unit("c2"), UnitOutcome.VALID, [(again, "answer", 1)], used=[again], again_after=6)
    assert list(await store.unit_glances(built.run.id, "alpha", "both", {"c2"})) == [
        Glance("c2", 1, "valid", 7, 1)
    ]


async def test_units_with_new_exchanges_are_named_up_to_a_number(store: Store) -> None:
    built = await a_run(store)

    assert set(await store.touched_units(built.run.id, 4, 10) or ()) == {unit("c3")}
    assert set(await store.touched_units(built.run.id, 0, 3) or ()) == {unit("c1"), unit("c2"), unit("c3")}
    assert await store.touched_units(built.run.id, 0, 2) is None
    assert not await store.touched_units(built.run.id + 1, 0, 10)


async def test_some_units_come_with_their_exchanges_in_order(store: Store) -> None:
    built = await a_run(store)

    found = await store.some_linked_units(built.run.id, [unit("c3"), unit("c1"), unit("c4")])

    assert {one.state.unit.case_id: [link.exchange_id for link, _ in one.links] for one in found} == {
        "c1": [1], "c3": [5, 6]
    }  # fmt: skip
    whole = {one.state.unit: one async for one in store.linked_units(built.run.id)}
    assert all(one == whole[one.state.unit] for one in found)


async def test_totals_are_those_of_the_runs_asked_about(store: Store) -> None:
    built = await a_run(store)

    found = await store.unit_totals([built.run.id, 99])

    assert sorted(found) == sorted(
        [(built.run.id, name, 1) for name in ("valid", "unparsable", "reformatted")]
    )
    assert not await store.unit_totals([])


async def test_records_and_scores_come_in_pages(store: Store) -> None:
    from harness.cache.derived import RecordRow, record_values, score_values

    built = await a_run(store)
    units = [unit(f"x{number:05d}") for number in range(4_100)] + [unit(ODD)]
    rows = [RecordRow(one, UnitOutcome.VALID, "attempt-1", None, f"t\0{one.case_id}", "p") for one in units]
    await store.replace_records(built.run.id, [record_values(built.run.id, row) for row in rows])
    scores = {"right": (1.0, None), "other": (0.5, None)}
    await store.replace_unit_scores(
        built.run.id, [row for one in units for row in score_values(built.run.id, one, scores, "s")]
    )

    texts = [tuple(row) async for page in store.record_texts(built.run.id) for row in page]
    values = [tuple(row) async for page in store.unit_values(built.run.id, {"right"}) for row in page]

    assert sorted(row[2] for row in texts) == sorted(one.case_id for one in units)
    assert all(row[4:] == ("valid", "attempt-1", f"t\0{row[2]}") for row in texts)
    assert len(values) == len(units) and {row[4:] for row in values} == {("right", 1.0)}
