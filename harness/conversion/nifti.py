"""Volumes of NIfTI files seen as stacks of slices, turned to one orientation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from nibabel.orientations import io_orientation

from harness.conversion.fitting import pixel_ratio
from harness.conversion.nifti_files import Volume
from harness.conversion.pictures import Array, Function, Picture, Source, Window
from harness.conversion.recipe import Axis

Order = tuple[tuple[int, bool], tuple[int, bool], tuple[int, bool]]
_OBLIQUE_DEGREES: Final = 15.0
_LAYOUT: Final[dict[Axis, tuple[int, int, int]]] = {
    "axial": (2, 1, 0),
    "coronal": (1, 2, 0),
    "sagittal": (0, 2, 1),
}
"""Axis -> which of right (0), anterior (1), superior (2) slices, rows and columns go along."""
ORIENTATION: Final[dict[Axis, str]] = {
    "axial": "axial, feet to head; left of the picture: patient's right; top: anterior",
    "coronal": "coronal, anterior to posterior; left of the picture: patient's right; top: superior",
    "sagittal": "sagittal, left to right; left of the picture: anterior; top: superior",
}
_ASCENDING: Final[dict[Axis, bool]] = {"axial": True, "coronal": False, "sagittal": True}
"""Whether slices go towards right, anterior or superior, or away from it."""


@dataclass(frozen=True, slots=True)
class NiftiStack:
    """One phase of a volume, slice by slice along an axis; see `pictures.Stack`."""

    volume: Volume
    axis: Axis
    phase: int
    part: str
    order: Order
    """Of right, anterior, superior: which axis of the file goes along it, and whether the same way."""
    notes: tuple[str, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return the file."""
        return (self.volume.source,)

    @property
    def frames(self) -> tuple[tuple[int, int], ...]:
        """Return (0, index of the slice along the file's own axis) of each slice."""
        axis, same = self.order[_LAYOUT[self.axis][0]]
        size = self.volume.values.shape[axis]
        ascending = same == _ASCENDING[self.axis]
        return tuple((0, index if ascending else size - 1 - index) for index in range(size))

    @property
    def function(self) -> Function:
        """Return how a window that the user gives is applied: its ends are black and white, exactly."""
        return "LINEAR_EXACT"

    @property
    def moving(self) -> bool:
        """Return whether there is more than one slice."""
        return len(self.frames) > 1

    @property
    def orientation(self) -> str:
        """Return how slices lie."""
        told = ORIENTATION[self.axis]
        return told if self.volume.affine is not None else f"{told} (assumed)"

    def pictures(self, indices: Sequence[int]) -> Iterator[Picture]:
        """Yield slices as values of their quantity. Rows go down, columns to the right."""
        frames, zooms = self.frames, self.volume.zooms
        down, across = (self.order[place][0] for place in _LAYOUT[self.axis][1:])
        window = self.volume.window
        views = () if window is None else (_between(*window),)
        for index in indices:
            values = self._plane(frames[index][1])
            yield Picture(values, views if values.ndim == 2 else (), spacing=(zooms[down], zooms[across]))

    def _plane(self, place: int) -> Array:
        _, rows, columns = _LAYOUT[self.axis]
        axis, (down, down_same), (across, across_same) = (
            self.order[_LAYOUT[self.axis][0]][0], self.order[rows], self.order[columns]
        )  # fmt: skip
        where: list[slice | int] = [slice(None), slice(None), slice(None), self.phase]
        where[axis] = place
        plane = self.volume.values[tuple(where)]
        if down > across:
            plane = plane.T
        # Down goes to inferior or posterior; right, to the patient's left, or to posterior (sagittal).
        plane = plane[:: -1 if down_same else 1, :: -1 if across_same else 1]
        if plane.dtype.names is not None:
            return np.ascontiguousarray(np.stack([plane[name] for name in plane.dtype.names[:3]], axis=-1))
        if (self.volume.slope, self.volume.intercept) == (1.0, 0.0):
            return np.ascontiguousarray(plane)
        return np.asarray(plane, dtype=np.float64) * self.volume.slope + self.volume.intercept


def stacks_of_volume(volume: Volume, axis: Axis) -> list[NiftiStack]:
    """Return a stack a phase, in the order of the phases."""
    notes = []
    if volume.affine is None:
        order: Order = ((0, True), (1, True), (2, True))
        notes.append("its header does not say how it lies; right, anterior, superior are assumed for x, y, z")
    else:
        order = _order(volume.affine)
        if (tilt := _tilt(volume)) > _OBLIQUE_DEGREES:
            notes.append(f"its grid is tilted by {tilt:.0f} degrees: slices are those of the nearest axis")
    down, across = (order[place][0] for place in _LAYOUT[axis][1:])
    if pixel_ratio((volume.zooms[down], volume.zooms[across])) is None:
        notes.append("its pixel spacing cannot be true; pixels are taken as square")
    if volume.affine is not None:
        sizes = np.linalg.norm(volume.affine[:3, :3], axis=0)
        if not np.allclose(sizes, volume.zooms, rtol=0.01):
            notes.append("its grid and its pixdim disagree about the size of a voxel; pixdim is followed")
    phases = volume.values.shape[3]
    return [
        NiftiStack(volume, axis, phase, f"t{phase:02}" if phases > 1 else "", order, tuple(notes))
        for phase in range(phases)
    ]


def _order(affine: Array) -> Order:
    found = io_orientation(affine)  # type: ignore[no-untyped-call]
    places = {int(world): (axis, way > 0) for axis, (world, way) in enumerate(found)}
    return places[0], places[1], places[2]


def _tilt(volume: Volume) -> float:
    assert volume.affine is not None
    grid = volume.affine[:3, :3]
    shares = np.abs(grid / np.linalg.norm(grid, axis=0)).max(axis=0)
    return float(np.degrees(np.arccos(min(1.0, float(shares.min())))))


def _between(low: float, high: float) -> Window:
    return Window((low + high) / 2, high - low, "LINEAR_EXACT", "tag:0")
