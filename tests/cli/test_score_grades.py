"""Whose grades count in the scores: imported ones or those of a step, and only of the answer that stands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from step_examples import (
    QUESTION,
    SECRET,
    SmallJudge,
    answering,
    answering_server,
    install,
    ready_source,
    step_args,
    store_of,
)
from sweep_kit import answer_text, case_number, harness, labels_of, run_args, write_cases, write_config

from harness.benchmarks import triage
from harness.benchmarks.base import Question
from harness.benchmarks.scored import Scored
from harness.benchmarks.triage.task import Triage
from harness.cache.grades import NewGrade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.offline.chosen_grades import chosen_grades
from harness.offline.stored_run import load_run

CASES = 4
server = pytest.fixture(answering_server)
Seen = dict[str, Mapping[str, JSON]]


class GradingJudge(SmallJudge):
    """The small judge, whose answers are grades."""

    def grades_of(self, prediction: JSON) -> Mapping[str, JSON]:
        assert isinstance(prediction, Mapping)
        return {QUESTION: prediction["score"]}


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer) -> Path:
    write_cases(tmp_path / "data", CASES, rationale=SECRET)
    write_config(tmp_path, server.url, ["a", "j", "k"])
    return tmp_path


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """Triage is graded, by people or by the judge; what reaches its scorer is noted by case."""
    noted: Seen = {}
    numbers = Triage.unit_numbers

    def noting(self: Triage, unit: Scored) -> Sequence[float]:
        if unit.prediction is not None:
            noted.setdefault(unit.case.id, dict(unit.grades))  # models come before baselines
        return numbers(self, unit)

    monkeypatch.setattr(triage.benchmark, "questions", {QUESTION: Question((0, 1))}, raising=False)
    monkeypatch.setattr(Triage, "unit_numbers", noting)
    install(monkeypatch, GradingJudge())
    yield noted


def score(folder: Path, seen: Seen, *more: str) -> Mapping[str, Any]:
    seen.clear()
    done = harness("score", "night", "--json", *store_of(folder), *more)
    assert done.code == 0, done.err
    found: Mapping[str, Any] = done.json["grading"]
    return found


def grade(folder: Path, *lines: str) -> None:
    """Import grades, each as "case rater value"."""
    rows: list[dict[str, Any]] = []
    for case, rater, value in map(str.split, lines):
        rows.append({"model": "a", "condition": "both", "case_id": case, "rater": rater, "question": QUESTION,
                     "value": int(value)})  # fmt: skip
    file = folder / "grades.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = harness("grades", "import", "night", file, *store_of(folder))
    assert done.code == 0, done.err


def test_without_grades_none_reach_the_scores_and_the_json_says_so(folder: Path, seen: Seen) -> None:
    ready_source(folder, CASES)
    found = score(folder, seen)
    assert found["by"] == "none" and found["raters"] == [] and found["others"] == []
    assert seen == {f"c{n:03}": {} for n in range(CASES)}


def test_raters_count_where_they_agree_or_came_to_a_consensus(folder: Path, seen: Seen) -> None:
    ready_source(folder, CASES)
    grade(folder, "c000 ann 1", "c000 bob 1", "c001 ann 1", "c001 bob 0", "c002 ann 0", "c002 bob 1",
          "c002 consensus 0")  # fmt: skip
    found = score(folder, seen)
    assert seen == {"c000": {QUESTION: 1}, "c001": {}, "c002": {QUESTION: 0}, "c003": {}}
    assert found["by"] == "imported" and found["raters"] == ["ann", "bob", "consensus"]
    assert found["disputed"] == 1
    assert score(folder, seen, "--grades", "none")["by"] == "none"
    assert set(map(str, seen.values())) == {"{}"}
    text = harness("score", "night", *store_of(folder)).out
    assert "grades: imported, of ann, bob, consensus" in text
    assert "in dispute without a consensus: 1 answer (1 grade); these grades do not count" in text
    assert "*** GRADES NOT SETTLED (judge): 1 in dispute without a consensus ***" in text


def test_of_a_consensus_that_is_written_in_two_ways_the_newest_counts(folder: Path, seen: Seen) -> None:
    ready_source(folder, CASES)
    grade(folder, "c000 CONSENSUS 0", "c001 Consensus 1")
    grade(folder, "c000 consensus 1", "c001 consensus 0")
    found = score(folder, seen)
    assert found["raters"] == ["consensus"]
    assert seen == {"c000": {QUESTION: 1}, "c001": {QUESTION: 0}, "c002": {}, "c003": {}}


async def test_so_does_it_in_a_store_that_kept_both_spellings(folder: Path, seen: Seen) -> None:
    ready_source(folder, CASES)
    async with await Store.open(str(folder / "store.sqlite3")) as store:
        run = await store.find_run("night")
        unit = UnitId("a", "both", "c000")
        for place, (rater, value) in enumerate([("CONSENSUS", 0), ("consensus", 1)], start=1):
            await store.add_grades(run.id, [NewGrade(unit, rater, QUESTION, value, place)])
        chosen = await chosen_grades(store, await load_run(store, run), None)
    assert chosen is not None and chosen.values == {unit: {QUESTION: 1}}


def test_the_only_grading_step_is_taken_and_marked_as_a_models(folder: Path, seen: Seen) -> None:
    ready_source(folder, CASES)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    found = score(folder, seen)
    assert seen == {f"c{n:03}": {QUESTION: n % 2} for n in range(CASES)}
    assert (found["by"], found["model"], found["step"]) == ("model", "j", "verdicts")
    text = " ".join(harness("score", "night", *store_of(folder)).out.split())
    assert "grades: given by the model j, NOT by people (step 'verdicts')" in text
    assert "agreement" not in harness("score", "night", "--json", *store_of(folder)).json


def test_of_two_steps_none_is_taken_unless_it_is_named(folder: Path, seen: Seen) -> None:
    ready_source(folder, CASES)
    for model in ("j", "k"):
        assert harness(*step_args(folder, "--name", f"by-{model}", model=model)).code == 0
    found = score(folder, seen)
    assert found["by"] == "none" and found["others"] == ["by-j", "by-k"]
    assert score(folder, seen, "--grades", "by-k")["model"] == "k"
    assert seen["c001"] == {QUESTION: 1}
    done = harness("score", "night", "--grades", "by-x", *store_of(folder))
    assert done.code == 2 and "by-j, by-k, none" in done.err, done.err


def test_imported_grades_are_never_mixed_with_those_of_a_model(folder: Path, seen: Seen) -> None:
    ready_source(folder, CASES)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    grade(folder, "c000 ann 1")
    found = score(folder, seen)
    assert found["by"] == "imported"
    assert seen == {"c000": {QUESTION: 1}, "c001": {}, "c002": {}, "c003": {}}
    # Once, above all tables, and the command whole: a model has graded what people have not.
    assert found["other_steps"] == [{
        "name": "verdicts", "model": "j", "simulated": False, "usable": CASES, "graded": CASES, "counted": 1,
    }]  # fmt: skip
    text = harness("score", "night", *store_of(folder)).out
    assert text.splitlines().count("  harness score night --grades verdicts") == 1
    told = f"OTHER GRADES ARE STORED: {CASES} of {CASES} usable answers have grades of the model j, 1 those"
    assert told in " ".join(text.split("fine")[0].split())
    assert "to be had by --grades: verdicts" in text
    assert "other_steps" not in score(folder, seen, "--grades", "none"), "somebody chose"
    assert score(folder, seen, "--grades", "verdicts")["others"] == ["imported"]
    assert seen["c000"] == {QUESTION: 0}


@pytest.mark.slow
@pytest.mark.parametrize("by", ["imported", "verdicts"])
def test_a_grade_of_an_answer_that_was_asked_again_and_differs_does_not_count(  # F12
    folder: Path, server: ScriptedServer, seen: Seen, by: str
) -> None:
    ready_source(folder, CASES)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    grade(folder, "c000 ann 1", "c001 ann 1")

    def changed(arrival: Arrival) -> Reply:
        if case_number(arrival) != 1:
            return answering(arrival)

        return chat_reply(answer_text(labels_of(1), "another reasoning"), model=arrival.json["model"])

    server.script = changed
    done = harness(*run_args(folder, "--name", "night", "--again", "valid", models="a"))
    assert done.code == 0, done.err
    found = score(folder, seen, "--grades", by)
    assert seen["c001"] == {} and seen["c000"] == {QUESTION: 1 if by == "imported" else 0}
    assert found["of_other_answers"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("by", ["imported", "verdicts"])
def test_a_grade_given_by_a_reference_that_was_corrected_does_not_count(
    folder: Path, seen: Seen, by: str
) -> None:
    ready_source(folder, CASES)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    grade(folder, "c000 ann 0", "c001 ann 1")
    file = folder / "data" / "cases.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["rationale"] = "another expert's words"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = score(folder, seen, "--grades", by, "--data", str(folder / "data"))
    assert seen["c000"] == {QUESTION: 0} and seen["c001"] == {}
    assert found["of_other_answers"] == 1


def test_a_benchmark_without_questions_takes_no_grades(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready_source(folder, CASES)
    monkeypatch.setattr(triage.benchmark, "questions", {})
    done = harness("score", "night", "--grades", "imported", *store_of(folder))
    assert done.code == 2 and "triage is scored without grades; leave out --grades" in done.err
    assert "grading" not in harness("score", "night", "--json", *store_of(folder)).json


def test_raters_are_compared_on_the_answers_that_stand_alone(
    folder: Path, server: ScriptedServer, seen: Seen
) -> None:
    ready_source(folder, CASES)
    grade(folder, "c000 ann 1", "c000 bob 0", "c001 ann 1", "c001 bob 1", "c002 ann 0", "c002 consensus 1")

    def people() -> Mapping[str, Any]:
        found: Mapping[str, Any] = harness("score", "night", "--json", *store_of(folder)).json["agreement"]
        return found

    there = people()
    assert list(there["between_people"]) == ["ann and bob"], "a consensus is no rater"
    assert there["between_people"]["ann and bob"]["dimensions"][QUESTION]["accuracy"]["value"] == 0.5
    assert (there["grades"], there["of_other_answers"]) == (5, 0)

    def changed(arrival: Arrival) -> Reply:
        if case_number(arrival) != 1:
            return answering(arrival)
        return chat_reply(answer_text(labels_of(1), "another reasoning"), model=arrival.json["model"])

    server.script = changed
    done = harness(*run_args(folder, "--name", "night", "--again", "valid", models="a"))
    assert done.code == 0, done.err
    there = people()
    assert there["between_people"]["ann and bob"]["dimensions"][QUESTION]["n"] == 1
    assert (there["grades"], there["of_other_answers"]) == (3, 2)
    text = " ".join(harness("score", "night", *store_of(folder)).out.split())
    assert "grades that are not compared: 2; their answers were asked again (--again); grades" in text
    grade(folder, "c001 ann 0")
    assert people()["between_people"]["ann and bob"]["n_graded"] == 1, "bob has not graded the new answer"
