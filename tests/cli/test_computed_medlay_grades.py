"""From answers of MedLayXPlain to its scores: the mean of computed values, an unusable answer counting 0."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import harness, write_config

from harness.benchmarks.registry import get_benchmark
from harness.grading import text_metrics
from harness.grading.text_metrics import MetricOptions

SAMPLE = get_benchmark("medlay").sample_dir()
CAPTIONS = [json.loads(line) for line in (SAMPLE / "cases.jsonl").read_text("utf-8").splitlines()]
CASES = 5


class SharedWords:
    """F of the words that two texts share."""

    question = "bertscore"
    rater = "shared-1"

    def __init__(self, options: MetricOptions) -> None:
        self.options = options

    def values(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        return [shared(*pair) for pair in pairs]

    def notes(self) -> Iterator[str]:
        yield from ()


def shared(one: str, other: str) -> float:
    a, b = set(one.split()), set(other.split())
    return 2 * len(a & b) / (len(a) + len(b))


def place_of(arrival: Arrival) -> int:
    """Return which of the cases is asked: condition C shows the expert caption alone."""
    return next(n for n, one in enumerate(CAPTIONS) if one["expert_caption"] in arrival.text)


def said(place: int) -> str:
    """Return the model's words: some of the lay caption, and for one case nothing."""
    return "" if place == 2 else " ".join(CAPTIONS[place]["lay_caption"].split()[: 4 + 3 * place])


def answering(arrival: Arrival) -> Reply:
    return chat_reply(said(place_of(arrival)), model=arrival.json["model"])


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    """The options of a store with the run "night"."""
    monkeypatch.setitem(text_metrics.METRICS, "bertscore", SharedWords)
    shutil.copytree(SAMPLE, tmp_path / "data")
    with ScriptedServer(answering) as server:
        write_config(tmp_path, server.url, ["a"])
        found: list[str | Path] = ["--config", tmp_path / "harness.toml", "--store", tmp_path / "s.sqlite3"]
        wanted = ["--benchmark", "medlay", "--data", tmp_path / "data", "--models", "a", "--conditions", "C"]
        done = harness("run", *wanted, "--limit", str(CASES), "--attempts", "1", "--name", "night", *found)
        assert done.code == 0, done.err
    return found


def value_of(options: list[str | Path], path: str) -> dict[str, Any]:
    rows = harness("score", "night", "--json", *options).json["rows"]
    row = next(one for one in rows if one["kind"] == "model")
    return {reading: (row[reading][path]["value"], row[reading][path]["n"])
            for reading in ("as_answered", "valid_only")}  # fmt: skip


def test_the_scores_are_the_means_of_what_was_computed(options: list[str | Path]) -> None:
    assert value_of(options, "bertscore")["as_answered"][0] is None
    done = harness("grades", "compute", "bertscore", "night", *options, "--json")
    assert done.code == 0, done.err
    assert (done.json["kept"], done.json["unusable"]) == (CASES - 1, {"empty": 1})
    assert "no score of" not in done.err
    values = [shared(said(n), CAPTIONS[n]["lay_caption"]) for n in range(CASES) if n != 2]
    found = value_of(options, "bertscore")
    assert found["as_answered"] == (pytest.approx(100 * sum(values) / CASES), CASES)
    assert found["valid_only"] == (pytest.approx(100 * sum(values) / (CASES - 1)), CASES - 1)


def test_texts_have_the_expert_caption_as_their_source_and_green_comes_back(
    options: list[str | Path], tmp_path: Path
) -> None:
    assert harness("grades", "texts", "night", "--out", tmp_path / "t.jsonl", *options).code == 0
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text("utf-8").splitlines()]
    own = {one["id"]: (one["lay_caption"], one["expert_caption"]) for one in CAPTIONS}
    assert {one["case_id"]: (one["reference"], one["source"]) for one in lines} == {
        one["case_id"]: own[one["case_id"]] for one in lines
    }
    unit = ("model", "condition", "case_id", "repeat", "time")
    rows = [{name: one[name] for name in unit} | {"question": "green", "value": 0.5} for one in lines]
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = harness("grades", "import", "night", tmp_path / "v.jsonl", "--rater", "green-1", *options)
    assert done.code == 0, done.err
    assert value_of(options, "green")["as_answered"] == (pytest.approx(100 * 0.5 * 4 / 5), CASES)
    rows[0]["value"] = 50
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = harness("grades", "import", "night", tmp_path / "v.jsonl", "--rater", "green-2", *options)
    assert done.code == 2 and "not 50; it looks like a percentage: divide by 100" in done.err
