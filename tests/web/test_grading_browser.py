"""Grading from end to end, in a real browser and by the real commands, with the keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from page_browser import a_browser
from people_grading import Person, at_the_desk, deserved, served_by_the_command, strict
from playwright.sync_api import Browser
from radm_night import CONDITIONS, MODELS, RUN, command, night, options
from sklearn.metrics import cohen_kappa_score

QUESTIONS = tuple(f"tier_{rank}" for rank in range(1, 6))
Grades = Mapping[tuple[str, ...], int]
"""(model, condition, case, question) -> tier."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


SEATS = ("alice", "bob", "consensus", "lead")


def stored_grades(folder: Path) -> dict[str, Grades]:
    """Return rater -> the grades that stand, by the exporting command."""
    done = command("grades", "export", RUN, "--latest", *options(folder))
    assert done.code == 0, done.err
    found: dict[str, dict[tuple[str, ...], int]] = {}
    for row in map(json.loads, done.out.splitlines()):
        key = (row["model"], row["condition"], row["case_id"], row["question"])
        found.setdefault(row["rater"], {})[key] = row["value"]
    return dict(found)


def kappa_of(grades: Mapping[str, Grades]) -> float:
    keys = sorted(grades["alice"])
    assert keys == sorted(grades["bob"])
    both = [[grades[rater][key] for key in keys] for rater in ("alice", "bob")]
    return float(cohen_kappa_score(*both))


def shown_kappas(person: Person, section: str) -> Sequence[float | None]:
    """Return the kappas of a table of the lead's page; None where there is none."""
    cells = person.opened.run(
        f"""[...document.querySelectorAll('section[aria-labelledby="{section}"] tbody tr')].map((row) =>
            [...row.cells].map((cell) => cell.textContent.trim()))"""
    )
    column = 3 if section == "rounds" else 2
    return [None if row[column] == "-" else float(row[column]) for row in cells]


def scores_by_hand(grades: Mapping[str, Grades]) -> dict[tuple[str, str], dict[str, float]]:
    """Return what RadM-Bench's score and top-k come to, written down from the paper's definition."""
    agreed = {**grades["alice"], **grades["consensus"]}
    found = {}
    for model, condition in product(MODELS, CONDITIONS):
        cases = sorted({key[2] for key in agreed if key[:2] == (model, condition)})
        tiers = [[agreed[model, condition, case, question] for question in QUESTIONS] for case in cases]
        score = [max(tier * (5 - place) / 5 for place, tier in enumerate(five)) for five in tiers]
        found[model, condition] = {
            "score": sum(score) / len(score),
            **{f"top{k}": sum(any(five[:k]) for five in tiers) / len(tiers) for k in (1, 3, 5)},
        }
    return found


@pytest.mark.slow
def test_two_people_grade_20_answers_by_keyboard_and_their_grades_are_scored(
    browser: Browser, tmp_path: Path
) -> None:
    night(tmp_path)
    said: list[str] = []
    wanted = (RUN, "--task", "tiers", "--raters", "alice,bob", "--calibration", "5", "--port", "0")
    with served_by_the_command(tmp_path, SEATS, *wanted, "--config", tmp_path / "harness.toml") as links:
        with at_the_desk(browser, links["alice"]) as alice:
            alice.begin()
            for _ in range(2):
                alice.answer()
                alice.go_on()
            alice.answer(2)  # and closes the browser in the middle of the third sheet
            alice.opened.page.locator(".state .kept").nth(1).wait_for()
            said += alice.opened.said
        with at_the_desk(browser, links["alice"]) as alice, at_the_desk(browser, links["bob"], strict) as bob:
            alice.begin()
            assert alice.opened.page.url.endswith("/sheet/3")
            assert alice.opened.run("document.querySelectorAll('input:checked').length") == 2
            assert alice.all_open() == 3
            assert "Nothing to do for now" in alice.opened.page.inner_text("main")
            bob.begin()
            assert bob.all_open() == 20  # the gate opens as he gives the last grade of the round
            calibrated = stored_grades(tmp_path)
            calibrated["bob"] = {key: calibrated["bob"][key] for key in calibrated["alice"]}
            alice.begin()
            assert alice.all_open() == 15
            assert "All done" in alice.opened.page.inner_text("main")
            said += alice.opened.said + bob.opened.said
        graded = stored_grades(tmp_path)
        assert {rater: len(theirs) for rater, theirs in graded.items()} == {"alice": 100, "bob": 100}
        with at_the_desk(browser, links["lead"]) as lead:
            lead.opened.page.goto(links["lead"])
            assert len(calibrated["alice"]) == 25
            assert shown_kappas(lead, "rounds") == [round(kappa_of(calibrated), 3)]
            assert shown_kappas(lead, "agreement")[0] == round(kappa_of(graded), 3)
            assert 0.75 <= kappa_of(calibrated) < 1
            said += lead.opened.said
        with at_the_desk(browser, links["consensus"], deserved) as together:
            together.begin()
            differing = {key for key, tier in graded["alice"].items() if graded["bob"][key] != tier}
            assert together.all_open() == len({key[:3] for key in differing})
            assert "Every difference is settled" in together.opened.page.inner_text("main")
            said += together.opened.said
    assert said == []
    final = stored_grades(tmp_path)
    assert set(final["consensus"]) == differing
    check_scores(tmp_path, final)


def check_scores(folder: Path, grades: Mapping[str, Grades]) -> None:
    """Hold what `harness score` says against what the exported grades come to by hand."""
    done = command("score", RUN, "--json", *options(folder))
    assert done.code == 0, done.err
    rows = {(row["model"], row["condition"]): row for row in done.json["rows"] if row["kind"] == "model"}
    for key, numbers in scores_by_hand(grades).items():
        metrics: Mapping[str, Any] = rows[key]["as_answered"]
        for name, value in numbers.items():
            assert metrics[name]["value"] == pytest.approx(value, abs=1e-12), (key, name)
