"""Published numbers beside ours: as printed, and compared only where both are the same measure."""

from __future__ import annotations

from typing import Any

import pytest
from report.score_examples import MAIN, incomplete, row, view
from report.test_leaderboard import cell, tables

from harness.report.leaderboard import leaderboard, readings
from harness.report.part_ids import PartIds
from harness.report.published import PublishedValue
from harness.report.score_view import ConditionView


def printed(subject: str, path: str, value: float, model: str | None = None, **more: Any) -> PublishedValue:
    given = {"low": None, "high": None, "note": None, **more}
    return PublishedValue(source="Table 1", subject=subject, model=model, path=path, value=value, **given)


PRINTED = (
    printed("Gemini-3-Flash", MAIN, 0.302, "gemini-3-flash"),
    printed("GPT-9", MAIN, 0.3),
    printed("Gemini-3-Flash", "elsewhere", 0.5, "gemini-3-flash"),
)


def shown(rows: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    found: ConditionView = view(rows, printed=PRINTED, **changes)
    ids = PartIds()
    return tables([*leaderboard(found, ids, "night"), *readings(found, ids, "night")])


OURS = row("gemini-3-flash", {MAIN: (0.4021, 0.39, 0.414)}, rank=1, n=5000)


def test_a_published_row_stands_below_ours_without_rank_and_n() -> None:
    table = shown([OURS])["night-both"]
    assert [(one.name, one.kind) for one in table.rows] == [
        ("gemini-3-flash", "model"),
        ("Gemini-3-Flash (published)", "published"),
        ("GPT-9 (published)", "published"),
    ]
    ours = cell(table, "Gemini-3-Flash (published)", MAIN)
    assert (ours.text, ours.value, ours.n) == ("0.302", 0.302, None)
    assert cell(table, "GPT-9 (published)", MAIN).text == "0.300"
    assert cell(table, "GPT-9 (published)", "rank").text == "-"
    assert any(note.startswith("published: as the paper prints it") for note in table.notes)
    assert table.rows[1].notes == ("printed in Table 1",)


def test_the_difference_is_ours_less_the_published_one() -> None:
    table = shown([OURS])["night-both-published"]
    assert [one.name for one in table.rows] == ["gemini-3-flash", "gemini-3-flash"]
    difference = cell(table, "gemini-3-flash", "difference")
    assert (difference.text, difference.n) == ("+0.100", 5000)
    assert difference.value == pytest.approx(0.4021 - 0.302)


def test_a_metric_that_is_not_measured_here_says_so() -> None:
    table = shown([OURS])["night-both-published"]
    elsewhere = table.rows[1]
    assert [one.text for one in elsewhere.cells[:4]] == ["elsewhere", "0.5", "", ""]
    assert elsewhere.cells[4].text == "not compared: not measured here"


@pytest.mark.parametrize(
    ("ours", "changes", "why"),
    [
        (OURS, {"synthetic": True}, "the cases here are synthetic, not the paper's"),
        (incomplete("gemini-3-flash", {MAIN: 0.4}), {}, "this model is incomplete here"),
        (row("gemini-3-flash", {MAIN: None}), {}, "no value here"),
    ],
)
def test_what_is_not_the_same_is_not_compared(ours: Any, changes: Any, why: str) -> None:
    table = shown([ours], **changes)["night-both-published"]
    assert cell(table, "gemini-3-flash", "difference").text == ""
    assert cell(table, "gemini-3-flash", "difference").note == why
    assert cell(table, "gemini-3-flash", "note").text == f"not compared: {why}"


def test_of_models_that_are_not_in_the_run_one_sentence_says_so() -> None:
    others = [printed(name, "elsewhere", 0.5) for name in ("GPT-8", "GPT-9")]
    found = view([OURS], printed=[*PRINTED, *others])
    table = tables(readings(found, PartIds(), "night"))["night-both-published"]
    absent = [one for one in table.rows if one.name in ("GPT-8", "GPT-9")]
    assert [[cell.text for cell in one.cells] for one in absent] == [
        ["elsewhere", "0.5", "-", "-", "-", "Table 1"]
    ] * 2
    assert not any(cell.note for one in absent for cell in one.cells)
    assert list(table.notes) == ["not compared, as they are not in this run: GPT-8, GPT-9"]
    assert "metrics that are no column of the leaderboard, which has the rest" in table.caption
    alone = tables(readings(view([OURS], printed=PRINTED), PartIds(), "night"))["night-both-published"]
    assert list(alone.notes) == []


def test_nothing_published_changes_nothing() -> None:
    found = tables(leaderboard(view([OURS]), PartIds(), "night"))
    assert list(found) == ["night-both"]


def test_a_difference_says_by_which_conventions_ours_is_scored() -> None:
    usual = cell(shown([OURS])["night-both-published"], "gemini-3-flash", "note").text
    assert "scored here" not in usual
    other = {"case_f1_empty": "1", "zero_division": "skip-empty"}
    table = shown([OURS], conventions=other)["night-both-published"]
    assert "scored here with zero_division=skip-empty, which is no default" in (
        cell(table, "gemini-3-flash", "note").text
    )
