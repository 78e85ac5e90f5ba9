"""The same case asked in two conditions: what both answers are worth, in fifths of a score; their means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.radm.ranking import FIFTHS
from harness.benchmarks.radm.score_intervals import share_intervals
from harness.benchmarks.radm.scores import Answers, ungraded_reason
from harness.benchmarks.scored import MetricValue, UnitNumbers, UnitTable
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import BCA, Interval
from harness.scoring.pairing import paired_rows
from harness.scoring.resampling import Resampling

MEANS: Final = ("mean_difference", "relative_change", "before.score", "after.score")
"""What `means` has of pairs: of the second condition less the first, that over the first, and both."""
UNUSABLE: Final = "unusable.share"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Cases (with their repeat) that are scored in both conditions of a union, (pairs) each.

    `before`, `after`: the score in fifths in the first and in the second; `unusable`: at least one of the two
    answers is; `ungraded`: at least one has no grade, so that the pair has no difference. `unpaired` counts
    cases that are scored in one of the two only.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    unusable: NDArray[np.bool_]
    ungraded: NDArray[np.bool_]
    numbers: UnitNumbers
    clusters: NDArray[np.int64]
    repeats: NDArray[np.int32]
    unpaired: int

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.before)

    @property
    def change(self) -> NDArray[np.int64]:
        """Return by how many fifths the second is better."""
        return self.after - self.before

    def where(self, mask: NDArray[np.bool_]) -> Pairs:
        """Return the pairs for which the mask is true; `unpaired` is that of all."""
        return Pairs(
            self.before[mask],
            self.after[mask],
            self.unusable[mask],
            self.ungraded[mask],
            self.numbers[mask],
            self.clusters[mask],
            self.repeats[mask],
            self.unpaired,
        )


def pairs_of(units: UnitTable) -> Pairs:
    """Return the pairs of a union of two conditions, in the order of cases and repeats.

    `numbers` of a pair are those of its first unit, whose case they share.
    """
    rows, unpaired = paired_rows(units.cases, units.repeats, units.members, (0, 1))
    one, other = (Answers(units.numbers[places]) for places in rows)
    return Pairs(
        before=one.of("fifths").astype(np.int64),
        after=other.of("fifths").astype(np.int64),
        unusable=(one.of("answered") != 1) | (other.of("answered") != 1),
        ungraded=one.ungraded | other.ungraded,
        numbers=one.numbers,
        clusters=units.clusters[rows[0]],
        repeats=units.repeats[rows[0]],
        unpaired=unpaired,
    )


def without_value(pairs: Pairs, no_pair: str) -> str | None:
    """Return why differences between these pairs have no value; None where they have."""
    missing = int(pairs.ungraded.sum())
    if missing:
        return ungraded_reason(missing, len(pairs), "pairs of answers")
    return None if len(pairs) else no_pair


def means(pairs: Pairs, reason: str | None) -> dict[str, MetricValue]:
    """Return `MEANS` of pairs, without value for a `reason`."""
    n = len(pairs)
    if reason is not None:
        return {path: MetricValue(None, n, reason) for path in MEANS}
    before, after = int(pairs.before.sum()), int(pairs.after.sum())
    relative = MetricValue(None, n, "the mean score of the first condition is 0")
    if before:
        relative = MetricValue((after - before) / before, n)
    values = (
        MetricValue((after - before) / (FIFTHS * n), n),
        relative,
        MetricValue(before / (FIFTHS * n), n),
        MetricValue(after / (FIFTHS * n), n),
    )
    return dict(zip(MEANS, values, strict=True))


def unusable_share(pairs: Pairs, no_pair: str) -> MetricValue:
    """Return the share of pairs in which an answer is unusable."""
    n = len(pairs)
    return MetricValue(int(pairs.unusable.sum()) / n, n) if n else MetricValue(None, 0, no_pair)


def pair_intervals(
    pairs: Pairs, shares: dict[str, NDArray[np.bool_]], resampling: Resampling
) -> dict[str, Interval]:
    """Return path -> interval of `MEANS`, of `UNUSABLE` and of further shares, of at least one pair."""
    units = UnitTable(pairs.numbers, pairs.clusters, pairs.clusters, pairs.repeats, pairs.repeats)
    found = share_intervals(units, {UNUSABLE: pairs.unusable}, resampling)
    reason = without_value(pairs, "")
    if reason is not None:
        return found | _absent((*shares, *MEANS), reason)
    if shares:
        found |= share_intervals(units, shares, resampling)
    columns = np.stack([pairs.before, pairs.after, np.full(len(pairs), FIFTHS)], axis=1).astype(np.float64)
    return found | dict(
        sum_intervals(
            columns,
            pairs.clusters,
            pairs.repeats,
            lambda sums: {
                "mean_difference": (sums[..., 1] - sums[..., 0]) / sums[..., 2],
                "relative_change": (sums[..., 1] - sums[..., 0]) / sums[..., 0],
                "before.score": sums[..., 0] / sums[..., 2],
                "after.score": sums[..., 1] / sums[..., 2],
            },
            resampling,
        )
    )


def _absent(paths: Iterable[str], reason: str) -> dict[str, Interval]:
    return dict.fromkeys(paths, Interval(None, None, BCA, reason))
