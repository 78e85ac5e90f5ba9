"""What one unit scores by itself, computed from its replay; what that would start programs for, as kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.benchmarks.registry import chosen_conventions
from harness.benchmarks.scored import Scored
from harness.cache.one_unit import KeptScores
from harness.canonical import JSON, canonical_json
from harness.offline.code_digest import parser_digest, scorer_digest
from harness.offline.model_units import ANSWERED
from harness.report.rounding import amount
from harness.web.viewing.index_scores import OFF, unusual_conventions
from harness.web.viewing.unit_evidence import UnitRead


@dataclass(frozen=True, slots=True)
class UnitValue:
    """One number of a unit: its metric path, its value as shown, whether rows are ranked by it.

    `kept`: it is what `harness score` stored, of the same answer and by the same code; by these conventions,
    where they are not the default ones.
    """

    path: str
    text: str
    is_main: bool
    kept: bool = False
    by: str = ""


def unit_values(
    read: UnitRead, grades: Mapping[str, JSON], kept: KeptScores | None
) -> Sequence[UnitValue] | None:
    """Return what a unit scores under the default conventions; first what ranks, or tells right from wrong.

    None where it is nobody's answer, so that it enters no score. Metrics by programs of others are not
    computed here; a stored value of the same answer stands in their place.
    """
    result = read.replayed.result
    if read.replayed.state is None or result.outcome not in ANSWERED or not read.read_whole:
        return None
    benchmark, condition = read.stored.benchmark, read.unit.condition
    chosen = chosen_conventions(benchmark, {})
    conventions = {name: OFF if OFF in benchmark.conventions[name] else chosen[name] for name in chosen}
    with benchmark.prepared(conventions) as prepared:
        unit = Scored(read.case, condition, result.outcome, result.prediction, grades)
        numbers = tuple(prepared.unit_numbers(unit))
        found = prepared.score_unit(numbers, condition, conventions)
        table = prepared.table(condition)
    stored, by = ({}, "") if kept is None or not _same(read, kept) else (kept.values, _by(read, kept))
    values = [
        _value(path, found.get(path), stored.get(path), path == table.main_metric, by)
        for path in dict.fromkeys([*found, *stored])
    ]
    first = next((path for path in (table.main_metric, table.right, table.unit_value) if path in found), None)
    return sorted(values, key=lambda one: one.path != first)


def _by(read: UnitRead, kept: KeptScores) -> str:
    """Return by which conventions values were kept; "" for the default ones."""
    if kept.conventions is None:
        return "conventions that were not kept with it"
    unusual = unusual_conventions(read.stored, kept.conventions)
    return ", ".join(f"{name} {value}" for name, value in unusual.items())


def _value(path: str, value: float | None, stored: float | None, is_main: bool, by: str) -> UnitValue:
    known = value is not None and not math.isnan(value)
    chosen = value if known else stored
    text = "no value" if chosen is None else shown_value(chosen)
    return UnitValue(path, text, is_main, kept=not known and stored is not None, by=by)


def shown_value(value: float) -> str:
    """Return a unit's number: 0 and 1 as they are, others to four digits."""
    return f"{value:g}" if value == int(value) else amount(value, 4)


def _same(read: UnitRead, kept: KeptScores) -> bool:
    """Tell whether stored values are of this answer, read and scored by the code of today."""
    name, result = read.stored.run.benchmark, read.replayed.result
    return (
        (kept.parser, kept.scorer) == (parser_digest(name), scorer_digest(name))
        and kept.outcome is result.outcome
        and canonical_json(kept.prediction) == canonical_json(result.prediction)
    )
