"""Corrections for many tests at once. A missing p value stays missing and out of their number, as in R."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.scoring.resampling import Values

RATE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The `adjusted` p values in the order given, and which are `rejected` at `rate`; None where p is None.

    `tests` is how many p values there were, the m of the correction. The family is chosen before looking:
    whoever drops a test because of its outcome gets other values.
    """

    adjusted: tuple[float | None, ...]
    rejected: tuple[bool | None, ...]
    tests: int
    rate: float
    method: str


def benjamini_hochberg(p_values: Sequence[float | None], rate: float = RATE) -> Adjusted:
    """Control the false discovery rate (Benjamini and Hochberg 1995, JRSS B 57:289-300).

    Adjusted p = the least of p(j) m / j over ranks j from the value's own upwards, at most 1: R's
    `p.adjust(method = "BH")`. It holds for independent and positively dependent tests. Raises ValueError for
    a p or a rate outside 0 to 1.
    """
    return _adjusted(p_values, rate, "benjamini-hochberg", _step_up)


def holm(p_values: Sequence[float | None], rate: float = RATE) -> Adjusted:
    """Control the chance of any false rejection (Holm 1979, Scandinavian Journal of Statistics 6:65-70).

    Adjusted p = the largest of p(j) (m - j + 1) over ranks j up to the value's own, at most 1: R's
    `p.adjust(method = "holm")`. It holds whatever the dependence. Raises ValueError as above.
    """
    return _adjusted(p_values, rate, "holm", _step_down)


def _adjusted(
    p_values: Sequence[float | None], rate: float, method: str, adjust: Callable[[Values], Values]
) -> Adjusted:
    known = [p for p in p_values if p is not None]
    wrong = [value for value in (*known, rate) if not 0 <= value <= 1]
    if wrong:
        raise ValueError(f"p values and rates lie between 0 and 1, not {wrong[0]!r}; a missing p is None")
    values = np.array(known, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values))
    found[order] = np.minimum(1.0, adjust(values[order]))
    given = iter(found.tolist())
    adjusted = tuple(None if p is None else next(given) for p in p_values)
    # p(j) m / j of a p that is exactly j / m times the rate comes out an ulp above or below it.
    rejected = tuple(None if p is None else p <= rate * (1 + 1e-12) for p in adjusted)
    return Adjusted(adjusted, rejected, len(known), rate, method)


def _step_up(ordered: Values) -> Values:
    ranks = np.arange(1, len(ordered) + 1)
    return np.minimum.accumulate((ordered * (len(ordered) / ranks))[::-1])[::-1]


def _step_down(ordered: Values) -> Values:
    return np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1))
