"""A comparison of models as parts of a report: the family, the differences, and how firm ranks are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from harness.comparison.result import (
    CORRECTIONS,
    TESTS,
    Cases,
    Comparison,
    Difference,
    Effect,
    MetricResult,
    Value,
)
from harness.phrases import count, listed, titled
from harness.report.cells import count_cell, empty_cell, share_cell, text_cell
from harness.report.document import Cell, Column, Paragraph, Part, Table, TableRow
from harness.report.part_ids import PartIds
from harness.report.rounding import amount, decimals_shown, shown, shown_p, shown_to
from harness.report.truth import FEW_CASES, LEAST_CASES

_EFFECTS: Final = (
    "effect size: d_z, mean over SD of the differences by case; r, matched-pairs rank-biserial; odds, cases "
    "only the first has to cases only the second has"
)


def comparison_parts(
    comparison: Comparison, ids: PartIds, prefix: str, said: Collection[str] = ()
) -> Iterator[Part]:
    """Yield what was tested, before any result; then differences and ranks, metric by metric.

    Warnings that are `said` for the whole report, in the same words, are not repeated.
    """
    for text in comparison.warnings:
        if text not in said:
            yield Paragraph(text, "warning")
    yield Paragraph(_family(comparison))
    yield Paragraph(_cases(comparison))
    for metric in comparison.metrics:
        for text in metric.notes:
            yield Paragraph(text, "warning")
        yield _differences(comparison, metric, ids, prefix)
        ranks = _ranks(comparison, metric, ids, prefix)
        if ranks is not None:
            yield ranks


def _family(comparison: Comparison) -> str:
    family = comparison.family
    metrics = listed([one.head or one.path for one in comparison.metrics])
    shown = "each pair is shown"
    if family.against is not None:
        best = ", the one with the best value" if family.chosen_by_looking else ""
        shown = f"shown are the others against {family.against}{best}"
    return (
        f"By default: the metric that ranks ({metrics}), all pairs of complete models. The family is "
        f"{count(family.pairs, 'pair')}, {count(family.tests, 'test')} at the level {family.level:g}; "
        f"correction: {CORRECTIONS[family.correction]} over all of them; {shown}."
    )


def _cases(comparison: Comparison) -> str:
    cases = comparison.cases
    told = (
        f"Compared on {cases.common:,} of {count(cases.wanted, 'case')}, which all "
        f"{len(comparison.contenders)} have in common"
    )
    if cases.clusters != cases.common:
        told += f", in {count(cases.clusters, 'group')}"
    if cases.repeats > 1:
        told += f", with {cases.repeats} repeats each"
    left = [f"{count(len(one.cases), 'case')}: {one.why} ({listed(one.whose, 3)})" for one in cases.left_out]
    return f"{told}{f'; left out: {listed(left, 4)}' if left else ''}."


def _differences(comparison: Comparison, metric: MetricResult, ids: PartIds, prefix: str) -> Table:
    told = [one for one in metric.differences if one.shown]
    heads = [
        Column(f"{metric.path}.difference", "difference", "first less second, on the common cases"),
        Column("p", "p", "two-tailed, of this pair alone"),
        Column("p_adjusted", "adjusted p", "over the whole family"),
        Column("verdict", "verdict", numeric=False),
        Column("clusters_that_differ", "differ", "cases, or groups of them, in which they differ at all"),
    ]
    sized = any(one.effect is not None for one in told)
    if sized:
        heads.append(Column("effect", "effect size", numeric=False))
    few = comparison.cases.clusters < LEAST_CASES and any(one.low is not None for one in told)
    return Table(
        ids.make(prefix, comparison.condition, "differences", metric.path),
        titled(f"Differences in {metric.head or metric.path}", comparison.condition),
        heads,
        [_difference_row(one, metric, comparison.cases, sized=sized) for one in told],
        names="first less second",
        caption=f"{TESTS[metric.test][:1].upper()}{TESTS[metric.test][1:]}: {metric.why}. Intervals are "
        f"{1 - comparison.family.level:.0%} percentile intervals, each by itself. "
        "Within noise: no difference was shown; it does not show that there is none",
        notes=[FEW_CASES] * few
        + [_EFFECTS if sized else "no effect size: a case has no value of its own in this metric"],
    )


def _difference_row(one: Difference, metric: MetricResult, cases: Cases, *, sized: bool) -> TableRow:
    n = cases.common
    if one.difference is None:
        difference = empty_cell("; ".join(one.notes) or "not compared")
    else:
        low, high = difference_ends(one, cases)
        text, interval = shown_to(one.difference, low, high, difference_decimals(metric, cases), signed=True)
        difference = Cell(text, one.difference, n, low, high, interval)
    return TableRow(
        f"{one.a} - {one.b}",
        [
            difference,
            p_cell(one.p, n),
            p_cell(one.adjusted, n),
            text_cell(verdict(one)),
            count_cell(one.differ),
            *([text_cell(_effect(one.effect))] if sized else []),
        ],
        "other",
        one.notes,
    )


def difference_ends(one: Difference, cases: Cases) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of the interval that is shown of a difference; of few cases, or groups, none."""
    if one.low is None or one.high is None or cases.clusters < LEAST_CASES:
        return None, None
    return one.low, one.high


def difference_decimals(metric: MetricResult, cases: Cases) -> int:
    """Return the decimals of all differences of a metric: the most that one with an interval gets."""
    found: dict[bool, list[int]] = {True: [], False: []}
    for one in metric.differences:
        if one.difference is not None:
            low, high = difference_ends(one, cases)
            places = decimals_shown(low, high, decimals=metric.decimals, n=cases.common)
            found[low is not None].append(places)
    return max(found[True] or found[False], default=metric.decimals)


def verdict(one: Difference) -> str:
    """Return the verdict of a pair in words that name its sides."""
    return {"A higher": f"{one.a} is higher", "A lower": f"{one.b} is higher"}.get(one.verdict, one.verdict)


def p_cell(p: float | None, n: int) -> Cell:
    """Return the cell of a p."""
    return empty_cell("no test") if p is None else Cell(shown_p(p), p, n)


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return "none: a case has no value of its own"
    told = []
    if effect.d_z is not None:
        told.append(f"d_z {shown(effect.d_z, decimals=2)[0]}")
    if effect.rank_biserial is not None:
        told.append(f"r {shown(effect.rank_biserial, decimals=2)[0]}")
    if effect.a_only is not None and effect.b_only is not None:
        odds = "" if effect.odds_ratio is None else f" = {amount(effect.odds_ratio, 3)}"
        told.append(f"odds {effect.a_only:,} to {effect.b_only:,}{odds}")
    return ", ".join(told) or "not defined here"


def _ranks(comparison: Comparison, metric: MetricResult, ids: PartIds, prefix: str) -> Table | None:
    ranked = [one for one in metric.values if one.rank is not None]
    if not ranked:
        return None
    resamples = comparison.resampling.get("resamples")
    return Table(
        ids.make(prefix, comparison.condition, "ranks", metric.path),
        titled(f"How firm the ranks by {metric.head or metric.path} are", comparison.condition),
        [
            Column("rank", "#", "rank on the common cases"),
            Column("ranks.low", "from", "the best of the ranks in the middle 95 % of resamples"),
            Column("ranks.high", "to", "the worst of them"),
            Column("share_at_rank_1", "first", "share of resamples in which it is first, ties included"),
            Column("n", "n"),
            Column(metric.path, metric.head or metric.path, "value on the common cases"),
        ],
        [_rank_row(one, metric, int(resamples or 0)) for one in ranked],
        caption=f"Ranks over {resamples} resamples of the common cases that all models share",
    )


def _rank_row(one: Value, metric: MetricResult, resamples: int) -> TableRow:
    low, high = one.ranks or (None, None)
    value = one.value
    return TableRow(
        one.label,
        [
            count_cell(one.rank),
            count_cell(low),
            count_cell(high),
            share_cell(one.first, resamples),
            count_cell(one.n),
            empty_cell(one.reason or "no value")
            if value is None
            else Cell(shown(value, decimals=metric.decimals, n=one.n)[0], value, one.n),
        ],
    )


def not_compared(names: Sequence[str], why: str) -> Iterator[Part]:
    """Say who is in no comparison, and why."""
    if names:
        yield Paragraph(f"Not compared, as {why}: {listed(names)}.", "note")
