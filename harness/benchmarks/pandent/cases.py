"""Case files of PanDent: an image, its 21 findings, and its clinical report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from harness.benchmarks.pandent.consistency import RULES, conflicts, missing_teeth
from harness.benchmarks.pandent.finding_values import teeth_faults, value_faults, value_of
from harness.benchmarks.pandent.findings import BY_ID, FINDINGS
from harness.canonical import JSON
from harness.errors import MediaError
from harness.media import Media
from harness.media_reading import MediaReader
from harness.nearest import nearest_of, nearest_or_known

ROLE: Final = "opg"
"""The role of a case's one image."""

_FIELDS: Final = Fields(
    required=("id", "image", "findings", "report"),
    optional=("erupted", "auxiliary_note", "accepted_conflicts", "group", "tags"),
)
_MISSING: Final = "missing_teeth"
_PARTIAL: Final = "partially_erupted_or_impacted"


def load_cases(folder: Path, media: MediaReader | None = None) -> CaseSet:
    """Read a folder of PanDent cases.

    The reference of a case has `findings` (all 21, in the one form of `finding_values.value_of`, null
    where nobody looked), `report` and `auxiliary_note` (text or null) and `accepted_conflicts`. A case
    whose image cannot be used is kept, with `problem` set. Raises CaseFileError that names the first bad
    line, before any image is read.
    """
    return load_folder(folder, case_form(), media)


def check_cases(folder: Path) -> list[str]:
    """Return everything that is wrong with a folder of PanDent cases, unusable images included."""
    return check_folder(folder, case_form())


def case_form() -> CaseForm:
    """Return how the lines of PanDent become cases."""
    return CaseForm(_FIELDS, _case_faults, lambda value: [str(value["image"])], _case)


def _case_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    found = [
        path_fault("image", value["image"]),
        *(
            text_fault(name, value[name])
            for name in ("report", "auxiliary_note", "group")
            if value.get(name) is not None
        ),
        text_list_fault("tags", value.get("tags", [])),
    ]
    yield from (fault for fault in found if fault is not None)
    yield from _finding_faults(value)


def _finding_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    """Yield what is wrong with the findings; contradictions only where each value is sound by itself."""
    findings, erupted = value["findings"], value.get("erupted")
    if not isinstance(findings, Mapping):
        yield f"'findings' must be an object, got {shown(findings)}"
        return
    faults = [
        *(f"unknown finding {name!r}{nearest_of(name, BY_ID)}" for name in findings if name not in BY_ID),
        *_unsaid(findings, derived=erupted is not None),
    ]
    for finding in FINDINGS:
        faults.extend(value_faults(finding, findings.get(finding.id)))
    if erupted is not None:
        faults.extend(teeth_faults("erupted", erupted))
        if findings.get(_PARTIAL) is None:
            faults.append(f"'erupted' alone does not tell {_MISSING!r}; give {_PARTIAL!r} as well")
    yield from faults
    if not faults:
        yield from _derivation_faults(findings, erupted)
        yield from _conflict_faults(value)


def _unsaid(findings: Mapping[str, JSON], *, derived: bool) -> Iterator[str]:
    """Yield that findings are left out: silence could mean none as well as not looked at."""
    names = [one.id for one in FINDINGS if one.id not in findings and not (derived and one.derived)]
    if names:
        yield (
            f"'findings' leaves out {', '.join(map(repr, names))}; write [] or false where there is none, "
            "null where nobody looked"
            + (", or give 'erupted' for the missing teeth to follow from" if _MISSING in names else "")
        )


def _derivation_faults(findings: Mapping[str, JSON], erupted: JSON) -> Iterator[str]:
    given = findings.get(_MISSING)
    if erupted is None or given is None:
        return
    derived = missing_teeth(cast("list[int]", erupted), cast("list[int]", findings[_PARTIAL]))
    if derived != sorted(cast("list[int]", given)):
        yield (
            f"{_MISSING!r} is {shown(given)}, but 'erupted' and {_PARTIAL!r} leave {shown(derived)}; "
            "correct one of them"
        )


def _conflict_faults(value: Mapping[str, JSON]) -> Iterator[str]:
    accepted = value.get("accepted_conflicts", [])
    if (fault := text_list_fault("accepted_conflicts", accepted)) is not None:
        yield fault
        return
    rules = cast("list[str]", accepted)
    found = list(conflicts(_findings(value), cast("list[int] | None", value.get("erupted"))))
    for conflict in found:
        if conflict.rule not in rules:
            yield (
                f"{conflict.text}: {RULES[conflict.rule]}; correct it, or keep it as it is with "
                f'"accepted_conflicts": ["{conflict.rule}"]'
            )
    for rule in rules:
        if rule not in RULES:
            yield f"unknown rule {rule!r} in 'accepted_conflicts'{nearest_or_known(rule, RULES)}"
        elif all(conflict.rule != rule for conflict in found):
            yield f"'accepted_conflicts' names {rule!r}, which this case does not break; take it out"


def _findings(value: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return all findings of a line without faults in order and in their one form, missing teeth derived."""
    given = cast("Mapping[str, JSON]", value["findings"])
    findings = {finding.id: value_of(finding, given.get(finding.id)) for finding in FINDINGS}
    if findings[_MISSING] is None and value.get("erupted") is not None:
        partial = cast("list[int]", findings[_PARTIAL])
        findings[_MISSING] = [*missing_teeth(cast("list[int]", value["erupted"]), partial)]
    return findings


def _case(value: Mapping[str, JSON], media: Sequence[Media | MediaError]) -> Case:
    (image,) = media
    return Case(
        id=str(value["id"]),
        fields={},
        media={} if isinstance(image, MediaError) else {ROLE: (image,)},
        reference={
            "findings": _findings(value),
            "report": value["report"],
            "auxiliary_note": value.get("auxiliary_note"),
            "accepted_conflicts": sorted(cast("list[str]", value.get("accepted_conflicts", []))),
        },
        group=cast("str | None", value.get("group")),
        tags=tuple(cast("list[str]", value.get("tags", []))),
        problem=str(image) if isinstance(image, MediaError) else None,
    )
