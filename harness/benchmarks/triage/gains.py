"""The modality ablation: what the other modality brings, case by case (paper, section 5.1).

A gain is the case F1 of condition `both` less that of one modality alone, for the same case and repeat. The
paper prints one number a model and does not say what it is a gain over; all readings are here, by name:

- `gain.opg.*`: what the radiograph brings: `both` less `complaint`.
- `gain.complaint.*`: what the complaint brings: `both` less `opg`.
- `gain.over_better.*`: `both` less the better of the two in that very case.

Of each: `mean`; `share_positive`, `share_above_0.1`, `share_above_0.2` and `share_negative`, shares of pairs
that are strictly above or below (the paper says "greater than"); `case_f1` and `case_f1_without`, the two
means whose difference `mean` is; `unusable_share`, of pairs in which any answer is unusable. n counts pairs,
a case (and repeat) that is scored in all of the gain's conditions. `unpaired` counts those that are scored
in some of them only; its n is all that are scored in any.

As answered, an unusable answer has a case F1 of 0 on either side, so that means agree with those of the
conditions: a failure of one modality alone then counts as a gain, and `unusable_share` says how many pairs
rest on a failure. Gains are compared as fractions of whole numbers: 0.6 less 0.5 is not above 0.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import MetricValue, UnitTable
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.multilabel import exact_mean
from harness.scoring.pairing import paired_rows
from harness.scoring.proportions import clopper_pearson
from harness.scoring.resampling import Resampling, Values

GAINS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"opg": ("complaint",), "complaint": ("opg",), "over_better": ("complaint", "opg")}
)
"""Gain -> the single modalities that `both` is compared with: the one there is, or the better one."""

_EVENTS: Final = ("share_positive", "share_above_0.1", "share_above_0.2", "share_negative", "unusable_share")
"""Shares of pairs; the other paths are means of case F1."""


def gains(units: UnitTable, conventions: Mapping[str, str]) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units: the gains over those modalities that were asked."""
    found: dict[str, MetricValue] = {}
    for name, pairs in _all_pairs(units, conventions):
        n = len(pairs.columns["mean"])
        for path, column in pairs.columns.items():
            value = float(exact_mean(column)) if n else None
            found[f"gain.{name}.{path}"] = MetricValue(value, n, None if n else pairs.why_none)
        seen = n + pairs.unpaired
        found[f"gain.{name}.unpaired"] = MetricValue(float(pairs.unpaired), seen)
    return found


def gain_intervals(
    units: UnitTable, conventions: Mapping[str, str], resampling: Resampling
) -> dict[str, Interval]:
    """Return path -> interval over cases, or groups of cases, with all their repeats; none of `unpaired`.

    Shares are exact where every pair is a cluster of its own.
    """
    found: dict[str, Interval] = {}
    for name, pairs in _all_pairs(units, conventions):
        columns = np.stack([*pairs.columns.values(), np.ones(len(pairs.clusters))], axis=1)
        paths = tuple(pairs.columns)
        intervals = dict(
            sum_intervals(
                columns,
                pairs.clusters,
                pairs.repeats,
                lambda sums, paths=paths: {  # type: ignore[misc]
                    path: sums[..., place] / sums[..., -1] for place, path in enumerate(paths)
                },
                resampling,
            )
        )
        if len(np.unique(pairs.clusters)) == len(pairs.clusters):
            for path in _EVENTS:
                count = int(pairs.columns[path].sum())
                intervals[path] = clopper_pearson(count, len(pairs.clusters))
        found |= {f"gain.{name}.{path}": interval for path, interval in intervals.items()}
    return found


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Cases answered in all conditions of a gain: what is averaged by path, (pairs) each."""

    columns: Mapping[str, Values]
    clusters: NDArray[np.int64]
    repeats: NDArray[np.int32]
    unpaired: int
    why_none: str


@dataclass(frozen=True, slots=True)
class _Fractions:
    """Case F1 as above / below, exactly."""

    above: NDArray[np.int64]
    below: NDArray[np.int64]

    def at(self, places: NDArray[np.intp]) -> _Fractions:
        return _Fractions(self.above[places], self.below[places])

    def floats(self) -> Values:
        return self.above / self.below

    def less(self, other: _Fractions) -> _Fractions:
        return _Fractions(self.above * other.below - other.above * self.below, self.below * other.below)

    def above_tenths(self, tenths: int) -> Values:
        return (10 * self.above > tenths * self.below).astype(np.float64)


def _all_pairs(units: UnitTable, conventions: Mapping[str, str]) -> Iterator[tuple[str, _Pairs]]:
    scores = _case_f1(units, float(conventions["case_f1_empty"]))
    for name, singles in GAINS.items():
        if all(single in units.conditions for single in singles):
            yield name, _pairs(units, scores, singles)


def _pairs(units: UnitTable, scores: _Fractions, singles: Sequence[str]) -> _Pairs:
    """Pair units of the same case and repeat; whatever is missing in one condition has no pair."""
    names = ("both", *singles)
    wanted = [units.conditions.index(name) for name in names]
    paired, unpaired = paired_rows(units.cases, units.repeats, units.members, wanted)
    both, *alone = (scores.at(rows) for rows in paired)
    without = alone[0] if len(alone) == 1 else _larger(*alone)
    gain = both.less(without)
    unusable = np.any([units.numbers[rows, 0] != 1 for rows in paired], axis=0)
    columns = {
        "mean": gain.floats(),
        "share_positive": gain.above_tenths(0),
        "share_above_0.1": gain.above_tenths(1),
        "share_above_0.2": gain.above_tenths(2),
        "share_negative": (gain.above < 0).astype(np.float64),
        "case_f1": both.floats(),
        "case_f1_without": without.floats(),
        "unusable_share": unusable.astype(np.float64),
    }
    clusters, repeats = units.clusters[paired[0]], units.repeats[paired[0]]
    return _Pairs(columns, clusters, repeats, unpaired, f"no case was scored in all of: {', '.join(names)}")


def _case_f1(units: UnitTable, empty: float) -> _Fractions:
    """Return the case F1 of each unit: 2 |truth and given| / (|truth| + |given|), 0 without an answer."""
    said = units.numbers[:, 0] == 1
    truth, given = (units.numbers[:, place].astype(np.uint32) for place in (1, 2))
    above = 2 * np.bitwise_count(truth & given).astype(np.int64)
    below = np.bitwise_count(truth).astype(np.int64) + np.bitwise_count(given)
    nothing = below == 0
    above = np.where(said, np.where(nothing, int(empty), above), 0)
    return _Fractions(above, np.where(nothing, 1, below))


def _larger(one: _Fractions, other: _Fractions) -> _Fractions:
    first = one.above * other.below >= other.above * one.below
    return _Fractions(np.where(first, one.above, other.above), np.where(first, one.below, other.below))
