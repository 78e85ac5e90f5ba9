"""Ranks: only complete models, and only on the same cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.benchmarks.scored import MetricValue
from harness.offline.score_rows import Row
from harness.scoring.rank_stability import TIE

UNRANKED = "these rows have no order of merit"
"""Why nobody in a table without a metric that ranks has a rank."""


@dataclass(frozen=True, slots=True)
class Rank:
    """A row's place from 1 (equal values share one), or None and why."""

    place: int | None
    reason: str | None = None


def rank_models(rows: Sequence[Row], metric: str | None) -> Mapping[str, Rank]:
    """Return model -> rank in one condition, by the as-answered value of a metric, highest first.

    Without a metric nobody has a rank.

    Models that were scored on all cases are ranked; one to which some cases are not applicable has no
    place among them (see `common_cases`), and neither has one whose value is that of some repeats alone.
    """
    ranks: dict[str, Rank] = {}
    values: dict[str, float] = {}
    same_cases = len({row.left_out for row in rows if _comparable(row)}) <= 1
    for row in rows:
        if row.kind != "model":
            continue
        if metric is None:
            ranks[row.name] = Rank(None, UNRANKED)
            continue
        found = row.as_answered.get(metric)
        value = None if found is None else found.value
        if row.incomplete:
            ranks[row.name] = Rank(None, f"incomplete: resume to complete: {row.to_complete} units")
        elif row.n_cases == 0:
            ranks[row.name] = Rank(None, "no case is applicable to this model")
        elif row.not_applicable and not same_cases:
            ranks[row.name] = Rank(
                None, f"cases not applicable: {len(row.not_applicable)}; ranked on the common cases only"
            )
        elif value is None:
            ranks[row.name] = Rank(None, f"{metric} has no value")
        elif found is not None and found.reason is not None:
            ranks[row.name] = Rank(None, f"{metric}: {found.reason}")
        else:
            values[row.name] = value
    return ranks | places(values)


def not_common(rows: Sequence[Row]) -> frozenset[str] | None:
    """Return the cases that some complete model was not scored on; None when all have the same ones."""
    comparable = [row for row in rows if _comparable(row)]
    if len({row.left_out for row in comparable}) <= 1:
        return None
    return frozenset(case for row in comparable for case in row.not_applicable)


def ranked_values(values: Mapping[str, MetricValue]) -> Mapping[str, Rank]:
    """Return name -> rank by value, highest first; those without a value have no place."""
    known, unknown = {}, {}
    for name, metric in values.items():
        if metric.value is None or metric.reason is not None:
            unknown[name] = Rank(None, metric.reason)
        else:
            known[name] = metric.value
    return unknown | places(known)


def places(values: Mapping[str, float]) -> dict[str, Rank]:
    """Return name -> place: one more than the number of higher values.

    Values are higher only beyond what sums in another order differ by.
    """
    found = {}
    for name, value in values.items():
        least = value + TIE * max(1.0, abs(value))
        found[name] = Rank(1 + sum(other > least for other in values.values()))
    return found


def _comparable(row: Row) -> bool:
    return row.kind == "model" and not row.incomplete and row.n_cases > 0
