"""`harness grades compute` and `texts`: from a run's answers to numbers of the scores, by a metric made here.

The metric is the F of shared words, so that no model is needed; PanDent's clinical reports are the texts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import Done, harness, write_config

from harness.benchmarks.base import Question, Scored
from harness.benchmarks.pandent import report_tools
from harness.benchmarks.pandent.task import PanDent
from harness.benchmarks.registry import get_benchmark
from harness.canonical import JSON
from harness.errors import ConfigError, MetricUnavailableError
from harness.grading import computing, text_metrics
from harness.grading.text_metrics import MetricOptions
from harness.offline import chosen_grades

SAMPLE = get_benchmark("pandent").sample_dir()
ODD = "Teeth \u2028 and \r\n🦷 caries. 无龋齿"
CASES = 6
EMPTY = 0
"""The case, by its place, that a model answers with nothing."""


class SharedWords:
    """F of the words that two texts share; `seen` are the pairs it was given."""

    question = "bertscore"
    seen: ClassVar[list[tuple[str, str]]] = []
    stop_at: ClassVar[int | None] = None

    def __init__(self, options: MetricOptions) -> None:
        model = options.model_path
        if model is None:
            raise ConfigError("no model")
        self.rater = f"shared-1/{model.name}/layer-{options.layer}"
        self._plus = 0.001 * (options.layer or 0)

    def values(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        if self.stop_at is not None and len(self.seen) >= self.stop_at:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.2)  # the loop hears of it meanwhile; this batch may be kept or not
        self.seen.extend(pairs)
        return [shared(*pair) + self._plus for pair in pairs]

    def notes(self) -> Iterator[str]:
        yield f"pairs: {len(self.seen)}"


def shared(one: str, other: str) -> float:
    a, b = set(one.split()), set(other.split())
    return round(2 * len(a & b) / (len(a) + len(b)), 6)


@pytest.fixture(scope="module", autouse=True)
def no_meteor() -> Iterator[None]:
    """METEOR has nothing to do with this, and takes seconds."""

    def missing() -> NoReturn:
        raise MetricUnavailableError("left out")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_tools, "_meteor15", missing)
        patch.setattr(report_tools, "_meteor2005", missing)
        yield


def answering(arrival: Arrival) -> Reply:
    """Answer by the image that is shown, the first model's name in it."""
    place = zlib.crc32(json.dumps(arrival.json["messages"]).encode()) % 97
    text = "" if place == EMPTY_PLACE.get("place") else f"{arrival.json['model']} sees tooth {place}. {ODD}"
    return chat_reply(text, model=arrival.json["model"])


EMPTY_PLACE: dict[str, int] = {}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run "night": one model, some cases, one of them answered with nothing."""
    folder = tmp_path_factory.mktemp("asked")
    shutil.copytree(SAMPLE, folder / "data")
    places: list[int] = []

    def first(arrival: Arrival) -> Reply:
        places.append(zlib.crc32(json.dumps(arrival.json["messages"]).encode()) % 97)
        return chat_reply("x", model="a")

    with ScriptedServer(first) as server:
        write_config(folder, server.url, ["a"])
        assert run(folder, "--name", "throwaway").code == 0
        EMPTY_PLACE["place"] = places[EMPTY]
    (folder / "store.sqlite3").unlink()
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, ["a"])
        done = run(folder, "--name", "night")
        assert done.code == 0, done.err
    return folder


@pytest.fixture
def folder(asked: Path, tmp_path: Path) -> Path:
    shutil.copytree(asked, tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture(autouse=True)
def metric(monkeypatch: pytest.MonkeyPatch) -> type[SharedWords]:
    monkeypatch.setitem(text_metrics.METRICS, "bertscore", SharedWords)
    monkeypatch.setattr(SharedWords, "seen", [])
    return SharedWords


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, Mapping[str, JSON]]:
    """PanDent's scores use the question; what reaches its scorer is noted by case."""
    noted: dict[str, Mapping[str, JSON]] = {}
    numbers = PanDent.unit_numbers

    def noting(self: PanDent, unit: Scored) -> Sequence[float]:
        noted.setdefault(unit.case.id, dict(unit.grades))  # models come before baselines
        return numbers(self, unit)

    monkeypatch.setattr(PanDent, "questions", {"bertscore": Question()})
    monkeypatch.setattr(PanDent, "unit_numbers", noting)
    return noted


def options(folder: Path) -> list[str | Path]:
    return ["--config", folder / "harness.toml", "--store", folder / "store.sqlite3"]


def run(folder: Path, *more: str | Path) -> Done:
    wanted = ["--benchmark", "pandent", "--data", folder / "data", "--models", "a", "--conditions", "report"]
    return harness("run", *wanted, "--limit", str(CASES), "--attempts", "1", *options(folder), *more)


def compute(folder: Path, *more: str | Path, model: str = "tiny") -> Done:
    path = folder / model
    return harness("grades", "compute", "bertscore", "night", "--model-path", path, *options(folder), *more)


def exported(folder: Path) -> list[dict[str, Any]]:
    done = harness("grades", "export", "night", *options(folder))
    return [json.loads(line) for line in done.out.splitlines()]


def texts(folder: Path, *more: str | Path) -> list[dict[str, Any]]:
    out = folder / "texts.jsonl"
    done = harness("grades", "texts", "night", "--out", out, "--force", *options(folder), *more)
    assert done.code == 0, done.err
    assert out.stat().st_mode & 0o777 == 0o600
    return [json.loads(line) for line in out.read_text("utf-8").split("\n") if line]


def score(folder: Path, seen: dict[str, Mapping[str, JSON]], *more: str | Path) -> Mapping[str, Any]:
    seen.clear()
    done = harness("score", "night", "--json", *options(folder), *more)
    assert done.code == 0, done.err
    found: Mapping[str, Any] = done.json["grading"]
    return found


def by_hand(folder: Path) -> dict[str, float]:
    return {line["case_id"]: shared(line["answer"], line["reference"]) for line in texts(folder)}


def test_computed_values_reach_the_scores_of_usable_answers_alone(
    folder: Path, seen: dict[str, Mapping[str, JSON]]
) -> None:
    done = compute(folder, "--json")
    assert done.code == 0, done.err
    facts = done.json
    assert (facts["open"], facts["computed"], facts["kept"], facts["known"]) == (CASES - 1, CASES - 1, 5, 0)
    assert facts["unusable"] == {"empty": 1} and facts["rater"] == "shared-1/tiny/layer-None"
    expected = by_hand(folder)
    assert len(expected) == CASES - 1 and len(set(expected.values())) > 1
    assert (found := score(folder, seen))["by"] == "imported" and found["raters"] == [facts["rater"]]
    assert {case: grades["bertscore"] for case, grades in seen.items() if grades} == expected
    assert len(seen) >= CASES


def test_what_has_a_value_is_not_computed_again(folder: Path, metric: type[SharedWords]) -> None:  # F12
    assert compute(folder).code == 0
    before, count = exported(folder), len(metric.seen)
    again = compute(folder)
    assert again.out == "all answers have their bertscore already (5): nothing was changed\n"
    assert len(metric.seen) == count and exported(folder) == before
    forced = compute(folder, "--again")
    assert "computed of 5 answers, 0 new values kept" in forced.out
    assert len(metric.seen) == 2 * count and exported(folder) == before


@pytest.mark.slow
def test_an_answer_that_was_asked_again_is_computed_again_and_the_old_value_never_counts(
    folder: Path, seen: dict[str, Mapping[str, JSON]], metric: type[SharedWords]
) -> None:  # F12
    assert compute(folder).code == 0
    changed = texts(folder)[0]["case_id"]

    def other(arrival: Arrival) -> Reply:
        return chat_reply("No tooth is carious. caries", model="a")

    with ScriptedServer(other) as server:
        write_config(folder, server.url, ["a"])
        done = run(folder, "--name", "night", "--cases", changed, "--again", "valid")
        if done.code:
            done = run(folder, "--name", "night", "--again", "valid")
        assert done.code == 0, done.err
    new = by_hand(folder)
    score(folder, seen)
    stale = {line["case_id"] for line in texts(folder) if line["answer"] == "No tooth is carious. caries"}
    assert stale and all(seen[case] == {} for case in stale)
    metric.seen.clear()
    assert compute(folder).code == 0
    assert len(metric.seen) == len(stale)
    score(folder, seen)
    assert {case: grades["bertscore"] for case, grades in seen.items() if grades} == new


def test_values_of_two_models_never_mix_and_one_can_be_chosen(
    folder: Path, seen: dict[str, Mapping[str, JSON]]
) -> None:
    assert compute(folder).code == 0
    done = compute(folder, "--layer", "2")
    assert done.code == 0
    first, second = "shared-1/tiny/layer-None", "shared-1/tiny/layer-2"
    assert f"others graded 'bertscore' too: {first} (5); where two differ neither counts" in done.err
    assert score(folder, seen)["disputed"] == 5 and not any(seen.values())
    found = score(folder, seen, "--grades", f"imported:{second}")
    assert (found["raters"], found["disputed"]) == ([second], 0)
    expected = {case: pytest.approx(value + 0.002) for case, value in by_hand(folder).items()}
    assert {case: grades["bertscore"] for case, grades in seen.items() if grades} == expected
    assert score(folder, seen, "--grades", f"imported:{first}, {second}")["disputed"] == 5
    wrong = harness("score", "night", "--grades", "imported:shared-1/tiny/layer-3", *options(folder))
    assert wrong.code == 2 and "no grades of a rater 'shared-1/tiny/layer-3'" in wrong.err


def test_what_a_rater_of_the_same_name_says_of_another_question_is_nothing_to_it(
    folder: Path, seen: dict[str, Mapping[str, JSON]]
) -> None:
    out = graded_outside(folder, lambda line: 0.5, "free of typos")
    for rater in ("shared-1/tiny/layer-None", "ann"):
        assert harness("grades", "import", "night", out, "--rater", rater, *options(folder)).code == 0
    done = compute(folder, "--json")
    assert (done.json["computed"], done.json["other_raters"]) == (5, {})
    assert "graded 'bertscore' too" not in done.err


def test_a_step_whose_grades_are_no_more_taken_unasked_is_named(
    folder: Path, seen: dict[str, Mapping[str, JSON]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def chosen(*args: object) -> chosen_grades.ChosenGrades:
        return chosen_grades.ChosenGrades("imported", others=("verify-of-night",))

    monkeypatch.setattr(chosen_grades, "chosen_grades", chosen)
    assert "those of a step in a table of their own: --grades verify-of-night" in compute(folder).err


def test_a_corrected_reference_puts_values_about_the_old_one_aside(
    folder: Path, seen: dict[str, Mapping[str, JSON]]
) -> None:
    assert compute(folder).code == 0
    assert score(folder, seen, "--data", folder / "data")["of_other_answers"] == 0
    kept = {case for case, grades in seen.items() if grades}
    lines = [json.loads(line) for line in (folder / "data" / "cases.jsonl").read_text("utf-8").splitlines()]
    one = next(line for line in lines if line["id"] in kept)
    one["report"] += " A line more."
    (folder / "data" / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert score(folder, seen, "--data", folder / "data")["of_other_answers"] == 1
    assert {case for case, grades in seen.items() if grades} == kept - {one["id"]}


def test_interrupted_what_was_computed_is_kept_and_the_same_command_goes_on(
    folder: Path, metric: type[SharedWords], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SharedWords, "stop_at", 2)
    done = compute(folder, "--batch", "1")
    kept = len(exported(folder))
    assert done.code == 130 and 2 <= kept < 5
    assert f"interrupted: computed {kept}, kept {kept} new; the same command goes on" in done.err
    monkeypatch.setattr(SharedWords, "stop_at", None)
    metric.seen.clear()
    rest = 5 - kept
    told = f"computed of {rest} answers, {rest} new values kept; {kept} have one already"
    assert told in compute(folder).out
    assert len(exported(folder)) == 5 and len(metric.seen) == rest


@pytest.mark.slow
def test_a_limit_takes_the_first_and_a_dry_run_nothing(folder: Path, metric: type[SharedWords]) -> None:
    dry = compute(folder, "--dry-run", "--limit", "2")
    assert "would be computed of 2 answers; left by --limit: 3; passed over: empty 1" in dry.out
    assert metric.seen == [] and exported(folder) == []
    limited = compute(folder, "--limit", "2").out
    assert "computed of 2 answers, 2 new values kept; left by --limit: 3" in limited
    assert compute(folder, "--json").json["computed"] == 3


def test_values_are_kept_from_time_to_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "MOST_WAITING", 2)
    kept: list[int] = []
    add = computing.Computing._keep

    async def noting(self: computing.Computing) -> None:
        kept.append(len(self._waiting))
        await add(self)

    monkeypatch.setattr(computing.Computing, "_keep", noting)
    assert compute(folder, "--batch", "1").code == 0
    assert kept == [2, 2, 1]


def test_a_value_beyond_the_range_is_no_grade_and_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SharedWords, "values", lambda self, pairs: [-0.25, 1.5, *[0.5] * (len(pairs) - 2)])
    done = compute(folder)
    assert done.code == 0 and "values beyond the range of 'bertscore': 2" in done.err
    assert [one["value"] for one in exported(folder)] == [0.5] * 3


def test_a_run_without_text_answers_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PanDent, "compared_texts", lambda self, case, condition: (None, None))
    done = compute(folder)
    why = "(without a reference text: 5, empty: 1)"
    assert done.code == 2 and f"has no text answer with a text to compare it with {why}" in done.err


def test_an_unknown_metric_is_refused_with_the_way_for_other_tools(folder: Path) -> None:
    done = harness("grades", "compute", "green", "night", *options(folder))
    assert done.code == 2 and "`harness grades texts` and `harness grades import`" in done.err


def test_texts_hold_all_that_an_outside_metric_needs(folder: Path) -> None:
    lines = texts(folder)
    assert len(lines) == CASES - 1
    reports = {
        one["id"]: one["report"]
        for one in map(json.loads, (SAMPLE / "cases.jsonl").read_text("utf-8").splitlines())
    }
    fields = ["answer", "reference", "source", "images"]
    for line in lines:
        assert [*line] == ["model", "condition", "case_id", "repeat", "time", *fields]
        assert line["answer"].endswith(ODD) and line["reference"] == reports[line["case_id"]]
        assert line["source"] is None and Path(line["images"][0]).name == f"{line['case_id']}.jpg"
        assert Path(line["images"][0]).is_file()
    refused = harness("grades", "texts", "night", "--out", folder / "texts.jsonl", *options(folder))
    assert refused.code == 2 and "exists already" in refused.err


def test_the_example_of_the_documentation_makes_a_file_that_import_takes(folder: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "grades.md"
    if not page.is_file():
        pytest.skip("no documentation here")
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert code.count("\n") <= 18
    code = re.sub(r"raise NotImplementedError.*", "return len(set(answer) & set(reference)) / 100", code)
    (folder / "score_texts.py").write_text(code, encoding="utf-8")
    lines, out = texts(folder), folder / "values.jsonl"
    subprocess.run([sys.executable, folder / "score_texts.py", folder / "texts.jsonl", out], check=True)
    done = harness("grades", "import", "night", out, "--rater", "tool-1.0", *options(folder))
    assert done.code == 0, done.err
    expected = {one["case_id"]: len(set(one["answer"]) & set(one["reference"])) / 100 for one in lines}
    assert {one["case_id"]: one["value"] for one in exported(folder)} == expected


def graded_outside(folder: Path, value: Callable[[Mapping[str, Any]], float], question: str) -> Path:
    keep = ("model", "condition", "case_id", "repeat", "time")
    out = folder / "scores.jsonl"
    with out.open("w", encoding="utf-8") as stream:
        for line in texts(folder):
            row = {name: line[name] for name in keep} | {"question": question, "value": value(line)}
            stream.write(json.dumps(row) + "\n")
    return out


def test_values_of_an_outside_metric_come_back_and_count(
    folder: Path, seen: dict[str, Mapping[str, JSON]]
) -> None:
    out = graded_outside(folder, lambda line: shared(line["answer"], line["reference"]), "bertscore")
    done = harness("grades", "import", "night", out, "--rater", "tool-1.0", *options(folder))
    assert done.code == 0, done.err
    expected = by_hand(folder)
    assert score(folder, seen)["raters"] == ["tool-1.0"]
    assert {case: grades["bertscore"] for case, grades in seen.items() if grades} == expected
    again = harness("grades", "import", "night", out, "--rater", "tool-1.0", *options(folder))
    assert again.out == "grades that are here already: 5; nothing was changed\n"


def test_an_outside_value_of_an_answer_that_was_asked_again_meanwhile_does_not_count(  # F12
    folder: Path, seen: dict[str, Mapping[str, JSON]]
) -> None:
    out = graded_outside(folder, lambda line: 0.5, "bertscore")

    with ScriptedServer(lambda arrival: chat_reply("Other words.", model="a")) as server:
        write_config(folder, server.url, ["a"])
        assert run(folder, "--name", "night", "--again", "valid").code == 0
    assert harness("grades", "import", "night", out, "--rater", "tool-1.0", *options(folder)).code == 0
    assert score(folder, seen)["of_other_answers"] == 5 and not any(seen.values())


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (45.2, "a number from 0 to 1, not 45.2; it looks like a percentage: divide by 100"),
        (-0.1, "a number from 0 to 1, not -0.1"),
        (101, "a number from 0 to 1, not 101"),
    ],
)
def test_outside_values_beyond_the_range_are_refused_and_nothing_is_kept(
    folder: Path, seen: dict[str, Mapping[str, JSON]], value: float, told: str
) -> None:
    out = graded_outside(folder, lambda line: value, "bertscore")
    done = harness("grades", "import", "night", out, "--rater", "green-1", *options(folder))
    assert done.code == 2 and f"5 lines (1, 2, 3 ...): a grade of 'bertscore' is {told}" in done.err
    assert ("percentage" in done.err) == ("percentage" in told)
    assert exported(folder) == []
