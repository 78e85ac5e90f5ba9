"""What a run's scores are made of, beside its answers: so that stored ones can be told from outdated ones."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final, cast

import numpy as np

from harness.cache.store import Store
from harness.canonical import JSON, digest
from harness.offline.chosen_grades import grading_steps
from harness.offline.code_digest import parser_digest, scorer_digest
from harness.offline.references import References
from harness.offline.settled_grades import agreed_on
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun

FORM: Final = 1
"""Of what is stored of a score: another one is not read."""

_WHY: Final = {
    "form": "its stored scores are of another version of this program",
    "run": "its stored scores are of another run",
    "parser": "the code that reads answers has changed",
    "scorer": "the code that scores has changed",
    "libraries": "another version of Python or of a library is in use",
    "conventions": "its stored scores follow other conventions",
    "grades": "its stored scores use other grades",
    "references": "its stored scores use other references",
    "evidence": "its answers, grades or settings have changed",
    "tools": "a metric that could not be computed can be now",
}
"""What differs -> how that is told, what says most first."""


async def score_basis(
    store: Store,
    stored: StoredRun,
    *,
    conventions: Mapping[str, str],
    grades: str | None = None,
    corrected: References | None = None,
) -> dict[str, JSON]:
    """Return everything that the scores of a run depend on, as JSON; asked before anything of it is read.

    `grades` as given to `score_run`; `corrected` None: the run's own references, which are part of the run.
    """
    benchmark = stored.run.benchmark
    return {
        "form": FORM,
        "run": {"name": stored.run.name, "digest": stored.run.digest},
        "parser": parser_digest(benchmark),
        "scorer": scorer_digest(benchmark),
        "libraries": {
            "python": platform.python_version().rpartition(".")[0],
            "numpy": np.__version__,
            "jsonschema": version("jsonschema"),
        },
        "conventions": dict(sorted(conventions.items())),
        "grades": grades,
        "references": None if corrected is None else corrected.basis,
        "evidence": await evidence_of(store, stored),
        "tools": dict(stored.benchmark.tools_here(conventions)),
    }


async def evidence_of(store: Store, stored: StoredRun) -> str:
    """Return a digest of all stored answers, grades and settings that a run's scores are made of.

    Those of its own units; of a step also those of the run that it follows, whose answers may have changed
    and whose grades are compared; and those of every step that grades this run.
    """
    found: list[JSON] = [await store.evidence_digest(stored.run.id), await agreed_on(store, stored.run.id)]
    if stored.manifest.step is not None:
        source = await source_run(store, stored.manifest.step.source)
        if source is not None:
            found += [await store.evidence_digest(source.id), await agreed_on(store, source.id)]
        else:
            found.append(None)
    if stored.benchmark.questions and stored.manifest.step is None:
        for step in grading_steps(stored, await store.runs()):
            found.append([step.run.name, step.run.digest, await store.evidence_digest(step.run.id)])
    return digest(found)


def outdated(kept: Mapping[str, JSON], now: Mapping[str, JSON]) -> str | None:
    """Return why scores that were made of one basis are not those of another; None where they are.

    A tool that is gone takes nothing from numbers that were made with it. One that came, or that nobody had
    looked for, may give numbers to metrics that have none.
    """
    for name, why in _WHY.items():
        if name == "tools":
            before = cast("Mapping[str, Any]", kept.get(name) or {})
            there = cast("Mapping[str, Any]", now[name])
            if any(here and not before.get(tool) for tool, here in there.items()):
                return why
        elif kept.get(name) != now[name]:
            return _other_references(kept.get(name), now[name]) if name == "references" else why
    return None


def _other_references(kept: JSON, now: JSON) -> str:
    if now is None:
        return "its stored scores use corrected references, which are not used here"
    corrected = "the run's own references" if kept is None else "other corrected references"
    return f"its stored scores use {corrected}"
