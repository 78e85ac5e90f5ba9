"""Sweeps with a known truth, through the benchmarks: intervals hold it, and differences of nothing are noise.

Every column of each printed table, at the papers' numbers of cases, in 2,000 data sets each (see
`known_processes`; standard errors .0049 of a share of .95, .0049 of one of .05). The benchmarks' own
`intervals` and `compare` get the units and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from known_processes import PROCESSES, Process

from harness.benchmarks.pandent.findings import TABLE2
from harness.benchmarks.scored import UnitTable
from harness.comparison.comparing import compare
from harness.comparison.contenders import Contender, RunCases
from harness.scoring.resampling import Resampling

SEEDS = 2_000
DRAWING = Resampling(resamples=500)
"""A quarter of what the program draws: ends are a little less steady, and the time is a third less."""


def contender(label: str, units: UnitTable, cases: RunCases) -> Contender:
    return Contender(
        label=label,
        name=label,
        kind="model",
        run="run",
        run_digest="0",
        cases=cases,
        units=units,
        usable=np.ones(len(units), dtype=np.bool_),
        wanted=range(len(cases.ids)),
    )


def coverage(process: Process, seeds: int) -> Mapping[str, tuple[str, float]]:
    """Return path -> the method of its intervals, and the share of data sets in which they hold the truth."""
    truth, held = process.long_run(), dict.fromkeys(process.columns, 0)
    methods: dict[str, set[str]] = {path: set() for path in process.columns}
    for seed in range(seeds):
        units = process.draw(np.random.default_rng(seed), process.cases, 1)[0]
        found = process.benchmark.intervals(units, process.condition, process.conventions, DRAWING)
        for path in process.columns:
            low, high = found[path].low, found[path].high
            assert low is not None and high is not None, (path, seed, found[path].reason)
            held[path] += low <= truth[path] <= high
            methods[path].add(found[path].method)
    assert all(len(one) == 1 for one in methods.values())
    return {path: (methods[path].pop(), count / seeds) for path, count in held.items()}


def false_alarms(process: Process, seeds: int) -> Mapping[str, float]:
    """Return path -> the share of data sets in which two models alike are said to differ."""
    cases = RunCases("run", *2 * ([f"c{number:04}" for number in range(process.cases)],))
    found = dict.fromkeys(process.columns, 0)
    for seed in range(seeds):
        pair = process.draw(np.random.default_rng(10_000 + seed), process.cases, 2)
        comparison = compare(
            process.benchmark,
            [contender(label, units, cases) for label, units in zip("ab", pair, strict=True)],
            condition=process.condition,
            conventions=process.conventions,
            metrics=process.columns,
            correction="none",
            resampling=DRAWING,
        )
        for metric in comparison.metrics:
            (difference,) = metric.differences
            assert difference.verdict != "not compared", (metric.path, seed)
            found[metric.path] += difference.verdict != "within noise"
    return {path: count / seeds for path, count in found.items()}


APART = [name for name in PROCESSES if name != "radm volume"]
"""The volumes' table has the columns of one subset, which those of the text have as well."""


@pytest.mark.slow
@pytest.mark.parametrize("name", APART)
def test_intervals_of_every_column_hold_the_truth(name: str) -> None:
    shares = coverage(PROCESSES[name], SEEDS)
    for path, (method, share) in shares.items():
        low, high = (0.94, 1.0) if method == "clopper-pearson" else (0.925, 0.97)
        assert low <= share <= high, (path, method, shares)


@pytest.mark.slow
@pytest.mark.parametrize("name", APART)
def test_a_difference_of_nothing_is_noise_in_every_column(name: str) -> None:
    shares = false_alarms(PROCESSES[name], SEEDS)
    assert max(shares.values()) <= 0.065, shares


EXACT = {
    "triage": ["fine.exact_match"],
    "radm text": ["top1", "top3", "top5"],
    "attributes": [f"exact_match.{name}" for name in TABLE2],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_small_sweeps_hold_the_truth_roughly(name: str) -> None:
    """A few data sets in every run of the tests, so that the slow ones above cannot rot."""
    process = replace(PROCESSES[name], cases=120)
    shares = coverage(process, 20)
    exact = [path for path, (method, _) in shares.items() if method == "clopper-pearson"]
    assert exact == EXACT[name]
    assert all(share >= 0.75 for _, share in shares.values()), shares
    assert all(share <= 0.3 for share in false_alarms(process, 20).values())
