"""Each contender measured once on the common cases: values, resamples, and the values of single cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.base import Benchmark
from harness.benchmarks.scored import MetricValue, UnitTable
from harness.errors import ConfigError
from harness.nearest import nearest_of
from harness.scoring.replicates import Replicates, Statistic, Units, replicate
from harness.scoring.resampling import Resampling, Values

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Measured:
    """One contender on the common cases; everything but `by_unit` is in the order of the wanted paths.

    `by_unit` has path -> the values (units) of single units, of paths whose value is their mean.
    `answers` (cases) is equal where two contenders have the same numbers in all units of a case.
    """

    replicates: Replicates
    values: Mapping[str, MetricValue]
    by_unit: Mapping[str, Values]
    answers: NDArray[np.int64]


class Measuring:
    """Measures contenders by a benchmark's own sums, under one choice of metrics and conventions."""

    def __init__(
        self,
        benchmark: Benchmark,
        condition: str,
        conventions: Mapping[str, str],
        paths: Sequence[str],
        resampling: Resampling,
    ) -> None:
        self._benchmark = benchmark
        self._condition = condition
        self._conventions = conventions
        self._paths = tuple(paths)
        self._resampling = resampling
        self._seen: dict[bytes, int] = {}

    def measure(self, table: UnitTable) -> Measured:
        """Return what one contender's units come to. Raises ConfigError for metrics that nothing compares."""
        made = self._benchmark.sums(table, self._condition, self._conventions)
        if made is None:
            raise ConfigError(
                f"rows of condition {self._condition!r} of {self._benchmark.name} are not compared: none of "
                "their metrics is made of sums over cases"
            )
        replicates = self._chosen(replicate(*made, self._resampling, jackknife=False))
        by_unit = self._by_unit(table, *made, replicates)
        return Measured(replicates, self._values(table), by_unit, self._answers(table))

    def _chosen(self, whole: Replicates) -> Replicates:
        """Return the resamples of the wanted metrics alone: copies, so that those of the others are freed."""
        missing = [path for path in self._paths if path not in whole.paths]
        if missing:
            raise ConfigError(
                f"no comparison of {missing[0]!r} in condition {self._condition!r} of {self._benchmark.name}"
                f"{nearest_of(missing[0], whole.paths)}"
            )
        places = [whole.paths.index(path) for path in self._paths]
        return Replicates(
            self._paths,
            whole.point[places],
            whole.resampled[:, places],
            whole.jackknife[:0, places],
            whole.kind,
            whole.clusters,
            whole.resampling,
        )

    def _values(self, table: UnitTable) -> Mapping[str, MetricValue]:
        """Return the n of each wanted metric, the least over repeats, and why one has no value."""
        found: dict[str, MetricValue] = {}
        for repeat in np.unique(table.repeats).tolist():
            metrics = self._benchmark.metrics(
                table.where(table.repeats == repeat), self._condition, self._conventions
            )
            for path in self._paths:
                one = metrics[path]
                n = min(one.n, found[path].n) if path in found else one.n
                reason = found[path].reason if path in found else None
                found[path] = MetricValue(None, n, reason or one.reason)
        return found

    def _by_unit(
        self, table: UnitTable, units: Units, statistic: Statistic, replicates: Replicates
    ) -> Mapping[str, Values]:
        """Return what each unit scores alone, the statistic of its own sums: `score_unit`, all at once."""
        first = self._benchmark.score_unit(table.numbers[0].tolist(), self._condition, self._conventions)
        own = [path for path in self._paths if path in first]
        found: dict[str, Values] = {}
        if own:
            with np.errstate(divide="ignore", invalid="ignore"):
                scores = statistic(units.summands)
        for path in own:
            values = scores[path] if units.kind is None else scores[path][units.kind]
            # A value that is no mean of the units' own must not be tested as if it were.
            point = float(replicates.point[self._paths.index(path)])
            if np.isfinite(values).all() and abs(values.mean() - point) <= _SAME * max(1.0, abs(point)):
                found[path] = values
        return found

    def _answers(self, table: UnitTable) -> NDArray[np.int64]:
        seen = self._seen
        if not len(table):
            return np.zeros(0, dtype=np.int64)
        _, starts = np.unique(table.cases, return_index=True)  # which are in order
        pieces = np.split(table.numbers, starts[1:])
        return np.array([seen.setdefault(one.tobytes(), len(seen)) for one in pieces], dtype=np.int64)
