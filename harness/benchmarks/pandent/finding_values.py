"""The value of one finding: as case files write it, in its one form, and as a whole number for scores.

`null` stands for "nobody looked": such a finding is no reference for anything, unlike [] and false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from harness.benchmarks.case_files import shown
from harness.benchmarks.pandent.findings import (
    ARCHES,
    UNIVERSE,
    Finding,
    bridge_pattern,
    bridge_teeth,
    tooth_code,
)
from harness.canonical import JSON
from harness.nearest import nearest_or_known

_PARTS: Final = ("flag", "description")


def value_faults(finding: Finding, value: JSON) -> Iterator[str]:
    """Yield what is wrong with a value by itself; nothing for null."""
    if value is None:
        return
    if finding.type == "tooth_set":
        yield from teeth_faults(finding.id, value, finding.teeth)
    elif finding.type == "bridge_patterns":
        yield from _bridge_faults(finding.id, value)
    elif finding.type == "binary_with_description" and isinstance(value, Mapping):
        yield from _described_faults(finding.id, value)
    elif not isinstance(value, bool):
        form = "" if finding.type == "binary" else ' or {"flag": ..., "description": ...}'
        yield f"{finding.id!r} must be true or false{form}, got {shown(value)}"


def teeth_faults(name: str, value: JSON, teeth: tuple[int, ...] = UNIVERSE) -> Iterator[str]:
    """Yield what is wrong with a list of FDI numbers that may be among `teeth`."""
    if not isinstance(value, list | tuple):
        yield f"{name!r} must be a list of FDI numbers, got {shown(value)}"
        return
    for tooth in value:
        if isinstance(tooth, bool) or not isinstance(tooth, int):
            yield f"{name!r} holds {shown(tooth)}; write FDI numbers, without quotes"
        elif tooth not in UNIVERSE:
            yield f"{name!r} names {tooth}, which is no permanent tooth (11-18, 21-28, 31-38, 41-48)"
        elif tooth not in teeth:
            yield f"{name!r} names {tooth}, which is a tooth of the {_arch_of(tooth)}"
    numbers = [tooth for tooth in value if isinstance(tooth, int) and not isinstance(tooth, bool)]
    for tooth in sorted({tooth for tooth in numbers if numbers.count(tooth) > 1}):
        yield f"{name!r} names {tooth} twice"


def value_of(finding: Finding, value: JSON) -> JSON:
    """Return a sound value in its one form: what order, "#" and missing descriptions do not change.

    Tooth sets: ascending list. Bridges: list of patterns, sorted. With description: always an object with
    both parts, the description "" where there is none. null stays null.
    """
    if value is None:
        return None
    if finding.type == "tooth_set":
        return sorted(cast("list[int]", value))
    if finding.type == "bridge_patterns":
        return sorted(bridge_pattern(text) for text in cast("list[str]", value))
    if finding.type == "binary":
        return bool(value)
    if not isinstance(value, Mapping):
        return {"flag": bool(value), "description": ""}
    return {"flag": bool(value["flag"]), "description": str(value.get("description") or "").strip()}


def teeth_in(finding: Finding, value: JSON) -> tuple[int, ...]:
    """Return the teeth that a value in its one form names, ascending; none for yes or no and for null."""
    if value is None or finding.answer == "binary":
        return ()
    if finding.type == "bridge_patterns":
        return bridge_teeth(cast("list[str]", value))
    return tuple(cast("list[int]", value))


def is_positive(finding: Finding, value: JSON) -> bool:
    """Tell whether a value in its one form says that there is something (a set with a member, or yes)."""
    if isinstance(value, Mapping):
        return bool(value["flag"])
    return bool(value)


def answer_code(finding: Finding, value: JSON) -> int | None:
    """Return a value in its one form as answers are compared: 0 or 1, or a tooth code; None for null."""
    if value is None:
        return None
    if finding.answer == "binary":
        return int(is_positive(finding, value))
    return tooth_code(teeth_in(finding, value))


def _bridge_faults(name: str, value: JSON) -> Iterator[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        yield f'{name!r} must be a list of patterns as "25-26-X", got {shown(value)}'
        return
    seen: set[str] = set()
    for text in cast("list[str]", value):
        try:
            pattern = bridge_pattern(text)
        except ValueError as error:
            yield f"{name!r} holds {text!r}: {error}"
            continue
        if pattern in seen:
            yield f"{name!r} names {pattern!r} twice"
        seen.add(pattern)
    numbered = [tooth for pattern in seen for tooth in bridge_teeth([pattern])]
    for tooth in sorted({tooth for tooth in numbered if numbered.count(tooth) > 1}):
        yield f"{name!r} has {tooth} in two bridges"


def _described_faults(name: str, value: Mapping[str, JSON]) -> Iterator[str]:
    for part in value:
        if part not in _PARTS:
            yield f"{name!r} has an unknown part {part!r}{nearest_or_known(part, _PARTS)}"
    if not isinstance(value.get("flag"), bool):
        yield f"the 'flag' of {name!r} must be true or false, got {shown(value.get('flag'))}"
    description = value.get("description")
    if description is not None and not isinstance(description, str):
        yield f"the 'description' of {name!r} must be text or null, got {shown(description)}"


def _arch_of(tooth: int) -> str:
    return next(arch for arch, teeth in ARCHES.items() if tooth in teeth)
