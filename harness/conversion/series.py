"""Slices of DICOM files made into stacks: what belongs together, in which order, and what is odd about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from harness.conversion.dicom_pixels import decode
from harness.conversion.phases import Phases, phases_of
from harness.conversion.pictures import Function, Picture, Source
from harness.conversion.slices import Slice

_SAME_PLANE: Final = 0.999
"""Cosine between normals (and rows) of slices that lie alike: some 2.5 degrees."""
_PLANES: Final = ("sagittal", "coronal", "axial")


@dataclass(frozen=True, slots=True)
class DicomStack:
    """Pictures of one or several DICOM files in order; see `pictures.Stack`."""

    slices: tuple[Slice, ...]
    part: str
    orientation: str
    notes: tuple[str, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return the files, each once, in the order of their first picture."""
        return tuple(dict.fromkeys(one.file.source for one in self.slices))

    @property
    def frames(self) -> tuple[tuple[int, int], ...]:
        """Return (index of the source, frame within it) of each picture."""
        places = {source: index for index, source in enumerate(self.sources)}
        return tuple((places[one.file.source], one.frame) for one in self.slices)

    @property
    def function(self) -> Function:
        """Return how a window that the user gives is applied: as the standard applies its own."""
        return "LINEAR"

    @property
    def moving(self) -> bool:
        """Return whether there is more than one picture."""
        return len(self.slices) > 1

    def pictures(self, indices: Sequence[int]) -> Iterator[Picture]:
        """Decode pictures, each file's in one go. Raises ConversionError."""
        wanted = [self.slices[index] for index in indices]
        for source, run in groupby(wanted, key=lambda one: one.file.source):
            yield from decode(source, [one.frame for one in run])


def stacks_of(slices: Iterable[Slice]) -> list[DicomStack]:
    """Return the stacks that the slices of all files make, in the order of the files."""
    groups: dict[tuple[object, ...], list[Slice]] = {}
    for one in slices:
        groups.setdefault(_group(one), []).append(one)
    return [stack for group in groups.values() for stack in _stacks(group)]


def _group(one: Slice) -> tuple[object, ...]:
    """Return what pictures must share: a file of several frames, and a radiograph, are by themselves."""
    file = one.file
    alone = file.frames > 1 or not file.series or (file.projection and one.position is None)
    return (file.source,) if alone else (file.series,)


def _stacks(group: list[Slice]) -> Iterator[DicomStack]:
    kept, notes = _without_copies(group)
    parts: dict[tuple[object, int], list[Slice]] = {}
    leaders: list[Slice] = []
    for one in kept:
        file = one.file
        kind = (file.rows, file.columns, file.colour, file.ratio)
        parts.setdefault((kind, _plane(one, leaders)), []).append(one)
    if len({kind for kind, _ in parts}) > 1:
        notes.append("the series mixes pictures of several sizes or kinds; each became an output of its own")
    if len({plane for _, plane in parts}) > 1:
        notes.append("the series mixes several orientations; each became an output of its own")
    for number, part in enumerate(parts.values()):
        found = phases_of(part)
        name = f"v{number:02}" if len(parts) > 1 else ""
        yield from _phases(found, name, notes)


def _phases(found: Phases, name: str, notes: Sequence[str]) -> Iterator[DicomStack]:
    several = len(found.phases) > 1
    for number, phase in enumerate(found.phases):
        of_files = dict.fromkeys(note for one in phase for note in one.file.notes)
        part = "-".join(filter(None, [name, f"t{number:02}" if several else ""]))
        told = (*notes, *found.notes, *_thickness(phase, found.spacing), *of_files)
        yield DicomStack(tuple(phase), part, _orientation(phase), tuple(dict.fromkeys(told)))


def _without_copies(group: list[Slice]) -> tuple[list[Slice], list[str]]:
    """Leave out files that are copies of an instance which is there already."""
    first: dict[str, Source] = {}
    kept, copies = [], dict[str, None]()
    for one in group:
        holder = first.setdefault(one.file.instance, one.file.source) if one.file.instance else None
        if holder in (None, one.file.source):
            kept.append(one)
        else:
            copies[one.file.source.name] = None
    notes = []
    if copies:
        notes.append(f"left out, as copies of an instance that is there already: {_listed(copies)}")
    return kept, notes


def _listed(names: Iterable[str]) -> str:
    several = list(names)
    more = f" and {len(several) - 3} more" if len(several) > 3 else ""
    return ", ".join(repr(name) for name in several[:3]) + more


def _plane(one: Slice, leaders: list[Slice]) -> int:
    """Return the number of the orientation that a slice shares; a new one is added to the `leaders`."""
    for number, other in enumerate(leaders):
        if _alike(one, other):
            return number
    leaders.append(one)
    return len(leaders) - 1


def _alike(one: Slice, other: Slice) -> bool:
    if one.orientation is None or other.orientation is None:
        return one.orientation is other.orientation
    mine, theirs = np.asarray(one.orientation), np.asarray(other.orientation)
    return bool(mine[:3] @ theirs[:3] > _SAME_PLANE and mine[3:] @ theirs[3:] > _SAME_PLANE)


def _thickness(phase: Sequence[Slice], spacing: float | None) -> list[str]:
    thickness = phase[0].file.thickness
    if spacing is None or thickness is None or thickness <= 0 or spacing <= 1.5 * thickness:
        return []
    return [f"there are gaps between slices: {spacing:.4g} mm apart, {thickness:.4g} mm thick"]


def _orientation(phase: Sequence[Slice]) -> str:
    lies = phase[0].orientation
    if lies is None:
        return "as stored"
    normal = np.abs(np.cross(lies[:3], lies[3:]))
    plane = _PLANES[int(np.argmax(normal))]
    return f"as stored ({'' if normal.max() > 0.95 else 'oblique '}{plane})"
