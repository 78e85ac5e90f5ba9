"""How far two raters agree who graded the same things, in the form that scores and reports share.

- `accuracy`: the share on which both say the same; `kappa`: Cohen's, unweighted, as the papers print it;
  `weighted_kappa`: with quadratic weights (Cohen 1968, Psychological Bulletin 70:213-220), of labels that are
  numbers; `confusion`: how often both say the same, and how often the first is higher or lower; `table`:
  counts by (first, second), labels in order.
- Intervals are BCa over cases, or groups of cases, with all that was said of them; of kappa, where raters
  hardly ever differ, they reach as far as an exact one (`harness.scoring.kappa_intervals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import MetricValue
from harness.canonical import JSON
from harness.scoring.agreement import cohen_kappa
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.kappa_intervals import few_differences
from harness.scoring.resampling import Resampling, Values

NOTHING: Final = "nothing was graded by both"


@dataclass(frozen=True, slots=True)
class Item:
    """What two raters say of one thing, as places among its labels; `group`: what is resampled together."""

    group: str
    first: int
    second: int


def dimension(
    items: Sequence[Item], labels: Sequence[JSON], worths: Sequence[int] | None = None
) -> dict[str, JSON]:
    """Return how far two raters agree on items, as the scores have it.

    `worths`: one whole number a label, whose squared differences weigh disagreements; None: no weighted kappa
    is made. `higher` and `lower` follow the order of the labels.
    """
    n, size = len(items), len(labels)
    first, second = [item.first for item in items], [item.second for item in items]
    table = np.zeros((size, size), dtype=np.int64)
    np.add.at(table, (first, second), 1)
    same = int(np.trace(table))
    kappa = cohen_kappa(first, second, range(size))
    weights = None if worths is None else _distances(worths)
    intervals = _of_few(items, table, _intervals(items, size, weights), weights) if n else {}
    found: dict[str, JSON] = {
        "n": n,
        "confusion": {
            "same": same,
            "higher": int(np.tril(table, -1).sum()),
            "lower": int(np.triu(table, 1).sum()),
        },
        "labels": list(labels),
        "table": table.tolist(),
        "accuracy": _number(same / n if n else None, n, intervals.get("accuracy"), NOTHING),
        "kappa": _number(kappa.kappa, n, intervals.get("kappa"), kappa.reason),
    }
    if weights is not None:
        weighted, why_not = _weighted(table, weights)
        found["weighted_kappa"] = _number(weighted, n, intervals.get("weighted_kappa"), why_not)
    return found | {"note": None}


def kappa_of(items: Sequence[Item], labels: int) -> float | None:
    """Return Cohen's kappa of items, unweighted; None where there is none."""
    return cohen_kappa([item.first for item in items], [item.second for item in items], range(labels)).kappa


def _weighted(table: NDArray[np.int64], weights: Values) -> tuple[float | None, str | None]:
    """Return kappa with weights of disagreements, or why there is none."""
    n = int(table.sum())
    if not n:
        return None, "no items"
    by_chance = float((weights * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    if by_chance == 0:
        return None, "both used one and the same label only, so that kappa is 0/0"
    return 1 - n * float((weights * table).sum()) / by_chance, None


def _distances(worths: Sequence[int]) -> Values:
    """Return the squared differences of worths, (labels, labels)."""
    places = np.array(worths, dtype=np.float64)
    found: Values = (places[:, np.newaxis] - places[np.newaxis, :]) ** 2
    return found


def _intervals(items: Sequence[Item], size: int, weights: Values | None) -> Mapping[str, Interval]:
    def statistic(sums: Values) -> Mapping[str, Values]:
        table = sums.reshape(*sums.shape[:-1], size, size)
        n = table.sum(axis=(-2, -1))
        rows, columns = table.sum(axis=-1), table.sum(axis=-2)
        agreed = np.trace(table, axis1=-2, axis2=-1)
        by_chance = (rows * columns).sum(axis=-1)
        found = {
            "accuracy": agreed / n,
            "kappa": (agreed * n - by_chance) / (n * n - by_chance),
        }
        if weights is not None:
            expected = np.einsum("...i,ij,...j->...", rows, weights, columns)
            found["weighted_kappa"] = 1 - n * (table * weights).sum(axis=(-2, -1)) / expected
        return found

    summands = np.zeros((len(items), size * size))
    summands[np.arange(len(items)), [item.first * size + item.second for item in items]] = 1
    return sum_intervals(summands, [item.group for item in items], None, statistic, Resampling())


def _of_few(
    items: Sequence[Item],
    table: NDArray[np.int64],
    intervals: Mapping[str, Interval],
    weights: Values | None,
) -> Mapping[str, Interval]:
    """Return intervals of which those of kappa know how few differences they rest on."""
    clusters = {item.group for item in items}
    differing = {item.group for item in items if item.first != item.second}
    kinds = {"kappa": 1 - np.eye(len(table)), **({} if weights is None else {"weighted_kappa": weights})}
    sizes = (len(clusters), len(differing))
    return {**intervals} | {
        kind: few_differences(intervals[kind], table, apart, *sizes) for kind, apart in kinds.items()
    }


def _number(value: float | None, n: int, interval: Interval | None, reason: str | None) -> JSON:
    return MetricValue(value, n, reason if value is None else None, interval=interval).to_json()
