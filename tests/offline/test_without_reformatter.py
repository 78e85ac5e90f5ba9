"""The third reading: what a model is worth as if nobody had restated an answer of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, answer, built_run, case

from harness.cache.rows import UnitId
from harness.offline.score import score_run
from harness.outcomes import UnitOutcome

CASES = [case("c1", SCALING, group="p"), case("c2", FILLING), case("c3", SCALING, EXTRACTION, group="p"),
         case("c4", FILLING)]  # fmt: skip
PLAN = Plan(CASES, models=("alpha", "beta"), repeats=2, reformatter="helper")
PROSE = "I would do what the radiograph suggests."


async def fill(built: Built, *, restated: bool) -> None:
    """Answer all; alpha's c2, and its c3 once, is prose, which the reformatter restates or does not."""
    for model in PLAN.models:
        for one in CASES:
            for repeat in (1, 2):
                unit = UnitId(model, "both", one.id, repeat)
                if model == "alpha" and (one.id, repeat) in {("c2", 1), ("c2", 2), ("c3", 2)}:
                    await prose(built, unit, *one.reference["labels"], restated=restated)
                elif (model, one.id) == ("beta", "c1"):
                    await prose(built, unit, restated=False)
                else:
                    await built.valid(unit, *one.reference["labels"])


async def prose(built: Built, unit: UnitId, *labels: str, restated: bool) -> None:
    ids = [await built.exchange(unit, PROSE, attempt=place) for place in (1, 2, 3)]
    request = {"messages": [{"role": "user", "content": f"Restate:\n{PROSE}"}]}
    text = answer(*labels) if restated else "I cannot."
    last = await built.exchange(unit, text, purpose="reformat", request=request)
    links: Any = [*((id, "answer", n) for n, id in enumerate(ids, 1)), (last, "reformat", 1)]
    outcome = UnitOutcome.REFORMATTED if restated else UnitOutcome.UNPARSABLE
    await built.finish(unit, outcome, links, used=[ids[-1], last])


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def scored(folder: Path, *, restated: bool) -> dict[str, Any]:
    async with built_run(made(folder), PLAN) as built:
        await fill(built, restated=restated)
        rows = (await score_run(built.store, built.run)).to_json()["rows"]
    return {row["model"]: row for row in rows}  # type: ignore[index,call-overload,union-attr,misc]


async def test_a_restated_answer_counts_as_if_nobody_had_restated_it(tmp_path: Path) -> None:
    with_it = await scored(tmp_path / "with", restated=True)
    without = await scored(tmp_path / "without", restated=False)
    alpha, bare = with_it["alpha"], without["alpha"]
    assert (alpha["outcomes"], bare["outcomes"]) == (
        {"reformatted": 3, "valid": 5}, {"unparsable": 3, "valid": 5}
    )  # fmt: skip
    assert alpha["without_reformatter"] == bare["as_answered"]  # values, n, SD and intervals
    assert alpha["without_reformatter"]["case_f1"]["value"] == 0.625
    assert alpha["as_answered"]["case_f1"]["value"] == alpha["valid_only"]["case_f1"]["value"] == 1.0
    assert (alpha["as_answered"]["case_f1"]["n"], alpha["without_reformatter"]["case_f1"]["n"]) == (4, 4)


async def test_there_is_no_third_reading_where_nothing_was_restated(tmp_path: Path) -> None:
    with_it = await scored(tmp_path / "with", restated=True)
    assert [name for name, row in with_it.items() if row["without_reformatter"] is not None] == ["alpha"]
    without = await scored(tmp_path / "without", restated=False)
    assert all(row["without_reformatter"] is None for row in without.values())


async def test_it_is_in_unions_too(tmp_path: Path) -> None:
    plan = replace(PLAN, conditions=("both", "complaint"), repeats=1, models=("alpha",))
    async with built_run(tmp_path, plan) as built:
        for one in CASES:
            await built.valid(UnitId("alpha", "both", one.id), *one.reference["labels"])
            unit = UnitId("alpha", "complaint", one.id)
            if one.id == "c2":
                await prose(built, unit, FILLING, restated=True)
            else:
                await built.valid(unit)
        rows = (await score_run(built.store, built.run)).to_json()["rows"]
    found = {(row["model"], row["condition"]): row for row in rows}  # type: ignore[index,call-overload,union-attr,misc]
    assert found["alpha", "both"]["without_reformatter"] is None
    union = found["alpha", "ablation"]
    gains = [union[reading]["gain.opg.mean"]["value"] for reading in ("as_answered", "without_reformatter")]
    assert gains == [0.75, 1.0], "without it, the complaint alone is worth nothing in c2 either"
