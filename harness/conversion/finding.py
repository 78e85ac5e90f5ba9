"""The files that a user gave, and what each of them is by its bytes, whatever it is called."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

from harness.conversion.nifti_files import is_nifti
from harness.conversion.pictures import Source, fault
from harness.errors import ConfigError

Kind = Literal["dicom", "nifti", "nifti.gz"]
_NAMED: Final = (".dcm", ".dicom", ".ima", ".nii", ".nii.gz")
_OTHERS: Final = {
    b"\x89PNG": "a PNG image", b"\xff\xd8\xff": "a JPEG image", b"GIF8": "a GIF image",
    b"BM": "a BMP image", b"PK\x03\x04": "a ZIP archive", b"%PDF": "a PDF document",
    b"II*\0": "a TIFF image", b"MM\0*": "a TIFF image", b"<": "HTML or XML",
}  # fmt: skip


def find_sources(inputs: Iterable[Path], out: Path) -> Iterator[tuple[Source, bool]]:
    """Yield each file once, with whether the user named it; of folders all regular files below, sorted.

    The output folder, hidden files and links to folders are passed over. Raises ConfigError where a path
    is not there.
    """
    met: set[tuple[int, int]] = set()
    away = out.resolve()
    for given in inputs:
        if not given.exists():
            raise ConfigError(f"there is no file or folder {str(given)!r}")
        for path in _below(given, away):
            facts = path.stat()
            if (facts.st_dev, facts.st_ino) in met:
                continue
            met.add((facts.st_dev, facts.st_ino))
            name = path.name if path == given else path.relative_to(given).as_posix()
            yield Source(path, name), path == given


def _below(given: Path, away: Path) -> Iterator[Path]:
    if not given.is_dir():
        if not given.is_file():
            raise ConfigError(f"{str(given)!r} is neither a file nor a folder")
        yield given
        return
    for top, folders, files in os.walk(given):
        here = Path(top)
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and (here / one).resolve() != away
        )
        for name in sorted(files):
            if not name.startswith(".") and (here / name).is_file():
                yield here / name


def kind_of(source: Source, *, named: bool) -> Kind | None:
    """Return what a file is by its bytes; None for one that was only found and is neither.

    Raises ConversionError for a file that the user `named`, or whose name says that it is one of ours.
    """
    try:
        with source.path.open("rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise fault(source, f"it cannot be read ({error.strerror})") from None
    if head[128:132] == b"DICM" or _bare_dicom(head):
        return "dicom"
    if is_nifti(head):
        return "nifti"
    if head.startswith(b"\x1f\x8b"):
        if is_nifti(_unpacked(source)):
            return "nifti.gz"
        if named or source.name.lower().endswith(_NAMED):
            raise fault(source, "it is packed by gzip, and what is in it is no NIfTI file, or is cut off")
        return None
    if not named and not source.name.lower().endswith(_NAMED):
        return None
    if not head:
        raise fault(source, "it is empty")
    other = next((word for start, word in _OTHERS.items() if head.startswith(start)), None)
    what = f"it is {other}" if other else "it is neither DICOM nor NIfTI, or cut off within its header"
    raise fault(source, what)


def _bare_dicom(head: bytes) -> bool:
    """Return whether a file begins with an element of group 2 or 8, as files without a preamble do."""
    return head[:2] in {b"\x02\0", b"\x08\0"} and len(head) > 8 and head[3:4] == b"\0" and (
        head[4:6] in {b"UL", b"CS", b"UI", b"DA", b"LO", b"SH"} or head[6:8] == b"\0\0"
    )  # fmt: skip


def _unpacked(source: Source) -> bytes:
    try:
        with gzip.open(source.path, "rb") as stream:
            return stream.read(1024)
    except (OSError, EOFError, zlib.error):
        return b""
