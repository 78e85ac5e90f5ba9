"""The units of a run in memory: what filters leave, in which order, and what each choice would leave."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bulk_run import bulk_plan, fill
from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, answer, built_run, case
from viewed_runs import ids, index_of

from harness.benchmarks.triage.task import Triage
from harness.cache.rows import UnitId
from harness.offline.score import score_run
from harness.outcomes import UnitOutcome
from harness.web.viewing.filters import FACETS, Filters
from harness.web.viewing.unit_index import Neighbours, UnitIndex

CASES = [
    case("c1", SCALING, complaint="Es TUT weh, links oben", tags=("adult", "hard")),
    case("c2", FILLING, complaint="左侧 toothache", tags=("child",)),
    case("c3", EXTRACTION, complaint="Nothing hurts."),
]
PLAN = Plan(CASES, models=("alpha", "beta"), conditions=("both", "opg"), reformatter="rewriter")


def unit(model: str, case_id: str, condition: str = "both") -> UnitId:
    return UnitId(model, condition, case_id)


async def restated(built: Built, one: UnitId, *texts: str | UnitOutcome) -> None:
    """End a unit after answers and what a reformatter made of the last one."""
    *answers, last, outcome = texts
    assert isinstance(last, str) and isinstance(outcome, UnitOutcome)
    ids = [await built.exchange(one, str(text), attempt=n) for n, text in enumerate(answers, start=1)]
    asked = {"messages": [{"content": str(answers[-1])}]}
    ids.append(await built.exchange(one, last, purpose="reformat", request=asked))
    links: Any = [(id, "answer", n) for n, id in enumerate(ids[:-1], start=1)]
    await built.finish(one, outcome, [*links, (ids[-1], "reformat", 1)], used=ids[-2:])


@pytest.fixture
async def built(tmp_path: Path) -> AsyncIterator[Built]:
    async with built_run(tmp_path, PLAN) as built:
        await built.valid(unit("alpha", "c1"), SCALING)
        await built.valid(unit("alpha", "c2"), SCALING)
        await restated(
            built, unit("alpha", "c3"), "No", "NEVER", "never Ever", "cannot", UnitOutcome.UNPARSABLE
        )
        await built.answers(unit("beta", "c1"), UnitOutcome.VALID, "no", answer(SCALING, FILLING))
        await restated(
            built, unit("beta", "c2"), "x", "y", "a filling", answer(FILLING), UnitOutcome.REFORMATTED
        )
        yield built


@pytest.fixture
async def index(built: Built) -> UnitIndex:
    found, reader = await index_of(built)
    await reader.fill(scores=True)
    return found


async def test_units_stand_in_the_order_of_the_run(index: UnitIndex) -> None:
    units = [index.layout.unit(row) for row in range(len(index))]

    assert units == [
        UnitId(model, condition, one.id)
        for model in PLAN.models
        for condition in PLAN.conditions
        for one in CASES
    ]
    assert [index.layout.row(one) for one in units] == list(range(12))
    for other in (
        unit("gamma", "c1"),
        unit("alpha", "c9"),
        replace(units[0], repeat=2),
        replace(units[0], condition="x"),
    ):
        assert index.layout.row(other) is None
        assert index.glance(other) is None


async def test_without_scores_a_list_says_how_units_ended_and_at_which_stage(built: Built) -> None:
    index, _ = await index_of(built)

    def seen(model: str, case_id: str) -> tuple[object, ...]:
        glance = index.glance(unit(model, case_id))
        assert glance is not None
        return glance.outcome, glance.stage, glance.right, glance.read

    assert seen("alpha", "c1") == (UnitOutcome.VALID, "attempt-1", None, False)
    assert seen("alpha", "c3") == (UnitOutcome.UNPARSABLE, None, None, False)
    assert seen("beta", "c1") == (UnitOutcome.VALID, "attempt-2", None, False)
    assert seen("beta", "c2") == (UnitOutcome.REFORMATTED, "reformatter", None, False)
    assert seen("beta", "c3") == (None, None, None, False)


async def test_right_and_wrong_are_those_of_the_benchmark(index: UnitIndex) -> None:
    assert await ids(index, right=("yes",)) == ["a:c1", "b:c2"]
    assert await ids(index, right=("no",)) == ["a:c2", "a:c3", "b:c1"]
    assert len(await ids(index, right=("none",))) == 7
    assert (await ids(index, right=("yes", "no"), condition=("both",), model=("beta",))) == ["b:c1", "b:c2"]


async def test_the_worst_come_first_and_the_unknown_before_the_right(index: UnitIndex) -> None:
    assert await ids(index, sort="worst", condition=("both",)) == [
        "a:c2", "a:c3", "b:c1", "b:c3", "a:c1", "b:c2"
    ]  # fmt: skip


async def test_the_latest_are_those_that_were_asked_last(index: UnitIndex) -> None:
    assert (await ids(index, sort="latest"))[:6] == ["b:c2", "b:c1", "a:c3", "a:c2", "a:c1", "a:c1"]


async def test_all_words_are_found_in_answers_ids_and_cases(index: UnitIndex) -> None:
    left = {
        "tut": ["a:c1", "a:c1", "b:c1", "b:c1"],
        "OBEN weh": ["a:c1", "a:c1", "b:c1", "b:c1"],
        "oben toothache": [],
        "左侧": ["a:c2", "a:c2", "b:c2", "b:c2"],
        "never ever": ["a:c3"],
        "never nothing": ["a:c3"],
        "C3 NEVER": ["a:c3"],
        "gingivitis filling": [],
        "perio c1": ["a:c1", "b:c1"],
        "   ": await ids(index),
    }
    assert {text: await ids(index, text=text) for text in left} == left


async def test_strata_are_the_tags_of_cases(index: UnitIndex) -> None:
    looked = await index.look(Filters(model=("alpha",), condition=("both",)))

    assert {one.value: one.units for one in looked.facets["stratum"]} == {"adult": 1, "hard": 1, "child": 1}
    assert await ids(index, stratum=("child", "hard"), condition=("opg",)) == ["a:c1", "a:c2", "b:c1", "b:c2"]
    assert await ids(index, stratum=("nobody",)) == []


async def test_neighbours_stand_in_the_order_that_was_chosen(index: UnitIndex) -> None:
    wrong = Filters(right=("no",), sort="worst")

    assert await index.neighbours(unit("alpha", "c3"), wrong) == Neighbours(
        unit("alpha", "c2"), unit("beta", "c1"), 2, 3
    )
    assert (await index.neighbours(unit("alpha", "c2"), wrong)).previous is None
    assert (await index.neighbours(unit("beta", "c1"), wrong)).next is None
    left_out = await index.neighbours(unit("alpha", "c1"), wrong)
    assert left_out == Neighbours(None, unit("alpha", "c2"), None, 3)
    assert await index.neighbours(unit("nobody", "c1"), Filters(text="zzz")) == Neighbours(
        None, None, None, 0
    )


async def test_texts_beyond_the_memory_for_them_are_counted(index: UnitIndex) -> None:
    from harness.web.viewing.unit_texts import UnitTexts

    texts = UnitTexts(3, np.zeros(3, np.int32), most_bytes=10)
    for row, text in enumerate(("12345", "123456", "1234")):
        texts.set_answer(row, text)

    assert texts.left_out == 1
    assert texts.having(["1"]).tolist() == [True, False, True]  # type: ignore[union-attr]
    assert texts.beginning(1) == "123456"
    texts.set_answer(0, "")
    texts.set_answer(1, "123")
    assert texts.left_out == 0
    assert texts.having(["3"]).tolist() == [False, True, True]  # type: ignore[union-attr]


def known_of(index: UnitIndex) -> list[tuple[Mapping[str, Collection[str]], str]]:
    """Return of each unit its value of each facet, and all that is looked through for words."""
    found: list[tuple[Mapping[str, Collection[str]], str]] = []
    for row in range(len(index)):
        glance = index.glance_at(row)
        one = index.stored.case_index.case(int(index.layout.place[row]))
        text = index.texts._answers[row].decode() + " ".join((one.id, *one.fields.values())).casefold()
        values = {
            "model": {glance.unit.model}, "condition": {glance.unit.condition},
            "outcome": {str(glance.outcome or "open")}, "stage": {glance.stage or "none"},
            "stratum": one.tags, "right": {{None: "none", True: "yes", False: "no"}[glance.right]},
        }  # fmt: skip
        found.append((values, text))
    return found


def one_by_one(known: list[tuple[Mapping[str, Collection[str]], str]], filters: Filters) -> list[int]:
    return [
        row
        for row, (values, text) in enumerate(known)
        if all(not filters.chosen(facet) or {*filters.chosen(facet)} & {*values[facet]} for facet in FACETS)
        and all(word in text for word in filters.words())
    ]


async def test_filters_leave_what_one_by_one_leaves_and_facets_count_it(tmp_path: Path) -> None:
    plan = bulk_plan(80, conditions=("both", "opg"), repeats=2)
    tagged = [replace(one, tags=(f"t{place % 7}", f"u{place % 3}")) for place, one in enumerate(plan.cases)]
    async with built_run(tmp_path, replace(plan, cases=tagged)) as built:
        await fill(built)
        bulk, reader = await index_of(built)
        await reader.fill(scores=True)
    assert len(bulk) == 80 * 4 * 2 * 2
    drawn, known = random.Random(8), known_of(bulk)
    values = {
        facet: [one.value for one in found] for facet, found in (await bulk.look(Filters())).facets.items()
    }
    assert all(len(values[facet]) > 1 for facet in FACETS)
    for _ in range(25):
        filters = Filters(text=drawn.choice(["", "", "since 4 weeks", "case-00001"]))
        for facet in FACETS:
            if drawn.random() < 0.4:
                for value in drawn.sample(values[facet], drawn.randint(1, 2)):
                    filters = filters.toggled(facet, value)
        looked = await bulk.look(filters)
        assert looked.rows.tolist() == one_by_one(known, filters), filters

        facet = drawn.choice(FACETS)
        for one in drawn.sample(list(looked.facets[facet]), 2):
            only = filters.without(facet).toggled(facet, one.value)
            assert one.units == len((await bulk.look(only, facets=False)).rows), (filters, facet, one)
            assert one.chosen == (one.value in filters.chosen(facet))


async def test_scores_of_the_run_say_the_same_as_reading_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Triage, "intervals", lambda *_: {})
    async with built_run(tmp_path, bulk_plan(110, ("alpha", "beta"))) as built:
        await fill(built)
        read, reader = await index_of(built)
        await reader.fill(scores=True)
        await score_run(built.store, built.run)
        scored, of_scores = await index_of(built)
        monkeypatch.setattr(type(of_scores), "read", None)  # nothing is read again
        await of_scores.fill(scores=True)

    assert scored.reading == read.reading == (220, 220)
    for name in ("outcome", "stage", "right", "value", "read", "last"):
        before, after = getattr(read.columns, name), getattr(scored.columns, name)
        assert np.array_equal(before, after, equal_nan=name == "value"), name
    words = ("quadrant", "patient", "scaling", "9")
    for word in words:
        assert scored.texts.having([word]).tolist() == read.texts.having([word]).tolist()  # type: ignore[union-attr]
    assert [scored.texts.beginning(row) for row in range(220)] == [
        read.texts.beginning(row) for row in range(220)
    ]
