"""DENTEX's boxes as a table: one row an image, with the teeth of each diagnosis.

The file is COCO-like JSON: `images` and `annotations` with `category_id_1` (quadrant), `category_id_2` (tooth
in the quadrant) and `category_id_3` (diagnosis), whose names stand in `categories_1` to `categories_3`. Only
abnormal teeth have boxes, so an image without a box has no such finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.benchmarks.pandent.findings import UNIVERSE
from harness.case_import.json_rows import read_document
from harness.case_import.row import Column, Row
from harness.case_import.text_file import TextFile
from harness.errors import ImportFileError

DIAGNOSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "caries": "caries",
        "deep caries": "caries",
        "periapical lesion": "periapical_lesion",
        "periapical lesions": "periapical_lesion",
        "impacted": "impacted",
    }
)
"""Name of a diagnosis in the release, in lower case -> the column here."""
_COLUMNS: Final = ("file_name", *dict.fromkeys(DIAGNOSES.values()))


@dataclass(frozen=True, slots=True)
class DentexSource:
    """The images of one DENTEX file, with lists of FDI numbers."""

    file: TextFile
    images: Sequence[Mapping[str, object]]
    kind: str = "DENTEX"

    @property
    def folder(self) -> Path:
        """The folder below which paths in it lead."""
        return self.file.path.parent

    def columns(self, *, whole: bool = False) -> list[Column]:
        """Return the columns."""
        return [Column(name, "text" if name == "file_name" else "list of teeth") for name in _COLUMNS]

    def rows(self, wanted: Collection[str] | None = None) -> Iterator[Row]:
        """Yield one row an image."""
        for number, cells in enumerate(self.images, start=1):
            yield Row(number, cells)


def open_dentex(file: TextFile) -> DentexSource:
    """Return a file of fully labelled images as a table. Raises ImportFileError for any other file."""
    value = read_document(file)
    if not isinstance(value, dict):
        raise file.error("it is no DENTEX file: it must be an object with images and annotations")
    quadrants, places, diagnoses = (_names(file, value, f"categories_{level}") for level in (1, 2, 3))
    teeth: dict[object, dict[str, set[int]]] = {}
    rows: dict[object, str] = {}
    for image in _objects(file, value, "images"):
        if not isinstance(image.get("file_name"), str) or image.get("id") is None or image["id"] in rows:
            raise file.error(
                f"each of its images needs a file_name and an id of its own, unlike {image.get('id')!r}"
            )
        rows[image["id"]] = str(image["file_name"])
        teeth[image["id"]] = {name: set() for name in DIAGNOSES.values()}
    for box in _objects(file, value, "annotations"):
        if box.get("image_id") not in teeth:
            raise file.error(f"a box belongs to the image {box.get('image_id')!r}, which is not in it")
        tooth = _tooth(file, quadrants.get(box.get("category_id_1")), places.get(box.get("category_id_2")))
        called = diagnoses.get(box.get("category_id_3"), "").casefold()
        if called not in DIAGNOSES:
            raise file.error(f"the diagnosis {called or box.get('category_id_3')!r} is not known")
        teeth[box["image_id"]][DIAGNOSES[called]].add(tooth)
    return DentexSource(
        file,
        [
            {"file_name": rows[key], **{name: sorted(found) for name, found in teeth[key].items()}}
            for key in rows
        ],
    )


def _names(file: TextFile, value: Mapping[str, object], part: str) -> dict[object, str]:
    return {one.get("id"): str(one.get("name")) for one in _objects(file, value, part)}


def _objects(file: TextFile, value: Mapping[str, object], part: str) -> list[Mapping[str, object]]:
    found = value.get(part)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise file.error(
            f"it has no list {part!r}; take the file of fully labelled images (quadrant, tooth, diagnosis)"
        )
    return found


def _tooth(file: TextFile, quadrant: str | None, place: str | None) -> int:
    written = f"{quadrant}{place}"
    if not written.isdecimal() or int(written) not in UNIVERSE:
        raise ImportFileError(
            f"{file.path.name!r}: a box has the quadrant {quadrant!r} and the tooth {place!r}, no FDI tooth"
        )
    return int(written)
