"""Truth rules: what a report must say of a row, or may not show of it. Pure.

Each threshold has its reason beside it, and `THRESHOLDS` is printed with the methods. The rules read rows
of `Score.to_json()`; a rule that finds nothing to say returns nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.scored import MetricColumn, ScoreTable
from harness.offline.score_ranking import UNRANKED
from harness.outcomes import UNUSABLE, USABLE, UnitOutcome
from harness.phrases import count, listed, spoken
from harness.report.rounding import RULE, percent
from harness.report.score_view import Json, metrics_of, row_name
from harness.scoring.kappa_intervals import EXACT
from harness.scoring.proportions import CLOPPER_PEARSON
from harness.scoring.rank_stability import TIE
from harness.served_models import served_notes

UNUSABLE_SHARE: Final = 0.10
"""A row with a larger share of unusable answers is marked. An unusable answer counts as the worst value, so
failures alone may move a share by up to this much; the interval of a share at 100 cases is at most that
wide on either side (1.96 x sqrt(.25 / 100) = .098). Beyond it, how often a model fails says more about its
number than the sampling of cases does.
"""

SATURATED_SHARE: Final = 0.5
"""A metric of which the reference of another case reaches this share of the best value is called saturated:
half or more of its scale is then earned by what all references have in common, and not by the case.
"""

LEAST_CASES: Final = 10
"""No interval of fewer cases is shown: a bootstrap of fewer resamples a handful of values, so that its ends
are some of these. Exact intervals of shares hold at any n, and stay.
"""

FEW_CASES: Final = (
    f"no interval below {LEAST_CASES} cases: a bootstrap of fewer resamples a handful of values"
)
"""What a table says of the intervals that it does not show."""

BESIDE: Final = "its 95 % interval does not hold it, as few cases decide the number: do not rely on it"
"""What a number says whose interval leaves it out."""

THRESHOLDS: Final[Sequence[tuple[str, str]]] = (
    (
        "unusable answers",
        f"a row with more than {UNUSABLE_SHARE:.0%} unusable answers is marked: beyond that, failures "
        "may move a share by more than the 95 % interval of a share at 100 cases is wide on either side",
    ),
    (
        "saturated metrics",
        "a metric is called saturated where the reference of another case reaches "
        f"{SATURATED_SHARE:.0%} of its best value, or lies within or above a row's interval",
    ),
    (
        "baselines",
        "a complete row is held against the best baseline with the same n; one that lies within the row's "
        "95 % interval is not clearly beaten",
    ),
    (
        "ranks",
        "only complete models with a value from every repeat have a rank; values that differ by less than "
        f"{TIE:g} share one",
    ),
    ("few cases", f"{FEW_CASES}; exact intervals of shares hold at any n, and stay"),
    ("rounding", RULE),
)
"""What is printed of these rules: name, rule."""


@dataclass(frozen=True, slots=True)
class RowTruth:
    """What must be said of a row; `marked`: it must not be read without its notes.

    Marked are models without a rank, with many unusable answers, and those whose first metric does not
    clearly beat every baseline or is saturated.
    """

    notes: tuple[str, ...]
    marked: bool


def row_truth(
    row: Json, baselines: Sequence[Json], table: ScoreTable, columns: Sequence[MetricColumn]
) -> RowTruth:
    """Return what a table of scores says of one of its rows, the gravest first."""
    grave = [*unranked(row), *unusable_answers(row)]
    notes = [
        *grave,
        *against_baselines(row, baselines, columns),
        *saturated(row, baselines, table, columns),
        *cases_left_out(row),
        *served_notes(row["served_as"]),
    ]
    first = columns[:1]
    beaten = [*against_baselines(row, baselines, first), *saturated(row, baselines, table, first)]
    return RowTruth(tuple(notes), row["kind"] == "model" and bool([*grave, *beaten]))


def unranked(row: Json) -> Iterator[str]:
    """Say why a model has no rank; nothing where nobody has one, or where it has."""
    if row["kind"] != "model" or row["rank_reason"] == UNRANKED:
        return
    if row["incomplete"]:
        reason = row["rank_reason"] or f"incomplete: {count(row['to_complete'], 'unit')} to complete"
        yield f"no rank: {reason}"
    elif row["rank"] is None and row["rank_reason"] is not None:
        yield f"no rank: {row['rank_reason']}"


def unusable_answers(row: Json) -> Iterator[str]:
    """Say that more answers than `UNUSABLE_SHARE` are unusable, and how they ended."""
    ended = {UnitOutcome(name): units for name, units in row["outcomes"].items()}
    unusable = {name: units for name, units in ended.items() if name in UNUSABLE and units}
    share = unusable_share(row)
    if share is None or share <= UNUSABLE_SHARE:
        return
    answers = sum(units for name, units in ended.items() if name in USABLE | UNUSABLE)
    kinds = ", ".join(f"{name} {units:,}" for name, units in unusable.items())
    yield (
        f"{sum(unusable.values()):,} of {answers:,} answers ({percent(share)}) are unusable ({kinds}); each "
        "counts as the worst value where a metric has one"
    )


def unusable_share(row: Json) -> float | None:
    """Return the share of a row's answers that are unusable; None where nobody answered."""
    ended = {UnitOutcome(name): units for name, units in row["outcomes"].items()}
    unusable = sum(units for name, units in ended.items() if name in UNUSABLE)
    answers = unusable + sum(units for name, units in ended.items() if name in USABLE)
    return unusable / answers if answers else None


def against_baselines(row: Json, baselines: Sequence[Json], columns: Sequence[MetricColumn]) -> Iterator[str]:
    """Say in which metrics a complete row is not clearly better than the best baseline with the same n.

    Metrics without a better side are left out, and so are baselines of another n. Without an interval a row
    is worse than a baseline, equal to it, or better.
    """
    if row["kind"] == "baseline" or row["incomplete"]:
        return
    found: dict[tuple[str, str], list[str]] = {}
    for column in columns:
        metric = row["as_answered"].get(column.path)
        if metric is None or metric["value"] is None or column.better is None:
            continue
        best = _best_baseline(baselines, column, metric["n"])
        if best is not None:
            said = _standing(metric, best[1], column)
            if said is not None:
                found.setdefault((said, best[0]), []).append(spoken(column))
    for (said, name), heads in found.items():
        yield f"{said} the baseline {name!r}: {', '.join(heads)}"


def _best_baseline(baselines: Sequence[Json], column: MetricColumn, n: int) -> tuple[str, float] | None:
    values = [
        (row_name(one), float(metric["value"]))
        for one, metric in metrics_of(baselines, column.path)
        if metric["n"] == n
    ]
    if not values:
        return None
    return (max if column.better == "higher" else min)(values, key=lambda one: one[1])


def _standing(metric: Json, baseline: float, column: MetricColumn) -> str | None:
    """Return how a number stands to a baseline's in words; None where it is clearly better."""
    value = metric["value"]
    if abs(value - baseline) <= TIE * max(1.0, abs(baseline)):
        return "no better than"
    if (value < baseline) == (column.better == "higher"):
        return "worse than"
    if of_few_cases(metric):
        return f"not clearly better (n is below {LEAST_CASES}) than"
    if metric["ci"] is not None and metric["ci"][0] <= baseline <= metric["ci"][1]:
        return "not clearly better (it lies within the 95 % interval) than"
    return None


_EXACT: Final = frozenset({CLOPPER_PEARSON, EXACT})


def of_few_cases(metric: Json | None) -> bool:
    """Tell whether a number has an interval that is not shown, as it is of fewer than `LEAST_CASES` cases."""
    if metric is None or metric["ci"] is None:
        return False
    return bool(metric["n"] < LEAST_CASES and metric.get("ci_method") not in _EXACT)


def hidden_intervals(metrics: Iterable[Json | None]) -> Iterator[str]:
    """Say, once for a table, why numbers of it have no interval that the scores have."""
    if any(map(of_few_cases, metrics)):
        yield FEW_CASES


def beside_itself(metric: Json) -> bool:
    """Tell whether a number lies outside its own interval, whose ends are rounded."""
    if metric["ci"] is None or metric["value"] is None:
        return False
    error = TIE * max(1.0, abs(metric["value"]))
    low, high = metric["ci"]
    return not low - error <= metric["value"] <= high + error


def saturated(
    row: Json, baselines: Sequence[Json], table: ScoreTable, columns: Sequence[MetricColumn]
) -> Iterator[str]:
    """Say in which metrics the reference of another case scores as this row does, or half of all there is."""
    if row["kind"] == "baseline" or table.unrelated is None:
        return
    unrelated = [one for one in baselines if one["model"] == table.unrelated]
    within, half = [], []
    for column in columns:
        metric = row["as_answered"].get(column.path)
        if metric is None or metric["value"] is None or column.better is None:
            continue
        for _, other in metrics_of(unrelated, column.path):
            if _reaches(metric, other["value"], column):
                within.append(spoken(column))
            elif _half_of_best(other["value"], column):
                half.append(spoken(column))
    if within:
        yield (
            f"cannot be told from the reference of another case ({table.unrelated!r} lies within the 95 % "
            f"interval or beyond it): {', '.join(within)}"
        )
    if half:
        yield (
            f"saturated (the reference of another case, {table.unrelated!r}, reaches "
            f"{SATURATED_SHARE:.0%} or more of the best value): {', '.join(half)}"
        )


def _reaches(metric: Json, unrelated: float, column: MetricColumn) -> bool:
    """Tell whether an unrelated reference lies within a number's interval, or beyond it and better."""
    low, high = metric["ci"] or (metric["value"], metric["value"])
    return bool(unrelated >= low if column.better == "higher" else unrelated <= high)


def _half_of_best(unrelated: float, column: MetricColumn) -> bool:
    if column.best is None or column.better != "higher" or column.best <= 0:
        return False
    return unrelated >= SATURATED_SHARE * column.best


def cases_left_out(row: Json) -> Iterator[str]:
    """Say which cases a row was not scored on: not applicable to a model, not rated by a rater."""
    for key, what in (("not_applicable", "not applicable to it"), ("not_rated", "not rated")):
        if row[key]:
            yield f"{count(len(row[key]), 'case')} {what}: {listed(row[key])}"
