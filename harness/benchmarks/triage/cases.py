"""Case files of the triage benchmark: cases, their images, and the raters' labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias, cast

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.case_files import (
    CASES_FILE,
    Fields,
    Line,
    Reader,
    is_synthetic,
    path_fault,
    text_fault,
    text_list_fault,
)
from harness.benchmarks.triage.taxonomy import ALIASES, LABELS, answer_of
from harness.canonical import JSON
from harness.errors import CaseFileError, MediaError
from harness.media import Media, probe
from harness.nearest import nearest_or_known

ROLE: Final = "opg"
"""The role of a case's one image."""

_CASE_FIELDS: Final = Fields(
    required=("id", "chief_complaint", "image", "labels"), optional=("rationale", "group", "tags")
)
_RATER_FIELDS: Final = Fields(required=("id", "labels"))
_PROBE_THREADS: Final = 4

_FaultsOf: TypeAlias = Callable[[Mapping[str, JSON]], Iterator[str]]


def load_cases(folder: Path) -> CaseSet:
    """Read a folder of triage cases.

    A case whose image cannot be used is kept, with `problem` set. Raises CaseFileError that names the
    first bad line.
    """
    cases, raters, reader = _read(folder)
    reader.raise_first()
    return CaseSet(cases=cases, raters=raters, synthetic=is_synthetic(folder))


def check_cases(folder: Path) -> list[str]:
    """Return everything that is wrong with a folder of triage cases, unusable images included."""
    cases, _, reader = _read(folder)
    problems = list(reader.problems)
    try:
        is_synthetic(folder)
    except CaseFileError as error:
        problems.append(str(error))
    problems.extend(f"case {case.id!r}: {case.problem}" for case in cases if case.problem)
    return problems


def _read(folder: Path) -> tuple[tuple[Case, ...], Mapping[str, Mapping[str, JSON]], Reader]:
    reader = Reader(folder)
    if not folder.is_dir():
        reader.problems.append(f"there is no folder {str(folder)!r}; give --data the folder of {CASES_FILE}")
        return (), {}, reader
    lines = _without_faults(reader, reader.lines(CASES_FILE, _CASE_FIELDS), _case_faults)
    if not lines and not reader.problems:
        reader.problems.append(f"{CASES_FILE} holds no cases")
    cases = tuple(_cases(folder, lines))
    raters = dict(_raters(reader, frozenset(case.id for case in cases)))
    return cases, raters, reader


def _without_faults(reader: Reader, lines: Sequence[Line], faults_of: _FaultsOf) -> list[Line]:
    sound: list[Line] = []
    for line in lines:
        faults = list(faults_of(line.value))
        reader.problems.extend(f"{line.place}: {fault}" for fault in faults)
        if not faults:
            sound.append(line)
    return sound


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
            yield f"unknown label {name!r}{nearest_or_known(name, LABELS)}"
    for alias, label in ALIASES.items():
        if alias in names and label in names:
            yield f"'labels' names one label in two spellings: {alias!r} and {label!r}"


def _labels(value: JSON) -> list[str]:
    """Return labels in the order of the taxonomy, so that their order in the file means nothing."""
    named = {ALIASES.get(label, label) for label in cast("list[str]", value)}
    return [label for label in LABELS if label in named]


def _cases(folder: Path, lines: Sequence[Line]) -> Iterator[Case]:
    def look(line: Line) -> Media | MediaError:
        name = str(line.value["image"])
        try:
            return probe(folder / name, name=name)
        except MediaError as error:
            return error

    with ThreadPoolExecutor(_PROBE_THREADS) as pool:
        for line, found in zip(lines, pool.map(look, lines), strict=True):
            yield _case(line.value, found)


def _case(value: Mapping[str, JSON], image: Media | MediaError) -> Case:
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


def _raters(reader: Reader, case_ids: frozenset[str]) -> Iterator[tuple[str, Mapping[str, JSON]]]:
    cases_are_sound = not reader.problems  # else a rater's case may be one of those that are broken
    for path in sorted((reader.folder / "raters").glob("*.jsonl")):
        lines = reader.lines(f"raters/{path.name}", _RATER_FIELDS)
        sound = _without_faults(reader, lines, lambda value: _label_faults(value["labels"]))
        for line in sound:
            if cases_are_sound and line.value["id"] not in case_ids:
                reader.problems.append(f"{line.place}: {CASES_FILE} has no case {line.value['id']!r}")
        yield path.stem, {str(line.value["id"]): answer_of(_labels(line.value["labels"])) for line in sound}
