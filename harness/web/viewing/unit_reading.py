"""What the answers of units say, read as scoring reads them: for lists of a run that nobody has scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.registry import chosen_conventions
from harness.benchmarks.scored import Scored
from harness.cache.rows import LinkedUnit
from harness.offline.chosen_grades import ChosenGrades
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.stored_run import StoredRun
from harness.outcomes import UNUSABLE, USABLE
from harness.web.viewing.differences import headline

_ANSWERED: Final = USABLE | UNUSABLE


@dataclass(frozen=True, slots=True)
class Shown:
    """Which numbers of a unit a condition's lists show, by their paths; `turned`: less is better."""

    right: str | None
    value: str | None
    turned: bool = False


def shown_of(stored: StoredRun, condition: str) -> Shown:
    """Return what is shown of the units of a condition."""
    table = stored.benchmark.table(condition)
    value = table.unit_value or table.main_metric
    better = next((column.better for column in table.columns if column.path == value), None)
    return Shown(table.right, value, better == "lower")


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """What a unit comes to today; `right` and `value` None where there is none, or it takes long to tell."""

    replayed: ReplayedUnit
    right: float | None
    value: float | None


class UnitReading:
    """Reads units of one run. What right and wrong take is scored on the way, and nothing else."""

    def __init__(self, stored: StoredRun, grades: ChosenGrades | None) -> None:
        self._stored = stored
        self._grades = grades
        self._replayer = Replayer(stored)
        self._conventions = chosen_conventions(stored.benchmark, {})
        self._shown = {name: shown_of(stored, name) for name in stored.conditions}

    def read(self, linked: LinkedUnit) -> ReadUnit:
        """Return what a unit's exchanges come to. Raises StoreError where nothing says how to read them."""
        replayed = self._replayer.replay(linked.state.unit, linked)
        shown = self._shown[replayed.unit.condition]
        scores: Mapping[str, float | None] = {}
        if shown.right is not None and replayed.result.outcome in _ANSWERED:
            scores = self._scores(replayed)
        found: Sequence[float | None] = [
            None if path is None else scores.get(path) for path in (shown.right, shown.value)
        ]
        return ReadUnit(replayed, *found)

    def headline(self, read: ReadUnit) -> str:
        """Return what a unit's answer says in a few words, or "" (see `differences.headline`)."""
        stored, unit = self._stored, read.replayed.unit
        prediction = read.replayed.result.prediction
        if prediction is None:
            return ""
        case = stored.case_index.case(stored.case_index.place(unit.case_id))
        grades = {} if self._grades is None else self._grades.of(read.replayed, case)
        return headline(stored.benchmark, unit.condition, case, prediction, grades=grades)

    def _scores(self, replayed: ReplayedUnit) -> Mapping[str, float | None]:
        index, condition = self._stored.case_index, replayed.unit.condition
        case = index.case(index.place(replayed.unit.case_id))
        grades = {} if self._grades is None else self._grades.of(replayed, case)
        result = replayed.result
        scored = Scored(case, condition, result.outcome, result.prediction, grades)
        try:
            numbers = self._stored.benchmark.unit_numbers(scored)
        except ValueError:  # a reference that cannot be scored: scoring the run says so
            return {}
        return self._stored.benchmark.score_unit(numbers, condition, self._conventions)
