"""How the cases of each model move between levels of a score from condition to condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.base import Benchmark
from harness.benchmarks.details import Flow
from harness.benchmarks.scored import UnitTable
from harness.phrases import count, listed
from harness.report.cells import count_cell
from harness.report.document import Alluvial, Column, Figure, Part, Table, TableRow
from harness.report.part_ids import PartIds

PANELS_SHOWN: Final = 12
"""Of so many models the flows are drawn, the first of the leaderboard; the table has all."""

Counts = NDArray[np.int64]
"""Shape (levels, levels): from each level of a condition to each level of the next."""


def flow_counts(
    units: Sequence[UnitTable], flow: Flow, benchmark: Benchmark, conventions: Mapping[str, str]
) -> tuple[Sequence[Counts], int]:
    """Return the counts between neighbouring conditions, and how many units they are of.

    `units`: those of one model in each condition of the flow. Counted are the units (case and repeat) that
    have a value in every condition, so that all stages are of the same ones.
    """
    levels = [
        _levels(one, condition, flow, benchmark, conventions)
        for one, condition in zip(units, flow.conditions, strict=True)
    ]
    common = levels[0][0]
    for keys, _ in levels[1:]:
        common = np.intersect1d(common, keys, assume_unique=True)
    placed = [level[np.searchsorted(keys, common)] for keys, level in levels]
    size = len(flow.levels)
    counts = [
        np.bincount(before * size + after, minlength=size * size).reshape(size, size)
        for before, after in pairwise(placed)
    ]
    return counts, len(common)


def _levels(
    units: UnitTable, condition: str, flow: Flow, benchmark: Benchmark, conventions: Mapping[str, str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the units that have a value by case and repeat, in order, and the place of each one's level."""
    keys = units.cases * (1 << 20) + units.repeats
    kinds, kind = np.unique(units.numbers, axis=0, return_inverse=True)
    found = (benchmark.score_unit(row, condition, conventions).get(flow.path) for row in kinds.tolist())
    values = np.array([np.nan if one is None else one for one in found], dtype=np.float64)
    of_units = values[kind.reshape(-1)] if len(kinds) else np.empty(0)
    known = np.isfinite(of_units)
    least = np.array(list(flow.levels.values())[1:])
    # A hair below a level belongs to it: sums of tenths end a little to either side.
    level = np.searchsorted(least - 1e-9, of_units[known], side="right")
    order = np.argsort(keys[known], kind="stable")
    return keys[known][order], level[order]


def flow_parts(
    flow: Flow,
    found: Mapping[str, tuple[Sequence[Counts], int]],
    ids: PartIds,
    prefix: str,
    left_out: Sequence[str] = (),
) -> Iterator[Part]:
    """Yield the table of counts and the figure; `found`: name -> what `flow_counts` gives, in order."""
    found = {name: one for name, one in found.items() if one[1]}
    if not found:
        return
    labels = list(flow.levels)
    steps = list(pairwise(flow.conditions))
    rows = [
        TableRow(
            ": ".join([name, *([f"{before} to {after}"] if len(steps) > 1 else []), start]),
            [count_cell(int(flows.sum())), *map(count_cell, map(int, flows))],
        )
        for name, (counts, _) in found.items()
        for place, (before, after) in enumerate(steps)
        for start, flows in zip(labels, counts[place], strict=True)
    ]
    table = Table(
        ids.make(prefix, flow.id),
        flow.title,
        [
            Column("from", "answers", "answers at this level before"),
            *(Column(f"to.{end}", end) for end in labels),
        ],
        rows,
        names="model: from level",
        caption=f"Rows: level of {flow.path} before, as answered; columns: level after; counted are answers "
        "with a value in each of these conditions",
        notes=[f"not counted, as units of it are missing: {listed(left_out)}"] if left_out else [],
    )
    yield table
    drawn = dict(list(found.items())[:PANELS_SHOWN])
    yield Figure(
        ids.make(table.id, "figure"),
        flow.title,
        f"Flows of answers between {count(len(labels), 'level')} from {' to '.join(flow.conditions)}, of "
        f"{count(len(drawn), 'model')}.",
        Alluvial(
            flow.conditions,
            labels,
            {name: [one.tolist() for one in counts] for name, (counts, _) in drawn.items()},
            "answers",
        ),
        table.id,
        f"The first {len(drawn)} of {len(found)} models" if len(drawn) < len(found) else "",
    )
