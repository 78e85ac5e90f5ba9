"""Stored scores: as fresh ones would be, or made anew; never those of something else."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_examples import an_exchange
from stored_run_builder import (
    EXTRACTION,
    FILLING,
    SCALING,
    Built,
    Plan,
    answer,
    build,
    built_run,
    case,
    session_info,
)

from harness.benchmarks.base import CaseSet
from harness.benchmarks.triage.task import Triage
from harness.cache.grades import NewGrade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.errors import ConfigError, StoreError
from harness.offline import score as scoring
from harness.offline import score_basis
from harness.offline.row_units import OUTCOMES, RowKey
from harness.offline.scored_runs import ScoredRun, case_digest, scored_run
from harness.outcomes import ExchangeOutcome, UnitOutcome

CASES = [case("c1", SCALING), case("c2", FILLING), case("c3", SCALING, EXTRACTION, group="p"),
         case("c4", group="p")]  # fmt: skip
RATED = {"junior-1": {"c1": json.loads(answer(SCALING)), "c3": json.loads(answer(EXTRACTION))}}
PLAN = Plan(CASES, models=("alpha", "beta"), raters=RATED)
ONE = UnitId("alpha", "both", "c1")


@pytest.fixture(autouse=True)
def without_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of draws for four cases say nothing here, and take most of the time."""
    monkeypatch.setattr(Triage, "intervals", lambda *_: {})


async def answer_all(built: Built) -> None:
    """Answer rightly, but for one unit of beta that is unusable and one of alpha that failed."""
    for model in built.plan.models:
        for one in built.plan.cases:
            unit = UnitId(model, "both", one.id)
            if (model, one.id) == ("beta", "c2"):
                await built.answers(unit, UnitOutcome.UNPARSABLE, "no", "no", "no")
            elif (model, one.id) == ("alpha", "c4"):
                id = await built.exchange(unit, None, status=500, outcome=ExchangeOutcome.UNAVAILABLE)
                error = "unavailable: it failed"
                await built.finish(unit, UnitOutcome.PROVIDER_ERROR, [(id, "answer", 1)], error=error)
            else:
                await built.valid(unit, *one.reference["labels"])


async def ask(built: Built, told: list[str] | None = None, **options: Any) -> ScoredRun:
    return await scored_run(built.store, built.run, tell=None if told is None else told.append, **options)


def no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "replay_units", None)


async def test_what_was_scored_is_read_back_without_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        fresh = await scoring.score_run(built.store, built.run)
        no_replay(monkeypatch)
        found = await ask(built, told)
        assert (told, found.made) == ([], False)
        assert json.dumps(found.score) == json.dumps(fresh.to_json())
        assert found.rows == tuple(
            RowKey(row.kind, row.name, row.condition) for row in fresh.rows if row.name != "prevalence"
        )
        assert [(row.kind, row.name) for row in found.rows] == [
            ("model", "alpha"), ("model", "beta"), ("rater", "junior-1"), ("baseline", "nothing")
        ]  # fmt: skip
        beta = await found.numbers(found.rows[1])
        assert [found.stored.case_index.id(place) for place in beta.units.cases] == ["c1", "c2", "c3", "c4"]
        assert [OUTCOMES[code] for code in beta.outcomes] == ["valid", "unparsable", "valid", "valid"]
        assert beta.units.clusters[2] == beta.units.clusters[3] != beta.units.clusters[0]
        alpha = await found.numbers(found.rows[0])
        assert len(alpha.units) == 3, "a unit that is nobody's answer enters no number"
        with pytest.raises(KeyError):
            await found.numbers(RowKey("baseline", "prevalence", "both"))


async def test_what_was_just_made_is_as_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # with intervals
    told: list[str] = []
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        made, read = await ask(built, told), await ask(built, told)
        assert told == ["scoring run 'test-run' first: it has no stored scores"]
        assert (made.made, read.made) == (True, False)
        assert json.dumps(made.score) == json.dumps(read.score)
        assert (made.effort, made.rows) == (read.effort, read.rows)
        for row in made.rows:
            one, other = await made.numbers(row), await read.numbers(row)
            for name in ("numbers", "cases", "clusters", "repeats", "members"):
                np.testing.assert_array_equal(getattr(one.units, name), getattr(other.units, name))
            assert one.units.conditions == other.units.conditions == ("both",)
            np.testing.assert_array_equal(one.outcomes, other.outcomes)


Change = Callable[[Built], Awaitable[object]]


async def _answered(built: Built) -> None:
    await built.valid(UnitId("alpha", "both", "c4"))


async def _marked_again(built: Built) -> None:
    await built.store.mark_again(built.run.id, [ONE], last_exchange_id=0)


async def _other_error(built: Built) -> None:
    unit = UnitId("alpha", "both", "c4")
    await built.finish(unit, UnitOutcome.PROVIDER_ERROR, error="timeout: it took too long")


async def _outcomes_swapped(built: Built) -> None:
    """Every count and every sum over units stays as it was."""
    for name, outcome in (("c1", UnitOutcome.UNPARSABLE), ("c2", UnitOutcome.VALID)):
        await built.finish(UnitId("beta", "both", name), outcome)


async def _linked(built: Built) -> None:
    await built.exchange(ONE, answer(FILLING), attempt=2)


async def _used(built: Built) -> None:
    [linked] = [one async for one in built.store.linked_units(built.run.id) if one.state.unit == ONE]
    link = replace(linked.links[0][0], used=False)
    await built.store.finish_unit(built.run.id, linked.state, [link])


async def _session(built: Built) -> None:
    await built.store.start_session(built.run.id, session_info(built.plan))


async def _session_ended(built: Built) -> None:
    await built.store.end_session(built.session, 0, {"spent_usd": 1.0})


async def _graded(built: Built) -> None:
    await built.store.add_grades(built.run.id, [NewGrade(ONE, "me", "D1_Neglect", 1, 5)])


async def _emptied(built: Built) -> None:
    await built.store.replace_records(built.run.id, [])


CHANGES: Mapping[str, tuple[Change, str]] = {
    "a unit got an answer": (_answered, "its answers, grades or settings"),
    "a unit is marked to be asked again": (_marked_again, "its answers, grades or settings"),
    "a unit failed for another reason": (_other_error, "its answers, grades or settings"),
    "two units changed places": (_outcomes_swapped, "its answers, grades or settings"),
    "an exchange was linked": (_linked, "its answers, grades or settings"),
    "an exchange is not used any more": (_used, "its answers, grades or settings"),
    "a session began": (_session, "its answers, grades or settings"),
    "a session ended": (_session_ended, "its answers, grades or settings"),
    "a grade was given": (_graded, "its answers, grades or settings"),
    "the derived tables were dropped": (_emptied, "it has no stored scores"),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_whatever_changes_makes_the_scores_anew(tmp_path: Path, name: str) -> None:
    change, why = CHANGES[name]
    told: list[str] = []
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        await ask(built)
        await change(built)
        found = await ask(built, told)
        assert found.made
        assert len(told) == 1 and told[0].startswith(f"scoring run 'test-run' first: {why}")
        fresh = (await scoring.score_run(built.store, built.run)).to_json()
        assert json.dumps(found.score) == json.dumps(fresh)
        assert not (await ask(built, told)).made and len(told) == 1


async def test_what_concerns_others_changes_nothing(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        await ask(built)
        other = await build(built.store, Plan(CASES[:2]), name="other")
        await other.valid(ONE, SCALING)
        await other.store.add_grades(other.run.id, [NewGrade(ONE, "me", "D1_Neglect", 1, 5)])
        await built.store.append(an_exchange("loose"), session=other.session, serve=True)
        await built.store.claim("k")
        assert not (await ask(built)).made


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("parser_digest", lambda name: "other", "the code that reads answers has changed"),
        ("scorer_digest", lambda name: "other", "the code that scores has changed"),
        ("version", lambda name: "99", "another version of Python or of a library is in use"),
        ("FORM", 99, "its stored scores are of another version of this program"),
    ],
)
async def test_another_program_makes_the_scores_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: Any, why: str
) -> None:
    told: list[str] = []
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        await ask(built)
        monkeypatch.setattr(score_basis, name, value)
        await ask(built, told)
        assert told == [f"scoring run 'test-run' first: {why}"]
        assert not (await ask(built)).made
        monkeypatch.undo()
        assert (await ask(built)).made


async def test_scores_by_other_rules_or_references_are_none_of_these(tmp_path: Path) -> None:
    told: list[str] = []
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        own = await ask(built)
        one = await ask(built, told, conventions={"zero_division": "1"})
        assert one.score["conventions"]["zero_division"] == "1" and one.made
        assert not (await ask(built, told, conventions={"zero_division": "1", "case_f1_empty": "1"})).made
        await ask(built, told)
        corrected = CaseSet([replace(CASES[0], reference={"labels": [FILLING], "rationale": ""}), *CASES[1:]])
        await scoring.score_run(built.store, built.run, corrected=corrected)
        again = await ask(built, told)
        assert json.dumps(again.score) == json.dumps(own.score)
        assert (await ask(built, told, grades="none")).made
        await ask(built, told)
        with pytest.raises(ConfigError, match="unknown convention"):
            await ask(built, conventions={"zero": "1"})
    reasons = [line.rpartition("stored scores ")[2] for line in told]
    assert reasons == [
        "follow other conventions", "follow other conventions",
        "use corrected references, which are not used here", "use other grades", "use other grades",
    ]  # fmt: skip


async def test_only_a_tool_that_came_makes_the_scores_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here: dict[str, bool] = {}
    monkeypatch.setattr("harness.benchmarks.task.Task.tools_here", lambda self, conventions: dict(here))
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        made = []
        for found in ({"java": False}, {"java": False}, {"java": True}, {"java": True}, {"java": False}):
            here = found
            made.append((await ask(built)).made)
    assert made == [True, False, True, False, False]


async def test_a_store_that_can_only_be_read_gives_the_same_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        with monkeypatch.context() as patch:
            patch.setattr(Store, "read_only", property(lambda self: True))
            made = await ask(built, told)
            assert await built.store.stored_score(built.run.id) is None
        assert told == [
            "scoring run 'test-run' first: it has no stored scores; the store can only be read, so they are "
            "not kept"
        ]
        stored = await ask(built)
        assert json.dumps(made.score) == json.dumps(stored.score)
        for row in stored.rows:
            one, other = await made.numbers(row), await stored.numbers(row)
            np.testing.assert_array_equal(one.units.numbers, other.units.numbers)
        monkeypatch.setattr(Store, "read_only", property(lambda self: True))
        no_replay(monkeypatch)
        assert not (await ask(built)).made


@pytest.mark.parametrize("killed_at", ["replace_records", "replace_unit_scores", "store_score"])
@pytest.mark.parametrize("before", [False, True])
async def test_scores_that_are_half_written_are_never_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: str, *, before: bool
) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        if before:
            await ask(built)
            await _answered(built)
        with monkeypatch.context() as patch:
            patch.setattr(Store, killed_at, _killed)
            with pytest.raises(KeyboardInterrupt):
                await ask(built)
        kept = await built.store.stored_score(built.run.id)
        assert (kept is not None) == (before and killed_at == "replace_records")
        found = await ask(built)
        assert found.made
        assert json.dumps(found.score) == json.dumps(
            (await scoring.score_run(built.store, built.run)).to_json()
        )


async def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


async def test_of_two_scorings_at_once_the_later_one_stands_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        store_unit_scores = Store.replace_unit_scores

        async def slow(store: Store, *args: Any, **options: Any) -> None:
            monkeypatch.setattr(Store, "replace_unit_scores", store_unit_scores)
            await ask(built, conventions={"zero_division": "1"})  # another process, in between
            await store.replace_unit_scores(*args, **options)

        monkeypatch.setattr(Store, "replace_unit_scores", slow)
        mine = await ask(built)
        assert mine.score["conventions"]["zero_division"] == "0"
        assert len((await mine.numbers(mine.rows[0])).units) == 3
        no_replay(monkeypatch)
        theirs = await ask(built, conventions={"zero_division": "1"})
        assert not theirs.made
        values = [one.value async for one in built.store.unit_scores(built.run.id) if "recall" in one.metric]
        assert values == [one for one in values if one is not None]


async def test_an_answer_that_comes_while_the_run_is_scored_makes_that_score_outdated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        replace_records = Store.replace_records

        async def late(store: Store, *args: Any, **options: Any) -> None:
            monkeypatch.setattr(Store, "replace_records", replace_records)
            await _answered(built)
            await store.replace_records(*args, **options)

        monkeypatch.setattr(Store, "replace_records", late)
        first = await ask(built)
        again = await ask(built)
        assert again.made
        assert [one.score["rows"][0]["to_complete"] for one in (first, again)] == [1, 0]


async def test_numbers_of_another_scoring_are_not_taken_for_these(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await answer_all(built)
        await ask(built)
        read = await ask(built)
        await ask(built, conventions={"zero_division": "1"})
        with pytest.raises(StoreError, match="was scored again meanwhile; run the same command once more"):
            await read.numbers(read.rows[0])


async def test_joining_a_store_drops_what_was_made_of_less(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    async with built_run(tmp_path / "there", PLAN) as there:
        await answer_all(there)
        await ask(there)
    async with built_run(tmp_path / "here", PLAN) as here:
        await here.valid(ONE, SCALING)
        first = await ask(here)
        await here.store.merge(tmp_path / "there" / "store.sqlite3", _no_migration)
        assert await here.store.stored_score(here.run.id) is None, "derived tables are not joined"
        second = await ask(here)
        assert (first.score["rows"][0]["n_cases"], second.score["rows"][0]["n_cases"]) == (1, 3)
        assert await here.store.verify() == []


async def _no_migration(path: Path) -> None:
    raise AssertionError(path)


async def test_cases_of_equal_content_have_equal_digests(tmp_path: Path) -> None:
    one = case("a", SCALING, complaint="It hurts.")
    assert case_digest(one) == case_digest(replace(one, id="b", tags=("x",), group="g"))
    others = [case("a", FILLING), case("a", SCALING, complaint="It bleeds."), replace(one, media={})]
    assert len({case_digest(each) for each in (one, *others)}) == 4
    async with built_run(tmp_path, PLAN) as built:
        found = await ask(built)
        assert found.case_digests() == [case_digest(each) for each in CASES]
