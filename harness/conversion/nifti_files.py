"""NIfTI files opened without trust: header, grid, and their values mapped into memory, not read."""

from __future__ import annotations

import gzip
import math
import os
import struct
import tempfile
import zlib
from dataclasses import dataclass
from typing import IO, Any, Final

import numpy as np
from nibabel.nifti1 import Nifti1Header
from nibabel.nifti2 import Nifti2Header
from nibabel.orientations import io_orientation
from numpy.typing import NDArray

from harness.conversion.pictures import MAX_FRAMES, MAX_PIXELS, Array, Source, fault

MAX_BYTES: Final = 16 << 30
"""Of the values of a file, as they are stored without gzip."""
MAX_PHASES: Final = 5000
_FLAT: Final = 1e-3
"""Volume that the unit vectors of a grid span, below which it is no grid of three directions."""
_HEADERS: Final = {348: Nifti1Header, 540: Nifti2Header}
_MAGIC: Final = {348: (344, 4, b"n+1\0", b"ni1\0"), 540: (4, 8, b"n+2\0\r\n\x1a\n", b"ni2\0\r\n\x1a\n")}
"""Header size -> place and length of the magic, of one file, of a pair."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A file's values by (x, y, z, phase), mapped; and what they mean: slope, intercept, grid in the patient.

    `affine` is None where the file says none. `window` is (cal_min, cal_max) where it says one.
    """

    source: Source
    values: Array
    slope: float
    intercept: float
    affine: NDArray[np.float64] | None
    zooms: tuple[float, float, float]
    window: tuple[float, float] | None
    file: IO[bytes]

    def close(self) -> None:
        """Close the file, and remove the unpacked copy where there is one."""
        self.file.close()


def is_nifti(head: bytes) -> bool:
    """Return whether a file's first bytes (540 or more) are a NIfTI header, of either byte order."""
    for size, (place, length, single, pair) in _MAGIC.items():
        if head[:4] in {struct.pack("<i", size), struct.pack(">i", size)}:
            return head[place : place + length] in {single, pair}
    return False


def open_volume(source: Source, *, packed: bool) -> Volume:
    """Open a file; one that is `packed` by gzip is unpacked to a temporary file without a name.

    Raises ConversionError naming the file.
    """
    try:
        if not packed:
            file: IO[bytes] = source.path.open("rb")
            return _closing(source, file)
        file = tempfile.TemporaryFile(prefix="conversion-")  # noqa: SIM115 - closed with the volume
        with gzip.open(source.path, "rb") as stream:
            _unpack(source, stream, file)
        return _closing(source, file)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise fault(source, "its gzip data are cut off or damaged") from None
    except OSError as error:
        raise fault(source, f"it cannot be read or unpacked ({error.strerror})") from None


def _closing(source: Source, file: IO[bytes]) -> Volume:
    try:
        return _volume(source, file)
    except BaseException:
        file.close()
        raise


def _unpack(source: Source, stream: gzip.GzipFile, file: IO[bytes]) -> None:
    """Unpack what the header says that there is, and no more: a bomb ends at the first picture too many."""
    head = stream.read(540)
    header = _header(source, head)
    wanted = _end(source, header)
    file.write(head)
    left = wanted - len(head)
    while left > 0 and (chunk := stream.read(min(left, 1 << 20))):
        file.write(chunk)
        left -= len(chunk)
    file.flush()


def _header(source: Source, head: bytes) -> Any:
    """Return a header whose shape and kind of values can be true."""
    for size, (place, length, single, pair) in _MAGIC.items():
        order = {struct.pack("<i", size): "<", struct.pack(">i", size): ">"}.get(head[:4])
        if order is None or len(head) < size:
            continue
        if head[place : place + length] == pair:
            raise fault(source, "it is one of a pair (.hdr and .img); store both as one .nii file")
        if head[place : place + length] == single:
            kind: Any = _HEADERS[size]
            return kind(head[:size], endianness=order, check=False)
    raise fault(source, "it is no NIfTI file, or cut off within its header")


def _shape(source: Source, header: Any) -> tuple[int, int, int, int]:
    dims = [int(one) for one in header["dim"]]
    if not 2 <= dims[0] <= 7 or any(one < 1 for one in dims[1 : dims[0] + 1]):
        raise fault(source, "its header gives it no size")
    sizes = [*dims[1 : dims[0] + 1], 1, 1, 1][: max(4, dims[0])]
    x, y, z, *others = sizes
    phases = math.prod(others)
    if max(x * y, x * z, y * z) > MAX_PIXELS or max(x, y, z) > MAX_FRAMES or phases > MAX_PHASES:
        raise fault(source, f"its header claims {x}x{y}x{z} values in {phases} phases, which is too large")
    return x, y, z, phases


def _kind(source: Source, header: Any) -> np.dtype[Any]:
    try:
        kind: np.dtype[Any] = np.dtype(header.get_data_dtype())
    except Exception:  # noqa: BLE001 - nibabel's words quote the header
        raise fault(source, "its header names no kind of values that there is") from None
    if kind.names is None and (kind.kind not in "iuf" or kind.itemsize > 8):
        raise fault(source, "its values are complex or longer than 64 bits, which make no picture")
    return kind


def _end(source: Source, header: Any) -> int:
    size = math.prod(_shape(source, header)) * _kind(source, header).itemsize
    if size > MAX_BYTES:
        raise fault(source, f"its header claims {size} bytes of values, more than {MAX_BYTES}")
    return _offset(source, header) + size


def _offset(source: Source, header: Any) -> int:
    offset = float(header["vox_offset"])
    least = int(header["sizeof_hdr"])
    if not math.isfinite(offset) or offset < 0 or offset > 1 << 28:
        raise fault(source, "its header says no place of the values that can be true")
    return max(int(offset), least + 4)


def _volume(source: Source, file: IO[bytes]) -> Volume:
    file.seek(0)
    header = _header(source, file.read(540))
    end, there = _end(source, header), os.fstat(file.fileno()).st_size
    if there < end:
        raise fault(source, f"its values are cut off: {there} bytes of the {end} that its header needs")
    shape, kind = _shape(source, header), _kind(source, header)
    values = np.memmap(file, kind, "r", _offset(source, header), shape, order="F")
    slope, intercept = (float(one) for one in (header["scl_slope"], header["scl_inter"]))
    if not math.isfinite(slope) or slope == 0:
        slope, intercept = 1.0, 0.0
    elif not math.isfinite(intercept):
        raise fault(source, "its header says no intercept that can be true")
    zooms = tuple(abs(float(one)) for one in header["pixdim"][1:4])
    low, high = float(header["cal_min"]), float(header["cal_max"])
    window = (low, high) if math.isfinite(low) and math.isfinite(high) and high > low else None
    return Volume(
        source, values, slope, intercept, _affine(header), (zooms[0], zooms[1], zooms[2]), window, file
    )


def _affine(header: Any) -> NDArray[np.float64] | None:
    """Return the grid in the patient: the sform, else the qform, None where neither can be true."""
    try:
        if int(header["sform_code"]) > 0:
            found = header.get_sform()
        elif int(header["qform_code"]) > 0:
            found = header.get_qform()
        else:
            return None
    except Exception:  # noqa: BLE001 - a quaternion that is none
        return None
    matrix = np.asarray(found, dtype=np.float64)
    if not np.isfinite(matrix).all() or not matrix[:3, :3].any(axis=0).all():
        return None
    directions = matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=0)
    axes = io_orientation(matrix)  # type: ignore[no-untyped-call]
    flat = abs(float(np.linalg.det(directions))) < _FLAT
    return None if flat or not np.isfinite(axes).all() else matrix
