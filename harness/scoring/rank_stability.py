"""How firm a ranking is: each model's ranks over resamples that all models share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.scoring.intervals import LEVEL, check_level
from harness.scoring.replicates import tolerance
from harness.scoring.resampling import Values

TIE: Final = 1e-9
"""Values that differ by less, of 1 or of themselves, share a rank, in tables of scores and in comparisons."""


@dataclass(frozen=True, slots=True)
class RankStability:
    """Shares of the used resamples in which a model had each rank, from 1; they sum to 1.

    `first` is the share at rank 1, ties for it included, so that these may sum to more than 1 over models.
    `low` to `high` are the ranks that hold the middle of at least `level` of the resamples: the least rank
    that is not in the lower tail and the largest that is not in the upper one. `used` of `resamples` count.
    All None or empty with a `reason` if none does.
    """

    shares: tuple[float, ...]
    first: float | None
    low: int | None
    high: int | None
    used: int
    resamples: int
    level: float = LEVEL
    reason: str | None = None


def rank_stability(values: Mapping[str, Values], level: float = LEVEL) -> Mapping[str, RankStability]:
    """Return model -> stability from its (resamples) values, the highest being first.

    The values of all models come from the same draws over the same clusters. A rank is one more than the
    number of higher values, so equal ones share it, as in the ranking itself; rounding breaks no tie. A
    resample in which a model has no value ranks nobody and is left out for all. Raises ValueError for
    numbers of resamples that differ.
    """
    check_level(level)
    if len({len(one) for one in values.values()}) > 1:
        sizes = {name: len(one) for name, one in values.items()}
        raise ValueError(f"models are ranked on the same resamples; there are {sizes}")
    if not values:
        return {}
    table = np.stack([np.asarray(one, dtype=np.float64) for one in values.values()], axis=-1)
    used = table[np.isfinite(table).all(axis=-1)]
    if not len(used):
        reason = "in no resample does every model have a value"
        return {name: RankStability((), None, None, None, 0, len(table), level, reason) for name in values}
    same = float(tolerance(used).max())
    found = {}
    for place, name in enumerate(values):
        ranks = 1 + (used > used[:, place, np.newaxis] + same).sum(axis=-1)
        found[name] = _stability(ranks, len(values), len(table), level)
    return found


def _stability(ranks: NDArray[np.int64], models: int, resamples: int, level: float) -> RankStability:
    counts = np.bincount(ranks, minlength=models + 1)[1:]
    up_to = np.cumsum(counts) / len(ranks)
    tail = (1 - level) / 2
    # A rank belongs to a tail if no more than its share lies up to it (beyond it); rounding is no excess.
    low = 1 + int(np.argmax(up_to > tail + 1e-12))
    high = 1 + int(np.argmax(up_to >= 1 - tail - 1e-12))
    shares = tuple((counts / len(ranks)).tolist())
    return RankStability(shares, shares[0], low, high, len(ranks), resamples, level)
