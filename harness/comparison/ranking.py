"""Ranks on the common cases, and how firm they are: of complete models only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.comparison.contenders import Contender
from harness.comparison.measuring import Measured
from harness.comparison.result import Better, Value
from harness.scoring.rank_stability import TIE, RankStability, rank_stability


def merits(
    contenders: Sequence[Contender],
    sides: Sequence[Measured],
    paths: Sequence[str],
    better: Mapping[str, Better],
) -> list[int]:
    """Return the places of contenders, the best value of the first metric first.

    Complete models go before those without a rank, who stand in order of value too; ties go by label.
    """
    sign = -1 if better.get(paths[0]) == "lower" else 1

    def key(place: int) -> tuple[bool, float, str]:
        value = value_of(sides[place], paths[0])
        last = value is None or not _is_ranked(contenders[place])
        return last, math.inf if value is None else -sign * value, contenders[place].label

    return sorted(range(len(contenders)), key=key)


def ranked(
    contenders: Sequence[Contender], sides: Sequence[Measured], path: str, better: Better
) -> tuple[Value, ...]:
    """Return the values of a metric, the best first; with ranks where it has a better end."""
    order = merits(contenders, sides, [path], {path: better})
    known = {
        place: value
        for place in order
        if (value := value_of(sides[place], path)) is not None and _is_ranked(contenders[place])
    }
    sign = -1 if better == "lower" else 1
    ranks: dict[int, int] = {}
    firm: Mapping[str, RankStability] = {}
    if better is not None and len(known) > 1:
        merit = [sign * value for value in known.values()]
        ranks = {place: _rank(sign * value, merit) for place, value in known.items()}
        # Draws of a single cluster are all alike: any rank would look firm.
        if len(sides[0].replicates.clusters) > 1:
            firm = rank_stability(
                {contenders[place].label: sign * sides[place].replicates.of(path) for place in known}
            )
    return tuple(
        _value(contenders[place], sides[place], path, ranks.get(place), firm.get(contenders[place].label))
        for place in order
    )


def value_of(side: Measured, path: str) -> float | None:
    """Return a contender's value on the common cases, None where it has none in every repeat."""
    value = float(side.replicates.point[side.replicates.paths.index(path)])
    return value if side.values[path].reason is None and math.isfinite(value) else None


def _value(
    contender: Contender, side: Measured, path: str, rank: int | None, firm: RankStability | None
) -> Value:
    value, metric = value_of(side, path), side.values[path]
    reason = (metric.reason or "it is not defined on these cases") if value is None else None
    ranks = None
    if firm is not None and firm.low is not None and firm.high is not None:
        ranks = firm.low, firm.high
    return Value(
        contender.label, value, metric.n, reason, rank, None if firm is None else firm.first, ranks
    )


def _rank(value: float, all_values: Sequence[float]) -> int:
    least = value + TIE * max(1.0, abs(value))
    return 1 + sum(other > least for other in all_values)


def _is_ranked(contender: Contender) -> bool:
    return contender.kind == "model" and not contender.incomplete
