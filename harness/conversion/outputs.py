"""Files of the output folder: put in place whole or not at all, and never one in the place of another."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.conversion.pictures import Source
from harness.errors import ConversionError


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def part_file(folder: Path) -> Iterator[Path]:
    """Yield a new, empty, hidden file of a folder, which is gone afterwards whatever happens."""
    for number in range(10_000):
        path = folder / f".conversion-{os.getpid()}-{number}.part"
        try:
            path.open("xb").close()
        except FileExistsError:
            continue
        break
    else:
        raise ConversionError(f"{str(folder)!r} is full of .conversion-*.part files; remove them")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def put_in_place(part: Path, final: Path, *, overwrite: bool) -> bool:
    """Give a whole file its final name; False where another file has it and may not be overwritten."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    if overwrite:
        part.replace(final)
        return True
    try:
        os.link(part, final)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        if final.exists():
            return False
        part.replace(final)
    return True


def stem_of(sources: tuple[Source, ...]) -> str:
    """Return the name that the user gave: of one file its own, of several that of their folder."""
    first = sources[0]
    if len(sources) > 1:
        return first.path.resolve().parent.name or "series"
    lower = first.path.name.lower()
    for suffix in (".nii.gz", ".dicom", ".dcm", ".nii", ".ima"):
        if lower.endswith(suffix) and len(lower) > len(suffix):
            return first.path.name[: -len(suffix)]
    return first.path.name
