"""Slices of one orientation, put in order along their normal and taken apart into phases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.conversion.slices import PHASE_KEYS, Slice

_TOLERANCE: Final = 2
"""Decimals of a mm in which places of slices are compared."""
_PLACE: Final = "ImagePositionPatient"
_NONE: Final = (True, 0.0, "")


@dataclass(frozen=True, slots=True)
class Phases:
    """Phases in order, their slices in order; what is odd; how far slices are apart (mm), where known."""

    phases: list[list[Slice]]
    notes: tuple[str, ...] = ()
    spacing: float | None = None


def phases_of(slices: Sequence[Slice]) -> Phases:
    """Return the phases of slices that lie alike.

    Order: along the normal of the slices, the cross product of the directions of row and column (feet to head
    for axial slices as usually stored); without positions, by InstanceNumber, then by place in the file.
    Where several slices share a place, the first of `PHASE_KEYS` by which each phase has a place once tells
    phases apart, else their order, which is told.
    """
    first = slices[0]
    if first.orientation is None or any(one.position is None for one in slices):
        return _by_number(slices)
    normal = np.cross(first.orientation[:3], first.orientation[3:])
    size = float(np.linalg.norm(normal))
    if size < 0.5:
        return _by_number(slices)
    places = {id(one): round(one.along(normal / size), _TOLERANCE) for one in slices}
    ordered = sorted(slices, key=lambda one: (places[id(one)], *_turn(one)))
    counts = Counter(places.values())
    if len(counts) == 1 and len(slices) > 1:
        return _in_time(slices)
    notes: list[str] = []
    phases = [ordered]
    if (most := max(counts.values())) > 1:
        phases, notes = _apart(ordered, places, most)
    gaps, spacing = _gaps([places[id(one)] for one in phases[0]])
    return Phases(phases, (*notes, *gaps), spacing)


def _turn(one: Slice) -> tuple[float, str, int]:
    number = one.file.number
    return (np.inf if number is None else number, one.file.source.name, one.frame)


def _by_number(slices: Sequence[Slice]) -> Phases:
    """Order by InstanceNumber, or by frame within one file."""
    ordered = sorted(slices, key=_turn)
    if len({one.file.source for one in slices}) == 1:
        return Phases([ordered])
    notes = ["the slices say no position; their order is that of InstanceNumber"]
    numbers = [one.file.number for one in ordered if one.file.number is not None]
    if len(numbers) < len(ordered):
        notes = ["some slices say neither position nor InstanceNumber; their order is that of file names"]
    elif len(set(numbers)) < len(numbers):
        twice = len(numbers) - len(set(numbers))
        notes.append(f"{twice} InstanceNumbers are there twice: phases may be mixed")
    elif (missing := numbers[-1] - numbers[0] + 1 - len(numbers)) > 0:
        notes.append(f"InstanceNumber has holes: {missing} slices may be missing")
    return Phases([ordered], tuple(notes))


def _in_time(slices: Sequence[Slice]) -> Phases:
    """Order pictures of one place, as of a beating heart, by the first key that all have and that differs."""
    for key in ("TemporalPositionIndex", "TemporalPositionIdentifier", "TriggerTime",
                "NominalCardiacTriggerDelayTime"):  # fmt: skip
        values = {one.keys.get(key) for one in slices}
        if None not in values and len(values) == len(slices):
            ordered = sorted(slices, key=lambda one: (_value(one, key), *_turn(one)))
            return Phases([ordered], (f"all pictures lie at one place; their order is that of {key}",))
    told = "all pictures lie at one place; their order is that of InstanceNumber and frame"
    return Phases([sorted(slices, key=_turn)], (told,))


def _value(one: Slice, key: str) -> tuple[bool, float, str]:
    """Return a key's value so that numbers and words sort."""
    value = _in_plane(one) if key == _PLACE else one.keys.get(key)
    if value is None:
        return _NONE
    return (True, 0.0, value) if isinstance(value, str) else (False, value, "")


def _apart(
    ordered: Sequence[Slice], places: dict[int, float], most: int
) -> tuple[list[list[Slice]], list[str]]:
    for key in (_PLACE, *PHASE_KEYS):
        parts: dict[tuple[bool, float, str], list[Slice]] = {}
        for one in ordered:
            parts.setdefault(_value(one, key), []).append(one)
        once = all(len({places[id(one)] for one in part}) == len(part) for part in parts.values())
        if len(parts) == most and once and _NONE not in parts:
            told = f"slices share their places: {most} phases, told apart by {key}"
            return [parts[value] for value in sorted(parts)], [told]
    phases: list[list[Slice]] = [[] for _ in range(most)]
    met: Counter[float] = Counter()
    for one in ordered:
        phases[met[places[id(one)]]].append(one)
        met[places[id(one)]] += 1
    even = len({len(phase) for phase in phases}) == 1
    told = f"slices share their places and no tag tells phases apart: {most} phases by InstanceNumber"
    return phases, [told if even else f"{told}, of unlike length: some slices are missing, or there twice"]


def _in_plane(one: Slice) -> str | None:
    """Return where a slice begins within its plane (whole mm), so that two stacks side by side are two."""
    if one.position is None or one.orientation is None:
        return None
    lies, start = np.asarray(one.orientation), np.asarray(one.position)
    return f"{round(float(start @ lies[:3])):+06d} {round(float(start @ lies[3:])):+06d}"


def _gaps(places: Sequence[float]) -> tuple[list[str], float | None]:
    """Return what is odd about the distances of slices, and the usual one."""
    if len(places) < 2:
        return [], None
    steps = np.diff(np.asarray(places))
    usual = float(np.median(steps))
    wide = steps[steps > 1.5 * usual]
    if not wide.size:
        return [], usual
    missing = int(np.rint(wide / usual - 1).sum())
    return [f"slices are missing: {missing} at {wide.size} places, by the distance of the others"], usual
