"""`harness benchmarks`: what can be asked of models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from harness.benchmarks.base import Benchmark, Question
from harness.benchmarks.registry import BENCHMARKS, get_benchmark
from harness.benchmarks.steps import Step, steps_of
from harness.cli.options import config_option, json_option, print_json
from harness.cli.tables import terminal_width
from harness.config import BenchmarkConfig, load_config
from harness.errors import ConfigError


@click.command("benchmarks", epilog="Example: harness benchmarks triage --json")
@click.argument("name", required=False)
@json_option
@config_option
def command(name: str | None, as_json: bool, config_path: Path | None) -> None:
    """List benchmarks with conditions, sample, reformatter and scoring conventions."""
    config = load_config(config_path)
    names = [name] if name else sorted(BENCHMARKS)
    facts = [_facts(get_benchmark(each), config.benchmark(each)) for each in names]
    if as_json:
        print_json(facts)
        return
    click.echo("\n\n".join(_block(each) for each in facts))


def _facts(benchmark: Benchmark, configured: BenchmarkConfig) -> dict[str, object]:
    if isinstance(benchmark, Step):
        raise ConfigError(benchmark.no_cases)
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "conditions": list(benchmark.conditions),
        "main_conditions": list(benchmark.main_conditions),
        "data": None if configured.data is None else str(configured.data),
        "sample_cases": _count_lines(benchmark.sample_dir() / "cases.jsonl"),
        "reformatter": configured.reformatter or benchmark.reformatter,
        "reformatter_departure": None if configured.reformatter else benchmark.reformatter_departure,
        "default_params": dict(benchmark.default_params),
        "scorer": benchmark.scorer,
        "conventions": {key: list(values) for key, values in benchmark.conventions.items()},
        "questions": _questions(benchmark.questions),
        "gradings": _gradings(benchmark),
        "steps": [_step(step) for step in steps_of(benchmark.name)],
    }


def _step(step: Step) -> dict[str, object]:
    return {
        "kind": step.kind,
        "title": step.title,
        "default_model": step.default_model,
        "no_default": None if step.default_model else step.no_default,
        "scorer": step.scorer,
        "questions": _questions(step.questions),
        "own_questions": _questions(step.own_questions),
        "gradings": _gradings(step),
    }


def _gradings(benchmark: Benchmark | Step) -> dict[str, object]:
    """Return name -> what a task of grading by people asks, and of how many answers unless told otherwise."""
    return {
        name: {
            "title": task.title,
            "questions": [question.name for question in task.questions],
            "items": task.items,
            "calibration": task.calibration,
            "threshold": task.threshold,
        }
        for name, task in benchmark.gradings.items()
    }


def _questions(questions: Mapping[str, Question]) -> dict[str, object]:
    """Return question -> the values of its grades, or the range of a number."""
    return {
        name: list(one.values) or {"low": one.low, "high": one.high} for name, one in questions.items()
    }


def _count_lines(path: Path) -> int:
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def _block(facts: dict[str, object]) -> str:
    """Return one benchmark as a heading and labelled lines."""
    main, conditions, conventions = facts["main_conditions"], facts["conditions"], facts["conventions"]
    assert isinstance(main, list) and isinstance(conditions, list) and isinstance(conventions, dict)
    extra = [condition for condition in conditions if condition not in main]
    also = f"; with --conditions also {', '.join(extra)}" if extra else ""
    lines = [
        ("title", str(facts["title"])),
        ("asked", f"{', '.join(main)}{also}"),
        ("data", str(facts["data"] or "none configured: the bundled sample is used")),
        ("sample", f"{facts['sample_cases']} synthetic cases"),
        ("reformatter", str(facts["reformatter"] or "none")),
        ("scorer", str(facts["scorer"])),
    ]
    if facts["reformatter_departure"]:
        lines.insert(5, ("departure", str(facts["reformatter_departure"])))
    for key, (default, *alternatives) in conventions.items():
        others = f" (or {', '.join(alternatives)})" if alternatives else ""
        lines.append(("convention", f"{key}: {default}{others}"))
    steps = facts["steps"]
    assert isinstance(steps, list)
    for step in steps:
        model = step["default_model"]
        who = f"by {model} unless --model says otherwise"
        if model is None:
            who = f"give --model, {step['no_default']}"
        lines.append(("step", f"{step['kind']}: {step['title']}; {who}"))
        by_values: dict[str, list[str]] = {}
        for question, values in step["questions"].items():
            by_values.setdefault(_values_text(values), []).append(question)
        for values, named in by_values.items():
            lines.append(("grades", f"of {step['kind']}, each {values}: {', '.join(named)}"))
        lines += _people_lines(step["gradings"], "STEP_RUN")
    lines += _people_lines(facts["gradings"], "RUN")
    return "\n".join([str(facts["name"]), *(_labelled(*line) for line in lines)])


def _people_lines(gradings: object, run: str) -> Iterator[tuple[str, str]]:
    """Yield what people can be asked: tasks of `harness grade`."""
    assert isinstance(gradings, dict)
    for name, task in gradings.items():
        how_many = "all answers" if task["items"] is None else f"{task['items']} answers drawn at random"
        yield (
            "people",
            f"{name}: {task['title']}; `harness grade {run} --task {name}`, {how_many} unless told "
            f"otherwise: {', '.join(task['questions'])}",
        )


def _values_text(values: object) -> str:
    """Return which values a grade may have, as `_questions` gives them."""
    if isinstance(values, dict):
        return f"from {values['low']:g} to {values['high']:g}"
    assert isinstance(values, list)
    return " or ".join(map(json.dumps, values))


def _labelled(label: str, text: str) -> str:
    return click.wrap_text(
        text, width=terminal_width(), initial_indent=f"  {label:<12}", subsequent_indent=" " * 14
    )
