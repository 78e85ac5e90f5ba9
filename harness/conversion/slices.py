"""What is known of one picture within a file: where it lies, and to which phase it belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from pydicom import Dataset

from harness.conversion.burned_in import PROJECTIONS, burned_in_text
from harness.conversion.dicom_files import open_header
from harness.conversion.dicom_pixels import spacing_of
from harness.conversion.dicom_tags import UnreadableTagError, functional, item, lenient, raw, whole, word
from harness.conversion.fitting import pixel_ratio
from harness.conversion.pictures import Source, fault

PHASE_KEYS: Final = (
    "StackID", "TemporalPositionIndex", "TemporalPositionIdentifier", "AcquisitionNumber", "EchoTime",
    "EffectiveEchoTime", "EchoNumbers", "DiffusionBValue", "TriggerTime", "NominalCardiacTriggerDelayTime",
    "AcquisitionTime",
)  # fmt: skip
"""Tags by which pictures of one place differ, in the order in which they are tried."""
_GROUPS: Final = (
    "FrameContentSequence", "MREchoSequence", "MRDiffusionSequence", "CardiacSynchronizationSequence",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slice:
    """One picture: its file, its place there and in the patient, what may make it another phase."""

    file: ImageFile
    frame: int
    position: tuple[float, ...] | None
    orientation: tuple[float, ...] | None
    keys: Mapping[str, float | str]

    def along(self, normal: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        """Return the place along a normal, in mm."""
        return float(np.dot(np.asarray(self.position), normal))


@dataclass(frozen=True, slots=True)
class ImageFile:
    """One DICOM file: what decides with which others it makes a sequence. Its words are never printed."""

    source: Source
    rows: int
    columns: int
    colour: bool
    series: str
    instance: str
    number: int | None
    thickness: float | None
    projection: bool
    frames: int
    ratio: float | None
    notes: tuple[str, ...]


def read_slices(source: Source) -> list[Slice]:
    """Return the pictures of a DICOM file in its own order. Raises ConversionError."""
    dataset = open_header(source)
    try:
        file = _image_file(source, dataset)
        return [_slice(file, dataset, frame) for frame in range(file.frames)]
    except UnreadableTagError as error:
        raise fault(source, f"its tag {error.keyword} cannot be read") from None


def _image_file(source: Source, dataset: Dataset) -> ImageFile:
    found = lenient(dataset, "InstanceNumber", 1)
    thickness = lenient(dataset, "SliceThickness", 1)
    return ImageFile(
        source,
        whole(dataset, "Rows"),
        whole(dataset, "Columns"),
        whole(dataset, "SamplesPerPixel", 1) > 1
        or bool(word(dataset, "PhotometricInterpretation", ("PALETTE COLOR",))),
        str(_text(dataset, "SeriesInstanceUID")),
        str(_text(dataset, "SOPInstanceUID")),
        None if found is None else int(found[0]),
        None if thickness is None else thickness[0],
        bool(word(dataset, "Modality", PROJECTIONS)),
        whole(dataset, "NumberOfFrames", 1),
        _ratio(dataset),
        tuple(_notes(dataset)),
    )


def _slice(file: ImageFile, dataset: Dataset, frame: int) -> Slice:
    plane = functional(dataset, frame, "PlanePositionSequence") or dataset
    lies = functional(dataset, frame, "PlaneOrientationSequence") or dataset
    keys: dict[str, float | str] = {}
    holders = [one for name in _GROUPS if (one := functional(dataset, frame, name)) is not None]
    for keyword in PHASE_KEYS:
        for holder in [*holders, dataset]:
            value = _text(holder, keyword)
            if value not in (None, ""):
                numbers = lenient(holder, keyword, 1)
                keys[keyword] = str(value) if numbers is None else numbers[0]
                break
    position = lenient(plane, "ImagePositionPatient", 3)
    return Slice(file, frame, position, lenient(lies, "ImageOrientationPatient", 6), keys)


def _ratio(dataset: Dataset) -> float | None:
    """Return the pixel ratio of the first picture, by the rule of `dicom_pixels`."""
    return pixel_ratio(spacing_of(dataset, 0))


def _notes(dataset: Dataset) -> list[str]:
    notes = []
    burned = burned_in_text(dataset)
    if burned is not None:
        notes.append(burned)
    if item(dataset, "PresentationLUTSequence") is not None:
        notes.append("its presentation look-up table is not applied; compare the output with a viewer")
    if _ratio(dataset) is None:
        notes.append("its pixel spacing cannot be true; pixels are taken as square")
    return notes


def _text(dataset: Dataset, keyword: str) -> object:
    try:
        return raw(dataset, keyword)
    except UnreadableTagError:
        return None
