"""A small judge of triage answers, for tests of the machinery, and runs that it follows.

    python tests/step_examples.py step judge ...     # the program, in which the judge is known
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    answer_text,
    case_number,
    harness,
    labels_of,
    run_args,
    spawn,
    write_cases,
    write_config,
)

import harness.benchmarks.triage as triage
from harness.benchmarks.base import Prompt, Question
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.steps import Answer, Graded, Made, NoCase, Step, StepCase
from harness.canonical import JSON, sha256_hex
from harness.messages import Schema
from harness.scoring.intervals import Interval
from harness.scoring.resampling import Resampling

QUESTION = "D1_Neglect"
SECRET = "REFERENCE-SENTINEL"
"""Stands in the reference of the cases of `write_source`; no request may hold it."""

_PROMPT = "JUDGE<{complaint}> of this reasoning:\n{reasoning}\nAnswer {{\"score\": 0 or 1, \"reason\": ...}}."
_SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [0, 1]}, "reason": {"type": "string"}},
    "required": ["score", "reason"],
    "additionalProperties": False,
}


class SmallJudge(Step):
    """Is shown the complaint and the reasoning of an answer; one that says SKIP it does not look at."""

    kind = "judge"
    benchmark = "triage"
    title = "a small judge, for tests"
    default_model: str | None = None
    fields = frozenset({"complaint", "reasoning"})
    scorer = "small-judge-1"
    questions: Mapping[str, Question] = {QUESTION: Question((0, 1))}

    def step_case(self, answer: Answer) -> Made:
        assert isinstance(answer.prediction, Mapping)
        reasoning = str(answer.prediction["reasoning"])
        if "SKIP" in reasoning:
            return NoCase("no reasoning")
        shown = {"complaint": answer.case.fields["chief_complaint"], "reasoning": reasoning}
        return StepCase(shown, answer.case.reference)

    def prompt(self, condition: str) -> Prompt:
        return Prompt("small-judge-v1", sha256_hex(_PROMPT.encode()), _PROMPT)

    def schema(self, condition: str) -> Schema | None:
        return Schema("small-judge-v1", sha256_hex(json.dumps(_SCHEMA).encode()), _SCHEMA)

    def agreement(self, graded: Sequence[Graded]) -> Mapping[str, JSON]:
        pairs: list[JSON] = [
            [one.unit.model, one.unit.case_id, one.repeat, _score(one.prediction), dict(one.grades)]
            for one in graded
        ]
        return {"pairs": pairs}

    def table(self, condition: str) -> ScoreTable:
        return ScoreTable(("score",), "share", (MetricColumn("share", ("", "share")),), "share: of ones")

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        value = unit.prediction
        return (float("nan") if value is None else float(value["score"]),)  # type: ignore[index, call-overload]

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        known = units.numbers[:, 0][units.numbers[:, 0] == units.numbers[:, 0]]
        if not len(known):
            return {"share": MetricValue(None, 0, "nothing was judged")}
        return {"share": MetricValue(float(known.mean()), len(known))}

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        return {}

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        return {"share": numbers[0] if numbers[0] == numbers[0] else None}


def _score(prediction: JSON) -> JSON:
    return prediction["score"] if isinstance(prediction, Mapping) else None


def install(patch: pytest.MonkeyPatch, judge: Step | None = None) -> None:
    """Make the small judge the step "judge" of triage."""
    known: Mapping[str, Step] = getattr(triage, "steps", {})
    patch.setattr(triage, "steps", {**known, "judge": judge or SmallJudge()}, raising=False)


def with_small_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixture: triage has the small judge."""
    install(monkeypatch)


def answering_server() -> Iterator[ScriptedServer]:
    """A fixture: a server that answers cases, and judges."""
    with ScriptedServer(answering) as server:
        yield server


def is_judging(arrival: Arrival) -> bool:
    """Tell whether a request is one of the judge's."""
    return "JUDGE<" in arrival.text


def judgement(arrival: Arrival) -> Reply:
    """Judge by the number of the case: odd ones are 1."""
    score = case_number(arrival) % 2
    return chat_reply(json.dumps({"score": score, "reason": "as told"}), model=arrival.json["model"])


def answering(arrival: Arrival) -> Reply:
    """Answer as a model whose reasoning names it, or judge."""
    if is_judging(arrival):
        return judgement(arrival)
    name, number = arrival.json["model"], case_number(arrival)
    return chat_reply(answer_text(labels_of(number), f"{name} on {number:03}"), model=name)


def store_of(folder: Path) -> tuple[str | Path, ...]:
    """Return the options that name the configuration and the store of a folder."""
    return ("--config", folder / "harness.toml", "--store", folder / "store.sqlite3")


def ask_source(folder: Path, *more: str | Path, models: str = "a", code: int = 0) -> None:
    """Ask the run that is followed, called "night"."""
    done = harness(*run_args(folder, "--name", "night", *more, models=models))
    assert done.code == code, done.err


_READY: dict[tuple[str, int], bytes] = {}


def ready_source(folder: Path, cases: int, models: str = "a") -> None:
    """Put the run "night" into a folder as `answering` leaves it, asked once in this process."""
    if (models, cases) not in _READY:
        with tempfile.TemporaryDirectory() as name, ScriptedServer(answering) as server:
            elsewhere = Path(name)
            write_cases(elsewhere / "data", cases, rationale=SECRET)
            write_config(elsewhere, server.url, models.split(","))
            ask_source(elsewhere, models=models)
            _READY[models, cases] = (elsewhere / "store.sqlite3").read_bytes()
    (folder / "store.sqlite3").write_bytes(_READY[models, cases])


def step_args(folder: Path, *more: str | Path, run: str = "night", model: str = "j") -> list[str | Path]:
    """Return the arguments of the step."""
    return ["step", "judge", run, "--model", model, *store_of(folder), *more]


def spawn_step(folder: Path, *args: str | Path) -> subprocess.Popen[str]:
    """Start a command as a process of its own, in which the judge is known."""
    return spawn_code("import step_examples; step_examples.program(sys.argv[1:])")(*args, cwd=folder)


def spawn_code(code: str, *places: Path) -> Callable[..., subprocess.Popen[str]]:
    """Return what starts a process that runs some code, in which the tests' modules can be imported."""
    paths = [str(Path(__file__).parent), *map(str, places)]
    return partial(spawn, code=f"import sys; sys.path[:0] = {paths!r}\n{code}")


def program(args: Sequence[str]) -> None:
    """Run the program with the judge in it."""
    from harness.cli.main import cli

    install(pytest.MonkeyPatch())
    cli.main([*args])


def judged(arrivals: Sequence[Arrival]) -> list[Any]:
    """Return the bodies of the judge's requests, in the order of their arrival."""
    return [arrival.json for arrival in arrivals if is_judging(arrival)]


if __name__ == "__main__":
    program(sys.argv[1:])
