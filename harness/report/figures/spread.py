"""Texts kept apart: side by side at an edge, and around points of a plane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

Spot = tuple[float, float]
Place = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_REACHES: Final = (7.0, 14.0, 24.0, 38.0, 56.0, 80.0, 110.0)
_SIDES: Final = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return heights near the wanted ones, in their order, at least `gap` apart, between low and high.

    Where there is no room for all, they are as far apart as it allows.
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    groups: list[tuple[float, list[int]]] = []
    for at in order:
        middle, members = min(max(wanted[at], low), high), [at]
        while groups and middle - _half(members, gap) < groups[-1][0] + _half(groups[-1][1], gap) + gap:
            before, others = groups.pop()
            share = len(others) + len(members)
            middle = (before * len(others) + middle * len(members)) / share
            members = others + members
            middle = min(max(middle, low + _half(members, gap)), high - _half(members, gap))
        groups.append((middle, members))
    found = [0.0] * len(wanted)
    for middle, members in groups:
        for place, at in enumerate(members):
            found[at] = middle - _half(members, gap) + gap * place
    return found


def _half(members: Sequence[int], gap: float) -> float:
    return (len(members) - 1) * gap / 2


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the text of a point goes: its left edge and baseline; `leader` is where a line to it ends."""

    x: float
    y: float
    leader: Spot | None


class Plane:
    """Points and texts in a frame, so that the next text can be put where nothing is."""

    def __init__(self, frame: Place) -> None:
        self._frame = frame
        self._taken: list[Place] = []

    def take(self, place: Place) -> None:
        """Keep other texts from a place."""
        self._taken.append(place)

    def take_line(self, start: Spot, end: Spot) -> None:
        """Keep other texts from a line."""
        for x, y in _along(start, end):
            self.take((x - 1, y - 1, x + 1, y + 1))

    def put(self, x: float, y: float, width: float, height: float, *, strict: bool = True) -> Placed | None:
        """Return the nearest free place for a text about a point, and take it; None if there is none.

        A strict one has no line to its point that meets anything.
        """
        for reach, place in _around(x, y, width, height):
            if not self._inside(place) or self._crossed(place):
                continue
            leader = None
            if reach > _REACHES[0]:
                leader = (min(max(x, place[0]), place[2]), min(max(y, place[1]), place[3]))
                met = (self._crossed((px, py, px, py)) for px, py in _along((x, y), leader)[6:])
                if strict and any(met):
                    continue
                self.take_line((x, y), leader)
            self.take(place)
            return Placed(place[0], place[3] - height * 0.22, leader)
        return None

    def _inside(self, place: Place) -> bool:
        left, top, right, bottom = self._frame
        return place[0] >= left and place[1] >= top and place[2] <= right and place[3] <= bottom

    def _crossed(self, place: Place) -> bool:
        return any(_cross(place, other) for other in self._taken)


def _along(start: Spot, end: Spot) -> Sequence[Spot]:
    """Return spots on a line, a pixel or so apart."""
    steps = max(int(max(abs(end[0] - start[0]), abs(end[1] - start[1]))), 1)
    dx, dy = (end[0] - start[0]) / steps, (end[1] - start[1]) / steps
    return [(start[0] + dx * at, start[1] + dy * at) for at in range(steps + 1)]


def _around(x: float, y: float, width: float, height: float) -> Iterator[tuple[float, Place]]:
    for reach, (right, down) in product(_REACHES, _SIDES):
        dx = right * (reach if down == 0 else reach * 0.6)
        dy = down * (reach if right == 0 else reach * 0.8)
        left = x + dx - (width if right < 0 else width / 2 if right == 0 else 0)
        top = y + dy - (height if down < 0 else height / 2 if down == 0 else 0)
        yield reach, (left, top, left + width, top + height)


def _cross(one: Place, other: Place) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
