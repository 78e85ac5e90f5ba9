"""Whole reports of stored runs: sections, ids, what each kind of run and of trouble shows."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from report.report_examples import HOSTILE
from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, build, case

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.errors import ConfigError
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.report.building import build_report
from harness.report.document import (
    Alluvial,
    Facts,
    Figure,
    Paragraph,
    Part,
    Report,
    Section,
    Table,
)

CASES = [
    case(f"c{n}", *labels)
    for n, labels in enumerate([[SCALING], [FILLING], [EXTRACTION], [SCALING, FILLING], []])
]
SAFE_ID = re.compile(r"[A-Za-z0-9_-]+")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(tmp_path / "store.sqlite3")) as found:
        yield found


def parts(report: Report) -> list[Part]:
    def of(sections: Sequence[Section]) -> Iterator[Part]:
        for section in sections:
            yield from section.parts
            yield from of(section.sections)

    return [*of(report.sections)]


def tables(report: Report) -> dict[str, Table]:
    return {part.id: part for part in parts(report) if isinstance(part, Table)}


def titles(sections: Sequence[Section]) -> list[str]:
    return [title for one in sections for title in (one.title, *titles(one.sections))]


async def answer_all(
    built: Built,
    model: str,
    *,
    condition: str = "both",
    wrong: Sequence[str] = (),
    failed: Sequence[str] = (),
    repeat: int = 1,
) -> None:
    """Answer every case rightly, but some wrongly, and let some fail for the provider's reasons."""
    for one in built.plan.cases:
        if one.id in failed:
            await fail(built, model, one.id, condition)
            continue
        labels = [] if one.id in wrong else one.reference["labels"]
        assert isinstance(labels, list)
        await built.valid(UnitId(model, condition, one.id, repeat), *map(str, labels))


async def fail(built: Built, model: str, case_id: str, condition: str = "both") -> None:
    id = await built.exchange(
        UnitId(model, condition, case_id), b"x", status=503, outcome=ExchangeOutcome.UNAVAILABLE
    )
    unit = UnitId(model, condition, case_id)
    await built.finish(unit, UnitOutcome.PROVIDER_ERROR, [(id, "answer", 1)], error="unavailable: x")


def check_sound(report: Report) -> None:
    """Check what every report must hold, whatever is in it."""
    found = parts(report)
    ids = [one.id for one in found if not isinstance(one, Paragraph)] + section_ids(report.sections)
    assert len(ids) == len(set(ids))
    assert len({one.lower() for one in ids}) == len(ids)  # file systems that fold case
    assert all(SAFE_ID.fullmatch(one) for one in ids)
    for table in tables(report).values():
        for row in table.rows:
            assert len(row.cells) == len(table.columns), (table.id, row.name)
            for cell in row.cells:
                assert cell.text or cell.note, (table.id, row.name)  # an empty cell says why
        assert len({column.id for column in table.columns}) == len(table.columns), table.id
    for part in found:
        if isinstance(part, Figure):
            assert part.table in tables(report), part.id
            assert part.alt
        if isinstance(part, Facts):
            assert all(isinstance(text, str) for pair in part.items for text in pair)
    json.dumps(report.facts)


def section_ids(sections: Sequence[Section]) -> list[str]:
    return [found for one in sections for found in (one.id, *section_ids(one.sections))]


async def two_models(store: Store) -> Built:
    built = await build(store, Plan(CASES, models=("alpha", "beta")), name="night")
    await answer_all(built, "alpha")
    await answer_all(built, "beta", wrong=["c0", "c1"])
    return built


async def test_a_report_has_everything_that_is_asked_of_one(store: Store) -> None:
    built = await two_models(store)
    report = await build_report(store, [built.run])
    check_sound(report)
    assert titles(report.sections) == [
        "triage: run night",
        "Condition both",
        "Condition both: models compared",
        "Condition both: other readings",
        "Condition both: in detail",
        "Condition both: how answers ended and were read",
        "Cost, tokens, time",
        "Methods",
    ]
    assert report.title == "triage: run night"
    assert report.facts["runs"][0]["run"] == {"name": "night", "digest": built.run.digest}  # type: ignore[index, call-overload]
    facts = {one.title: dict(one.items) for one in parts(report) if isinstance(one, Facts)}
    assert facts["What was asked"]["attempts"].startswith("at most 3")
    made = facts["How it was read and scored"]["intervals"]
    assert made.startswith("95%; made by: ")
    assert "Clopper-Pearson (" in made
    assert "BCa (" in made or "percentile (" in made
    paths = "Metric paths of the columns, as CSV, JSON and `compare --metric` have them"
    assert facts[paths]["fine maF1"] == "fine.macro_f1"
    assert facts["When"]["harness"] == "version 0 asked"
    models = tables(report)["night-models"]
    assert [row.name for row in models.rows] == ["alpha", "beta"]
    assert models.rows[0].cells[0].text == "alpha-id at lab, openai"
    assert "input 1, output 2" in models.rows[0].cells[6].text


async def test_equal_stores_give_equal_reports(store: Store) -> None:
    built = await two_models(store)
    assert await build_report(store, [built.run]) == await build_report(store, [built.run])


async def test_an_incomplete_model_has_no_rank_and_is_in_no_comparison(store: Store) -> None:  # F14
    built = await build(store, Plan(CASES, models=("alpha", "beta", "gamma")), name="night")
    for model in ("alpha", "beta", "gamma"):
        failed = ["c2"] if model == "gamma" else []
        await answer_all(built, model, wrong=["c1"] if model == "beta" else [], failed=failed)
    report = await build_report(store, [built.run])
    check_sound(report)
    assert report.warnings == ["INCOMPLETE: gamma; incomplete models have no rank"]
    ranks = {row.name: row.cells[0].text for row in tables(report)["night-both"].rows if row.kind == "model"}
    assert ranks == {"alpha": "1", "beta": "2", "gamma": ""}
    assert [row.name for row in tables(report)["triage-both-differences-fine-macro-f1"].rows] == [
        "alpha - beta"
    ]
    assert Paragraph("Not compared, as incomplete: gamma.", "note") in parts(report)


async def test_one_model_alone_is_compared_with_nobody(store: Store) -> None:
    built = await build(store, Plan(CASES), name="night")
    await answer_all(built, "alpha")
    report = await build_report(store, [built.run])
    check_sound(report)
    assert Paragraph("Nothing to compare: there is only one complete model.", "note") in parts(report)


async def test_a_run_of_which_nothing_was_asked_is_reported_as_such(store: Store) -> None:
    built = await build(store, Plan(CASES), name="night")
    report = await build_report(store, [built.run])
    check_sound(report)
    assert report.warnings == ["INCOMPLETE: alpha; incomplete models have no rank"]


async def test_repeats_are_told_and_compared_together(store: Store) -> None:
    built = await build(store, Plan(CASES, models=("alpha", "beta"), repeats=2), name="night")
    for repeat in (1, 2):
        await answer_all(built, "alpha", repeat=repeat)
        await answer_all(built, "beta", repeat=repeat, wrong=["c0"])
    report = await build_report(store, [built.run])
    check_sound(report)
    assert "means of 2 repeats" in tables(report)["night-both"].caption
    assert any(isinstance(one, Paragraph) and "2 repeats each" in one.text for one in parts(report))


async def test_conditions_stand_side_by_side_and_flow_into_each_other(store: Store) -> None:
    conditions = ("both", "complaint", "opg")
    built = await build(store, Plan(CASES, models=("alpha", "beta"), conditions=conditions), name="night")
    for condition in conditions:
        await answer_all(built, "alpha", condition=condition)
        await answer_all(built, "beta", condition=condition, failed=["c3"] if condition == "opg" else [])
    report = await build_report(store, [built.run])
    check_sound(report)
    overview = tables(report)["night-overview"]
    assert [one.head for one in overview.columns] == [
        "both: fine maF1", "complaint: fine maF1", "opg: fine maF1"
    ]  # fmt: skip
    assert overview.rows[1].marked
    flows = {
        one.title: one
        for one in parts(report)
        if isinstance(one, Figure) and isinstance(one.drawing, Alluvial)
    }
    assert len(flows) == 2
    to_both = tables(report)["night-opg-to-both"]
    assert [row.name for row in to_both.rows] == [
        "alpha: 0", "alpha: up to 0.5", "alpha: above 0.5", "alpha: 1"
    ]  # fmt: skip
    assert sum(int(str(row.cells[0].value)) for row in to_both.rows) == len(CASES)
    assert to_both.notes == ["not counted, as units of it are missing: beta"]


async def test_unusable_and_restated_answers_are_told_of(store: Store) -> None:
    plan = Plan(CASES, models=("alpha", "beta"), reformatter="fixer", attempts=1)
    built = await build(store, plan, name="night")
    await answer_all(built, "beta")
    for one in CASES[1:]:
        await built.valid(UnitId("alpha", "both", one.id), *map(str, one.reference["labels"]))  # type: ignore[arg-type]
    unit = UnitId("alpha", "both", "c0")
    prose = f"It needs: {SCALING}."
    first = await built.exchange(unit, prose)
    restated = json.dumps({"triage_output": {"Perio": {SCALING: 1}}})
    asked = {"messages": [{"role": "user", "content": f"Restate:\n{prose}\nEnd."}], "temperature": 0.25}
    second = await built.exchange(unit, restated, purpose="reformat", request=asked)
    links: list[tuple[int, Any, int]] = [(first, "answer", 1), (second, "reformat", 1)]
    await built.finish(unit, UnitOutcome.REFORMATTED, links, used=[first, second])
    report = await build_report(store, [built.run])
    check_sound(report)
    table = tables(report)["night-both-without-reformatter"]
    assert [row.name for row in table.rows] == ["alpha"]
    assert table.rows[0].cells[0].value == 1
    assert float(str(table.rows[0].cells[3].value)) < 0
    stages = {row.name: row.cells[2].value for row in tables(report)["night-both-stages"].rows}
    assert stages == {"alpha": 1, "beta": 0}
    facts = {one.title: dict(one.items) for one in parts(report) if isinstance(one, Facts)}
    assert facts["What was asked"]["reformatter"].startswith("fixer, asked once")
    models = {row.name: row for row in tables(report)["night-models"].rows}
    fixer = models["fixer (reformatter)"]
    assert "nothing was sent" not in fixer.cells[1].text  # it was asked once
    assert "temperature=0.25" in fixer.cells[1].text
    assert fixer.cells[5].text.endswith("(1)")
    assert facts["In short"]["unusable answers"] == "0 of 10 answers (0 %)"


async def test_several_runs_are_compared_together_on_equal_cases(store: Store) -> None:
    one = await build(store, Plan(CASES, models=("alpha",)), name="one")
    two = await build(store, Plan(CASES[:-1], models=("alpha", "beta")), name="two")
    for built in (one, two):
        for model in built.plan.models:
            await answer_all(built, model, wrong=["c0"] if model == "beta" else [])
    report = await build_report(store, [one.run, two.run])
    check_sound(report)
    assert [section.title for section in report.sections] == [
        "triage: run one", "triage: run two", "triage: models of all runs compared"
    ]  # fmt: skip
    differences = tables(report)["triage-both-differences-fine-macro-f1"]
    assert [row.name for row in differences.rows] == [
        "one:alpha - two:alpha", "one:alpha - beta", "two:alpha - beta"
    ]  # fmt: skip
    told = [one.text for one in parts(report) if isinstance(one, Paragraph)]
    assert any(text.startswith("Compared on 4 of 5 cases") and "1 case" in text for text in told)


async def test_hostile_names_stay_names(store: Store) -> None:
    names = [HOSTILE[key] for key in ("script", "latex", "rtl", "formula", "breaks", "cjk", "path")]
    built = await build(store, Plan(CASES, models=names), name=HOSTILE["style_end"])
    for name in names:
        await answer_all(built, name)
    report = await build_report(store, [built.run])
    check_sound(report)
    board = next(iter(tables(report).values()))
    assert {row.name for row in board.rows if row.kind == "model"} == set(names)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"conventions": {"zero_divison": "1"}}, "unknown convention 'zero_divison'"),
        ({"grades": "imported"}, "scored without grades"),
    ],
)
async def test_what_no_run_has_is_refused(store: Store, options: Mapping[str, Any], words: str) -> None:
    built = await two_models(store)
    with pytest.raises(ConfigError, match=words):
        await build_report(store, [built.run], **options)


async def test_no_run_at_all_is_refused(store: Store) -> None:
    with pytest.raises(ConfigError, match="one run at least"):
        await build_report(store, [])


async def test_an_unusual_convention_is_told_in_the_methods(store: Store) -> None:
    built = await two_models(store)
    report = await build_report(store, [built.run], conventions={"zero_division": "1"})
    facts = {one.title: dict(one.items) for one in parts(report) if isinstance(one, Facts)}
    assert facts["How it was read and scored"]["convention zero_division"].startswith(
        "1 (NOT the usual one, 0)"
    )
