"""A statistic of sums over units, computed anew for every resample and without each cluster.

Any metric that is a function of sums fits: means, shares, differences, F1 of tp, fp and fn, BLEU of
clipped counts. Units are summed once per cluster and repeat; what follows costs nothing per unit. With
several repeats the value is the mean over the repeats that have one, and a cluster is drawn with all its
repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.scoring.resampling import Resampling, Values

Statistic: TypeAlias = Callable[[Values], Mapping[str, Values]]
"""Sums (..., k) -> path -> values (...), NaN or infinite where it has no value. The leading axes hold
resamples and repeats; it may be called for several parts of them and names the same paths each time.
`lambda sums: {"share": sums[..., 0] / sums[..., 1]}` is one, of k = 2 sums (`bootstrap` has examples)."""

SAME: Final = 1e-12
"""Values that are no further apart are one: relative to the largest of them, or absolute below 1."""

_CHUNK_SUMS: Final = 1_000_000
"""Sums given to a statistic at a time."""


@dataclass(frozen=True, slots=True)
class Units:
    """What each unit adds to the sums: `summands` (units, k), the `clusters` (units) and `repeats` (units)
    that they belong to; `repeats` None is one repeat.

    Where many units add the same, `summands` may be (kinds, k) and `kind` (units) says which of them each
    unit adds; every kind has a unit. Clusters are numbered in the order of their sorted labels, so that rows
    about the same clusters share draws; a cluster whose units must count nothing takes part by a row of
    zeros. Raises ValueError for lengths that differ and for a summand that is not finite.
    """

    summands: Values
    clusters: NDArray[Any]
    repeats: NDArray[Any] | None = None
    kind: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.summands.ndim != 2:
            raise ValueError(f"summands have the shape (units, k), not {self.summands.shape}")
        units = len(self.summands) if self.kind is None else len(self.kind)
        for name, labels in (("clusters", self.clusters), ("repeats", self.repeats)):
            if labels is not None and labels.shape != (units,):
                raise ValueError(f"{name} have the shape {labels.shape}, for {units} units")
        if not np.isfinite(self.summands).all():
            raise ValueError("a summand is not finite; leave its unit out, or count it by a summand of 0")

    @classmethod
    def of(
        cls,
        summands: ArrayLike,
        clusters: Sequence[object] | NDArray[Any],
        repeats: Sequence[object] | NDArray[Any] | None = None,
        kind: NDArray[np.int64] | None = None,
    ) -> Units:
        """Return the same from anything that becomes such arrays."""
        return cls(
            np.asarray(summands, dtype=np.float64),
            np.asarray(clusters),
            None if repeats is None else np.asarray(repeats),
            kind,
        )

    def total(self) -> Values:
        """Return the (k) sums over all units."""
        if self.kind is None:
            return np.asarray(self.summands.sum(axis=0))
        counts = np.bincount(self.kind, minlength=len(self.summands)).astype(np.float64)
        return np.asarray(counts @ self.summands)

    def each(self) -> Values:
        """Return what every unit adds, (units, k), in the order of the units."""
        return self.summands if self.kind is None else self.summands[self.kind]


@dataclass(frozen=True, slots=True)
class Replicates:
    """The values of m statistics: `point` (m), `resampled` (resamples, m), and those without each cluster.

    NaN where a statistic has no value. `clusters` are their sorted labels. Many clusters may be alike:
    `jackknife` (kinds, m) holds the values without one of each kind, and `kind` (clusters) says of which kind
    each of them is.
    """

    paths: tuple[str, ...]
    point: Values
    resampled: Values
    jackknife: Values
    kind: NDArray[np.int64]
    clusters: NDArray[Any]
    resampling: Resampling

    def of(self, path: str) -> Values:
        """Return the (resamples) values of one statistic. Raises KeyError for an unknown one."""
        if path not in self.paths:
            raise KeyError(path)
        return self.resampled[:, self.paths.index(path)]

    @property
    def without_each(self) -> Values:
        """Return the (clusters, m) values without each cluster."""
        return self.jackknife[self.kind]

    @property
    def weights(self) -> NDArray[np.int64]:
        """Return of how many clusters each row of `jackknife` is."""
        return np.bincount(self.kind, minlength=len(self.jackknife))


def replicate(
    units: Units, statistic: Statistic, resampling: Resampling, *, jackknife: bool = True
) -> Replicates:
    """Return a statistic's values for all units, every resample, and without each cluster.

    BCa alone needs the latter; they are NaN unless `jackknife`. Without units there are no clusters and no
    resamples to speak of: all values are NaN.
    """
    clusters, cells, kind = _cells(units)
    each = np.bincount(kind, minlength=len(cells)).astype(np.float64)
    total = np.tensordot(each, cells, axes=1)[np.newaxis]
    paths, point = _evaluated(total, statistic)
    if len(clusters):
        sums = resampling.kind_sums(cells.reshape(len(cells), -1), kind)
        resampled = _evaluated(sums.reshape(-1, *cells.shape[1:]), statistic)[1]
        left_out = _without_each(cells, total, statistic) if jackknife else _undefined(len(cells), paths)
    else:
        point = np.full_like(point, np.nan)
        resampled, left_out = _undefined(resampling.resamples, paths), _undefined(0, paths)
    return Replicates(paths, point[0], resampled, left_out, kind, clusters, resampling)


def tolerance(*values: Values) -> Values:
    """Return (m) distances up to which the values in the columns of (..., m) arrays count as equal."""
    largest = np.ones(values[0].shape[-1])
    for one in values:
        finite = np.where(np.isfinite(one), np.abs(one), 0.0).reshape(-1, one.shape[-1])
        largest = np.maximum(largest, finite.max(axis=0, initial=0.0))
    return SAME * largest


def _cells(units: Units) -> tuple[NDArray[Any], Values, NDArray[np.int64]]:
    """Return the clusters' labels, the different sums (kinds, repeats, k), and the kind of each cluster."""
    clusters, place = np.unique(units.clusters, return_inverse=True)
    kind = np.arange(len(place)) if units.kind is None else units.kind
    repeats, repeat = 1, np.zeros(len(place), dtype=np.int64)
    if units.repeats is not None and len(place):
        labels, repeat = np.unique(units.repeats, return_inverse=True)
        repeats = len(labels)
    if repeats == 1 and len(clusters) == len(place):
        of_cluster = np.empty_like(kind)
        of_cluster[place] = kind
        alike = units.summands[:, np.newaxis]
        return clusters, *(_alike(alike, of_cluster) if units.kind is None else (alike, of_cluster))
    cells = np.zeros((len(clusters) * repeats, units.summands.shape[1]))
    cell = place * repeats + repeat
    order = np.argsort(cell, kind="stable")
    filled, starts = np.unique(cell[order], return_index=True)
    cells[filled] = np.add.reduceat(units.summands[kind[order]], starts, axis=0)
    shaped = cells.reshape(len(clusters), repeats, units.summands.shape[1])
    return clusters, *_alike(shaped, np.arange(len(clusters)))


def _alike(cells: Values, order: NDArray[np.int64]) -> tuple[Values, NDArray[np.int64]]:
    """Return the different cells, and which of them each cluster has; `order`: the row of each cluster."""
    places: dict[bytes, int] = {}
    kind = np.array([places.setdefault(cell.tobytes(), len(places)) for cell in cells], dtype=np.int64)
    if 2 * len(places) > len(cells):
        return cells, order
    return cells[np.unique(kind, return_index=True)[1]], kind[order]


def _undefined(rows: int, paths: Sequence[str]) -> Values:
    return np.full((rows, len(paths)), np.nan)


def _without_each(cells: Values, total: Values, statistic: Statistic) -> Values:
    return np.concatenate([_evaluated(total - part, statistic)[1] for part in _chunks(cells)])


def _evaluated(sums: Values, statistic: Statistic) -> tuple[tuple[str, ...], Values]:
    """Return the paths and the (rows, m) means over repeats of sums (rows, repeats, k)."""
    paths: tuple[str, ...] = ()
    found: list[Values] = []
    for part in _chunks(sums):
        with np.errstate(divide="ignore", invalid="ignore"):
            values = statistic(part)
        paths = tuple(values)
        table = np.empty((len(part), len(paths)))
        for column, path in enumerate(paths):
            value = np.broadcast_to(np.asarray(values[path], dtype=np.float64), part.shape[:-1])
            table[:, column] = _mean_of_known(value)
        found.append(table)
    return paths, np.concatenate(found)


def _mean_of_known(values: Values) -> Values:
    known = np.isfinite(values)
    if values.shape[1] == 1:
        return np.where(known[:, 0], values[:, 0], np.nan)
    sums = np.where(known, values, 0.0).sum(axis=1)
    counted = known.sum(axis=1)
    return np.where(counted > 0, sums / np.maximum(counted, 1), np.nan)


def _chunks(cells: Values) -> list[Values]:
    rows = max(1, _CHUNK_SUMS // max(1, cells[0].size))
    return [cells[start : start + rows] for start in range(0, len(cells), rows)]
