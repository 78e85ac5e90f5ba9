"""The input ablation: how answers in one condition differ from those in another, on the cases of both.

The paper's appendix I compares A (the image), B (the image and the expert's caption) and C (that caption
alone) on the same 500 cases: B less A is what the expert's words bring, C less B what is lost without the
image. Each difference has the same paths as a condition (see `lay_scores`), e.g. `B-A.sari`.

Only cases that were scored in every condition that the run asks count, and n says how many; `unpaired`
counts the others. Reading grades and outside scores are those of the cases where every condition has one. The
paths of the conditions themselves, e.g. `A.sari`, are of the same cases, so that a difference is that of two
numbers that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.medlay.lay_numbers import OUTSIDE, READABLE, Layout, known
from harness.benchmarks.medlay.lay_scores import values_of_sums
from harness.benchmarks.scored import MetricColumn, MetricValue, UnitTable
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.pairing import paired_rows
from harness.scoring.resampling import Resampling, Values

UNION: Final = "ablation"
DIFFERENCES: Final = (("B", "A"), ("C", "B"), ("C", "A"))
"""Pairs of conditions, of which the second is taken from the first."""

COLUMNS: Final = tuple(
    MetricColumn(
        f"{first}-{second}.{path}",
        (f"{first}-{second}", head),
        decimals,
        optional=path in OUTSIDE,
        better=None if path in READABLE else "higher",
        best=None,
    )
    for path, head, decimals in (
        ("medlayeval.overall", "S", 1),
        ("rubric.overall", "rubric", 1),
        ("rouge_l", "R-L", 2),
        ("sari", "SARI", 2),
        ("fk.answer", "FK", 1),
        ("bleu4", "BLEU4", 2),
    )
    for first, second in DIFFERENCES
)
LEGEND: Final = (
    "ablation: differences between conditions on the cases that are scored in all of them: B-A, what the "
    "expert's caption brings to the image; C-B, what is lost without the image (below 0: lost); C-A, the "
    "caption alone against the image alone; n: such cases"
)

_OWN_N: Final = ("fk.answer", "fk.reduction", *OUTSIDE)
_PATHS: Final = ("bleu4", "rouge_l", "sari", "three_parts.share", "length_ratio", *_OWN_N)


def unions(conditions: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the union where a run asks two conditions or more, else nothing."""
    asked = tuple(name for name in ("A", "B", "C") if name in conditions)
    return {UNION: asked} if len(asked) > 1 else {}


def difference_metrics(units: UnitTable, layout: Layout) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units."""
    common = _common(units, layout)
    n = len(common.clusters)
    sums = common.numbers.sum(axis=0)
    found = {}
    for path, value in _values(sums, units.conditions, layout).items():
        name = path.partition(".")[2]
        counted = int(sums[0, layout.at[known(name)]]) if name in _OWN_N else n
        there = bool(np.isfinite(value))
        found[path] = MetricValue(
            float(value) if there else None, counted, None if there else _why(n, units.conditions)
        )
    found["unpaired"] = MetricValue(float(common.unpaired), n + common.unpaired)
    return found


def difference_intervals(units: UnitTable, layout: Layout, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval over cases, or groups of cases, with all their repeats; none of `unpaired`."""
    common = _common(units, layout)
    if not len(common.clusters):
        return {}
    shape = common.numbers.shape[1:]
    absent = {
        path
        for path, value in _values(common.numbers.sum(axis=0), units.conditions, layout).items()
        if not np.isfinite(value)
    }

    def statistic(sums: Values) -> Mapping[str, Values]:
        values = _values(sums.reshape(*sums.shape[:-1], *shape), units.conditions, layout)
        return {path: value for path, value in values.items() if path not in absent}

    flat = common.numbers.reshape(len(common.clusters), -1)
    return dict(sum_intervals(flat, common.clusters, common.repeats, statistic, resampling))


@dataclass(frozen=True, slots=True)
class _Common:
    """Cases (with their repeat) scored in all conditions: numbers (cases, conditions, numbers)."""

    numbers: Values
    clusters: NDArray[np.int64]
    repeats: NDArray[np.int32]
    unpaired: int


def _common(units: UnitTable, layout: Layout) -> _Common:
    wanted = range(len(units.conditions))
    rows, unpaired = paired_rows(units.cases, units.repeats, units.members, wanted)
    numbers = units.numbers[rows.T]
    for name in (*READABLE, *OUTSIDE):
        _only_where_all(numbers, layout.at[name], layout.at[known(name)])
    return _Common(numbers, units.clusters[rows[0]], units.repeats[rows[0]], unpaired)


def _only_where_all(numbers: Values, value: int, flag: int) -> None:
    """Forget a value of cases where some condition has none."""
    everywhere = numbers[:, :, flag].all(axis=1, keepdims=True)
    numbers[:, :, value] *= everywhere
    numbers[:, :, flag] *= everywhere


def _values(sums: Values, conditions: Sequence[str], layout: Layout) -> dict[str, Values]:
    """Return path -> values (...) of sums (..., conditions, numbers)."""
    of = {name: values_of_sums(sums[..., place, :], layout) for place, name in enumerate(conditions)}
    found = {f"{name}.{path}": of[name][path] for name in conditions for path in _PATHS}
    for first, second in DIFFERENCES:
        if first in of and second in of:
            for path in _PATHS:
                found[f"{first}-{second}.{path}"] = of[first][path] - of[second][path]
    return found


def _why(n: int, conditions: Sequence[str]) -> str:
    if not n:
        return f"no case was scored in all of: {', '.join(conditions)}"
    return "no case has it in every condition"
