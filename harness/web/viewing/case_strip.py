"""The other units of a case, as links with their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.cache.rows import UnitId
from harness.web.viewing.filters import OPEN, Filters, unit_link
from harness.web.viewing.library import Library
from harness.web.viewing.unit_case import is_asked
from harness.web.viewing.unit_evidence import UnitRead


@dataclass(frozen=True, slots=True)
class Beside:
    """Another unit of the same case: what it is called here, how it stands, its page."""

    name: str
    outcome: str
    href: str
    is_this: bool


async def strip(
    library: Library, read: UnitRead, filters: Filters
) -> dict[str, Sequence[Beside]]:
    """Return "model", "condition" and "repeat" -> the units that differ in it alone, this one among them.

    Those of which there is but one are left out. Outcomes are those that the run stored.
    """
    stored, unit, manifest = read.stored, read.unit, read.stored.manifest
    states = await library.store.states_of_case(
        stored.run.id, manifest.models, manifest.conditions, unit.case_id
    )
    outcomes = {one.unit: OPEN if one.outcome is None else str(one.outcome) for one in states}

    def beside(name: str, other: UnitId) -> Beside:
        outcome = outcomes.get(other, OPEN)
        return Beside(name, outcome, unit_link(stored.run.name, other, filters), other == unit)

    conditions = [name for name in stored.conditions if is_asked(stored, read.case, name)]
    found = {
        "model": [beside(name, replace(unit, model=name)) for name in sorted(manifest.models)],
        "condition": [beside(name, replace(unit, condition=name)) for name in conditions],
        "repeat": [beside(str(n), replace(unit, repeat=n)) for n in range(1, manifest.repeats + 1)],
    }
    return {name: units for name, units in found.items() if len(units) > 1}
