"""What answers took, how they ended, and cost against score."""

from __future__ import annotations

from typing import Any

import pytest
from report.score_examples import MAIN, effort_row, incomplete, row, view

from harness.report.cost_score import cost_against_score, pareto_front
from harness.report.document import Cell, Figure, Paragraph, Part, Scatter, Stacked, Table
from harness.report.effort_tables import cost_per_units, effort_parts
from harness.report.part_ids import PartIds
from harness.report.stages import outcomes, stages


def by_column(table: Table, name: str) -> dict[str, Cell]:
    found = next(one for one in table.rows if one.name == name)
    return {column.id: cell for column, cell in zip(table.columns, found.cells, strict=True)}


def efforts(*rows: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["model"], one["condition"]): one for one in rows}


@pytest.mark.parametrize(
    ("points", "front"),
    [
        ({"cheap": (1, 0.2), "good": (9, 0.9), "dear": (9.5, 0.9), "poor": (5, 0.1)}, ["cheap", "good"]),
        ({"one": (1, 0.5), "twin": (1, 0.5)}, ["one", "twin"]),
        ({"one": (1, 0.5), "same price": (1, 0.6)}, ["same price"]),
        ({}, []),
    ],
)
def test_the_front_are_those_that_nobody_beats(points: Any, front: list[str]) -> None:
    assert pareto_front(points) == front


def test_where_less_is_better_the_front_is_of_the_least() -> None:
    assert pareto_front({"a": (1, 3.0), "b": (2, 1.0), "c": (3, 2.0)}, lower_is_better=True) == ["a", "b"]


def test_a_cost_is_per_units_that_were_asked_and_unknown_where_a_price_is() -> None:
    assert cost_per_units(effort_row("a")) == 25.0
    assert cost_per_units(effort_row("a", attempts={"0": 10, "1": 10})) == 50.0
    assert cost_per_units(effort_row("a", evidence_cost_usd=None, cost_unknown=1)) is None
    assert cost_per_units(effort_row("a", imported=True)) is None
    assert cost_per_units(effort_row("a", attempts={"0": 20})) is None


def test_an_unknown_price_is_never_zero() -> None:
    rows = [
        effort_row("known", None),
        effort_row("unknown", None, evidence_cost_usd=None, spent_usd=None, cost_unknown=28),
    ]
    table = next(part for part in effort_parts(rows, PartIds(), "night") if part.id == "night-costs")  # type: ignore[union-attr]
    assert isinstance(table, Table)
    assert by_column(table, "known")["per_1000_units_usd"].value == 25.0
    cells = by_column(table, "unknown")
    for key in ("evidence_cost_usd", "spent_usd", "per_1000_units_usd"):
        assert cells[key].value is None
    assert cells["evidence_cost_usd"].note == "28 sends have no price"
    assert list(table.notes) == ["no price is known for some sends of: unknown; an unknown price is never 0"]


def test_where_all_is_free_a_sentence_says_so_and_one_unknown_price_has_the_table() -> None:
    free = {"evidence_cost_usd": 0.0, "spent_usd": 0.0, "known_evidence_usd": 0.0}
    rows = [effort_row(name, None, **free) for name in ("a", "b")]
    found = [*effort_parts(rows, PartIds(), "night")]
    assert [part.text for part in found if isinstance(part, Paragraph)] == [
        "Cost: 0 US dollars for all 56 sends of 2 models, by the prices of the sessions (see the methods)."
    ]
    assert "night-costs" not in [part.id for part in found if isinstance(part, Table)]
    rows.append(effort_row("c", None, **free | {"evidence_cost_usd": None, "cost_unknown": 1}))
    assert "night-costs" in [
        part.id for part in effort_parts(rows, PartIds(), "night") if isinstance(part, Table)
    ]


def test_seconds_of_a_column_have_the_same_decimals() -> None:
    latency = effort_row("a")["latency_s"]
    rows = [effort_row("a", None), effort_row("b", None, latency_s={**latency, "mean": 0.0921})]
    table = next(
        part
        for part in effort_parts(rows, PartIds(), "night")
        if isinstance(part, Table) and part.id == "night-latency"
    )
    assert [by_column(table, name)["latency_s.mean"].text for name in ("a", "b")] == ["1.500", "0.092"]


def test_tokens_that_nobody_told_are_no_zero() -> None:
    table = next(
        part
        for part in effort_parts([effort_row("a", None, tokens_unknown=3)], PartIds(), "night")
        if isinstance(part, Table) and part.id == "night-tokens"
    )
    cells = by_column(table, "a")
    assert (cells["input_tokens"].text, cells["reasoning_tokens"].text) == ("1,000", "")
    assert (cells["tokens_unknown"].value, cells["tokens_unknown"].tone) == (3, "warning")


def test_a_mean_of_seconds_has_its_n_and_none_is_shown_of_nothing() -> None:
    never = {"n": 0, "mean": None, "p50": None, "p90": None, "p99": None, "max": None}
    rows = [effort_row("a", None), effort_row("b", None, latency_s=never)]
    table = next(
        part
        for part in effort_parts(rows, PartIds(), "night")
        if isinstance(part, Table) and part.id == "night-latency"
    )
    assert by_column(table, "a")["latency_s.mean"].n == 25
    assert by_column(table, "b")["latency_s.mean"].text == ""


def cost_parts(rows: list[dict[str, Any]], *spent: dict[str, Any]) -> list[Part]:
    return [*cost_against_score(view(rows), efforts(*spent), PartIds(), "night")]


def test_cost_stands_against_score_of_complete_models_whose_cost_is_known() -> None:
    rows = [
        row("a", {MAIN: 0.5}, rank=2),
        row("b", {MAIN: 0.75}, rank=1),
        row("c", {MAIN: 0.25}, rank=3),
        incomplete("d", {MAIN: 0.9}),
    ]
    spent = [
        effort_row("a", evidence_cost_usd=0.001),
        effort_row("b", evidence_cost_usd=2.0),
        effort_row("c", evidence_cost_usd=None, cost_unknown=1),
        effort_row("d"),
    ]
    table, figure = cost_parts(rows, *spent)
    assert isinstance(table, Table)
    assert [one.name for one in table.rows] == ["b", "a"]
    assert list(table.notes) == ["the cost is not known of: c"]
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Scatter)
    assert {point.name: (point.x, point.y) for point in figure.drawing.points} == {
        "a": (0.05, 0.5),
        "b": (100.0, 0.75),
    }
    assert figure.drawing.front == ["a", "b"]
    assert figure.drawing.log_x
    assert figure.caption == "Not drawn, as their cost is not known: c"


def test_what_costs_nothing_is_not_drawn_and_a_zero_has_no_logarithm() -> None:
    free = effort_row("a", evidence_cost_usd=0.0)
    assert cost_parts([row("a", {MAIN: 0.5}, rank=1)], free) == []
    two = [row("a", {MAIN: 0.5}, rank=2), row("b", {MAIN: 0.75}, rank=1)]
    _, figure = cost_parts(two, free, effort_row("b", evidence_cost_usd=9.0))
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Scatter)
    assert not figure.drawing.log_x


def test_unknown_costs_alone_are_told() -> None:
    (told,) = cost_parts([row("a", {MAIN: 0.5}, rank=1)], effort_row("a", evidence_cost_usd=None))
    assert told == Paragraph("Cost is not held against score, as it is not known of: a.", "note")


def test_units_are_counted_by_how_they_ended_and_failures_drawn_as_shares() -> None:
    ended = {"valid": 10, "refused": 5, "provider_error": 5}
    table, figure = outcomes(view([row("a", {MAIN: 0.5}, outcomes=ended)]), PartIds(), "night")
    assert isinstance(table, Table)
    cells = by_column(table, "a")
    assert {key: cells[key].value for key in ("units", *ended)} == {"units": 20, **ended}
    assert cells["unusable.share"].value == 5 / 15
    assert cells["unusable.share"].tone == "warning"
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Stacked)
    assert figure.drawing.parts == {"refused": [0.25], "provider error": [0.25]}
    assert sum(map(sum, figure.drawing.parts.values())) <= 1


def test_units_that_do_not_apply_are_no_failures_and_not_what_shares_are_of() -> None:
    ended = {"valid": 5, "refused": 5, "not_applicable": 9, "case_error": 1}
    rows = [
        row("a", {MAIN: 0.5}, outcomes=ended),
        row("b", {MAIN: None}, outcomes={"not_applicable": 20}),
    ]
    table, figure = outcomes(view(rows), PartIds(), "night")
    assert isinstance(table, Table)
    assert by_column(table, "a")["not_applicable"].value == 9
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Stacked)
    assert (figure.drawing.rows, figure.drawing.parts) == (["a"], {"refused": [0.5]})
    assert figure.drawing.x_title == "share of the units that apply"
    assert figure.caption == "Left out, as no failure of the model: not applicable, case error"
    assert len([*outcomes(view(rows[1:]), PartIds(), "night")]) == 1


def test_without_failures_there_is_no_figure_of_them() -> None:
    assert len([*outcomes(view([row("a", {MAIN: 0.5})]), PartIds(), "night")]) == 1
    assert [*outcomes(view([row("r", {MAIN: 0.5}, kind="rater")]), PartIds(), "night")] == []


def test_stages_add_up_to_the_units() -> None:
    spent = efforts(effort_row("a"))
    table, figure = stages(view([row("a", {MAIN: 0.5}), row("b", {MAIN: 0.5})]), spent, PartIds(), "night")
    assert isinstance(table, Table)
    cells = {key: cell.value for key, cell in by_column(table, "a").items()}
    assert cells == {
        "units": 20, "attempt-1": 15, "attempt-2": 3, "attempt-3": 0, "reformatter": 1, "none": 1,
        "later.share": 4 / 19,
    }  # fmt: skip
    assert [one.name for one in table.rows] == ["a"]
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Stacked)
    assert figure.drawing.parts["attempt-1"] == [0.75]
