from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, answer, built_run, case

from harness.benchmarks.base import CaseSet
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.errors import ConfigError, SpoolError
from harness.offline.score import score_run
from harness.outcomes import ExchangeOutcome, UnitOutcome

CASES = [case("c1", SCALING), case("c2", SCALING, FILLING), case("c3", EXTRACTION), case("c4")]
MODELS = ("alpha", "beta")


def unit(model: str, case_id: str, repeat: int = 1, condition: str = "both") -> UnitId:
    return UnitId(model, condition, case_id, repeat)


async def answer_all(built: Built, model: str, *, but: Mapping[str, UnitOutcome] | None = None) -> None:
    """Answer every case rightly, but end some otherwise."""
    for one in built.plan.cases:
        outcome = (but or {}).get(one.id)
        if outcome is None:
            labels = one.reference["labels"]
            assert isinstance(labels, list)
            await built.valid(unit(model, one.id), *map(str, labels))
        elif outcome is UnitOutcome.UNPARSABLE:
            await built.answers(unit(model, one.id), outcome, "no", "no", "no")
        elif outcome is UnitOutcome.PROVIDER_ERROR:
            id = await built.exchange(
                unit(model, one.id), b"x", status=503, outcome=ExchangeOutcome.UNAVAILABLE
            )
            await built.finish(unit(model, one.id), outcome, [(id, "answer", 1)], error="unavailable: x")
        else:
            await built.finish(unit(model, one.id), outcome, error="media: it is broken")


async def scored(built: Built, **options: Any) -> Any:
    return (await score_run(built.store, built.run, **options)).to_json()


def shown_as(metric: Any) -> tuple[Any, Any, Any]:
    return metric["value"], metric["n"], metric["reason"]


def row(score: Any, model: str) -> Any:
    [found] = [one for one in score["rows"] if one["model"] == model]
    return found


async def test_an_unusable_answer_counts_as_the_worst_value_and_never_as_no_finding(tmp_path: Path) -> None:
    # c4 needs nothing: a failure there must not pass for a right "nothing".
    async with built_run(tmp_path, Plan(CASES, models=("alpha",))) as built:
        await answer_all(built, "alpha", but={"c4": UnitOutcome.UNPARSABLE})
        found = row(await scored(built), "alpha")
    assert shown_as(found["as_answered"]["fine.exact_match"]) == (0.75, 4, None)
    assert shown_as(found["valid_only"]["fine.exact_match"]) == (1.0, 3, None)
    assert found["as_answered"]["over_referral.mean_count"]["n"] == 3
    assert (found["coverage"], found["incomplete"], found["rank"]) == (0.75, False, 1)
    assert found["outcomes"] == {"unparsable": 1, "valid": 3}


@pytest.mark.parametrize("outcome", [UnitOutcome.PROVIDER_ERROR, UnitOutcome.NOT_ATTEMPTED])
async def test_a_provider_error_is_nobodys_mistake_and_the_model_is_not_ranked(  # F14
    tmp_path: Path, outcome: UnitOutcome
) -> None:
    async with built_run(tmp_path, Plan(CASES, models=MODELS)) as built:
        await answer_all(built, "alpha", but={"c1": outcome})
        await answer_all(built, "beta", but={"c1": UnitOutcome.UNPARSABLE})
        score = await scored(built)
    alpha, beta = row(score, "alpha"), row(score, "beta")
    assert shown_as(alpha["as_answered"]["fine.exact_match"]) == (1.0, 3, None)
    assert (alpha["incomplete"], alpha["to_complete"], alpha["rank"]) == (True, 1, None)
    assert alpha["rank_reason"] == "incomplete: resume to complete: 1 units"
    assert (beta["rank"], beta["as_answered"]["fine.exact_match"]["value"]) == (1, 0.75)


async def test_a_unit_without_a_state_makes_its_model_incomplete(tmp_path: Path) -> None:  # F14
    async with built_run(tmp_path, Plan(CASES, models=MODELS)) as built:
        await answer_all(built, "alpha")
        score = await scored(built)
    assert row(score, "beta")["outcomes"] == {"not_attempted": 4}
    assert row(score, "beta")["to_complete"] == 4
    assert row(score, "beta")["as_answered"]["fine.macro_f1"]["value"] is None
    assert row(score, "alpha")["rank"] == 1


async def test_a_case_error_leaves_the_case_out_for_all_models(tmp_path: Path) -> None:  # F19
    async with built_run(tmp_path, Plan(CASES, models=MODELS)) as built:
        await answer_all(built, "alpha", but={"c2": UnitOutcome.CASE_ERROR})
        await answer_all(built, "beta", but={"c2": UnitOutcome.UNPARSABLE})
        score = await scored(built)
    assert score["case_errors"] == {"both": ["c2"]}
    for name in (*MODELS, "nothing", "prevalence"):
        assert row(score, name)["n_cases"] == 3
        assert row(score, name)["as_answered"]["fine.macro_f1"]["n"] == 3
    assert row(score, "beta")["as_answered"]["fine.exact_match"]["value"] == 1.0
    assert [row(score, name)["rank"] for name in MODELS] == [1, 1]


async def test_models_with_different_cases_are_compared_only_on_common_ones(tmp_path: Path) -> None:  # F19
    async with built_run(tmp_path, Plan(CASES, models=(*MODELS, "gamma"))) as built:
        await answer_all(built, "alpha", but={"c1": UnitOutcome.UNPARSABLE})
        await answer_all(built, "beta", but={"c1": UnitOutcome.NOT_APPLICABLE})
        score = await scored(built)
    beta = row(score, "beta")
    assert (beta["not_applicable"], beta["n_cases"], beta["rank"]) == (["c1"], 3, None)
    assert "common cases" in beta["rank_reason"]
    assert beta["incomplete"] is False
    common = score["common_cases"]["both"]
    assert common["n_cases"] == 3
    assert [(one["model"], one["rank"], one["n"]) for one in common["rows"]] == [
        ("alpha", 1, 3), ("beta", 1, 3),
    ]  # fmt: skip


async def test_models_that_share_what_they_cannot_take_are_ranked(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES, models=MODELS)) as built:
        for name in MODELS:
            await answer_all(built, name, but={"c1": UnitOutcome.NOT_APPLICABLE})
        score = await scored(built)
    assert [row(score, name)["rank"] for name in MODELS] == [1, 1]
    assert score["common_cases"] == {}


async def test_repeats_are_scored_one_by_one_and_give_a_mean_and_an_sd(tmp_path: Path) -> None:  # F10
    async with built_run(tmp_path, Plan(CASES[:2], models=("alpha",), repeats=2)) as built:
        await built.valid(unit("alpha", "c1", 1), SCALING)
        await built.valid(unit("alpha", "c2", 1), SCALING, FILLING)
        await built.valid(unit("alpha", "c1", 2), SCALING)
        await built.valid(unit("alpha", "c2", 2), SCALING)
        score = await scored(built)
    found = row(score, "alpha")["as_answered"]["fine.exact_match"]
    assert (found["value"], found["n"]) == (0.75, 2)
    assert found["sd"] == pytest.approx(0.5**0.5 / 2)
    assert row(score, "alpha")["n_units"] == 4
    assert row(score, "alpha")["n_cases"] == 2


async def test_a_repeat_without_a_value_is_said_beside_the_mean(tmp_path: Path) -> None:  # F12
    async with built_run(tmp_path, Plan(CASES[:1], models=("alpha",), repeats=2)) as built:
        await built.valid(unit("alpha", "c1", 1), SCALING)
        await built.answers(unit("alpha", "c1", 2), UnitOutcome.UNPARSABLE, "no", "no", "no")
        score = await scored(built)
    found = row(score, "alpha")["valid_only"]["fine.exact_match"]
    assert (found["value"], found["n"]) == (1.0, 1)
    assert found["reason"].startswith("1 of 2 repeats have no value")


async def test_raters_go_through_the_same_code_on_the_cases_they_rated(tmp_path: Path) -> None:
    ratings = {"c1": json.loads(answer(SCALING)), "c2": json.loads(answer(SCALING))}
    async with built_run(tmp_path, Plan(CASES, raters={"junior-1": ratings})) as built:
        await answer_all(built, "alpha")
        score = await scored(built)
    found = row(score, "junior-1")
    assert (found["kind"], found["n_cases"], found["not_rated"]) == ("rater", 2, ["c3", "c4"])
    assert shown_as(found["as_answered"]["fine.exact_match"]) == (0.5, 2, None)
    assert found["rank"] is None


async def test_two_scores_of_a_run_are_byte_identical(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES, models=MODELS, conditions=("both", "complaint"))) as built:
        await answer_all(built, "alpha", but={"c3": UnitOutcome.UNPARSABLE})
        first, second = await scored(built), await scored(built)
    async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
        third = (await score_run(store, await store.find_run("test-run"))).to_json()
    assert json.dumps(first) == json.dumps(second) == json.dumps(third)
    assert str(tmp_path) not in json.dumps(first)


async def test_the_order_in_which_units_ended_does_not_matter(tmp_path: Path) -> None:
    scores = []
    for name, cases in (("one", CASES), ("two", list(reversed(CASES)))):
        (tmp_path / name).mkdir()
        async with built_run(tmp_path / name, Plan(CASES)) as built:
            for one in cases:
                await built.valid(unit("alpha", one.id), SCALING)
            scores.append(await scored(built))
    assert scores[0] == scores[1]


async def test_an_answer_that_needs_another_ask_is_a_gap(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES)) as built:
        for one in CASES[1:]:
            await built.valid(unit("alpha", one.id))
        await built.answers(unit("alpha", "c1"), UnitOutcome.VALID, "what a laxer parser took")
        score = await scored(built)
    assert score["gaps"] == [{"model": "alpha", "condition": "both", "case_id": "c1", "repeat": 1}]
    assert score["changed_since_run"] == {"units": 1, "steps": {"valid -> gap": 1}}
    assert row(score, "alpha")["rank"] is None
    assert row(score, "alpha")["to_complete"] == 1


async def test_corrected_references_apply_where_inputs_are_unchanged(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES)) as built:
        await answer_all(built, "alpha")
        corrected = CaseSet(
            (
                case("c1", EXTRACTION),
                case("c2", EXTRACTION, complaint="Something else."),
                replace(CASES[2], reference={"labels": [EXTRACTION], "rationale": ""}),
                case("new", SCALING),
            )
        )
        plain = await scored(built)
        found = await score_run(built.store, built.run, corrected=corrected)
    assert found.references.corrected == ("c1",)
    assert found.references.inputs_changed == ("c2",)
    assert found.references.missing == ("c4",)
    assert found.references.added == ("new",)
    score = found.to_json()
    assert row(score, "alpha")["as_answered"]["fine.exact_match"]["value"] == 0.75
    assert score["references"] != plain["references"]


async def test_a_convention_changes_the_numbers_and_is_printed_with_them(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES)) as built:
        await answer_all(built, "alpha")
        default = await scored(built)
        other = await scored(built, conventions={"zero_division": "skip-empty"})
    assert default["conventions"]["zero_division"] == "0"
    assert row(default, "alpha")["as_answered"]["fine.macro_f1"]["value"] == pytest.approx(3 / 22)
    assert other["conventions"]["zero_division"] == "skip-empty"
    assert row(other, "alpha")["as_answered"]["fine.macro_f1"]["value"] == 1.0


async def test_an_unknown_convention_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES)) as built:
        with pytest.raises(ConfigError, match="known: zero_division, case_f1_empty"):
            await scored(built, conventions={"zero": "1"})
        with pytest.raises(ConfigError, match="known: 0, skip-empty, 1"):
            await scored(built, conventions={"zero_division": "2"})


async def test_synthetic_and_simulated_are_said(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES, synthetic=True, simulated=True)) as built:
        score = await scored(built)
    assert (score["synthetic"], score["simulated"]) == (True, True)


async def test_scoring_rebuilds_the_derived_tables(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES)) as built:
        await answer_all(built, "alpha", but={"c1": UnitOutcome.UNPARSABLE, "c2": UnitOutcome.NOT_ATTEMPTED})
        for _ in range(2):
            score = await scored(built)
            records = [one async for one in built.store.records(built.run.id)]
            scores = [one async for one in built.store.unit_scores(built.run.id)]
    assert [(one.unit.case_id, str(one.outcome), one.stage) for one in records] == [
        ("c1", "unparsable", None),
        ("c2", "not_attempted", None),
        ("c3", "valid", "attempt-1"),
        ("c4", "valid", "attempt-1"),
    ]
    assert records[0].text == "no"
    assert {one.parser for one in records} == {score["parser"]["sha256"]}
    values = [one.value for one in scores if one.metric == "case_f1"]
    assert values == [0.0, 1.0, 1.0]
    mean = row(score, "alpha")["as_answered"]["case_f1"]["value"]
    assert sum(value or 0 for value in values) / 3 == pytest.approx(mean)
    [missing] = [one for one in scores if one.value is None]
    assert (missing.unit.case_id, missing.metric) == ("c1", "over_referral.mean_count")
    assert missing.reason


async def test_a_full_disk_of_temporary_files_is_told_and_leaves_the_old_tables(  # F23
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with built_run(tmp_path, Plan(CASES)) as built:
        await answer_all(built, "alpha")
        await scored(built)
        monkeypatch.setattr("harness.offline.derived.pickle.dump", full)
        with pytest.raises(SpoolError, match=r"what is scored.*No space left on device; free some space"):
            await scored(built)
        assert len([one async for one in built.store.records(built.run.id)]) == len(CASES)


async def test_a_store_that_is_only_read_is_scored_without_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with built_run(tmp_path, Plan(CASES)) as built:
        await answer_all(built, "alpha")
        monkeypatch.setattr(Store, "read_only", property(lambda self: True))
        assert row(await scored(built), "alpha")["rank"] == 1
        assert [one async for one in built.store.records(built.run.id)] == []


async def test_the_scores_of_a_small_run_are_these(tmp_path: Path) -> None:
    """Golden: worked out by hand from the definitions."""
    plan = Plan(CASES, models=MODELS, raters={"junior-1": {"c1": json.loads(answer(SCALING))}})
    async with built_run(tmp_path, plan) as built:
        await answer_all(built, "alpha", but={"c3": UnitOutcome.UNPARSABLE})
        await answer_all(built, "beta", but={"c4": UnitOutcome.PROVIDER_ERROR})
        score = await scored(built)
    shown = {name: row(score, name)["as_answered"] for name in (*MODELS, "junior-1", "nothing")}
    # alpha: tp 3, fn 1 -> 6/7; two labels of 22 right; case F1 (1 + 1 + 0 + 1) / 4.
    assert shown["alpha"]["fine.micro_f1"]["value"] == pytest.approx(6 / 7)
    assert shown["alpha"]["fine.macro_f1"]["value"] == pytest.approx(2 / 22)
    assert shown_as(shown["alpha"]["case_f1"]) == (0.75, 4, None)
    # beta: c4 is nobody's answer; all else is right.
    assert shown_as(shown["beta"]["fine.micro_f1"]) == (1.0, 3, None)
    assert shown["beta"]["fine.macro_f1"]["value"] == pytest.approx(3 / 22)
    assert shown["junior-1"]["fine.micro_f1"] == {
        "value": 1.0, "n": 1, "ci": None, "reason": None, "ci_reason": "one cluster: nothing to resample"
    }
    # Referring no one is right only in c4.
    assert shown_as(shown["nothing"]["case_f1"]) == (0.25, 4, None)
    assert [(one["model"], one["kind"], one["rank"]) for one in score["rows"]] == [
        ("alpha", "model", 1),
        ("beta", "model", None),
        ("junior-1", "rater", None),
        ("nothing", "baseline", None),
        ("prevalence", "baseline", None),
    ]
    assert list(score) == [
        "benchmark", "run", "parser", "scorer", "conventions", "synthetic", "simulated", "imported",
        "intervals", "repeats", "ranked_by", "references", "case_errors", "gaps", "changed_since_run",
        "common_cases", "rows",
    ]  # fmt: skip
