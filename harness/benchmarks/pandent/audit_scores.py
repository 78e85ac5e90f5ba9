"""What people who audited restated reports found: shares of the restatements that they looked through.

`audit.<question>.share`, each over the restatements that have an answer to it. A restatement that nobody
audited is in none of them, and so is an answer that was not restated: the paper's 200 were a sample too; nor
one that waits for another auditor of its grading. While people differ on one without a consensus there is no
share: the others alone would say that restatements are clearer than they are. The reason says between which
shares it will lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from harness.benchmarks.pandent.audit import QUESTIONS
from harness.benchmarks.scored import MetricValue, UnitNumbers, UnitTable, Unsettled
from harness.canonical import JSON
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.multilabel import ratio
from harness.scoring.proportions import clopper_pearson
from harness.scoring.resampling import Resampling, Values

AUDITED: Final = tuple(
    name for question in QUESTIONS for name in (question, f"{question} known", f"{question} disputed")
)
"""What is kept of a unit, 0 or 1 each: what people say to each question, whether what they say stands, and
whether they differ."""

_EACH: Final = 3


def audit_numbers(grades: Mapping[str, JSON], unsettled: Mapping[str, Unsettled]) -> tuple[float, ...]:
    """Return `AUDITED` of one restatement. Raises ValueError for a grade that is not 0 or 1."""
    found: list[float] = []
    for question in QUESTIONS:
        value = grades.get(question)
        if value is not None and value not in (0, 1):
            raise ValueError(f"a grade of {question} is 0 or 1, not {value!r}")
        found += (0.0, 0.0) if value is None else (float(value == 1), 1.0)
        found.append(float(unsettled.get(question) == "disputed"))
    return tuple(found)


def audit_metrics(numbers: UnitNumbers) -> dict[str, MetricValue]:
    """Return the shares of (restatements, `AUDITED`); none of a question that nobody answered."""
    sums = numbers.sum(axis=0).tolist()
    answered = zip(QUESTIONS, *(map(int, sums[place::_EACH]) for place in range(_EACH)), strict=True)
    return {
        share_of(question): _share(yes, n, disputed)
        for question, yes, n, disputed in answered
        if n + disputed
    }


def _share(yes: int, n: int, disputed: int) -> MetricValue:
    if not disputed:
        return MetricValue(yes / n, n)
    whole = n + disputed
    reason = (
        f"people differ on {disputed} of {whole} restatements, and no consensus says what counts: the share "
        f"will lie between {yes / whole:.3f} and {(yes + disputed) / whole:.3f}"
    )
    return MetricValue(None, n, reason)


def audit_intervals(units: UnitTable, where: slice, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval of restatements whose `AUDITED` stand at `where` in their numbers.

    Exact (Clopper-Pearson) where every audited restatement is of a case of its own, else BCa over cases, or
    groups of cases, with all that was audited of them.
    """
    found: dict[str, Interval] = {}
    for place, question in enumerate(QUESTIONS):
        value, known, disputed = (where.start + _EACH * place + one for one in range(_EACH))
        audited = units.where(units.numbers[:, known] == 1)
        if not len(audited) or units.numbers[:, disputed].any():
            continue
        path = share_of(question)
        if len(np.unique(audited.clusters)) == len(audited):
            found[path] = clopper_pearson(int(audited.numbers[:, value].sum()), len(audited))
        else:
            found[path] = _resampled(audited, (value, known), path, resampling)
    return found


def share_of(question: str) -> str:
    """Return the path of a question: the share of audited restatements of which it is true."""
    return f"{question}.share"


def _resampled(units: UnitTable, places: tuple[int, int], path: str, resampling: Resampling) -> Interval:
    def share(sums: Values) -> Mapping[str, Values]:
        return {path: ratio(sums[..., 0], sums[..., 1])}

    columns = units.numbers[:, list(places)]
    return sum_intervals(columns, units.clusters, units.repeats, share, resampling)[path]
