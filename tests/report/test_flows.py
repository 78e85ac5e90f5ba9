"""Flows between levels: counts of the same units in every condition."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from report.report_examples import HOSTILE

from harness.benchmarks.details import Flow
from harness.benchmarks.scored import UnitTable
from harness.report.document import Alluvial, Figure, Report, Section, Table
from harness.report.flows import PANELS_SHOWN, flow_counts, flow_parts
from harness.report.markdown import markdown
from harness.report.part_ids import PartIds

FLOW = Flow("flow", "From a to b", ("a", "b"), "value", {"low": 0.0, "middle": 0.4, "high": 0.8})


class Values:
    """Scores a unit by its first number, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        self.calls += 1
        return {"value": None if np.isnan(numbers[0]) else numbers[0]}


def units(values: Sequence[float], cases: Sequence[int] | None = None, repeat: int = 1) -> UnitTable:
    places = np.arange(len(values), dtype=np.int64) if cases is None else np.array(cases, dtype=np.int64)
    repeats = np.full(len(values), repeat, dtype=np.int32)
    return UnitTable(np.array(values)[:, np.newaxis], places, places, repeats, np.zeros_like(repeats))


def counts(*stages: UnitTable, flow: Flow = FLOW) -> tuple[list[Any], int]:
    found, n = flow_counts(stages, flow, Values(), {})  # type: ignore[arg-type]
    return [one.tolist() for one in found], n


def test_units_are_counted_from_level_to_level() -> None:
    before, after = units([0.0, 0.4, 0.8, 1.0]), units([0.39, 0.9, 0.8, 0.1])
    assert counts(before, after) == ([[[1, 0, 0], [0, 0, 1], [1, 0, 1]]], 4)


def test_what_lies_a_hair_below_a_level_by_the_sum_of_floats_belongs_to_it() -> None:
    assert 0.1 * 3 - 1e-12 < 0.3 + 0.1  # such sums occur
    assert counts(units([0.4 - 1e-12]), units([0.4 - 1e-6]))[0] == [[[0, 0, 0], [1, 0, 0], [0, 0, 0]]]


def test_only_units_with_a_value_in_every_condition_count() -> None:  # F19
    before = units([0.0, 0.5, 0.9], cases=[7, 3, 5])
    after = units([0.9, np.nan, 0.9], cases=[5, 7, 9])
    assert counts(before, after) == ([[[0, 0, 0], [0, 0, 0], [0, 0, 1]]], 1)


def test_repeats_are_units_of_their_own() -> None:
    both = [units([0.0], repeat=1), units([0.9], repeat=2)]
    assert counts(*both) == ([[[0, 0, 0]] * 3], 0)


def test_three_stages_have_two_steps_of_the_same_units() -> None:
    flow = Flow("f", "t", ("a", "b", "c"), "value", {"low": 0.0, "high": 0.5})
    found, n = counts(units([0, 0, 1, 1]), units([0, 1, 1, 1]), units([1, 1, 0, 1]), flow=flow)
    assert (found, n) == ([[[1, 1], [0, 2]], [[0, 1], [1, 2]]], 4)


def test_the_work_goes_by_kinds_of_units_and_not_by_units() -> None:
    rng = np.random.default_rng(1)
    many = units(rng.integers(0, 11, 200_000) / 10)
    benchmark = Values()
    started = time.process_time()
    found, n = flow_counts([many, many], FLOW, benchmark, {})  # type: ignore[arg-type]
    assert (n, benchmark.calls) == (200_000, 22)
    assert found[0].sum() == 200_000
    assert time.process_time() - started < 5


def test_the_table_has_every_model_and_step_and_the_figure_the_first_models() -> None:
    found = {f"m{n:02}": ([np.array([[1, 2, 0], [0, 3, 0], [0, 0, 4]])], 10) for n in range(PANELS_SHOWN + 1)}
    table, figure = flow_parts(FLOW, found, PartIds(), "night", ["lost"])
    assert isinstance(table, Table)
    assert [(row.name, [cell.value for cell in row.cells]) for row in table.rows[:3]] == [
        ("m00: low", [3, 1, 2, 0]), ("m00: middle", [3, 0, 3, 0]), ("m00: high", [4, 0, 0, 4])
    ]  # fmt: skip
    assert len(table.rows) == 3 * len(found)
    lines = markdown(Report("t", [Section("s", "t", [table])])).splitlines()
    assert max(len(line) for line in lines if line.startswith("|")) <= 80
    assert table.notes == ["not counted, as units of it are missing: lost"]
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Alluvial)
    assert len(figure.drawing.panels) == PANELS_SHOWN
    assert figure.drawing.panels["m00"] == [[[1, 2, 0], [0, 3, 0], [0, 0, 4]]]


def test_steps_of_several_stages_are_named_in_the_rows() -> None:
    flow = Flow("f", "t", ("a", "b", "c"), "value", {"low": 0.0, "high": 0.5})
    table = next(iter(flow_parts(flow, {"m": ([np.eye(2, dtype=np.int64)] * 2, 2)}, PartIds(), "night")))
    assert isinstance(table, Table)
    assert [row.name for row in table.rows] == [
        "m: a to b: low",
        "m: a to b: high",
        "m: b to c: low",
        "m: b to c: high",
    ]


@pytest.mark.parametrize("found", [{}, {HOSTILE["script"]: ([np.zeros((3, 3), dtype=np.int64)], 0)}])
def test_nothing_that_flows_shows_nothing(found: dict[str, Any]) -> None:
    assert [*flow_parts(FLOW, found, PartIds(), "night")] == []
