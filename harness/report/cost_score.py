"""Cost against score: which models no other beats in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.phrases import count, listed, spoken, titled
from harness.report.cells import amount_cell, metric_cell, text_cell
from harness.report.document import Column, Figure, Paragraph, Part, Point, Scatter, Table, TableRow
from harness.report.effort_tables import PER_UNITS, cost_per_units, units_asked
from harness.report.even_columns import board_decimals
from harness.report.part_ids import PartIds
from harness.report.rounding import amount_decimals
from harness.report.score_view import ConditionView, Json, row_name, value_of
from harness.report.truth import hidden_intervals

LOG_FROM: Final = 30
"""Costs that differ by this factor or more are drawn on a logarithmic scale."""


def cost_against_score(
    view: ConditionView, effort: Mapping[tuple[str, str], Json], ids: PartIds, prefix: str
) -> Iterator[Part]:
    """Yield cost per units against the first metric of complete models, with the Pareto front.

    `effort`: (model, condition) -> its row. Models whose cost is not known are named.
    """
    if not view.columns or view.columns[0].better is None:
        return
    column = view.columns[0]
    known, unknown = {}, []
    for row in view.models:
        value = value_of(row, column.path)
        spent = effort.get((row["model"], view.condition))
        if value is None or row["incomplete"] or spent is None:
            continue
        cost = cost_per_units(spent)
        if cost is None:
            unknown.append(row_name(row))
        else:
            known[row_name(row)] = (cost, value, row, spent)
    if not known or not any(cost for cost, *_ in known.values()):
        if unknown:
            yield Paragraph(
                f"Cost is not held against score, as it is not known of: {listed(unknown)}.", "note"
            )
        return
    points = {name: one[:2] for name, one in known.items()}
    front = pareto_front(points, lower_is_better=column.better == "lower")
    yield from _cost_parts(view, known, front, unknown, ids, prefix)


def _cost_parts(
    view: ConditionView,
    known: Mapping[str, tuple[float, float, Json, Json]],
    front: Sequence[str],
    unknown: Sequence[str],
    ids: PartIds,
    prefix: str,
) -> Iterator[Part]:
    column = view.columns[0]
    places = board_decimals(view, column.path, column)
    decimals = amount_decimals([cost for cost, *_ in known.values()])
    table = Table(
        ids.make(prefix, view.condition, "cost-score"),
        titled(f"Cost and {spoken(column)}", view.condition),
        [
            Column("per_1000_units_usd", f"US dollars per {PER_UNITS:,} units"),
            Column(column.path, spoken(column)),
            Column("front", "Pareto front", "no other model is at least as good and as cheap", numeric=False),
        ],
        [
            TableRow(
                name,
                [
                    amount_cell(cost, units_asked(spent), decimals),
                    metric_cell(row["as_answered"][column.path], column, places),
                    text_cell("yes" if name in front else "no"),
                ],
            )
            for name, (cost, _, row, spent) in known.items()
        ],
        caption="Complete models whose sends all have a price. The front is of the values alone: it knows no "
        "intervals",
        notes=[
            *hidden_intervals(row["as_answered"][column.path] for _, _, row, _ in known.values()),
            *([f"the cost is not known of: {listed(unknown)}"] if unknown else []),
        ],
    )
    yield table
    costs = [cost for cost, *_ in known.values()]
    yield Figure(
        ids.make(table.id, "figure"),
        table.title,
        f"{spoken(column)} (upwards) against cost of {count(len(known), 'model')}; on the Pareto front: "
        f"{listed(front)}.",
        Scatter(
            [Point(name, cost, value) for name, (cost, value, *_) in known.items()],
            f"US dollars per {PER_UNITS:,} units",
            spoken(column),
            front,
            log_x=min(costs) > 0 and max(costs) / min(costs) >= LOG_FROM,
        ),
        table.id,
        f"Not drawn, as their cost is not known: {listed(unknown)}" if unknown else "",
    )


def pareto_front(
    points: Mapping[str, tuple[float, float]], *, lower_is_better: bool = False
) -> Sequence[str]:
    """Return the names of the points (cost, score) that none other beats, cheapest first.

    One beats another if it costs no more and scores no worse, and is better in one of both: equals stay.
    """
    sign = -1.0 if lower_is_better else 1.0
    scored = {name: (cost, sign * score) for name, (cost, score) in points.items()}
    return sorted(
        (
            name
            for name, (cost, score) in scored.items()
            if not any(
                other_cost <= cost and other >= score and (other_cost < cost or other > score)
                for other_cost, other in scored.values()
            )
        ),
        key=lambda name: (scored[name][0], -scored[name][1], name),
    )
