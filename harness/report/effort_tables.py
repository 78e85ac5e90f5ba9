"""What answers took: sends and faults, tokens, US dollars and seconds, a row a model; cost against score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.phrases import count, listed, spoken
from harness.report.cells import amount_cell, count_cell, empty_cell, metric_cell, text_cell
from harness.report.document import Cell, Column, Figure, Paragraph, Part, Point, Scatter, Table, TableRow
from harness.report.part_ids import PartIds
from harness.report.score_view import ConditionView, Json, row_name, value_of

PER_UNITS: Final = 1_000
"""Costs are compared for so many units."""
LOG_FROM: Final = 30
"""Costs that differ by this factor or more are drawn on a logarithmic scale."""

_LATENCIES: Final = (("mean", "mean"), ("p50", "median"), ("p90", "90 %"), ("p99", "99 %"), ("max", "max"))
_TOKENS: Final = (
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("reasoning_tokens", "of which reasoning"),
    ("cached_tokens", "cached input"),
)


def effort_parts(rows: Sequence[Json], ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield what was sent, tokens, costs and latencies of the rows of `effort["models"]`."""
    asked = [row for row in rows if row["units"]]
    if not asked:
        return
    yield _sends(asked, ids.make(prefix, "sends"))
    yield _tokens(asked, ids.make(prefix, "tokens"))
    yield _costs(asked, ids.make(prefix, "costs"))
    yield _latencies(asked, ids.make(prefix, "latency"))


def _sends(rows: Sequence[Json], table_id: str) -> Table:
    faults = sorted({kind for row in rows for kind in row["faults"]})
    return Table(
        table_id,
        "What was sent",
        [
            Column("units", "units", "all units of the model in this run"),
            Column("asks", "asks", "requests, each with all its sends"),
            Column("sends", "sends", "arrivals at a server, failed ones included"),
            Column("cached_units", "reused units", "answered without any send of this run's sessions"),
            *(Column(f"faults.{one}", one.replace("_", " "), f"sends that ended as {one}") for one in faults),
            Column("reformatter.asks", "reformatter", "asks of the reformatter"),
        ],
        [
            TableRow(
                row_name(row),
                [
                    *(count_cell(row[key]) for key in ("units", "asks", "sends", "cached_units")),
                    *(count_cell(row["faults"].get(kind, 0)) for kind in faults),
                    count_cell(row["reformatter"]["asks"] if row["reformatter"] else 0),
                ],
            )
            for row in rows
        ],
        caption="All conditions of the run together",
    )


def _tokens(rows: Sequence[Json], table_id: str) -> Table:
    return Table(
        table_id,
        "Tokens",
        [
            *(Column(key, head, f"{key}, as the provider counts them") for key, head in _TOKENS),
            Column("tokens_unknown", "not told", "answers whose input or output tokens nobody told"),
        ],
        [
            TableRow(
                row_name(row),
                [
                    *(count_cell(row[key], unknown="the provider does not tell") for key, _ in _TOKENS),
                    count_cell(row["tokens_unknown"], tone="warning" if row["tokens_unknown"] else "plain"),
                ],
            )
            for row in rows
        ],
        caption="Sums over all sends, the reformatter's included; what was not told is in none of them",
    )


def _costs(rows: Sequence[Json], table_id: str) -> Table:
    unknown = [row_name(row) for row in rows if row["cost_unknown"] and not row["imported"]]
    return Table(
        table_id,
        "Cost in US dollars",
        [
            Column("evidence_cost_usd", "evidence", "price of all sends behind the answers, whenever paid"),
            Column("spent_usd", "spent", "price of those that this run's sessions sent"),
            Column("per_1000_units_usd", f"per {PER_UNITS:,} units", "evidence, per units that were asked"),
            Column("known_evidence_usd", "known part", "sum of the sends that have a price"),
            Column("cost_unknown", "sends without price"),
        ],
        [TableRow(row_name(row), _cost_cells(row)) for row in rows],
        caption="By the prices of the sessions (see the methods); the reformatter's sends are included",
        notes=[f"no price is known for some sends of: {listed(unknown)}; an unknown price is never 0"]
        if unknown
        else [],
    )


def _cost_cells(row: Json) -> list[Cell]:
    why = (
        "answers from files: what they cost is not known"
        if row["imported"]
        else (f"{row['cost_unknown']:,} sends have no price")
    )
    if row["imported"]:
        return [empty_cell(why)] * 5
    per_units = cost_per_units(row)
    return [
        _usd(row["evidence_cost_usd"], row["units"], why),
        _usd(row["spent_usd"], row["units"], "some sends have no price"),
        _usd(per_units, units_asked(row), why if row["cost_unknown"] else "no unit was asked"),
        _usd(row["known_evidence_usd"], row["units"], why),
        count_cell(row["cost_unknown"]),
    ]


def _usd(value: float | None, n: int, why: str) -> Cell:
    return amount_cell(value, n, why_not=why)


def units_asked(row: Json) -> int:
    """Return how many of a row's units were asked at all."""
    return int(sum(units for asked, units in row["attempts"].items() if asked != "0"))


def cost_per_units(row: Json) -> float | None:
    """Return what a row's answers cost per `PER_UNITS` units that were asked; None where it is not known."""
    if row["imported"] or row["evidence_cost_usd"] is None or not units_asked(row):
        return None
    return float(row["evidence_cost_usd"] / units_asked(row) * PER_UNITS)


def _latencies(rows: Sequence[Json], table_id: str) -> Table:
    return Table(
        table_id,
        "Seconds an answer took",
        [Column("n", "n", "answered sends"), *(Column(f"latency_s.{key}", head) for key, head in _LATENCIES)],
        [
            TableRow(
                row_name(row),
                [
                    count_cell(row["latency_s"]["n"]),
                    *(
                        amount_cell(row["latency_s"][key], row["latency_s"]["n"], why_not="not measured")
                        for key, _ in _LATENCIES
                    ),
                ],
            )
            for row in rows
        ],
        caption="From the send to the end of the answer, of the model's own answered sends, as they were "
        "measured here: load, limits and distance enter them",
    )


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
    table = Table(
        ids.make(prefix, view.condition, "cost-score"),
        f"{view.condition}: cost and {spoken(column)}",
        [
            Column("per_1000_units_usd", f"US dollars per {PER_UNITS:,} units"),
            Column(column.path, spoken(column), column.path),
            Column("front", "Pareto front", "no other model is at least as good and as cheap", numeric=False),
        ],
        [
            TableRow(
                name,
                [
                    amount_cell(cost, units_asked(spent)),
                    metric_cell(row["as_answered"][column.path], column),
                    text_cell("yes" if name in front else "no"),
                ],
            )
            for name, (cost, _, row, spent) in known.items()
        ],
        caption="Complete models whose sends all have a price. The front is of the values alone: it knows no "
        "intervals",
        notes=[f"the cost is not known of: {listed(unknown)}"] if unknown else [],
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
