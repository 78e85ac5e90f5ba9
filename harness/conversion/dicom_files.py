"""DICOM files opened without trust: their tags, and whether their pixel data are all there."""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

import pydicom
from pydicom import Dataset
from pydicom.pixels.decoders.base import get_decoder
from pydicom.uid import UID, AllTransferSyntaxes, DeflatedExplicitVRLittleEndian

from harness.conversion.coded_sizes import coded_size
from harness.conversion.dicom_tags import WANTED, UnreadableTagError, number, raw, whole, word
from harness.conversion.pictures import MAX_FRAMES, MAX_PIXELS, Source, fault
from harness.errors import ConversionError

MAX_INFLATED: Final = 1 << 30
"""Bytes of a data set that is compressed as a whole."""
MAX_HEADER: Final = 1 << 28
"""Bytes before the pixel data: even 20,000 frames' functional groups need less."""

_UNDEFINED: Final = 0xFFFFFFFF
_LONG: Final = {"OB", "OD", "OF", "OL", "OV", "OW", "UN"}
PHOTOMETRIC: Final = (
    "MONOCHROME1", "MONOCHROME2", "PALETTE COLOR", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT",
)  # fmt: skip


def open_header(source: Source) -> Dataset:
    """Return the tags that we need of a DICOM file, its pixel data checked but not read.

    Raises ConversionError, which names the file and nothing of its tags.
    """
    try:
        with source.path.open("rb") as file:
            return _checked(source, file)
    except UnreadableTagError as error:
        raise fault(source, f"its tag {error.keyword} cannot be read") from None
    except OSError as error:
        raise fault(source, f"it cannot be read ({error.strerror})") from None


def syntax_of(dataset: Dataset) -> UID:
    """Return how the pixel data are encoded; a file without that tag is little endian, as was usual."""
    meta = getattr(dataset, "file_meta", None)
    found = None if meta is None else meta.get("TransferSyntaxUID")
    return UID(str(found)) if found else UID("1.2.840.10008.1.2")


def _checked(source: Source, file: BinaryIO) -> Dataset:
    dataset = _tags(source, file)
    syntax = syntax_of(dataset)
    _check_syntax(source, syntax)
    if syntax == DeflatedExplicitVRLittleEndian:
        dataset = _inflated(source, file)
    if word(dataset, "SOPClassUID", ("1.2.840.10008.1.3.10",)):
        raise fault(source, "it is a DICOMDIR, the index of a folder; give the folder itself")
    length = _pixel_length(file, syntax) if syntax != DeflatedExplicitVRLittleEndian else _held(dataset)
    if length is None:
        raise fault(source, "it holds no pixel data (a report, a plan or an index, or cut off before them)")
    _check_shape(source, dataset)
    if syntax.is_encapsulated:
        _check_fragments(source, file, dataset)
    else:
        rest = os.fstat(file.fileno()).st_size - file.tell()
        there = length if syntax == DeflatedExplicitVRLittleEndian else min(length, rest)
        needed = _native_bytes(dataset)
        if there < needed:
            raise fault(source, f"its pixel data are cut off: {there} bytes of the {needed} that it needs")
    return dataset


def _tags(source: Source, file: BinaryIO) -> Dataset:
    try:
        dataset = pydicom.dcmread(file, stop_before_pixels=True, force=True, specific_tags=list(WANTED))
    except Exception:  # noqa: BLE001 - pydicom raises what it likes, and quotes values
        raise fault(source, "it is cut off or damaged, or no DICOM file at all") from None
    if file.tell() > os.fstat(file.fileno()).st_size:
        raise fault(source, "it is cut off or damaged within its tags")
    if file.tell() > MAX_HEADER and not syntax_of(dataset) == DeflatedExplicitVRLittleEndian:
        raise fault(source, f"its tags alone are larger than {MAX_HEADER} bytes")
    return dataset


def _inflated(source: Source, file: BinaryIO) -> Dataset:
    """Return a data set that is compressed as a whole, once its size is known to be bearable."""
    file.seek(0)
    try:
        meta_end = _meta_end(file)
        file.seek(meta_end)
        inflater, size = zlib.decompressobj(-zlib.MAX_WBITS), 0
        while chunk := file.read(1 << 20):
            while chunk:
                size += len(inflater.decompress(chunk, 1 << 20))
                chunk = inflater.unconsumed_tail
                if size > MAX_INFLATED:
                    raise fault(source, f"it inflates to more than {MAX_INFLATED} bytes")
        file.seek(0)
        return pydicom.dcmread(file, force=True)
    except ConversionError:
        raise
    except Exception:  # noqa: BLE001 - as above
        raise fault(source, "its compressed data set is cut off or damaged") from None


def _meta_end(file: BinaryIO) -> int:
    """Return where the data set begins: behind the group 0002 that follows the preamble."""
    file.seek(132)
    head = file.read(12)
    group, element, _, size, length = struct.unpack("<HH2sHI", head)
    if (group, element, size) != (2, 0, 4):
        raise ValueError("no group length")
    return 144 + int(length)


def _held(dataset: Dataset) -> int | None:
    value = raw(dataset, "PixelData")
    return None if value is None else len(value)


def _pixel_length(file: BinaryIO, syntax: UID) -> int | None:
    """Return the length of the pixel data, before whose tag the file stands; leaves it behind the length."""
    order = "<" if syntax.is_little_endian else ">"
    head = file.read(8)
    if len(head) < 8:
        return None
    group, element = struct.unpack(order + "HH", head[:4])
    if (group, element) not in {(0x7FE0, 0x0010), (0x7FE0, 0x0008), (0x7FE0, 0x0009)}:
        return None
    if syntax.is_implicit_VR:
        (length,) = struct.unpack(order + "I", head[4:])
    elif head[4:6].decode("latin-1") in _LONG:
        more = file.read(4)
        if len(more) < 4:
            return None
        (length,) = struct.unpack(order + "I", more)
    else:
        (length,) = struct.unpack(order + "H", head[6:])
    return int(length)


def _check_shape(source: Source, dataset: Dataset) -> None:
    rows, columns = whole(dataset, "Rows"), whole(dataset, "Columns")
    if rows < 1 or columns < 1:
        raise fault(source, "its tags Rows and Columns give it no size")
    if rows * columns > MAX_PIXELS:
        raise fault(source, f"{columns}x{rows} pixels are more than {MAX_PIXELS}")
    frames = number(dataset, "NumberOfFrames")
    if frames is not None and not 1 <= frames <= MAX_FRAMES:
        raise fault(source, f"it says that it has {frames:g} frames; 1 to {MAX_FRAMES} are possible")
    if not word(dataset, "PhotometricInterpretation", PHOTOMETRIC):
        raise fault(source, f"its photometric interpretation is none of {', '.join(PHOTOMETRIC)}")
    if whole(dataset, "BitsAllocated") not in {1, 8, 16, 32, 64}:
        raise fault(source, "its tag BitsAllocated is none of 1, 8, 16, 32, 64")


def _check_syntax(source: Source, syntax: UID) -> None:
    name = syntax.name if syntax in AllTransferSyntaxes else "a transfer syntax that is not in the standard"
    try:
        decoder = get_decoder(syntax)
    except NotImplementedError:
        raise fault(source, f"its pixel data are {name}, which is not supported{_advice(name)}") from None
    if not decoder.is_available:
        raise fault(source, f"its pixel data are {name}, for which no decoder is installed{_advice(name)}")


def _advice(name: str) -> str:
    if name.startswith(("JPEG Lossless", "JPEG-LS")):
        more = " or pyjpegls (MIT)" if name.startswith("JPEG-LS") else ""
        return (
            f"; pylibjpeg-libjpeg (GPL, so the choice is yours){more} adds one, or transcode the file, "
            "with `gdcmconv --raw` say"
        )
    if "MPEG" in name or "HEVC" in name:
        return "; take the video out of it with other tools, as it is a clip already"
    return "; transcode the file to Explicit VR Little Endian"


def _native_bytes(dataset: Dataset) -> int:
    bits = whole(dataset, "BitsAllocated") * frame_samples(dataset) * (number(dataset, "NumberOfFrames") or 1)
    return math.ceil(bits / 8)


def frame_samples(dataset: Dataset) -> int:
    """Return how many values a picture has as it is stored: of 4:2:2, two for each pixel."""
    samples = whole(dataset, "SamplesPerPixel", 1)
    if word(dataset, "PhotometricInterpretation", ("YBR_FULL_422",)):
        samples = 2
    return whole(dataset, "Rows") * whole(dataset, "Columns") * samples


def _check_fragments(source: Source, file: BinaryIO, dataset: Dataset) -> None:
    """Walk over the fragments of compressed pictures: each whole, each of the size that the tags say."""
    frames = whole(dataset, "NumberOfFrames", 1)
    size = (whole(dataset, "Columns"), whole(dataset, "Rows"))
    heads = list(_fragments(source, file))[1:]
    if len(heads) < frames:
        raise fault(source, f"its pixel data are cut off: {len(heads)} compressed pictures of {frames}")
    for index, (head, tail) in enumerate(heads):
        found = coded_size(head)
        if found is not None and found != size:
            width, height = found
            raise fault(source, f"its picture {index} is {width}x{height}, its tags say {size[0]}x{size[1]}")
        whole_picture = len(heads) == frames or index == len(heads) - 1
        if found is not None and whole_picture and not tail.rstrip(b"\0").endswith(b"\xff\xd9"):
            raise fault(source, f"its compressed picture {index} is cut off")


def _fragments(source: Source, file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Yield the first and the last bytes of each item of encapsulated pixel data, the offsets first."""
    end = os.fstat(file.fileno()).st_size
    while True:
        head = file.read(8)
        if len(head) < 8:
            raise fault(source, "its pixel data are cut off: the end of the compressed pictures is missing")
        group, element, length = struct.unpack("<HHI", head)
        if (group, element) == (0xFFFE, 0xE0DD):
            return
        start = file.tell()
        if (group, element) != (0xFFFE, 0xE000) or length == _UNDEFINED or start + length > end:
            raise fault(source, "its pixel data are cut off or damaged")
        first = file.read(min(length, 1 << 16))
        file.seek(start + max(0, length - 16))
        last = file.read(min(length, 16))
        yield first, last
