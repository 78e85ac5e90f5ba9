"""What may not be true of one case at once, after the paper's rule-based verification (section 3.4).

The paper removes missing teeth from all findings of teeth and checks eruption, flags with their details, and
the syntax of teeth and bridges. What is no sound value at all is refused before (`finding_values`); these
rules are about values that contradict each other. A line may keep a contradiction by naming its rule, since
released data may hold some: then it is scored as it stands, and the case says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, cast

from harness.benchmarks.pandent.finding_values import teeth_in
from harness.benchmarks.pandent.findings import FINDINGS, UNIVERSE, replaced_teeth
from harness.canonical import JSON

RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing_tooth": "a tooth that is missing has no other finding; a missing unit of a bridge is X",
        "bridge_unit": "an X between two teeth of a bridge stands for a tooth that is missing",
        "eruption": "no tooth is both erupted and partially erupted",
        "description": "what is not there is not described",
    }
)
"""Rule -> what it asks. `missing_teeth` that differs from what `erupted` leaves can never be kept."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One contradiction: the rule that it breaks, and what breaks it."""

    rule: str
    text: str


def missing_teeth(erupted: Sequence[int], partially_erupted: Sequence[int]) -> list[int]:
    """Return the teeth that are in neither set, ascending (paper, section 3.2)."""
    there = {*erupted, *partially_erupted}
    return [tooth for tooth in UNIVERSE if tooth not in there]


def conflicts(findings: Mapping[str, JSON], erupted: Sequence[int] | None) -> Iterator[Conflict]:
    """Yield the contradictions of one case; `findings` are all 21, in their one form."""
    missing = set(cast("list[int]", findings["missing_teeth"] or []))
    for finding in FINDINGS[1:]:
        value = findings[finding.id]
        if gone := [tooth for tooth in teeth_in(finding, value) if tooth in missing]:
            named = ", ".join(map(str, gone))
            yield Conflict("missing_tooth", f"{finding.id!r} names {named}, which is in 'missing_teeth'")
        if isinstance(value, Mapping) and not value["flag"] and value["description"]:
            yield Conflict("description", f"{finding.id!r} is false but described")
    for pattern in (
        cast("list[str]", findings["bridge"] or []) if findings["missing_teeth"] is not None else ()
    ):
        if there := [tooth for tooth in replaced_teeth(pattern) if tooth not in missing]:
            named = ", ".join(map(str, there))
            yield Conflict(
                "bridge_unit", f"'bridge' has X for {named} in {pattern!r}, which is not in 'missing_teeth'"
            )
    partially = cast("list[int]", findings["partially_erupted_or_impacted"] or [])
    if both := sorted(set(partially).intersection(erupted or ())):
        named = ", ".join(map(str, both))
        yield Conflict("eruption", f"{named} is in both 'erupted' and 'partially_erupted_or_impacted'")
