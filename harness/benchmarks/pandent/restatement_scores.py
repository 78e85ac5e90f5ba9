"""Scores of restated clinical reports: before, after, the difference, and what the restatement adds.

- `raw.*`, `normalised.*`, `delta.*`: every score of `report_scores`, of the reports as they were answered, of
  their restatements, and the latter less the former; all of the same pairs.
- `added.*`: what only the restatement speaks of (`report_content`): `findings_mean`, `teeth_mean` a report;
  `findings_share`, `teeth_share` of the reports with any; `statements_mean`, its sentences that hold any;
  `half_share`, of the reports whose restatement adds `HALF` findings or more.
- `dropped.*`: what only the answer speaks of, likewise.
- `spoken.raw_findings_mean`, `spoken.normalised_findings_mean`: findings spoken of, of 21.

- `audit.*.share`: of the restatements that people looked through (`pandent.audit`), those whose meaning is
  kept, and those in which something was added, lost or changed; there only where there are any, and n is
  theirs alone.

n counts pairs. An answer that was not shown to the normaliser, and a restatement that failed, is in no pair:
nobody restated it, which is no score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from harness.benchmarks.pandent.audit_scores import AUDITED, audit_intervals, audit_metrics, audit_numbers
from harness.benchmarks.pandent.report_content import changes
from harness.benchmarks.pandent.report_scores import (
    REPORT_NUMBERS,
    report_metrics,
    report_numbers,
    report_unit_scores,
    uncomputed,
    values_of_sums,
)
from harness.benchmarks.pandent.report_tools import ReportTools
from harness.benchmarks.scored import MetricValue, UnitNumbers, UnitTable, Unsettled
from harness.canonical import JSON
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.proportions import clopper_pearson
from harness.scoring.resampling import Resampling, Values

HALF: Final = 11
"""More than half of the 21 findings: what a report of a sentence or two cannot have spoken of."""

_COUNTS: Final = (
    "added_findings", "added_teeth", "added_statements", "dropped_findings", "dropped_teeth",
    "raw_findings", "normalised_findings",
)  # fmt: skip
_SHARES: Final = {
    "added.findings_share": ("added_findings", 1),
    "added.teeth_share": ("added_teeth", 1),
    "added.half_share": ("added_findings", HALF),
    "dropped.findings_share": ("dropped_findings", 1),
    "dropped.teeth_share": ("dropped_teeth", 1),
}
"""Path -> the count, and how great it must be in a report that counts."""

_MEANS: Final = {
    "added.findings_mean": "added_findings",
    "added.teeth_mean": "added_teeth",
    "added.statements_mean": "added_statements",
    "dropped.findings_mean": "dropped_findings",
    "dropped.teeth_mean": "dropped_teeth",
    "spoken.raw_findings_mean": "raw_findings",
    "spoken.normalised_findings_mean": "normalised_findings",
}
_WIDTH: Final = len(REPORT_NUMBERS)
NUMBERS: Final = (
    "restated",
    *(f"raw_{name}" for name in REPORT_NUMBERS),
    *(f"normalised_{name}" for name in REPORT_NUMBERS),
    *_COUNTS,
    *AUDITED,
)
"""1 or 0; the numbers of both texts against the reference; counts of findings, teeth and statements; what
people say of it (see `audit_scores`)."""

_RAW: Final = slice(1, 1 + _WIDTH)
_NORMALISED: Final = slice(1 + _WIDTH, 1 + 2 * _WIDTH)
_CONTENT: Final = slice(1 + 2 * _WIDTH, 1 + 2 * _WIDTH + len(_COUNTS))
_AUDIT: Final = slice(_CONTENT.stop, len(NUMBERS))
_NO_PAIRS: Final = "no report was restated"


def restatement_numbers(
    answer: str,
    restatement: str | None,
    reference: str | None,
    tools: ReportTools,
    grades: Mapping[str, JSON] = MappingProxyType({}),
    unsettled: Mapping[str, Unsettled] = MappingProxyType({}),
) -> tuple[float, ...]:
    """Return `NUMBERS` of one unit; restatement None: it failed, and all of them are 0.

    Raises ValueError for a grade of the audit that is not 0 or 1.
    """
    if restatement is None:
        return (0.0,) * len(NUMBERS)
    found = changes(answer, restatement)
    return (
        1.0,
        *report_numbers(answer, reference, tools),
        *report_numbers(restatement, reference, tools),
        *map(
            float,
            (
                len(found.added_findings),
                len(found.added_teeth),
                found.added_statements,
                len(found.dropped_findings),
                len(found.dropped_teeth),
                found.findings,
                found.restated_findings,
            ),
        ),
        *audit_numbers(grades, unsettled),
    )


def restatement_metrics(numbers: UnitNumbers, tools: ReportTools | None = None) -> dict[str, MetricValue]:
    """Return every metric path of one row of (units, `NUMBERS`)."""
    pairs = numbers[numbers[:, 0] == 1]
    raw = report_metrics(pairs[:, _RAW], tools)
    normalised = report_metrics(pairs[:, _NORMALISED], tools)
    found = {f"raw.{path}": value for path, value in raw.items()}
    found |= {f"normalised.{path}": value for path, value in normalised.items()}
    found |= {f"delta.{path}": _difference(normalised[path], raw[path]) for path in raw}
    values = _content_values(_summands(pairs[:, _CONTENT]).sum(axis=0))
    for path, value in values.items():
        found[path] = MetricValue(float(value), len(pairs)) if len(pairs) else MetricValue(None, 0, _NO_PAIRS)
    return found | audit_metrics(pairs[:, _AUDIT])


def restatement_intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval of all pairs of a row, their repeats together.

    Differences are of the same draws. Shares of pairs are exact where every pair is of a case of its own.
    """
    pairs = units.where(units.numbers[:, 0] == 1)
    content = _summands(pairs.numbers[:, _CONTENT])
    texts = np.nan_to_num(pairs.numbers[:, 1 : 1 + 2 * _WIDTH])
    left_out = uncomputed(pairs.numbers[:, _RAW]) | uncomputed(pairs.numbers[:, _NORMALISED])

    def statistic(sums: Values) -> Mapping[str, Values]:
        return {**dict(_text_values(sums, left_out)), **_content_values(sums[..., 2 * _WIDTH :])}

    columns = np.concatenate([texts, content], axis=1)
    found = dict(sum_intervals(columns, pairs.clusters, pairs.repeats, statistic, resampling))
    if len(np.unique(pairs.clusters)) == len(pairs):
        totals = content[:, len(_COUNTS) : -1].sum(axis=0)
        for path, count in zip(_SHARES, totals, strict=True):
            found[path] = clopper_pearson(int(count), len(pairs))
    return found | audit_intervals(pairs, _AUDIT, resampling)


def restatement_unit_scores(numbers: Sequence[float]) -> dict[str, float | None]:
    """Return the metrics that are means over units, for one unit; nothing where it was not restated."""
    if numbers[0] == 0:
        return {}
    raw, normalised = report_unit_scores(numbers[_RAW]), report_unit_scores(numbers[_NORMALISED])
    counts = dict(zip(_COUNTS, numbers[_CONTENT], strict=True))
    return {
        **{f"raw.{path}": value for path, value in raw.items()},
        **{f"normalised.{path}": value for path, value in normalised.items()},
        **{path: counts[name] for path, name in _MEANS.items()},
    }


def _summands(counts: Values) -> Values:
    """Return counts (units, counts), whether each share counts the unit, and 1."""
    at = {name: counts[:, place] for place, name in enumerate(_COUNTS)}
    shares = [at[name] >= least for name, least in _SHARES.values()]
    return np.column_stack([counts, *shares, np.ones(len(counts))]).astype(np.float64)


def _content_values(sums: Values) -> dict[str, Values]:
    pairs = sums[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {path: sums[..., _COUNTS.index(name)] / pairs for path, name in _MEANS.items()}
        for place, path in enumerate(_SHARES):
            found[path] = sums[..., len(_COUNTS) + place] / pairs
    return found


def _text_values(sums: Values, left_out: frozenset[str]) -> Iterator[tuple[str, Values]]:
    raw, normalised = values_of_sums(sums[..., :_WIDTH]), values_of_sums(sums[..., _WIDTH : 2 * _WIDTH])
    for path in raw.keys() - left_out:
        yield f"raw.{path}", raw[path]
        yield f"normalised.{path}", normalised[path]
        yield f"delta.{path}", normalised[path] - raw[path]


def _difference(after: MetricValue, before: MetricValue) -> MetricValue:
    if after.value is None:
        return after
    if before.value is None:
        return before
    return replace(after, value=after.value - before.value)
