"""The metric paths of the triage judge, by judged model.

- `failure.<dimension>.case_share`: share of judged answers with this failure; `failure.any.case_share`: with
  any of the five.
- `failure.mean_count`: dimensions that fail, an answer.
- `failure.<dimension>.failure_share`: its share of all failures that were found.
- `contradiction.unexplained`, `contradiction.explained_absence`: share of verdicts in which some 1 has no
  reason, and in which some 0 has one. Such verdicts count as they stand.

An answer without a verdict is no answer's failure: it is left out of every number in both readings, which are
equal, and n, the number of verdicts, says so. It never counts as 0 or 1.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from harness.benchmarks.scored import MetricValue, UnitTable
from harness.benchmarks.triage.verdicts import DIMENSIONS, NUMBERS
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.multilabel import ratio
from harness.scoring.proportions import clopper_pearson
from harness.scoring.resampling import Resampling, Values

_SUMS: Final = (*NUMBERS, "any")
_SHARES: Final = {
    **{f"failure.{name}.case_share": name for name in DIMENSIONS},
    "failure.any.case_share": "any",
    "contradiction.unexplained": "unexplained",
    "contradiction.explained_absence": "explained_absence",
}
"""Path -> what is counted in judged answers."""


def score(units: UnitTable) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units."""
    sums = _unit_sums(units).sum(axis=0)
    n = int(sums[0])
    found = {}
    for path, value in _values(sums).items():
        why = "no failure was found" if n else "no answer was judged"
        known = bool(np.isfinite(value))
        found[path] = MetricValue(float(value) if known else None, n, None if known else why)
    return found


def intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval over cases, or groups of cases, with all their answers and repeats.

    Shares of answers are exact where each is a cluster of its own.
    """
    judged = units.where(units.numbers[:, 0] == 1)
    sums = _unit_sums(judged)
    found = dict(sum_intervals(sums, judged.clusters, judged.repeats, _values, resampling))
    if len(np.unique(judged.clusters)) == len(judged):
        counts = dict(zip(_SUMS, sums.sum(axis=0).tolist(), strict=True))
        for path, name in _SHARES.items():
            found[path] = clopper_pearson(int(counts[name]), len(judged))
    return found


def _unit_sums(units: UnitTable) -> Values:
    """Return what each unit adds to the sums, shape (units, sums); nothing without a verdict."""
    judged = units.numbers[:, :1] == 1
    numbers = np.where(judged, units.numbers, 0.0)
    fails = numbers[:, 1 : 1 + len(DIMENSIONS)].any(axis=1, keepdims=True)
    return np.concatenate([numbers, fails.astype(np.float64)], axis=1)


def _values(sums: Values) -> dict[str, Values]:
    """Return path -> values (...) of sums (..., sums); NaN where undefined."""
    of = {name: sums[..., place] for place, name in enumerate(_SUMS)}
    failures = np.sum([of[name] for name in DIMENSIONS], axis=0)
    found = {path: ratio(of[name], of["judged"]) for path, name in _SHARES.items()}
    found["failure.mean_count"] = ratio(failures, of["judged"])
    for name in DIMENSIONS:
        found[f"failure.{name}.failure_share"] = ratio(of[name], failures)
    return found
