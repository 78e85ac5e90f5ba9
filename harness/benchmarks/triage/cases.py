"""Case files of the triage benchmark: cases, their images, and the raters' labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.case_files import (
    CASES_FILE,
    Fields,
    Reader,
    is_synthetic,
    path_fault,
    text_fault,
    text_list_fault,
)
from harness.benchmarks.case_loading import CaseForm, checked_lines, folder_problems, without_faults
from harness.benchmarks.triage.taxonomy import ALIASES, LABELS, answer_of
from harness.canonical import JSON
from harness.errors import MediaError
from harness.media import Media
from harness.media_reading import MediaReader
from harness.nearest import nearest_of

ROLE: Final = "opg"
"""The role of a case's one image."""

_CASE_FIELDS: Final = Fields(
    required=("id", "chief_complaint", "image", "labels"), optional=("rationale", "group", "tags")
)
_RATER_FIELDS: Final = Fields(required=("id", "labels"))


def load_cases(folder: Path, media: MediaReader | None = None) -> CaseSet:
    """Read a folder of triage cases.

    A case whose image cannot be used is kept, with `problem` set. Raises CaseFileError that names the
    first bad line, before any image is read.
    """
    reader = Reader(folder)
    lines = checked_lines(reader, case_form())
    raters = dict(_raters(reader, lines.ids))
    reader.raise_first()
    synthetic = is_synthetic(folder)
    return CaseSet(cases=lines.cases(folder, media or MediaReader()), raters=raters, synthetic=synthetic)


def check_cases(folder: Path) -> list[str]:
    """Return everything that is wrong with a folder of triage cases, unusable images included."""
    reader = Reader(folder)
    lines = checked_lines(reader, case_form())
    for _ in _raters(reader, lines.ids):
        pass
    return folder_problems(reader, lines)


def case_form() -> CaseForm:
    """Return how the lines of triage become cases."""
    return CaseForm(_CASE_FIELDS, _case_faults, lambda value: [str(value["image"])], _case)


def _case_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    found = [
        text_fault("chief_complaint", value["chief_complaint"]),
        path_fault("image", value["image"]),
        *_label_faults(value["labels"]),
        text_list_fault("tags", value.get("tags", [])),
        text_fault("rationale", value.get("rationale", "none")),
        None if value.get("group") is None else text_fault("group", value["group"]),
    ]
    yield from (fault for fault in found if fault is not None)


def _label_faults(labels: JSON) -> Iterator[str]:
    if (fault := text_list_fault("labels", labels)) is not None:
        yield fault
        return
    names = cast("list[str]", labels)
    for name in names:
        if name not in LABELS and name not in ALIASES:
            yield f"unknown label {name!r}{nearest_of(name, LABELS)}"
    for alias, label in ALIASES.items():
        if alias in names and label in names:
            yield f"'labels' names one label in two spellings: {alias!r} and {label!r}"


def _labels(value: JSON) -> list[str]:
    """Return labels in the order of the taxonomy, so that their order in the file means nothing."""
    named = {ALIASES.get(label, label) for label in cast("list[str]", value)}
    return [label for label in LABELS if label in named]


def _case(value: Mapping[str, JSON], media: Sequence[Media | MediaError]) -> Case:
    (image,) = media
    return Case(
        id=str(value["id"]),
        fields={"chief_complaint": str(value["chief_complaint"])},
        media={} if isinstance(image, MediaError) else {ROLE: (image,)},
        reference={
            "labels": _labels(value["labels"]),
            "rationale": str(value.get("rationale", "")),
        },
        group=cast("str | None", value.get("group")),
        tags=tuple(cast("list[str]", value.get("tags", []))),
        problem=str(image) if isinstance(image, MediaError) else None,
    )


def _raters(reader: Reader, case_ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, JSON]]]:
    known = frozenset(case_ids)
    cases_are_sound = not reader.problems  # else a rater's case may be one of those that are broken
    for path in sorted((reader.folder / "raters").glob("*.jsonl")):
        lines = reader.lines(f"raters/{path.name}", _RATER_FIELDS)
        answers: dict[str, JSON] = {}
        for line in without_faults(reader, lines, lambda value: _label_faults(value["labels"])):
            case_id = str(line.value["id"])
            if cases_are_sound and case_id not in known:
                reader.problems.append(f"{line.place}: {CASES_FILE} has no case {case_id!r}")
            answers[case_id] = answer_of(_labels(line.value["labels"]))
        yield path.stem, answers
