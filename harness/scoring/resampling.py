"""Draws of clusters with replacement: one matrix for every model and metric over the same number of them.

A cluster is what is drawn as one: a case, or a group of cases of one patient, with all its repeats. The
same seed and number of clusters give the same draws on every machine and for every version of numpy:
they come from raw words of PCG64 (O'Neill 2014, HMC-CS-2014-0905), whose stream numpy keeps stable
(NEP 19), while the methods of its `Generator` may change. A word gives two draws, its lower half first,
and each resample begins with a new word; a half h draws cluster floor(h * clusters / 2**32). No cluster's
chance is off by more than one part in 2**32 / clusters, 3e-5 of it at 125,000.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float64]
Draws: TypeAlias = NDArray[np.unsignedinteger[Any]]

SEED: Final = 20_050
RESAMPLES: Final = 2_000
GENERATOR: Final = "PCG64"
MOST_CLUSTERS: Final = 2**31

_KEPT_BYTES: Final = 40_000_000
"""The largest matrix that is kept, at a byte a count; so many as `_kept` holds."""

_CHUNK_DRAWS: Final = 1_000_000
"""Draws at a time, of some 30 bytes each."""

_LONE_PRODUCT: Final = 250_000
"""Multiplications at a time. From 65,536 * 4 on OpenBLAS (0.3) wakes its threads, which on a machine at work
took ten times as long as one alone; products so large that few rows reach that are worth them."""

_LEAST_ROWS: Final = 4

_MANY_KINDS: Final = 0.6
"""Beyond this share of the clusters, kinds take longer to be counted than clusters to be multiplied."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """So many draws of all clusters with replacement, from a seed.

    Equal ones draw alike. Raises ValueError for a negative seed and for less than one resample.
    """

    seed: int = SEED
    resamples: int = RESAMPLES

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"the seed of a resampling is at least 0, not {self.seed}")
        if self.resamples < 1:
            raise ValueError(f"there is at least one resample, not {self.resamples}")

    def described(self) -> Mapping[str, str | int]:
        """Return what is stored beside intervals: who wants to repeat them needs just this."""
        return {"generator": GENERATOR, "seed": self.seed, "resamples": self.resamples}

    def counts(self, clusters: int) -> Draws:
        """Return how often each cluster was drawn, shape (resamples, clusters); each row sums to `clusters`.

        Read only, and the same object while it is kept (it is if it is small). Raises ValueError for
        no or too many clusters.
        """
        if self._is_kept(clusters):
            return _kept(self.seed, self.resamples, clusters)
        return _all_draws(self.seed, self.resamples, clusters)

    def weighted_sums(self, cells: Values) -> Values:
        """Return each resample's sums over the drawn clusters: (clusters, k) becomes (resamples, k).

        Takes at most some 64 MB beside the result, at any number of clusters, if `cells` are float64 (what
        else they are is converted first).
        """
        cells = np.asarray(cells, dtype=np.float64)
        if cells.ndim != 2:
            raise ValueError(f"cells have the shape (clusters, k), not {cells.shape}")
        return self.kind_sums(cells, np.arange(len(cells)))

    def kind_sums(self, kinds: Values, kind: NDArray[np.int64]) -> Values:
        """Return the same where many clusters are alike: `kinds` (kinds, k), and the `kind` of each cluster.

        Every kind has a cluster. With as many kinds as clusters, they are the clusters in order.
        """
        found = np.empty((self.resamples, kinds.shape[1]))
        if len(kind) > len(kinds) > _MANY_KINDS * len(kind):
            kinds, kind = kinds[kind], np.arange(len(kind))
        order, starts = np.argsort(kind, kind="stable"), _starts(kind, len(kinds))
        place = 0
        for drawn in self._chunks(len(kind)):
            counts = drawn
            if len(kinds) < len(kind):
                counts = np.add.reduceat(drawn[:, order], starts, axis=1, dtype=np.uint32)
            for part in _parts(counts, kinds.size):
                np.matmul(part.astype(np.float64), kinds, out=found[place : place + len(part)])
                place += len(part)
        return found

    def _chunks(self, clusters: int) -> Iterator[Draws]:
        if not self._is_kept(clusters):
            yield from _drawn(self.seed, self.resamples, clusters)
            return
        kept, rows = self.counts(clusters), _chunk_rows(clusters)
        for start in range(0, self.resamples, rows):
            yield kept[start : start + rows]

    def _is_kept(self, clusters: int) -> bool:
        return self.resamples * clusters <= _KEPT_BYTES


@lru_cache(maxsize=2)
def _kept(seed: int, resamples: int, clusters: int) -> Draws:
    return _all_draws(seed, resamples, clusters)


def _all_draws(seed: int, resamples: int, clusters: int) -> Draws:
    found = np.concatenate(list(_drawn(seed, resamples, clusters)))
    found.flags.writeable = False
    return found


def _drawn(seed: int, resamples: int, clusters: int) -> Iterator[Draws]:
    """Yield the matrix a few rows at a time; the stream goes on from row to row."""
    if not 0 < clusters < MOST_CLUSTERS:
        raise ValueError(f"resampling takes 1 to {MOST_CLUSTERS - 1} clusters, not {clusters}")
    stream = np.random.PCG64(seed)
    words = (clusters + 1) // 2
    rows = _chunk_rows(clusters)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        raw = stream.random_raw(size * words).astype("<u8", copy=False)
        halves = raw.view("<u4").reshape(size, 2 * words)[:, :clusters]
        drawn = np.multiply(halves, np.uint64(clusters), dtype=np.uint64)
        drawn >>= np.uint64(32)
        yield _counted(drawn.view(np.int64), clusters)


def _counted(drawn: NDArray[np.int64], clusters: int) -> Draws:
    rows = len(drawn)
    drawn += (np.arange(rows) * clusters)[:, np.newaxis]
    counts = np.bincount(drawn.reshape(-1), minlength=rows * clusters)
    return counts.reshape(rows, clusters).astype(_dtype(int(counts.max())))


def _starts(kind: NDArray[np.int64], kinds: int) -> NDArray[np.int64]:
    """Return where each kind begins among clusters in the order of their kinds."""
    return np.concatenate([[0], np.bincount(kind, minlength=kinds).cumsum()[:-1]])


def _parts(drawn: Draws, cells: int) -> list[Draws]:
    """Return rows in parts whose products with so many cells stay below what threads are woken for."""
    rows = _LONE_PRODUCT // max(1, cells)
    if rows < _LEAST_ROWS:
        return [drawn]
    return [drawn[start : start + rows] for start in range(0, len(drawn), rows)]


def _chunk_rows(clusters: int) -> int:
    return max(1, _CHUNK_DRAWS // max(1, clusters))


def _dtype(most: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the smallest type that holds a count: a cluster is hardly ever drawn more than ten times."""
    return np.min_scalar_type(most)
