"""How many domains answers name, beside how many the cases truly need (paper, section 5.4 and figure 8).

All of it describes answers: units without one are left out, and n says so. What an unusable answer costs is
told by `coarse.exact_match` and `under_referral.*`. Paths, under `domain_count`:

- `true_mean`, `predicted_mean`: domains a unit; `absolute_error`: mean distance of the two.
- `share_exact`, `share_over`, `share_under`: units for which as many domains were named as are needed (not
  necessarily the same ones), more, and fewer.
- `predicted.<0|1|2|3|4|5+>`: share of units for which so many were named.
- `true.<0|1|2|3|4|5+>.*`: `predicted_mean`, `absolute_error` and the three shares over the cases that need so
  many, and `predicted.<0|1|2|3|4|5+>` as above: a row of the confusion matrix, whose counts are share x n.

Every number is a function of sums over units. Rows of the confusion matrix have no intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.triage.taxonomy import DOMAINS
from harness.scoring.intervals import Interval
from harness.scoring.label_codes import Counts, Flags, histograms
from harness.scoring.multilabel import Values, ratio
from harness.scoring.proportions import clopper_pearson

Numbers = NDArray[np.integer[Any]]

BINS: Final = ("0", "1", "2", "3", "4", "5+")
_SIZES: Final = len(DOMAINS) + 1
_KINDS: Final = _SIZES * _SIZES
"""A unit's kind is the number of domains needed times `_SIZES`, and the number of those named."""
_OF_GROUP: Final = ("units", "named", "exact", "over", "error")
_SHARES: Final = ("exact", "over", "under")


def sums_of_kinds() -> Values:
    """Return what a unit of each kind adds to the sums, shape (kinds, sums): see `_Sums`."""
    needed, named = np.divmod(np.arange(_KINDS), _SIZES)
    each = np.stack(
        [np.ones(_KINDS), named, named == needed, named > needed, np.abs(named - needed)], axis=1
    ).astype(np.float64)
    last = len(BINS) - 1
    by_group = [each * (np.minimum(needed, last) == place)[:, None] for place in range(len(BINS))]
    bins = np.minimum(named, last)[:, None] == np.arange(len(BINS))
    return np.concatenate([*by_group, bins, needed[:, None]], axis=1)


_OF_KIND: Final = sums_of_kinds()


def kinds_of(needed: Numbers, named: Numbers) -> Counts:
    """Return the kind of each unit; leading axes of `named` are draws."""
    return np.asarray(needed.astype(np.int64) * _SIZES + named)


def unit_sums(needed: Numbers, named: Numbers, answered: Flags) -> Values:
    """Return what each unit adds to the sums that `values` takes, shape (units, sums)."""
    return _OF_KIND[kinds_of(needed, named)] * answered[:, None]


def counted(needed: Numbers, named: Numbers, answered: Flags) -> Counts:
    """Return how many answered units are of each kind, shape (..., kinds)."""
    kinds = np.where(answered, kinds_of(needed, named), _KINDS)
    shape = kinds.shape[:-1]
    rows = kinds.reshape(int(np.prod(shape)), kinds.shape[-1])
    return histograms(rows, _KINDS + 1)[:, :_KINDS].reshape(*shape, _KINDS)


def measured(counts: Counts) -> Iterator[tuple[str, Values, int]]:
    """Yield every path with its values (...) and its n, from counts of kinds (..., kinds)."""
    sums = counts @ _OF_KIND
    sizes = _sizes(sums)
    for path, value in values(sums).items():
        yield path, value, sizes[_group_of(path)]
    table = counts.reshape(*counts.shape[:-1], _SIZES, _SIZES)
    last = len(BINS) - 1
    for place, needed in enumerate(BINS):
        row = table[..., place if place < last else slice(last, None), :]
        row = row if place < last else row.sum(axis=-2)
        for other, named in enumerate(BINS):
            count = row[..., other] if other < last else row[..., last:].sum(axis=-1)
            yield f"true.{needed}.predicted.{named}", ratio(count, row.sum(axis=-1)), sizes[needed]


def values(sums: Values) -> dict[str, Values]:
    """Return path -> values (...) of sums (..., sums); NaN where there is no unit."""
    of = _Sums(sums)
    found = {"true_mean": ratio(of.needed, of.all["units"])}
    found |= {path: value for path, value in _group(of.all)}
    for place, name in enumerate(BINS):
        found[f"predicted.{name}"] = ratio(of.bins[..., place], of.all["units"])
    for name, group in of.groups.items():
        found |= {f"true.{name}.{path}": value for path, value in _group(group)}
    return found


def share_intervals(totals: Values) -> Iterator[tuple[str, Interval]]:
    """Yield the exact intervals of the shares of units, from the sums of units that are all independent."""
    of = _Sums(totals)
    for name, group in (("", of.all), *((f"true.{name}.", group) for name, group in of.groups.items())):
        under = {"under": group["units"] - group["exact"] - group["over"]}
        for share in _SHARES:
            count = {**group, **under}[share]
            yield f"{name}share_{share}", clopper_pearson(int(count), int(group["units"]))
    for place, name in enumerate(BINS):
        yield f"predicted.{name}", clopper_pearson(int(of.bins[place]), int(of.all["units"]))


class _Sums:
    """Sums by name: of all units, of the groups by domains needed, of units by domains named (..., bins)."""

    def __init__(self, sums: Values) -> None:
        width = len(_OF_GROUP)
        self.groups: dict[str, Mapping[str, Values]] = {
            name: {one: sums[..., place * width + column] for column, one in enumerate(_OF_GROUP)}
            for place, name in enumerate(BINS)
        }
        self.all: Mapping[str, Values] = {
            one: np.sum([group[one] for group in self.groups.values()], axis=0) for one in _OF_GROUP
        }
        self.bins = sums[..., len(BINS) * width : -1]
        self.needed = sums[..., -1]


def _group(sums: Mapping[str, Values]) -> Iterator[tuple[str, Values]]:
    units = sums["units"]
    yield "predicted_mean", ratio(sums["named"], units)
    yield "absolute_error", ratio(sums["error"], units)
    yield "share_exact", ratio(sums["exact"], units)
    yield "share_over", ratio(sums["over"], units)
    yield "share_under", ratio(units - sums["exact"] - sums["over"], units)


def _sizes(sums: Values) -> dict[str, int]:
    """Return n by the name of a group, "" for all units: the same in every draw."""
    of = _Sums(sums.reshape(-1, sums.shape[-1])[0])
    return {"": int(of.all["units"]), **{name: int(group["units"]) for name, group in of.groups.items()}}


def _group_of(path: str) -> str:
    return path.split(".")[1] if path.startswith("true.") else ""
