"""What a step makes of a stored run, unit by unit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from step_examples import install
from store_examples import a_session
from stored_run_builder import Built, Plan, answer, built_run, case

from harness.benchmarks.steps import source_of, unit_of_id
from harness.cache.rows import UnitId
from harness.canonical import canonical_json, digest
from harness.case_spool import snapshot_digest
from harness.errors import ConfigError, UnknownNameError
from harness.offline.step_cases import Followed, follow
from harness.offline.step_runs import as_step, steps_over
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.run_options import RunOptions, StepOptions

ODD = ("a|b", "a%7Cb", "a%257Cb", "%", "|", "/", "\ud800", "\u2028", "x\x00y", "a|both|c|1", "A|B ")


@pytest.fixture(autouse=True)
def small_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


@pytest.fixture
async def built(tmp_path: Path) -> AsyncIterator[Built]:
    """A run of two models, two conditions and three cases, whose reasoning tells the unit."""
    plan = Plan([case(f"c{number}") for number in range(3)], ("alpha", "beta"), ("both", "opg"))
    async with built_run(tmp_path, plan) as built:
        for model in plan.models:
            for condition in plan.conditions:
                for one in plan.cases:
                    await built.valid(UnitId(model, condition, one.id))
        yield built


async def followed(built: Built, *, step: dict[str, Any] | None = None, **changes: Any) -> Followed:
    wanted = StepOptions(built.run.digest, **(step or {}))
    return await follow(built.store, RunOptions("triage.judge", ("j",), step=wanted, **changes))


def units_of(found: Followed) -> list[UnitId]:
    return [source_of(one) for one in found.cases.cases]


async def test_each_usable_unit_is_one_case_of_the_step_in_the_order_of_units(built: Built) -> None:
    found = await followed(built)
    assert units_of(found) == sorted(units_of(found)) and len(set(units_of(found))) == 12
    assert found.wanted.not_shown == () and found.wanted.source == built.run.digest
    (first, *_) = found.cases.cases
    assert first.id == "alpha|both|c0|1" and first.group == "c0" and first.media == {}
    assert set(first.fields) == {"complaint", "reasoning"}
    assert found.name_stem == "judge-of-test-run"


@pytest.mark.parametrize(
    ("step", "changes", "expected"),
    [
        ({"models": ("beta",)}, {}, 6),
        ({"conditions": ("opg",)}, {}, 6),
        ({"models": ("beta",), "conditions": ("both",)}, {"cases": ("c2", "c0")}, 2),
        ({}, {"limit": 1}, 4),
        ({}, {"cases": ("c2", "c1"), "limit": 1}, 4),
        ({}, {"limit": 99}, 12),
    ],
)
async def test_only_what_is_chosen_is_looked_at(
    built: Built, step: dict[str, Any], changes: dict[str, Any], expected: int
) -> None:
    found = units_of(await followed(built, step=step, **changes))
    assert len(found) == expected
    assert {one.model for one in found} <= set(step.get("models", ("alpha", "beta")))
    assert {one.condition for one in found} <= set(step.get("conditions", ("both", "opg")))
    if "cases" in changes and "limit" in changes:
        assert {one.case_id for one in found} == {"c1"}  # the first in the order of the cases


@pytest.mark.parametrize(
    ("step", "changes", "told"),
    [
        ({"models": ("alhpa",)}, {}, "run 'test-run' has no model 'alhpa'; did you mean 'alpha'?"),
        ({"conditions": ("op",)}, {}, "run 'test-run' has no condition 'op'; did you mean 'opg'?"),
        ({}, {"cases": ("c9",)}, "run 'test-run' has no case 'c9'"),
    ],
)
async def test_unknown_names_are_refused_with_the_nearest(
    built: Built, step: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(UnknownNameError) as raised:
        await followed(built, step=step, **changes)
    assert told in str(raised.value)


async def test_what_is_not_shown_is_counted_by_model_condition_and_reason(tmp_path: Path) -> None:
    plan = Plan([case(f"c{number}") for number in range(4)], ("alpha", "beta"), attempts=1)
    async with built_run(tmp_path, plan) as built:
        for number in range(3):
            await built.valid(UnitId("alpha", "both", f"c{number}"))
        await built.valid(UnitId("alpha", "both", "c3"), text=answer("Exodontia", reasoning="SKIP this"))
        await built.answers(UnitId("beta", "both", "c0"), UnitOutcome.UNPARSABLE, "no idea")
        await built.answers(UnitId("beta", "both", "c1"), UnitOutcome.UNPARSABLE, "none")
        error = await built.exchange(
            UnitId("beta", "both", "c2"), b"{}", status=503, outcome=ExchangeOutcome.UNAVAILABLE
        )
        state = UnitOutcome.PROVIDER_ERROR
        await built.finish(UnitId("beta", "both", "c2"), state, [(error, "answer", 1)], error="it failed")
        found = await followed(built)
        none = StepOptions(built.run.digest, models=("beta",))
        with pytest.raises(ConfigError, match="not_attempted 1, provider_error 1, unparsable 2"):
            await follow(built.store, RunOptions("triage.judge", ("j",), step=none))
    assert [(one.model, one.condition, one.why, one.units) for one in found.wanted.not_shown] == [
        ("alpha", "both", "no reasoning", 1),
        ("beta", "both", "not_attempted", 1),
        ("beta", "both", "provider_error", 1),
        ("beta", "both", "unparsable", 2),
    ]
    assert {one.case_id for one in units_of(found)} == {"c0", "c1", "c2"}
    looked, skipped, missing = found.notes()
    assert looked == "the step looks at 3 answers of run 'test-run'"
    assert skipped.startswith("it does not look at 5 others: no reasoning 1, not_attempted 1")
    assert missing.startswith("without an answer so far: 2; ") and "`harness resume test-run`" in missing


@pytest.mark.slow
async def test_ids_are_unique_and_tell_their_unit_whatever_the_names_are(tmp_path: Path) -> None:
    plan = Plan([case(one) for one in ODD], tuple(dict.fromkeys(ODD)), repeats=2)
    async with built_run(tmp_path, plan) as built:
        for model in plan.models:
            for one in plan.cases:
                for repeat in (1, 2):
                    unit = UnitId(model, "both", one.id, repeat)
                    id = await built.exchange(unit, answer(), key=digest(asdict(unit)), twin="t")
                    await built.finish(unit, UnitOutcome.VALID, [(id, "answer", 1)], used=[id])
        found = await followed(built)
        ids = [one.id for one in found.cases.cases]
        assert len(set(ids)) == len(ids) == 2 * len(ODD) ** 2
        assert [unit_of_id(one) for one in ids] == units_of(found)
        assert canonical_json(ids).isascii()


@pytest.mark.parametrize("text", ["", "a", "a|b|c", "a|b|c|d", "a|b|c|1|2", "a|b|c|\u0661"])
def test_an_id_of_another_form_tells_no_unit(text: str) -> None:
    assert unit_of_id(text) is None


async def test_the_same_answers_make_the_same_step_whichever_session_gave_them(built: Built) -> None:
    first = await followed(built)
    await built.store.end_session(built.session, 0, {})
    second = await followed(built)
    assert first.wanted == second.wanted
    assert snapshot_digest(first.cases) == snapshot_digest(second.cases)


async def test_a_run_of_another_benchmark_is_refused(built: Built) -> None:
    other = await built.store.save_run("other", "b" * 64, "medlay", {})
    with pytest.raises(ConfigError, match=r"run 'other' is of medlay, and the step .* is about triage"):
        await followed(replace(built, run=other))


async def test_a_run_that_is_not_here_is_told_of_by_its_digest(built: Built) -> None:
    with pytest.raises(UnknownNameError, match=r"digest cccccccccccc.*is not in this store.*store merge"):
        await followed(replace(built, run=replace(built.run, digest="c" * 64)))


async def test_steps_are_found_by_the_run_that_they_follow(built: Built) -> None:
    wanted = {"kind": "judge", "source": built.run.digest}
    manifest: dict[str, Any] = {"step": wanted, "models": {"j": {}}}
    step = await built.store.save_run(None, "d" * 64, "triage.judge", manifest, stem="x-of-y")
    assert step.name == "x-of-y-dddddddd"
    await a_session(built.store, "unrelated", "e" * 64)
    runs = await built.store.runs()
    assert [(one.run.name, one.kind, one.model) for one in steps_over(runs, built.run.digest)] == [
        ("x-of-y-dddddddd", "judge", "j")
    ]
    assert as_step(built.run) is None and list(steps_over(runs, "e" * 64)) == []
