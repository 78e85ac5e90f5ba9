"""Stored scores: as fresh ones would be, or made anew; never those of something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, answer, built_run, case

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.offline import score as scoring
from harness.offline.scored_runs import ScoredRun, scored_run
from harness.outcomes import UnitOutcome

CASES = [case("c1", SCALING), case("c2", FILLING), case("c3", SCALING, EXTRACTION, group="p"),
         case("c4", group="p")]  # fmt: skip
MODELS = ("alpha", "beta")


async def answer_all(built: Built, **but: UnitOutcome) -> None:
    for model in built.plan.models:
        for one in built.plan.cases:
            unit = UnitId(model, "both", one.id)
            if but.get(one.id) is UnitOutcome.UNPARSABLE and model == "beta":
                await built.answers(unit, UnitOutcome.UNPARSABLE, "no", "no", "no")
            else:
                await built.valid(unit, *one.reference["labels"])


class Told(list[str]):
    """What was told; a replay is one line."""

    async def score(self, built: Built, **options: Any) -> ScoredRun:
        return await scored_run(built.store, built.run, tell=self.append, **options)


async def test_what_was_scored_is_read_back_without_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with built_run(tmp_path, Plan(CASES, models=MODELS)) as built:
        await answer_all(built, c2=UnitOutcome.UNPARSABLE)
        fresh = (await scoring.score_run(built.store, built.run)).to_json()
        monkeypatch.setattr(scoring, "replay_units", None)
        told = Told()
        found = await told.score(built)
        assert (told, found.made) == ([], False)
        assert json.dumps(found.score) == json.dumps(fresh)
        for row in found.rows:
            await found.numbers(row)


