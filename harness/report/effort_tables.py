"""What answers took: sends and faults, tokens, US dollars and seconds, a row a model; cost against score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from harness.phrases import count, listed
from harness.report.cells import amount_cell, count_cell, empty_cell
from harness.report.document import Cell, Column, Paragraph, Part, Table, TableRow
from harness.report.part_ids import PartIds
from harness.report.rounding import amount_decimals
from harness.report.score_view import Json, row_name

PER_UNITS: Final = 1_000
"""Costs are compared for so many units."""

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
    yield _costs(asked, ids.make(prefix, "costs")) if _costs_something(asked) else _free(asked)
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


def _costs_something(rows: Sequence[Json]) -> bool:
    """Tell whether there is a cost to tell apart: some amount above 0, or one that is not known."""
    return any(
        row["imported"] or row["cost_unknown"] or row["evidence_cost_usd"] or row["spent_usd"] for row in rows
    )


def _free(rows: Sequence[Json]) -> Paragraph:
    sends = sum(row["sends"] for row in rows)
    return Paragraph(
        f"Cost: 0 US dollars for all {count(sends, 'send')} of {count(len(rows), 'model')}, by the prices of "
        "the sessions (see the methods)."
    )


def _costs(rows: Sequence[Json], table_id: str) -> Table:
    unknown = [row_name(row) for row in rows if row["cost_unknown"] and not row["imported"]]
    paid = [row for row in rows if not row["imported"]]
    decimals = [amount_decimals([of(row) for row in paid]) for of in _AMOUNTS]
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
        [TableRow(row_name(row), _cost_cells(row, decimals)) for row in rows],
        caption="By the prices of the sessions (see the methods); the reformatter's sends are included",
        notes=[f"no price is known for some sends of: {listed(unknown)}; an unknown price is never 0"]
        if unknown
        else [],
    )


def _cost_cells(row: Json, decimals: Sequence[int]) -> list[Cell]:
    why = (
        "answers from files: what they cost is not known"
        if row["imported"]
        else (f"{row['cost_unknown']:,} sends have no price")
    )
    if row["imported"]:
        return [empty_cell(why)] * 5
    told = (
        (row["units"], why),
        (row["units"], "some sends have no price"),
        (units_asked(row), why if row["cost_unknown"] else "no unit was asked"),
        (row["units"], why),
    )
    cells = [
        amount_cell(of(row), n, places, why_not=why_not)
        for of, places, (n, why_not) in zip(_AMOUNTS, decimals, told, strict=True)
    ]
    return [*cells, count_cell(row["cost_unknown"])]


def units_asked(row: Json) -> int:
    """Return how many of a row's units were asked at all."""
    return int(sum(units for asked, units in row["attempts"].items() if asked != "0"))


def cost_per_units(row: Json) -> float | None:
    """Return what a row's answers cost per `PER_UNITS` units that were asked; None where it is not known."""
    if row["imported"] or row["evidence_cost_usd"] is None or not units_asked(row):
        return None
    return float(row["evidence_cost_usd"] / units_asked(row) * PER_UNITS)


_AMOUNTS: Final[Sequence[Callable[[Json], float | None]]] = (
    itemgetter("evidence_cost_usd"), itemgetter("spent_usd"), cost_per_units,
    itemgetter("known_evidence_usd"),
)  # fmt: skip
"""The amounts of a row of costs, in the order of their columns."""


def _latencies(rows: Sequence[Json], table_id: str) -> Table:
    decimals = [amount_decimals([row["latency_s"][key] for row in rows]) for key, _ in _LATENCIES]
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
                        amount_cell(
                            row["latency_s"][key], row["latency_s"]["n"], places, why_not="not measured"
                        )
                        for (key, _), places in zip(_LATENCIES, decimals, strict=True)
                    ),
                ],
            )
            for row in rows
        ],
        caption="From the send to the end of the answer, of the model's own answered sends, as they were "
        "measured here: load, limits and distance enter them",
    )
