"""The row `prevalence` of clinical reports: each case gets the reference of another one, drawn at random.

Whatever it scores is owed to what all references share: their order and their templates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from harness.benchmarks.base import Case
from harness.benchmarks.pandent.report_scores import report_metrics, report_numbers
from harness.benchmarks.pandent.report_tools import open_tools
from harness.benchmarks.scored import MetricValue

DRAWS: Final = 3
ONE_DRAW: Final = 500
"""Beyond so many cases one draw is as good, and more would take longer than all models."""
SEED: Final = 9_524


def drawn_metrics(cases: Sequence[Case], conventions: Mapping[str, str]) -> dict[str, MetricValue]:
    """Return the mean over `DRAWS` seeded draws (one of many cases) of every metric but METEOR.

    The order of the cases does not matter. Without two cases that have a clinical report there is no value.
    """
    by_id = sorted((case.id, str(text)) for case in cases if (text := case.reference["report"]) is not None)
    reports = [text for _, text in by_id]
    without = {**conventions, "meteor15": "off", "meteor2005": "off"}
    with open_tools(without) as tools:
        draws = []
        for given in _others(len(reports)):
            pairs = ((reports[other], own) for own, other in zip(reports, given, strict=True))
            rows = [report_numbers(answer, reference, tools) for answer, reference in pairs]
            draws.append(report_metrics(np.array(rows), tools))
        if not draws:
            nothing = np.empty((0, len(report_numbers(None, "", tools))))
            draws.append(report_metrics(nothing, tools))
    found = {path: _mean([draw[path] for draw in draws]) for path in draws[0]}
    for path in ("meteor15", "meteor2005", "average"):
        found[path] = MetricValue(None, found[path].n, "METEOR is not computed of this baseline")
    return found


def _others(count: int) -> list[list[int]]:
    """Return for each draw another place than its own for every place, all equally likely; none for one."""
    if count < 2:
        return []
    generator = np.random.Generator(np.random.PCG64(SEED))
    steps = generator.integers(1, count, size=(DRAWS if count <= ONE_DRAW else 1, count))
    return [[*((np.arange(count) + row) % count)] for row in steps]


def _mean(draws: Sequence[MetricValue]) -> MetricValue:
    values = [one.value for one in draws if one.value is not None]
    if len(values) < len(draws):
        return MetricValue(None, draws[0].n, draws[0].reason)
    return MetricValue(math.fsum(values) / len(values), draws[0].n)
