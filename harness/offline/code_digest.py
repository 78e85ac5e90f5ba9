"""Which code made a number: digests of our own source files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from harness.benchmarks.registry import BENCHMARKS

READS_ANSWERS = (
    "answers",
    "asked_cases.py",
    "attempts.py",
    "benchmarks/base.py",
    "benchmarks/case_steps.py",
    "benchmarks/prompts.py",
    "benchmarks/rater_agreement.py",
    "benchmarks/raters.py",
    "benchmarks/registry.py",
    "benchmarks/scored.py",
    "benchmarks/sheets.py",
    "benchmarks/steps.py",
    "benchmarks/task.py",
    "canonical.py",
    "imports/documents.py",
    "imports/failures.py",
    "imports/format.py",
    "imports/hints.py",
    "imports/inspect_log.py",
    "imports/json_lines.py",
    "imports/lm_eval.py",
    "imports/registry.py",
    "imports/source.py",
    "imports/stated.py",
    "imports/vlmevalkit.py",
    "manifest.py",
    "messages.py",
    "offline/case_index.py",
    "offline/replay.py",
    "offline/replay_stream.py",
    "offline/stored_cases.py",
    "offline/stored_run.py",
    "outcomes.py",
    "providers/anthropic.py",
    "providers/anthropic_events.py",
    "providers/anthropic_options.py",
    "providers/anthropic_replies.py",
    "providers/anthropic_schema.py",
    "providers/base.py",
    "providers/bodies.py",
    "providers/body_fields.py",
    "providers/error_request_rules.py",
    "providers/error_rule.py",
    "providers/error_rules.py",
    "providers/error_words.py",
    "providers/faults.py",
    "providers/gemini.py",
    "providers/gemini_replies.py",
    "providers/gemini_stream.py",
    "providers/imported.py",
    "providers/litellm_format.py",
    "providers/message_parts.py",
    "providers/openai.py",
    "providers/openai_replies.py",
    "providers/openai_responses.py",
    "providers/openai_responses_replies.py",
    "providers/openai_schema.py",
    "providers/options.py",
    "providers/reading.py",
    "providers/simulator.py",
    "providers/streams.py",
    "providers/videos.py",
    "providers/waits.py",
    "retry.py",
    "schema_names.py",
    "settings.py",
    "snapshot.py",
)
"""Files and folders that decide what a stored exchange means; the benchmark's package comes on top."""

SCORES = (
    "asked_cases.py",
    "benchmarks/base.py",
    "benchmarks/rater_agreement.py",
    "benchmarks/raters.py",
    "benchmarks/registry.py",
    "benchmarks/scored.py",
    "benchmarks/sheets.py",
    "benchmarks/steps.py",
    "benchmarks/task.py",
    "canonical.py",
    "costs.py",
    "grading/agreement.py",
    "grading/checking.py",
    "grading/order.py",
    "grading/plan.py",
    "grading/roster.py",
    "grading/rows.py",
    "grading/sampling.py",
    "grading/seats.py",
    "grading/state.py",
    "offline/asked_with.py",
    "offline/case_index.py",
    "offline/chosen_grades.py",
    "offline/derived.py",
    "offline/effort.py",
    "offline/effort_sums.py",
    "offline/graded_units.py",
    "offline/grading_progress.py",
    "offline/kept_score.py",
    "offline/kept_units.py",
    "offline/model_units.py",
    "offline/new_answers.py",
    "offline/other_grades.py",
    "offline/people_agreement.py",
    "offline/references.py",
    "offline/row_units.py",
    "offline/score.py",
    "offline/score_basis.py",
    "offline/score_json.py",
    "offline/score_ranking.py",
    "offline/score_rows.py",
    "offline/sends.py",
    "offline/settled_grades.py",
    "offline/step_runs.py",
    "outcomes.py",
    "scoring",
    "served_models.py",
)
"""Files and folders that turn what was read into numbers; the benchmark's package comes on top."""


@lru_cache
def parser_digest(benchmark: str) -> str:
    """Return the digest of the code that reads answers, the benchmark's own included."""
    return code_digest((*READS_ANSWERS, _package(benchmark)))


@lru_cache
def scorer_digest(benchmark: str) -> str:
    """Return the digest of the code that scores what was read."""
    return code_digest((*SCORES, _package(benchmark)))


def code_digest(names: tuple[str, ...]) -> str:
    """Return the SHA-256 over files of this package; a folder stands for all Python files below it.

    Equal digests mean equal code; different ones do not say that any number differs, since comments count
    too. Raises FileNotFoundError for a name that stands for no Python file.
    """
    found = hashlib.sha256()
    for name in sorted(set(names)):
        sources = sorted(_python_files(name, files("harness").joinpath(*name.split("/"))))
        if not sources:
            raise FileNotFoundError(f"no Python file is called {name!r} in the package; correct the list")
        for path, content in sources:
            found.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return found.hexdigest()


def _package(benchmark: str) -> str:
    return BENCHMARKS[benchmark.partition(".")[0]].removeprefix("harness.").replace(".", "/")


def _python_files(name: str, place: Traversable) -> Iterator[tuple[str, bytes]]:
    if place.is_file():
        yield name, place.read_bytes()
    elif place.is_dir():
        for one in place.iterdir():
            if one.is_dir() or one.name.endswith(".py"):
                yield from _python_files(f"{name}/{one.name}", one)
