"""Pictures of one DICOM file: decoded, as values of their quantity or as RGB, with their windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from pydicom import Dataset
from pydicom.pixels.processing import apply_color_lut
from pydicom.pixels.utils import iter_pixels
from pydicom.uid import DeflatedExplicitVRLittleEndian, JPEG2000TransferSyntaxes, RLELossless

from harness.conversion.dicom_files import open_header, syntax_of
from harness.conversion.dicom_tags import UnreadableTagError, item, number, numbers, of_frame, whole, word
from harness.conversion.pictures import Array, Function, Picture, Source, Table, View, Window, fault

_SPACINGS: Final = ("PixelSpacing", "ImagerPixelSpacing", "NominalScannedPixelSpacing", "PixelAspectRatio")
"""Whose ratio says how high a pixel is beside its width: the first that is there."""
_FUNCTIONS: Final[dict[str, Function]] = {"LINEAR_EXACT": "LINEAR_EXACT", "SIGMOID": "SIGMOID"}
"""All others are LINEAR, as the standard has it where the tag is absent."""
_VALUES: Final = "PixelValueTransformationSequence"


def decode(source: Source, frames: Sequence[int]) -> Iterator[Picture]:
    """Yield the pictures of a file at these places (from 0), one at a time. Raises ConversionError."""
    dataset = open_header(source)
    try:
        for frame, stored in zip(frames, _stored(source, dataset, frames), strict=True):
            yield _picture(dataset, frame, stored)
    except UnreadableTagError as error:
        raise fault(source, f"its tag {error.keyword} cannot be read") from None


def _stored(source: Source, dataset: Dataset, frames: Sequence[int]) -> Iterator[Array]:
    syntax = syntax_of(dataset)
    where: Any = dataset if syntax == DeflatedExplicitVRLittleEndian else str(source.path)
    options: dict[str, Any] = {"correct_unused_bits": False}
    if "TransferSyntaxUID" not in getattr(dataset, "file_meta", {}):
        options["transfer_syntax_uid"] = syntax
    if syntax in JPEG2000TransferSyntaxes:
        options["decoding_plugin"] = "pylibjpeg"
    try:
        arrays = iter_pixels(where, indices=list(frames), **options)
        for array in arrays:
            yield _meant_bits(dataset, array) if not syntax.is_compressed or syntax == RLELossless else array
    except (UnreadableTagError, GeneratorExit, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - decoders raise what they like, and quote values
        raise fault(source, f"its pixel data ({syntax.name}) cannot be decoded: cut off or damaged") from None


def _meant_bits(dataset: Dataset, array: Array) -> Array:
    """Return values made of the bits from HighBit down, BitsStored of them (PS3.5, section 8.1.1)."""
    allocated, stored = whole(dataset, "BitsAllocated"), whole(dataset, "BitsStored")
    if array.dtype.kind not in "iu" or not 0 < stored < allocated or array.dtype.itemsize * 8 != allocated:
        return array
    above = max(0, allocated - 1 - whole(dataset, "HighBit", stored - 1))
    return np.right_shift(np.left_shift(array, above), allocated - stored)


def _picture(dataset: Dataset, frame: int, stored: Array) -> Picture:
    kind = word(dataset, "PhotometricInterpretation", ("MONOCHROME1", "MONOCHROME2", "PALETTE COLOR"))
    spacing = spacing_of(dataset, frame)
    if stored.ndim == 3:
        return Picture(_eight_bits(stored, whole(dataset, "BitsStored", 8)), spacing=spacing)
    if kind == "PALETTE COLOR":
        coloured = apply_color_lut(stored, dataset)
        return Picture(_eight_bits(coloured, coloured.dtype.itemsize * 8)[..., :3], spacing=spacing)
    values, padding = _quantity(dataset, frame, stored)
    return Picture(values, _views(dataset, frame, values), kind == "MONOCHROME1", spacing, padding)


def _eight_bits(colours: Array, bits: int) -> Array:
    if bits > 8:
        colours = np.right_shift(colours, bits - 8)
    return np.ascontiguousarray(colours.astype(np.uint8))


def _quantity(dataset: Dataset, frame: int, stored: Array) -> tuple[Array, tuple[float, float] | None]:
    """Return what the stored values mean (PS3.3 C.11.1): by table, or by slope and intercept."""
    padding = _padding(dataset)
    table = item(dataset, "ModalityLUTSequence")
    if table is not None:
        first, entries, _ = _entries(table, signed=bool(stored.min() < 0))
        return entries[np.clip(stored.astype(np.int64) - first, 0, len(entries) - 1)], None
    holder = of_frame(dataset, frame, _VALUES, "RescaleSlope")
    slope, intercept = number(holder, "RescaleSlope"), number(holder, "RescaleIntercept")
    slope, intercept = 1.0 if slope is None else slope, 0.0 if intercept is None else intercept
    if (slope, intercept) == (1.0, 0.0):
        return stored, padding
    values = stored.astype(np.float64) * slope + intercept
    if padding is not None:
        ends = sorted(one * slope + intercept for one in padding)
        padding = ends[0], ends[1]
    return values, padding


def _padding(dataset: Dataset) -> tuple[float, float] | None:
    value = number(dataset, "PixelPaddingValue")
    if value is None:
        return None
    limit = number(dataset, "PixelPaddingRangeLimit")
    return (value, value) if limit is None else (min(value, limit), max(value, limit))


def _views(dataset: Dataset, frame: int, values: Array) -> tuple[View, ...]:
    """Return the file's own windows: its tables first, as pydicom prefers them, then centre and width."""
    holder = of_frame(dataset, frame, "FrameVOILUTSequence", "WindowCenter")
    tables: list[View] = []
    signed = bool(values.min() < 0)
    while (found := item(dataset, "VOILUTSequence", len(tables))) is not None:
        first, entries, bits = _entries(found, signed=signed)
        tables.append(Table(first, entries / (2**bits - 1), f"tag:{len(tables)}"))
    function = _FUNCTIONS.get(word(holder, "VOILUTFunction", tuple(_FUNCTIONS)), "LINEAR")
    windows = zip(numbers(holder, "WindowCenter"), numbers(holder, "WindowWidth"), strict=False)
    least = 1.0 if function == "LINEAR" else 0.0
    usable = [one for one in windows if one[1] > 0 and one[1] >= least]
    start = len(tables)
    return (
        *tables,
        *(Window(*one, function, f"tag:{start + place}") for place, one in enumerate(usable)),
    )


def _entries(table: Dataset, *, signed: bool) -> tuple[int, Array, int]:
    """Return the first value that a table maps, its entries, and their bits."""
    descriptor = numbers(table, "LUTDescriptor")
    if len(descriptor) != 3:
        raise UnreadableTagError("LUTDescriptor")
    count, first, bits = int(descriptor[0]) or 65536, int(descriptor[1]), int(descriptor[2])
    if signed and first > 32767:
        first -= 65536
    data = table.get("LUTData")
    entries: Array
    if isinstance(data, bytes):
        wide = len(data) >= 2 * count
        order = "<" if table.original_encoding[1] is not False else ">"
        entries = np.frombuffer(data, f"{order}u2" if wide else "u1").astype(np.float64)
    else:
        entries = np.atleast_1d(np.asarray([] if data is None else data, dtype=np.float64))
    if not 1 <= bits <= 16 or not 0 < count <= len(entries) or entries[:count].max() >= 2**bits:
        raise UnreadableTagError("LUTData")
    return first, entries[:count], bits


def spacing_of(dataset: Dataset, frame: int) -> tuple[float, float] | None:
    """Return (between rows, between columns) of a picture, None where unknown. Raises UnreadableTagError."""
    for keyword in _SPACINGS:
        found = numbers(of_frame(dataset, frame, "PixelMeasuresSequence", keyword), keyword)
        if len(found) == 2:
            return found[0], found[1]
    return None
