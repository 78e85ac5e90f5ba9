"""Values of DICOM tags, read without trust: a number, several, or a sentence that quotes none of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from pydicom import Dataset

WANTED: Final = (
    "SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "Modality", "ImageType", "InstanceNumber",
    "ImagePositionPatient", "ImageOrientationPatient", "SliceThickness", "NumberOfFrames", "FrameTime",
    "TemporalPositionIdentifier", "AcquisitionNumber", "EchoTime", "EchoNumbers", "TriggerTime",
    "DiffusionBValue", "AcquisitionTime", "BurnedInAnnotation", "SharedFunctionalGroupsSequence",
    "PerFrameFunctionalGroupsSequence", "SamplesPerPixel", "PhotometricInterpretation",
    "PlanarConfiguration", "Rows", "Columns", "BitsAllocated", "BitsStored", "HighBit",
    "PixelRepresentation", "PixelSpacing", "ImagerPixelSpacing", "NominalScannedPixelSpacing",
    "PixelAspectRatio", "PixelPaddingValue", "PixelPaddingRangeLimit", "WindowCenter", "WindowWidth",
    "VOILUTFunction", "VOILUTSequence", "ModalityLUTSequence", "RescaleSlope", "RescaleIntercept",
    "PresentationLUTSequence", "RedPaletteColorLookupTableDescriptor", "RedPaletteColorLookupTableData",
    "GreenPaletteColorLookupTableDescriptor", "GreenPaletteColorLookupTableData",
    "BluePaletteColorLookupTableDescriptor", "BluePaletteColorLookupTableData",
    "SegmentedRedPaletteColorLookupTableData", "SegmentedGreenPaletteColorLookupTableData",
    "SegmentedBluePaletteColorLookupTableData", "ExtendedOffsetTable", "ExtendedOffsetTableLengths",
)  # fmt: skip
"""All that is ever read of a file: no name, no date of birth, no description, nothing private."""


class UnreadableTagError(Exception):
    """A tag that decides over the picture holds what is no number; `keyword` names the tag."""

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self.keyword = keyword


def raw(dataset: Dataset, keyword: str) -> Any:
    """Return a tag's value, None where it is absent or empty. Raises UnreadableTagError."""
    try:
        value = dataset.get(keyword)
    except Exception:  # noqa: BLE001 - whatever it is, the library's words quote the value
        raise UnreadableTagError(keyword) from None
    return None if value is None or value == "" else value


def numbers(dataset: Dataset, keyword: str) -> tuple[float, ...]:
    """Return the finite numbers of a tag, empty where it is absent. Raises UnreadableTagError."""
    value = raw(dataset, keyword)
    if value is None:
        return ()
    several = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    try:
        found = tuple(float(one) for one in several)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableTagError(keyword) from None
    if not all(math.isfinite(one) for one in found):
        raise UnreadableTagError(keyword)
    return found


def number(dataset: Dataset, keyword: str) -> float | None:
    """Return the first number of a tag. Raises UnreadableTagError."""
    found = numbers(dataset, keyword)
    return found[0] if found else None


def whole(dataset: Dataset, keyword: str, default: int = 0) -> int:
    """Return a whole number. Raises UnreadableTagError."""
    found = number(dataset, keyword)
    return default if found is None else int(found)


def word(dataset: Dataset, keyword: str, known: Sequence[str]) -> str:
    """Return a tag's word where it is one of the `known`, else an empty text: no other is ever repeated."""
    try:
        value = str(raw(dataset, keyword) or "").strip().upper()
    except (UnreadableTagError, UnicodeError):
        return ""
    return value if value in known else ""


def lenient(dataset: Dataset, keyword: str, count: int) -> tuple[float, ...] | None:
    """Return exactly `count` numbers, None where a tag has others: for what is only good to know."""
    try:
        found = numbers(dataset, keyword)
    except UnreadableTagError:
        return None
    return found if len(found) == count else None


def item(dataset: Dataset, keyword: str, index: int = 0) -> Dataset | None:
    """Return an item of a sequence, None where there is none."""
    value = raw(dataset, keyword)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not 0 <= index < len(value):
        return None
    found = value[index]
    return found if isinstance(found, Dataset) else None


def functional(dataset: Dataset, frame: int, group: str) -> Dataset | None:
    """Return a functional group of a frame (from 0): its own, else the one that all frames share."""
    own = item(dataset, "PerFrameFunctionalGroupsSequence", frame)
    found = None if own is None else item(own, group)
    if found is None:
        shared = item(dataset, "SharedFunctionalGroupsSequence")
        found = None if shared is None else item(shared, group)
    return found


def of_frame(dataset: Dataset, frame: int, group: str, keyword: str) -> Dataset:
    """Return the data set that says a tag for a frame: its functional group, else the file itself."""
    found = functional(dataset, frame, group)
    return found if found is not None and keyword in found else dataset
