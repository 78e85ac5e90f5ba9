"""The modality ablation of a stored run: rows of its own, pairs only, the same reading as everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, built_run, case

from harness.cache.rows import UnitId
from harness.offline.score import score_run
from harness.outcomes import UnitOutcome

CASES = [case("c1", SCALING, FILLING), case("c2", EXTRACTION), case("c3", SCALING), case("c4", EXTRACTION)]


def unit(condition: str, case_id: str, model: str = "alpha", repeat: int = 1) -> UnitId:
    return UnitId(model, condition, case_id, repeat)


async def answer(built: Built, model: str, condition: str, **answers: Any) -> None:
    """Answer cases in a condition: labels, or the outcome that the unit ends in."""
    for case_id, given in answers.items():
        one = unit(condition, case_id, model)
        if given is UnitOutcome.UNPARSABLE:
            await built.answers(one, given, "no", "no", "no")
        elif isinstance(given, UnitOutcome):
            await built.finish(one, given, error="media: it is broken")
        else:
            await built.valid(one, *given)


async def scored(built: Built) -> Any:
    return (await score_run(built.store, built.run)).to_json()


def gain(score: Any, model: str, path: str, reading: str = "as_answered") -> tuple[Any, Any]:
    [row] = [one for one in score["rows"] if (one["model"], one["condition"]) == (model, "ablation")]
    metric = row[reading][f"gain.{path}"]
    return metric["value"], metric["n"]


async def test_a_model_has_an_ablation_row_of_its_pairs_in_both_readings(tmp_path: Path) -> None:
    plan = Plan(CASES, models=("alpha", "beta"), conditions=("both", "complaint", "opg"))
    async with built_run(tmp_path, plan) as built:
        for model in plan.models:
            await answer(
                built, model, "both", c1=[SCALING, FILLING], c2=[EXTRACTION], c3=[SCALING], c4=[EXTRACTION]
            )
            await answer(
                built, model, "complaint", c1=[SCALING], c2=UnitOutcome.UNPARSABLE, c3=[SCALING],
                c4=UnitOutcome.NOT_APPLICABLE,
            )  # fmt: skip
        await answer(built, "alpha", "opg", c1=[], c2=[FILLING], c3=[SCALING], c4=[EXTRACTION])
        await answer(built, "beta", "opg", c1=[], c2=[FILLING], c3=[SCALING], c4=UnitOutcome.PROVIDER_ERROR)
        score = await scored(built)
    # 1 - 2/3, 1 - 0 for an unusable answer, 1 - 1; what is not applicable has no pair.
    assert gain(score, "alpha", "opg.mean") == ((1 / 3 + 1 + 0) / 3, 3)
    assert gain(score, "alpha", "opg.unusable_share") == (1 / 3, 3)
    assert gain(score, "alpha", "opg.unpaired") == (1.0, 4)
    assert gain(score, "alpha", "opg.mean", "valid_only") == ((1 / 3 + 0) / 2, 2)
    assert gain(score, "alpha", "opg.share_above_0.2", "valid_only") == (1 / 2, 2)
    assert gain(score, "alpha", "opg.unpaired", "valid_only") == (2.0, 4)
    assert gain(score, "alpha", "complaint.mean") == ((1 + 1 + 0 + 0) / 4, 4)
    assert gain(score, "beta", "complaint.mean") == ((1 + 1 + 0) / 3, 3)
    assert gain(score, "beta", "over_better.mean") == ((1 / 3 + 1 + 0) / 3, 3)
    rows = {row["model"]: row for row in score["rows"] if row["condition"] == "ablation"}
    assert rows.keys() == {"alpha", "beta", "nothing"}
    assert [rows[name]["incomplete"] for name in ("alpha", "beta")] == [False, True]
    assert [rows[name]["rank"] for name in rows] == [None] * 3
    assert score["ranked_by"]["ablation"] is None
    interval = rows["alpha"]["as_answered"]["gain.complaint.mean"]
    assert interval["ci"] is not None and interval["ci_method"] == "bca"
    assert rows["alpha"]["as_answered"]["gain.opg.share_positive"]["ci_method"] == "clopper-pearson"


async def test_the_means_of_an_ablation_are_those_of_its_conditions(tmp_path: Path) -> None:
    plan = Plan(CASES, conditions=("both", "opg"), repeats=2)
    async with built_run(tmp_path, plan) as built:
        for repeat in (1, 2):
            for place, one in enumerate(CASES):
                labels = [str(label) for label in one.reference["labels"]]  # type: ignore[union-attr]
                await built.valid(unit("both", one.id, repeat=repeat), *labels)
                given = labels[:1] if (place + repeat) % 2 else [EXTRACTION]
                await built.valid(unit("opg", one.id, repeat=repeat), *given)
        score = await scored(built)
    both, opg = (
        next(row for row in score["rows"] if (row["model"], row["condition"]) == ("alpha", name))
        for name in ("both", "opg")
    )
    difference = both["as_answered"]["case_f1"]["value"] - opg["as_answered"]["case_f1"]["value"]
    value, n = gain(score, "alpha", "complaint.mean")
    assert abs(value - difference) < 1e-12 and n == 4
    [row] = [one for one in score["rows"] if (one["model"], one["condition"]) == ("alpha", "ablation")]
    assert row["as_answered"]["gain.complaint.mean"]["sd"] > 0
    assert not any(path.startswith(("gain.opg", "gain.over")) for path in row["as_answered"])


async def test_a_run_of_one_condition_has_no_ablation(tmp_path: Path) -> None:
    async with built_run(tmp_path, Plan(CASES)) as built:
        await answer(built, "alpha", "both", c1=[], c2=[], c3=[], c4=[])
        assert {row["condition"] for row in (await scored(built))["rows"]} == {"both"}
