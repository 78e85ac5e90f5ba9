"""What answers would score that look at nothing: the rows `nothing` and `prevalence`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from harness.benchmarks.base import Case, MetricValue
from harness.benchmarks.triage.scores import Measure, measures, metric_value, truth_of
from harness.scoring.multilabel import Flags, exact_mean

DRAWS: Final = 1000
SEED: Final = 13_060

_FLAGS_AT_ONCE: Final = 1_000_000
"""Bounds memory, not results: all draws come from one stream in one order."""


def baselines(
    cases: Sequence[Case], conventions: Mapping[str, str]
) -> dict[str, dict[str, MetricValue]]:
    """Return baseline name -> metrics over cases; the order of the cases does not matter."""
    truth = truth_of(sorted(cases, key=lambda case: case.id))
    answered = np.ones(len(truth), dtype=np.bool_)
    nothing = measures(truth, np.zeros_like(truth), answered, conventions)
    chunks = [measures(truth, drawn, answered, conventions) for drawn in _draws(truth)]
    return {
        "nothing": {path: metric_value(measure) for path, measure in nothing.items()},
        "prevalence": {path: metric_value(_mean([chunk[path] for chunk in chunks])) for path in nothing},
    }


def _draws(truth: Flags) -> Iterator[Flags]:
    """Yield `DRAWS` predictions in all, several at a time, shape (draws, cases, labels)."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    shares = truth.mean(axis=0) if len(truth) else np.zeros(truth.shape[1])
    at_once = max(1, _FLAGS_AT_ONCE // max(1, truth.size))
    for start in range(0, DRAWS, at_once):
        yield generator.random((min(at_once, DRAWS - start), *truth.shape)) < shares


def _mean(chunks: Sequence[Measure]) -> Measure:
    values = np.concatenate([chunk.values.reshape(-1) for chunk in chunks])
    return Measure(exact_mean(values), chunks[0].n, chunks[0].why)
