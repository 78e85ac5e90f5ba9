"""Grades of what a step answered: they belong to its run, and comments belong anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer
from step_examples import QUESTION, SmallJudge, answering_server, install, ready_source, step_args, store_of
from sweep_kit import Done, harness, write_cases, write_config

from harness.benchmarks.base import Question

CASES = 3
FAIR = "audit.fair"
server = pytest.fixture(answering_server)


class AuditedJudge(SmallJudge):
    """The small judge, whose verdicts people look through."""

    own_questions: Mapping[str, Question] = {FAIR: Question((0, 1))}


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run "night" and the step "verdicts" over it."""
    write_cases(tmp_path / "data", CASES)
    write_config(tmp_path, server.url, ["a", "j"])
    install(monkeypatch, AuditedJudge())
    ready_source(tmp_path, CASES)
    assert harness(*step_args(tmp_path, "--name", "verdicts")).code == 0
    return tmp_path


def taken(folder: Path, run: str, *rows: Mapping[str, Any]) -> Done:
    file = folder / "grades.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return harness("grades", "import", run, file, *store_of(folder))


def verdict(value: Any, rater: str = "ann", question: str = FAIR, case: str = "c001") -> dict[str, Any]:
    return {"model": "j", "condition": "judge", "case_id": f"a|both|{case}|1", "rater": rater,
            "question": question, "value": value}  # fmt: skip


def test_grades_of_a_steps_own_answers_are_kept_at_its_run_and_scored_there(folder: Path) -> None:
    before = harness("score", "verdicts", "--json", *store_of(folder)).json
    assert "grading" not in before
    done = taken(folder, "verdicts", verdict(1), verdict(0, "bob"), verdict(1, "bob", case="c002"))
    assert done.code == 0 and "note" not in done.err, done.err
    after = harness("score", "verdicts", "--json", *store_of(folder)).json
    assert (after["grading"]["by"], after["grading"]["raters"]) == ("imported", ["ann", "bob"])
    assert (after["grading"]["units"], after["grading"]["disputed"]) == (2, 1)
    assert after["rows"] == before["rows"], "no number of this step uses them"
    none = harness("score", "verdicts", "--json", "--grades", "none", *store_of(folder)).json
    assert none["grading"]["by"] == "none"
    bad = harness("score", "verdicts", "--grades", "imported:cyd", *store_of(folder))
    assert bad.code == 2 and "no grades of a rater 'cyd'" in bad.err


def test_they_are_refused_at_the_run_that_the_step_followed_and_told_where_they_belong(folder: Path) -> None:
    row = {**verdict(1), "model": "a", "condition": "both", "case_id": "c001"}
    done = taken(folder, "night", row)
    assert done.code == 2 and (
        f"line 1: '{FAIR}' is asked about the answers of the step 'judge', not about those of run 'night'; "
        "import it to the run of the step"
    ) in done.err, done.err


def test_a_wrong_grade_of_a_steps_answer_is_not_sent_to_another_run(folder: Path) -> None:
    done = taken(folder, "verdicts", verdict(2))
    assert done.code == 2 and f"a grade of '{FAIR}' is 0 or 1, not 2" in done.err
    assert "belong to" not in done.err
    done = taken(folder, "verdicts", verdict(1, question=QUESTION, case="c009"))
    assert done.code == 2 and "belong to run 'night'" in done.err


def test_comments_are_text_are_kept_with_their_history_and_asked_by_nobody(folder: Path) -> None:
    odd = "=1+1, \"so\"\u2028 意见\r"
    comment = {**verdict(odd), "model": "a", "condition": "both", "case_id": "c001", "question": "comment"}
    assert harness("score", "night", "--json", *store_of(folder)).code == 0
    done = taken(folder, "night", comment | {"time": "2026-01-01T00:00:00Z"})
    assert done.code == 0 and "note" not in done.err, done.err
    assert taken(folder, "night", comment | {"value": ""}).code == 0, "a comment is taken back"
    assert taken(folder, "night", comment | {"value": 3}).code == 2
    for kind in ("csv", "jsonl"):
        file = folder / f"all.{kind}"
        done = harness("grades", "export", "night", "--format", kind, "--out", file, *store_of(folder))
        assert done.code == 0, done.err
        again = harness("grades", "import", "night", file, *store_of(folder))
        assert again.code == 0 and "here already: 2" in again.out, again.err
    assert [json.loads(line)["value"] for line in file.read_text().split("\n")[:-1]] == [odd, ""]
    assert "agreement" not in harness("score", "night", "--json", *store_of(folder)).json


def test_the_list_of_benchmarks_says_what_people_can_be_asked() -> None:
    found = harness("benchmarks", "medlay", "--json").json[0]
    assert found["gradings"]["expert"]["items"] == 100
    assert found["questions"]["expert.fluency"] == [1, 2, 3, 4, 5]
    (step,) = harness("benchmarks", "pandent", "--json").json[0]["steps"]
    assert step["own_questions"] == {
        f"audit.{name}": [0, 1] for name in ("meaning_kept", "added", "lost", "changed")
    }
    text = " ".join(harness("benchmarks", "pandent").out.split())
    assert "harness grade STEP_RUN --task audit`, 200 answers drawn at random unless told otherwise" in text
    text = " ".join(harness("benchmarks", "radm").out.split())
    assert "harness grade RUN --task tiers`, all answers" in text
