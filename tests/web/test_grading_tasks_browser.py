"""Two sheets of every task graded in a real browser by keyboard alone, served by the real command."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from page_browser import a_browser
from people_grading import Person, at_the_desk, served_by_the_command
from playwright.sync_api import Browser
from radm_night import command

NO_YES = {"n": 0, "y": 1}
POINTS = {str(point): point for point in range(1, 6)}


@dataclass(frozen=True, slots=True)
class Asked:
    """A task as its rules say: of which run, its questions in order, the keys of all options with values."""

    benchmark: str
    task: str
    questions: tuple[str, ...]
    keys: Mapping[str, int]
    step: str | None = None
    conditions: str | None = None

    def __str__(self) -> str:
        return f"{self.benchmark}-{self.task}"

    def said(self, sheet: int) -> Sequence[str]:
        """Return the keys that somebody presses on a sheet, one a question: other ones on each sheet."""
        keys = list(self.keys)
        return [keys[(sheet + 2 * place + place // 3) % len(keys)] for place in range(len(self.questions))]


TASKS = (
    Asked("radm", "tiers", tuple(f"tier_{rank}" for rank in range(1, 6)), {str(n): n for n in range(4)}),
    Asked(
        "triage",
        "judge",
        (
            "D1_Neglect",
            "D2_Omission",
            "D3_Misinterpretation",
            "D4_Protocol_Confusion",
            "D5_Hallucination",
        ),
        NO_YES,
    ),
    Asked(
        "pandent",
        "audit",
        ("audit.meaning_kept", "audit.added", "audit.lost", "audit.changed"),
        NO_YES,
        step="normalise",
        conditions="report",
    ),
    Asked(
        "medlay",
        "expert",
        ("expert.completeness", "expert.fluency", "expert.simplicity", "expert.factual_correctness"),
        POINTS,
    ),
    Asked(
        "medlay",
        "reader",
        ("reader.understandability", "reader.fluency", "reader.trustworthiness"),
        POINTS,
    ),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


def answered(folder: Path, asked: Asked) -> str:
    """Let a simulated model answer the sample, and restate its answers where the task wants that."""
    store = ("--store", folder / "store.sqlite3")
    wanted = ("--benchmark", asked.benchmark, "--models", "sim/steady", "--limit", "2", "--name", "night")
    more = () if asked.conditions is None else ("--conditions", asked.conditions)
    done = command("run", *wanted, *more, *store)
    assert done.code == 0, done.err
    if asked.step is None:
        return "night"
    wanted = (asked.step, "night", "--model", "sim/steady", "--limit", "2", "--name", "restated")
    done = command("step", *wanted, *store)
    assert done.code == 0, done.err
    return "restated"


def wanted_of(run: str, asked: Asked) -> tuple[str, ...]:
    """Return the words of the command that serves two sheets of a task to alice."""
    few = ("--limit", "2", "--calibration", "0", "--port", "0")
    return (run, "--task", asked.task, "--raters", "alice", *few)


def graded(person: Person, asked: Asked, sheet: int) -> None:
    """Answer all questions of the sheet at hand by their keys, the comment too, and go on by Enter."""
    for number, key in enumerate(asked.said(sheet)):
        at = person.opened.run("document.activeElement.closest('fieldset').dataset.field")
        assert at == asked.questions[number]
        person.press(key)
    person.press("c")
    person.opened.page.keyboard.type(f"nyj 12345 {sheet}")
    person.press("Escape")
    person.go_on()


@pytest.mark.slow
@pytest.mark.parametrize("asked", TASKS, ids=str)
def test_two_sheets_are_graded_by_keyboard_alone(browser: Browser, tmp_path: Path, asked: Asked) -> None:
    run = answered(tmp_path, asked)
    with (
        served_by_the_command(
            tmp_path, ["alice"], *wanted_of(run, asked), end=signal.SIGTERM
        ) as links,
        at_the_desk(browser, links["alice"]) as alice,
    ):
        alice.begin()
        assert alice.opened.page.url.endswith("/sheet/1")
        graded(alice, asked, 0)
        assert alice.opened.page.url.endswith("/sheet/2")
        alice.press("k")
        alice.opened.page.wait_for_url("**/sheet/1")
        alice.press("j")
        alice.opened.page.wait_for_url("**/sheet/2")
        graded(alice, asked, 1)
        assert "All done" in alice.opened.page.inner_text("main")
        assert alice.opened.said == []
    done = command("grades", "export", run, "--latest", "--store", tmp_path / "store.sqlite3")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert {row["rater"] for row in rows} == {"alice"}
    found: dict[tuple[str, ...], dict[str, object]] = {}
    for row in rows:
        unit = (row["model"], row["condition"], row["case_id"], str(row.get("repeat")))
        found.setdefault(unit, {})[row["question"]] = row["value"]
    expected = [
        {
            **dict(zip(asked.questions, map(asked.keys.__getitem__, asked.said(sheet)), strict=True)),
            "comment": f"nyj 12345 {sheet}",
        }
        for sheet in range(2)
    ]
    assert sorted(found.values(), key=lambda one: str(one["comment"])) == expected
