"""What a run came to, in words made by rule: who is first, whether that is more than noise, what is missing.

Every sentence has its numbers, rounded as in the tables; nothing is said that no number says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.comparison.result import Comparison, Difference, MetricResult, Verdict
from harness.outcomes import UNUSABLE, USABLE, UnitOutcome
from harness.phrases import count, listed, spoken
from harness.report.cells import metric_cell
from harness.report.comparisons import difference_decimals, difference_ends, p_cell
from harness.report.document import Facts, Table
from harness.report.even_columns import board_decimals
from harness.report.rounding import percent, shown_to
from harness.report.run_comparisons import Compared
from harness.report.score_view import ConditionView, Json, RunView, may_rank, row_name
from harness.report.truth import against_baselines, saturated, unranked, unusable_answers


def summary(run: RunView, compared: Mapping[str, Compared], tables: Sequence[Table], facts_id: str) -> Facts:
    """Return what a run came to; `tables` are all that its section has."""
    items = [*_conditions(run, compared)]
    without = [*_without_rank(run.shown)]
    if without:
        items.append(("without a rank", "; ".join(without)))
    items += _answers(run.scored.effort["models"])
    marked = sum(map(_is_marked, tables))
    items.append(
        (
            "marked tables",
            f"in {marked:,} of {count(len(tables), 'table')} a row or a number is marked (!), and must not "
            "be read without its notes",
        )
    )
    return Facts(facts_id, "In short", items)


def _conditions(run: RunView, compared: Mapping[str, Compared]) -> Iterator[tuple[str, str]]:
    unranked_views = [view.condition for view in run.shown if view.main_metric is None]
    for view in run.shown:
        if view.main_metric is not None:
            of_view = compared.get(view.condition)
            result = None if of_view is None else of_view.result
            yield f"condition {view.condition}", " ".join(_condition(run.name, view, result))
    if unranked_views:
        yield (
            "no ranks",
            f"no metric ranks in {count(len(unranked_views), 'condition')} ({listed(unranked_views)}): rows "
            "stand by the first column, which says nothing of who is best",
        )


def _condition(run: str, view: ConditionView, result: Comparison | None) -> Iterator[str]:
    ranked = [row for row in view.models if may_rank(row)]
    column = view.columns[0]
    if not ranked:
        yield f"None of {count(len(view.models), 'model')} has a rank by {spoken(column)}."
        return
    first = [row for row in ranked if row["rank"] == ranked[0]["rank"]]
    decimals = board_decimals(view, column.path, column)
    cell = metric_cell(ranked[0]["as_answered"].get(column.path), column, decimals)
    names = listed(map(row_name, first))
    of = f"of {count(len(ranked), 'ranked model')} by {spoken(column)}"
    place = f"{names} share rank 1" if len(first) > 1 else f"{names} is first"
    interval = f"95 % interval {cell.interval}, " if cell.interval else ""
    yield f"{place} {of}: {cell.text} ({interval}n = {cell.n or 0:,})."
    if len(ranked) > 1 and len(first) == 1:
        yield from _lead(run, ranked, result, view.score["repeats"])
    for row in first:
        yield from _doubts(view, row)


def _doubts(view: ConditionView, row: Json) -> Iterator[str]:
    """Say what must be known of the first model before it is called good."""
    column = view.columns[:1]
    said = [
        *unusable_answers(row),
        *against_baselines(row, view.baselines, column),
        *saturated(row, view.baselines, view.table, column),
    ]
    if said:
        yield f"To know of {row_name(row)}: {'; '.join(said)}."


def _lead(run: str, ranked: Sequence[Json], result: Comparison | None, repeats: int) -> Iterator[str]:
    """Say whether the first model's lead is more than noise, and of how many others it is none."""
    if result is None or not result.metrics:
        yield f"Whether it is better than the other {len(ranked) - 1:,} was not tested."
        return
    labels = {one.name: one.label for one in result.contenders if one.run == run}
    first, second = (labels.get(row["model"], "") for row in ranked[:2])
    metric = result.metrics[0]
    lead = _between(metric, first, second)
    if lead is not None:
        yield f"{_told(lead, metric, result, repeats)}."
    others = [one for one in metric.differences if first in (one.a, one.b)]
    noise = sum(one.verdict == "within noise" for one in others)
    if len(others) > 1:
        yield f"Within noise of it are {noise:,} of the {len(others):,} models that it was compared with."


def _between(metric: MetricResult, first: str, second: str) -> Difference | None:
    """Return the first less the second, which on the common cases may be the other way round."""
    found = next((one for one in metric.differences if {one.a, one.b} == {first, second}), None)
    if found is None or found.a == first:
        return found
    turned = [None if one is None else -one + 0.0 for one in (found.difference, found.high, found.low)]
    sides: Mapping[Verdict, Verdict] = {"A higher": "A lower", "A lower": "A higher"}
    return replace(
        found, a=first, b=second, difference=turned[0], low=turned[1], high=turned[2],
        verdict=sides.get(found.verdict, found.verdict),
    )  # fmt: skip


def _told(lead: Difference, metric: MetricResult, result: Comparison, repeats: int) -> str:
    n = result.cases.common
    fewer = f" with {count(result.cases.repeats, 'repeat')} each" if result.cases.repeats != repeats else ""
    if lead.difference is None:
        return f"{lead.a} and {lead.b} could not be compared on {count(n, 'case')}: {'; '.join(lead.notes)}"
    low, high = difference_ends(lead, result.cases)
    decimals = difference_decimals(metric, result.cases)
    text, interval = shown_to(lead.difference, low, high, decimals, signed=True)
    between = f"{lead.a} less {lead.b}, the next, is {text} on {count(n, 'common case')}{fewer}"
    adjusted = p_cell(lead.adjusted, n).text
    p = "" if lead.adjusted is None else f"adjusted p {adjusted if adjusted[0] == '<' else f'= {adjusted}'}"
    told = ", ".join(filter(None, [f"interval {interval}" if interval else "", p]))
    words = {
        "within noise": "within noise",
        "A higher": f"more than noise, {lead.a} is higher",
        "A lower": f"more than noise, {lead.b} is higher",
        "unclear": "unclear: the test and the difference point to different sides",
    }
    return f"{between} ({told}): {words.get(lead.verdict, lead.verdict)}"


def _without_rank(views: Sequence[ConditionView]) -> Iterator[str]:
    """Yield who has no rank and why, with the conditions; once for those with the same reason."""
    found: dict[str, dict[str, list[str]]] = {}
    for view in views:
        for row in view.models:
            for reason in unranked(row):
                of_model = found.setdefault(reason.removeprefix("no rank: "), {})
                of_model.setdefault(row_name(row), []).append(view.condition)
    for reason, models in found.items():
        yield f"{listed(f'{name} ({listed(where)})' for name, where in models.items())}: {reason}"


def _answers(rows: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Say which share of all answers was unusable, how they ended, and of whom most are."""
    by_model: dict[str, Counter[str]] = {row["model"]: Counter(row["outcomes"]) for row in rows}
    every = sum(by_model.values(), Counter())
    answers = _among(every, USABLE | UNUSABLE)
    unusable = _among(every, UNUSABLE)
    if answers:
        told = f"{unusable:,} of {count(answers, 'answer')} ({percent(unusable / answers)})"
        if unusable:
            ended = [f"{kind} {every[kind]:,}" for kind in UnitOutcome if kind in UNUSABLE and every[kind]]
            told += f": {', '.join(ended)}; {_of_whom(by_model)}"
        yield "unusable answers", told
    nobody = sum(every.values()) - answers
    if nobody:
        kinds = [
            f"{kind} {every[kind]:,}" for kind in UnitOutcome if every[kind] and kind not in USABLE | UNUSABLE
        ]
        yield "units without an answer", f"{nobody:,} of {sum(every.values()):,}: {', '.join(kinds)}"


def _of_whom(by_model: Mapping[str, Counter[str]]) -> str:
    """Say who has the most unusable answers, and how many of its own these are."""
    name, ended = max(by_model.items(), key=lambda one: (_among(one[1], UNUSABLE), one[0]))
    return f"{name} has most, {_among(ended, UNUSABLE):,} of its {_among(ended, USABLE | UNUSABLE):,}"


def _among(ended: Mapping[str, int], kinds: frozenset[UnitOutcome]) -> int:
    return sum(units for kind, units in ended.items() if kind in kinds)


def _is_marked(table: Table) -> bool:
    return any(row.marked or any(cell.tone == "warning" for cell in row.cells) for row in table.rows)
