"""Case files of MedLayXPlain: an image with a region of interest, its expert caption and its lay caption."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.case_files import (
    Fields,
    path_fault,
    shown,
    text_fault,
    text_list_fault,
)
from harness.benchmarks.case_loading import CaseForm, check_folder, load_folder
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.canonical import JSON
from harness.errors import MediaError
from harness.media import Media, check_box
from harness.media_reading import MediaReader
from harness.nearest import nearest_or_known

ROLE: Final = "image"
"""The role of a case's one image."""

EXPERT: Final = "expert_caption"
"""The field that conditions B and C show, and the source text of SARI in all three."""

ROI: Final = "roi"
"""The field with the region of interest as four numbers, "10,20,30,40"; empty where it is drawn already."""

_REGION: Final = re.compile(",".join(["([0-9]{1,9})"] * 4))

_FIELDS: Final = Fields(
    required=("id", "image", "roi", "modality", "expert_caption", "lay_caption"),
    optional=("concepts", "group", "tags"),
)


def load_cases(folder: Path, media: MediaReader | None = None) -> CaseSet:
    """Read a folder of MedLayXPlain cases.

    `fields` of a case are `expert_caption` and `roi`; its reference has `lay_caption`, `modality` and
    `concepts`. A case whose image cannot be used, or whose region lies outside of it, is kept, with `problem`
    set. Raises CaseFileError that names the first bad line, before any image is read.
    """
    return load_folder(folder, case_form(), media)


def check_cases(folder: Path) -> list[str]:
    """Return everything that is wrong with a folder of MedLayXPlain cases, unusable images included.

    A region is held against the image upright: its file is looked at once more where the sides alone do not
    tell. A run finds that out when it draws the box.
    """
    return check_folder(folder, replace(case_form(), case=_looked_at))


def region_of(case: Case) -> tuple[int, int, int, int] | None:
    """Return the region of a case, or of a step's case, as x0, y0, x1, y1 in pixels of the image upright.

    None: it is drawn already, the case has none, or what stands there is not four whole numbers.
    """
    found = _REGION.fullmatch(case.fields.get(ROI, ""))
    if found is None:
        return None
    x0, y0, x1, y1 = map(int, found.groups())
    return x0, y0, x1, y1


def case_form() -> CaseForm:
    """Return how the lines of MedLayXPlain become cases."""
    return CaseForm(_FIELDS, _case_faults, lambda value: [str(value["image"])], _case)


def _case_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    found = [
        path_fault("image", value["image"]),
        _roi_fault(value["roi"]),
        _modality_fault(value["modality"]),
        *(text_fault(name, value[name]) for name in ("expert_caption", "lay_caption")),
        *(text_list_fault(name, value.get(name, [])) for name in ("concepts", "tags")),
        None if value.get("group") is None else text_fault("group", value["group"]),
    ]
    yield from (fault for fault in found if fault is not None)


def _modality_fault(modality: JSON) -> str | None:
    if (fault := text_fault("modality", modality)) is not None:
        return fault
    if modality in MODALITIES:
        return None
    return f"unknown modality {modality!r}{nearest_or_known(str(modality), MODALITIES)}"


def _roi_fault(roi: JSON) -> str | None:
    """Return what is wrong with a region that must be four whole numbers of pixels, or null."""
    if roi is None:
        return None
    if not isinstance(roi, list) or len(roi) != 4 or not all(type(one) is int for one in roi):
        return (
            f"'roi' must be [x0, y0, x1, y1] in whole pixels, or null where the box is drawn on the image, "
            f"got {shown(roi)}"
        )
    left, top, right, bottom = cast("list[int]", roi)
    if min(left, top) < 0 or left >= right or top >= bottom:
        return f"'roi' must have 0 <= x0 < x1 and 0 <= y0 < y1, got {shown(roi)}"
    return None


def _case(value: Mapping[str, JSON], media: Sequence[Media | MediaError]) -> Case:
    (image,) = media
    roi = cast("list[int] | None", value["roi"])
    outside = None if isinstance(image, MediaError) else _outside(roi, image, str(value["image"]))
    return Case(
        id=str(value["id"]),
        fields={EXPERT: str(value["expert_caption"]), ROI: "" if roi is None else ",".join(map(str, roi))},
        media={} if isinstance(image, MediaError) else {ROLE: (image,)},
        reference={
            "lay_caption": value["lay_caption"],
            "modality": value["modality"],
            "concepts": value.get("concepts", []),
        },
        group=cast("str | None", value.get("group")),
        tags=tuple(cast("list[str]", value.get("tags", []))),
        problem=str(image) if isinstance(image, MediaError) else outside,
    )


def _looked_at(value: Mapping[str, JSON], media: Sequence[Media | MediaError]) -> Case:
    case = _case(value, media)
    region = region_of(case)
    if case.problem is not None or region is None:
        return case
    try:
        check_box(case.media[ROLE][0], region, str(value["image"]))
    except MediaError as error:
        return replace(case, problem=str(error))
    return case


def _outside(roi: list[int] | None, image: Media, name: str) -> str | None:
    """Return that a region lies outside of its image, upright (EXIF may turn it)."""
    if roi is None:
        return None
    try:
        check_box(image, roi, name)
    except MediaError as error:
        return str(error)
    return None
