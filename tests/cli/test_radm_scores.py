"""RadM-Bench scored by the commands: graded by people, by a model, by nobody; what the tables say of it."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import Done, harness, write_config

from harness.benchmarks.registry import get_benchmark

SAMPLE = get_benchmark("radm").sample_dir()
CONDITIONS = "text,text_images,text_translated"
MODELS = ("a", "b")
Tiers = tuple[int, ...]


def is_grading(arrival: Arrival) -> bool:
    return "grades differential diagnoses" in arrival.text


def diagnoses_of(arrival: Arrival) -> list[str]:
    """Return what a model says, which depends on it and on all that it is shown."""
    dice = random.Random(json.dumps([arrival.json["model"], arrival.json["messages"]]))
    return [f"D{dice.randrange(10**6)}-{dice.choice('0000112233')}" for _ in range(5)]


def tier_of(diagnosis: str) -> int:
    """Return the tier that the grader gives: it stands in the diagnosis itself."""
    return int(diagnosis.rpartition("-")[2])


def answering(arrival: Arrival) -> Reply:
    name = arrival.json["model"]
    if is_grading(arrival):
        tiers = [tier_of(one) for one in re.findall(r"D\d+-\d", arrival.text)]
        verdict = {"tiers": [{"tier": tier, "reason": "so"} for tier in tiers]}
        return chat_reply(json.dumps(verdict), model=name)
    if name == "b" and random.Random(arrival.text).random() < 0.15:
        return chat_reply("I cannot tell.", model=name)
    return chat_reply(json.dumps({"diagnoses": diagnoses_of(arrival)}), model=name)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the sample, and a step that graded it, "llm"."""
    folder = tmp_path_factory.mktemp("radm")
    shutil.copytree(SAMPLE, folder / "data")
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, [*MODELS, "j"], inputs=["text", "image"])
        done = harness(
            *("run", "--benchmark", "radm", "--data", folder / "data", "--models", "a,b", "--attempts", "1"),
            *("--conditions", CONDITIONS, "--name", "night", *options(folder)),
        )
        assert done.code == 0, done.err
        shown = len(server.arrivals)
        step = harness("step", "grade", "night", "--model", "j", "--name", "llm", *options(folder))
        assert step.code == 0, step.err
        for arrival in server.arrivals[shown:]:
            assert is_grading(arrival)
            assert "data:image" not in json.dumps(arrival.json)
            assert "night" not in arrival.text
    return folder


@pytest.fixture
def folder(tmp_path: Path, night: Path) -> Path:
    """A copy of that store, to be changed."""
    for name in ("harness.toml", "store.sqlite3"):
        shutil.copy(night / name, tmp_path / name)
    return tmp_path


def options(folder: Path) -> list[str | Path]:
    return ["--config", folder / "harness.toml", "--store", folder / "store.sqlite3"]


def score(folder: Path, *more: str, run: str = "night") -> Any:
    done = harness("score", run, "--json", *more, *options(folder))
    assert done.code == 0, done.err
    return done.json


def printed(folder: Path, *more: str, run: str = "night") -> str:
    done = harness("score", run, *more, *options(folder))
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    return done.out


def records(folder: Path) -> list[Mapping[str, Any]]:
    done = harness("export", "night", *options(folder))
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.split("\n") if line]


def row(found: Any, model: str, condition: str) -> Any:
    [one] = [one for one in found["rows"] if one["model"] == model and one["condition"] == condition]
    return one


def graded_by_hand(folder: Path, rater: str = "ann", leave_out: int = 0) -> list[list[Any]]:
    """Import a person's tiers, the grader's own, of all usable answers but the last few; return the rows."""
    rows: list[list[Any]] = []
    for record in records(folder)[: -leave_out or None]:
        if record["prediction"] is not None:
            rows += [
                [record["model"], record["condition"], record["case_id"], f"tier_{rank}", tier_of(diagnosis)]
                for rank, diagnosis in enumerate(record["prediction"]["diagnoses"], 1)
            ]
    file = folder / f"{rater}.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["model", "condition", "case_id", "question", "value"], *rows])
    done = harness("grades", "import", "night", file, "--rater", rater, *options(folder))
    assert done.code == 0, done.err
    return rows


def worth(tiers: Sequence[int]) -> float:
    return max(weight * tier for weight, tier in zip((5, 4, 3, 2, 1), tiers, strict=True)) / 5


def test_without_a_name_a_step_that_is_the_latest_run_says_whose_answers_it_is_about(folder: Path) -> None:
    digest = harness("status", "night", "--json", *options(folder)).json["digest"][:12]
    compared = harness("compare", *options(folder))
    assert (compared.code, compared.out) == (2, "")
    told = " ".join(compared.err.split())
    assert "error: run 'llm' is a step (grade) over answers of run 'night'; what a step says of" in told
    assert "compare the answers: `harness compare night`" in told and "no metric" not in told
    reported = harness("report", "--out", folder / "page", *options(folder))
    assert reported.code == 0 and reported.out.startswith("run: llm\npage: ")
    assert f"harness report {digest}" in " ".join(reported.err.split())
    named = harness("report", "llm", "--out", folder / "page", *options(folder))
    assert named.code == 0 and "note:" not in named.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "model"), [("llm", "the model j"), ("sim", "the SIMULATED model sim/steady")]
)
def test_score_compare_and_report_say_in_the_same_words_that_a_model_graded(
    folder: Path, step: str, model: str
) -> None:
    if step == "sim":
        done = harness(
            "step", "grade", "night", "--model", "sim/steady", "--name", "sim", *options(folder)
        )
        assert done.code == 0, done.err
    told = f"LLM-GRADED: the grades are those of {model}, not people's"
    grades = ("night", "--grades", step)
    assert f"*** {told} ***" in " ".join(harness("score", *grades, *options(folder)).out.split())
    compared = harness("compare", *grades, *options(folder))
    assert f"*** {told} ***" in " ".join(compared.out.split()), compared.err
    assert told in harness("compare", *grades, "--json", *options(folder)).json["warnings"]
    done = harness("report", *grades, "--out", folder / "page", *options(folder))
    assert done.code == 0, done.err
    report = json.loads((folder / "page/report.json").read_text("utf-8"))
    assert told in report["warnings"]
    page = unescape((folder / "page/index.html").read_text("utf-8"))
    assert told in " ".join(page.split())


@pytest.mark.slow
def test_scores_by_a_grading_step_are_those_of_its_tiers_and_marked_as_a_models(night: Path) -> None:
    found = score(night)
    assert (found["grading"]["by"], found["grading"]["model"]) == ("model", "j")
    every = records(night)
    assert len([one for one in every if one["prediction"] is None]) > 2
    for model in MODELS:
        for condition in CONDITIONS.split(","):
            units = [one for one in every if (one["model"], one["condition"]) == (model, condition)]
            said = [unit["prediction"]["diagnoses"] for unit in units if unit["prediction"] is not None]
            mean = sum(worth(list(map(tier_of, five))) for five in said) / len(units)
            there = row(found, model, condition)
            assert there["as_answered"]["score"]["value"] == pytest.approx(mean, abs=1e-12)
            assert there["as_answered"]["score"]["n"] == len(units)
            assert there["valid_only"]["score"]["n"] == len(said)
            assert there["rank"] in (1, 2)
    text = printed(night)
    assert "*** LLM-GRADED: the grades are those of the model j, not people's ***" in text.splitlines()[:3]
    assert "NOT by people" in " ".join(text.split())
    assert "LLM-graded" in printed(night, run="llm")


def test_people_who_gave_the_same_tiers_give_the_same_scores(folder: Path) -> None:
    by_model = score(folder)
    graded_by_hand(folder)
    assert "LLM-GRADED" not in printed(folder)
    by_people = score(folder)
    assert by_people["grading"]["by"] == "imported"
    assert by_people["rows"] == by_model["rows"]


def test_without_all_grades_nobody_is_ranked_and_the_reason_counts_them(folder: Path) -> None:
    none = score(folder, "--grades", "none")
    for one in none["rows"]:
        if one["condition"] == "text":
            assert one["rank"] is None
            assert one["as_answered"]["score"]["value"] is None
            assert "no grade that counts" in one["as_answered"]["score"]["reason"]
            assert one["as_answered"]["graded_only.score"]["value"] is None
    graded_by_hand(folder, leave_out=3)
    partly = score(folder, "--grades", "imported")
    values = [one["as_answered"].get("score", {}).get("value") for one in partly["rows"]]
    assert None in values
    assert any(value is not None for value in values)
    text = " ".join(printed(folder, "--grades", "none").split())
    assert "a: score, top-1 acc, top-3 acc, top-5 acc: no value: 20 of 20 answers have no grade" in text
    assert "b: score, top-1 acc, top-3 acc, top-5 acc: no value: 16 of 20 answers have no grade" in text


def test_a_grader_that_talks_gives_no_grades(folder: Path) -> None:  # F12
    def talking(arrival: Arrival) -> Reply:
        return chat_reply("Candidate 1 deserves a 3; the others: 0.", model="talker")

    with ScriptedServer(talking) as server:
        write_config(folder, server.url, [*MODELS, "j", "talker"], inputs=["text", "image"])
        step = ["step", "grade", "night", "--model", "talker", "--name", "talk", "--attempts", "1"]
        done = harness(*step, *options(folder))
        assert done.code == 0, done.err
        assert len(server.arrivals) > 50
    found = score(folder, "--grades", "talk")
    assert (found["grading"]["by"], found["grading"]["units"]) == ("model", 0)
    for one in found["rows"]:
        if one["condition"] in CONDITIONS.split(","):
            assert (one["rank"], one["as_answered"]["score"]["value"]) == (None, None)
            assert one["as_answered"]["graded.share"]["value"] == 0
    assert all(one["as_answered"]["score"]["n"] == 0 for one in score(folder, run="talk")["rows"])


@pytest.mark.slow
def test_grades_of_an_answer_that_was_asked_again_do_not_count(folder: Path, night: Path) -> None:
    graded = {tuple(one[:3]) for one in graded_by_hand(folder)}

    def otherwise(arrival: Arrival) -> Reply:
        said = {"diagnoses": ["V-1", "W-0", "X-0", "Y-0", "Z-0"]}
        return chat_reply(json.dumps(said), model=arrival.json["model"])

    with ScriptedServer(otherwise) as server:
        write_config(folder, server.url, [*MODELS, "j"], inputs=["text", "image"])
        shutil.copytree(SAMPLE, folder / "data")
        done = harness(
            *("run", "--benchmark", "radm", "--data", folder / "data", "--models", "a,b", "--attempts", "1"),
            *("--conditions", CONDITIONS, "--name", "night", "--again", "valid", *options(folder)),
        )
        assert done.code == 0, done.err
    for grades in ("imported", "llm"):
        found = score(folder, "--grades", grades)
        assert found["grading"]["of_other_answers"] == len(graded) > 50
        assert row(found, "a", "text")["as_answered"]["score"]["value"] is None
        assert row(found, "a", "text")["as_answered"]["graded.share"]["value"] == 0


@pytest.mark.slow
def test_transitions_and_the_language_control_are_rows_of_their_own(night: Path) -> None:
    found = score(night)
    change = row(found, "a", "text_to_text_images")["as_answered"]
    counts = [change[f"{name}.count"]["value"] for name in ("improved", "unchanged", "declined")]
    assert sum(counts) == len({one["case_id"] for one in records(night)}) == 20
    control = row(found, "a", "languages")["as_answered"]
    assert control["mean_difference"]["n"] == 6
    assert 0 <= control["wilcoxon.p"]["value"] <= control["wilcoxon.p_adjusted"]["value"] <= 1
    assert control["wilcoxon.tests"]["value"] == 2
    text = printed(night)
    assert "n.s." in text
    assert "not significant" in " ".join(text.split())


@pytest.mark.slow
def test_the_step_says_how_far_the_grader_agrees_with_people(folder: Path) -> None:
    graded_by_hand(folder)
    found = score(folder, run="llm")
    there = found["agreement"]["raters"]["ann"]
    assert there["dimensions"]["diagnoses"]["kappa"]["value"] == 1.0
    assert there["reaches_threshold"] is True
    text = " ".join(printed(folder, run="llm").split())
    assert "agreement with ann: mean accuracy 1.000" in text
    assert "kappa reaches 0.75" in text


def test_two_people_are_compared_with_each_other(folder: Path) -> None:
    graded_by_hand(folder, "ann")
    graded_by_hand(folder, "bob", leave_out=30)
    found = score(folder, run="llm")["agreement"]["between_people"]["ann and bob"]
    assert (found["n_graded"], found["reaches_threshold"]) == (found["dimensions"]["tier_1"]["n"], True)
    text = " ".join(printed(folder, run="llm").split())
    assert (
        f"agreement of ann and bob with each other: mean accuracy 1.000, n={found['n_graded']} answers"
        in text
    )


def test_a_tier_that_there_is_not_is_refused_with_its_line(folder: Path) -> None:
    file = folder / "bad.csv"
    file.write_text("model,condition,case_id,question,value\na,text,syn-clin-06,tier_1,4\n", encoding="utf-8")
    done: Done = harness("grades", "import", "night", file, "--rater", "x", *options(folder))
    assert done.code == 2
    assert "a grade of 'tier_1' is 0 or 1 or 2 or 3, not 4" in done.err
