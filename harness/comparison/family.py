"""The family of tests: which pairs it has, whom they are shown against, and its correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from harness.comparison.contenders import Contender
from harness.comparison.pair_tests import PairTest
from harness.comparison.result import Better, Correction
from harness.errors import ConfigError
from harness.scoring.many_tests import RATE, benjamini_hochberg, holm

ALL_PAIRS: Final = 6
"""Up to so many contenders each pair is shown; of more, each against the one with the best value."""

Pair: TypeAlias = tuple[int, int]
"""Places of A and B among the contenders."""


class Adjusted(NamedTuple):
    """An adjusted p, None where there was none, and whether it is at most the level."""

    p: float | None
    is_rejected: bool


def shown_against(
    contenders: Sequence[Contender],
    baseline: str | None,
    order: Sequence[int],
    paths: Sequence[str],
    better: Mapping[str, Better],
) -> int | None:
    """Return whom the others are shown against: the baseline, of many the first by merit, or nobody."""
    if baseline is not None:
        return next(place for place, one in enumerate(contenders) if one.label == baseline)
    if len(contenders) <= ALL_PAIRS:
        return None
    if better.get(paths[0]) is None:
        raise ConfigError(
            f"{paths[0]!r} has no better end, so that none of {len(contenders)} is the best; name one with "
            "--baseline"
        )
    return order[0]


def pairs_of(order: Sequence[int], baseline: int | None) -> list[Pair]:
    """Return A and B of each test: A is the one of more merit, or the one beside a baseline.

    Without a baseline that was named before looking, these are all pairs, however few are shown: whichever
    had come out best could have been the one that the others are shown against.
    """
    if baseline is None:
        return list(combinations(order, 2))
    return [(one, baseline) for one in order if one != baseline]


def adjusted_p(
    found: Mapping[Pair, Mapping[str, PairTest]], paths: Sequence[str], correction: Correction
) -> dict[tuple[Pair, str], Adjusted]:
    """Return the adjusted p of each test, and whether it is at most the level.

    A test without a p stays in the number of tests, as a p of 1 would (R's `p.adjust` with `n`): the family
    was named before looking, and nothing that is found makes it smaller.
    """
    keys = [(pair, path) for path in paths for pair in found]
    raw = [found[pair][path].p for pair, path in keys]
    filled = [1.0 if p is None else p for p in raw]
    if correction == "none":
        adjusted: Sequence[float | None] = filled
        rejected: Sequence[bool | None] = [p <= RATE for p in filled]
    else:
        family = (holm if correction == "holm" else benjamini_hochberg)(filled)
        adjusted, rejected = family.adjusted, family.rejected
    return {
        key: Adjusted(None if p is None else value, p is not None and bool(is_rejected))
        for key, p, value, is_rejected in zip(keys, raw, adjusted, rejected, strict=True)
    }
