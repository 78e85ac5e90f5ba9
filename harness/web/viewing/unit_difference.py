"""Prediction against reference on a page that stays small: of very long texts the beginnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from harness.benchmarks.base import Case
from harness.canonical import JSON
from harness.offline.stored_run import StoredRun
from harness.web.viewing.difference_parts import Difference
from harness.web.viewing.differences import difference
from harness.web.viewing.unit_evidence import UnitRead

MOST: Final = 8_000
"""Characters of one text that are compared on a page; the page says so of longer ones."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A difference; `is_cut`: some text of it is longer than what was compared."""

    difference: Difference
    is_cut: bool


def compared(read: UnitRead, grades: Mapping[str, JSON], most: int = MOST) -> Compared | None:
    """Return what a unit's prediction and its reference differ in; None of a unit that was never begun."""
    if read.replayed.state is None:
        return None
    result, whole = read.replayed.result, (dict(read.case.reference), dict(read.case.fields))
    reference, fields, prediction = (_cut(one, most) for one in (*whole, result.prediction))
    case = replace(
        read.case,
        reference=cast("Mapping[str, JSON]", reference),
        fields=cast("Mapping[str, str]", fields),
    )
    is_cut = (reference, fields, prediction) != (*whole, result.prediction)
    found = difference(
        read.stored.benchmark, read.unit.condition, case, prediction, outcome=read.state_name, grades=grades
    )
    return Compared(found, is_cut)


def reference_of(stored: StoredRun, case: Case, condition: str, most: int = MOST) -> Difference:
    """Return a case's reference in the parts that answers are compared with, of which there is none."""
    short = replace(
        case,
        reference=cast("Mapping[str, JSON]", _cut(dict(case.reference), most)),
        fields=cast("Mapping[str, str]", _cut(dict(case.fields), most)),
    )
    return difference(stored.benchmark, condition, short, None)


def _cut(value: JSON, most: int) -> JSON:
    match value:
        case str():
            return value[:most]
        case Mapping():
            return {name: _cut(item, most) for name, item in value.items()}
        case list() | tuple():
            return [_cut(item, most) for item in value]
        case _:
            return value
