"""What benchmarks name for their reports is there: every path, for every condition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest

from harness.benchmarks.base import Benchmark
from harness.benchmarks.details import Against, Breakdown, Change, Detail, Flow, Matrix
from harness.benchmarks.registry import BENCHMARKS, STEPS, chosen_conventions, get_benchmark
from harness.benchmarks.scored import UnitTable

NAMES = [*BENCHMARKS, *(f"{name}.{kind}" for kind, names in STEPS.items() for name in names)]


def conditions_of(benchmark: Benchmark) -> list[str]:
    return [*benchmark.conditions, *benchmark.unions(benchmark.conditions)] or [""]


def paths_of(detail: Detail) -> Iterator[str]:
    if isinstance(detail, Breakdown):
        yield from detail.paths.values()
    elif isinstance(detail, Matrix):
        yield from chain.from_iterable(row.values() for row in detail.paths.values())
    elif isinstance(detail, Against):
        yield from (detail.x.path, detail.y.path)
    elif isinstance(detail, Change):
        yield from (detail.before.path, detail.after.path)


def no_units(benchmark: Benchmark, condition: str) -> UnitTable:
    width = len(benchmark.table(condition).numbers)
    members = benchmark.unions(benchmark.conditions).get(condition, (condition,))
    whole = np.zeros(0, dtype=np.int64)
    numbers, small = np.zeros((0, width)), whole.astype(np.int32)
    return UnitTable(numbers, whole, whole, small, small, members)


@pytest.mark.parametrize("name", NAMES)
def test_every_path_is_one_of_the_metrics(name: str) -> None:
    benchmark = get_benchmark(name)
    conventions = chosen_conventions(benchmark, {})
    shown = 0
    with benchmark.prepared(conventions) as prepared:
        for condition in conditions_of(benchmark):
            details = prepared.details(condition)
            if not details:
                continue
            known = prepared.metrics(no_units(prepared, condition), condition, conventions)
            paths = set(chain.from_iterable(map(paths_of, details)))
            assert paths <= set(known)
            shown += len(details)
    assert shown or name not in BENCHMARKS


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_ids_are_unique_and_flows_go_through_known_conditions(name: str) -> None:
    benchmark = get_benchmark(name)
    for condition in conditions_of(benchmark):
        details = benchmark.details(condition)
        assert len({detail.id for detail in details}) == len(details)
        for flow in details:
            if isinstance(flow, Flow):
                assert set(flow.conditions) <= set(benchmark.conditions)
                assert list(flow.levels.values()) == sorted(flow.levels.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_column_with_a_best_value_says_which_values_are_better(name: str) -> None:
    benchmark = get_benchmark(name)
    for condition in conditions_of(benchmark):
        for column in benchmark.table(condition).columns:
            assert column.better is not None or column.best is None, column.path
