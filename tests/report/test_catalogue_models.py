"""Published numbers are of the catalogue's models, whatever a run calls by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report.score_examples import MAIN, row, view
from report.test_leaderboard import cell, tables
from stored_run_builder import SCALING, Plan, build, case

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.report.building import build_report
from harness.report.catalogue_models import not_the_catalogues
from harness.report.document import Table
from harness.report.leaderboard import readings
from harness.report.part_ids import PartIds
from harness.report.parts import tables as tables_of
from harness.report.published import PublishedValue

O3 = {"adapter": "openai", "endpoint": "https://api.openai.com/v1", "model": "o3-2025-04-16"}
OWN = {"adapter": "openai", "endpoint": "http://gpu-7:9000/v1", "model": "google/medgemma-27b-it"}


def why(name: str, **asked: Any) -> str | None:
    return not_the_catalogues({name: asked}, name)


def test_a_model_as_the_catalogue_has_it_is_that_model() -> None:
    assert why("o3", **O3) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "qwen/qwen3-vl-4b"},
        {"endpoint": "http://127.0.0.1:9/v1"},
        {"endpoint": "https://api.openai.com.example.org/v1"},
    ],
)
def test_another_model_or_endpoint_under_the_name_is_not(changes: dict[str, str]) -> None:
    told = why("o3", **{**O3, **changes})
    assert told is not None
    asked = {**O3, **changes}
    assert told == (
        f"'o3' was {asked['model']} at {asked['endpoint']} here, and is o3-2025-04-16 at "
        "https://api.openai.com/v1 in the catalogue: not known to be the same model"
    )


def test_open_weights_may_be_served_anywhere_but_not_simulated_or_by_another_id() -> None:
    assert why("medgemma-27b", **OWN) is None
    assert why("medgemma-27b", **{**OWN, "model": "other/weights"}) is not None
    assert why("medgemma-27b", **OWN, simulated=True) is not None


def test_imported_answers_are_whose_their_file_says_and_what_nobody_knows_is_not() -> None:
    assert why("o3", adapter="imported", endpoint="imported", model="o3") is None
    assert why("nobody-knows", **O3) is not None
    told = not_the_catalogues(None, "o3")
    assert told is not None
    assert "the store lacks the run" in told


def test_no_difference_to_what_was_printed_of_another_model() -> None:
    printed = PublishedValue(source="Table 1", subject="O3", model="o3", path=MAIN, value=0.302)
    ours = row("o3", {MAIN: (0.4, 0.39, 0.41)}, rank=1, n=5000)
    for others, text in (({}, "+0.098"), ({"o3": "another model"}, "")):
        found = tables(readings(view([ours], printed=[printed], others=others), PartIds(), "night"))
        assert cell(found["night-both-published"], "o3", "difference").text == text
    assert cell(found["night-both-published"], "o3", "note").text == "not compared: another model"


async def test_a_run_that_calls_its_own_model_so_is_told_apart(tmp_path: Path) -> None:
    async with await Store.open(str(tmp_path / "store.sqlite3")) as store:
        cases = [case(f"c{n}", SCALING) for n in range(3)]
        built = await build(store, Plan(cases, models=("gemini-3-flash",)), name="night")
        for one in cases:
            await built.valid(UnitId("gemini-3-flash", "both", one.id), SCALING)
        found: dict[str, Table] = {one.id: one for one in tables_of(await build_report(store, [built.run]))}
    differences = cell(found["night-both-published"], "gemini-3-flash", "difference")
    assert differences.text == ""
    assert "not known to be the same model" in differences.note
