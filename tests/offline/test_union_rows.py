"""Rows of a union where a case is missing in some of its conditions only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sweep_kit import harness

from harness.cache.exchange_rows import packed_json

CARIES, BONE = "attribute:caries", "attribute:gcbl_maxilla"
FIRST, SECOND = "syn-pan-001", "syn-pan-002"


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which two models answered two questions about four cases."""
    store = tmp_path_factory.mktemp("union") / "store.sqlite3"
    done = harness(
        "run", "--benchmark", "pandent", "--models", "sim/steady,sim/eager", "--limit", "4",
        "--conditions", f"{CARIES},{BONE}", "--store", store,
    )  # fmt: skip
    assert done.code == 0, done.err
    return store


def scored(answered: Path, folder: Path, *ended: tuple[str, str, str, str]) -> Any:
    """Score a copy in which units (model, condition, case, outcome) ended without an answer."""
    store = folder / "store.sqlite3"
    store.write_bytes(answered.read_bytes())
    with sqlite3.connect(store) as connection:
        for model, condition, case, outcome in ended:
            unit = (model, condition, case)
            where = "WHERE model = ? AND condition = ? AND case_id = ?"
            state: Sequence[object] = (outcome, packed_json("media: it is broken"), *unit)
            connection.execute(f"UPDATE unit SET outcome = ?, error = ? {where}", state)
            connection.execute(f"DELETE FROM unit_exchange {where}", unit)
    connection.close()
    done = harness("score", "--json", "--store", store)
    assert done.code == 0, done.err
    return json.loads(done.out)


def union_rows(score: Any) -> dict[str, Any]:
    return {row["model"]: row for row in score["rows"] if row["condition"] == "attributes"}


def test_models_that_lack_a_case_in_different_conditions_are_not_ranked_as_if_in_the_same(  # F19
    answered: Path, tmp_path: Path
) -> None:
    score = scored(
        answered, tmp_path,
        ("sim/steady", CARIES, FIRST, "not_applicable"), ("sim/eager", BONE, FIRST, "not_applicable"),
    )  # fmt: skip
    rows = union_rows(score)
    for name in ("sim/steady", "sim/eager"):
        assert (rows[name]["rank"], rows[name]["not_applicable"]) == (None, [FIRST])
    common = score["common_cases"]["attributes"]
    assert [(row["model"], row["n"]) for row in common["rows"]] == [("sim/eager", 3), ("sim/steady", 3)]


def test_a_case_that_nobody_could_be_sent_in_one_condition_counts_there_for_nobody(  # F16 F19
    answered: Path, tmp_path: Path
) -> None:
    score = scored(
        answered, tmp_path,
        ("sim/steady", CARIES, FIRST, "case_error"), ("sim/eager", BONE, SECOND, "not_applicable"),
    )  # fmt: skip
    common = score["common_cases"]["attributes"]["rows"]
    assert [(row["model"], row["n"]) for row in common] == [("sim/eager", 2), ("sim/steady", 2)]
    rows = union_rows(score)
    units = {name: row["as_answered"]["positives.exact_match"]["n"] for name, row in rows.items()}
    units_without = {
        name: row["as_answered"]["negatives.exact_match"]["n"] for name, row in rows.items()
    }
    baselines = ("nothing", "majority", "prevalence", "fixed template")
    assert {units[name] + units_without[name] for name in (*baselines, "sim/steady")} == {7}
