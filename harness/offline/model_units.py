"""The units of one model by rows: those of its conditions and their unions, or of whom a step is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from harness.benchmarks.base import Case, Subject
from harness.messages import Purpose
from harness.offline.chosen_grades import ChosenGrades
from harness.offline.replay import ReplayedUnit
from harness.offline.row_units import UnitColumns
from harness.offline.score_rows import Row, Scorer, model_row
from harness.offline.stored_run import StoredRun
from harness.outcomes import UNUSABLE, USABLE, UnitOutcome, is_answer

ANSWERED: Final = USABLE | UNUSABLE


def scored_together(stored: StoredRun) -> dict[str, tuple[str, ...]]:
    """Return condition -> itself, and union -> its conditions, for all that a run asks."""
    alone = {condition: (condition,) for condition in stored.conditions}
    return {**alone, **stored.benchmark.unions(stored.conditions)}


def targets(condition: str, together: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, int]]:
    """Yield the conditions and unions that a condition's units count in, each with its place there."""
    for name, members in together.items():
        if condition in members:
            yield name, members.index(condition)


def numbers_of(
    scorer: Scorer, replayed: ReplayedUnit, case: Case, grades: ChosenGrades | None
) -> tuple[float, ...] | None:
    """Return all that the metrics need of a unit; None where it is nobody's answer."""
    result = replayed.result
    if result.outcome not in ANSWERED:
        return None
    if grades is None:
        return scorer.numbers(case, replayed.unit.condition, result.outcome, result.prediction)
    graded, unsettled = grades.of(replayed, case), grades.unsettled_of(replayed.unit)
    return scorer.numbers(
        case, replayed.unit.condition, result.outcome, result.prediction, graded, unsettled
    )


class ModelUnits:
    """Takes the units of one model, and gives its rows."""

    def __init__(self, scorer: Scorer, grades: ChosenGrades | None) -> None:
        self._scorer = scorer
        self._grades = grades
        self._columns: dict[Subject, UnitColumns] = {}
        self._served: dict[Subject, Counter[tuple[Purpose, str | None]]] = {}

    def add(self, replayed: ReplayedUnit, case_errors: Collection[int]) -> Sequence[float] | None:
        """Add a unit to its rows; return its numbers, None where it is nobody's answer."""
        unit, place = replayed.unit, self._scorer.cases.place(replayed.unit.case_id)
        case = self._scorer.case(place)
        numbers = numbers_of(self._scorer, replayed, case, self._grades)
        unrestated = None
        if replayed.result.outcome is UnitOutcome.REFORMATTED:
            unrestated = self._scorer.numbers(case, unit.condition, UnitOutcome.UNPARSABLE, None)
        subject = self._scorer.benchmark.subject(case)
        for condition, member in targets(unit.condition, self._scorer.together):
            row = subject or Subject(unit.model, condition)
            columns = self._columns.get(row)
            if columns is None:
                columns = self._columns[row] = self._scorer.columns(condition)
            columns.add(
                place, unit.repeat, replayed.result.outcome, numbers, member=member,
                left_out=place in case_errors, unrestated=unrestated,
            )
            if condition == unit.condition:
                self._served.setdefault(row, Counter()).update(_served(replayed))
        return numbers

    def rows(self) -> Iterator[Row]:
        """Yield the model's rows."""
        for (name, condition), columns in self._columns.items():
            served = self._served.get(Subject(name, condition), Counter())
            yield model_row(name, condition, columns.units(), scorer=self._scorer, served=served)


def _served(replayed: ReplayedUnit) -> Iterator[tuple[Purpose, str | None]]:
    """Yield purpose and served model of each ask's answer of this round, where the run ended in an answer.

    An ask that was answered twice (by two processes, one of them suspended meanwhile) counts its last answer.
    """
    if replayed.state is None or replayed.state.outcome not in ANSWERED:
        return
    last: dict[tuple[Purpose, int], tuple[int, str | None]] = {}
    for link, exchange in replayed.links:
        data = exchange.data
        if exchange.id > replayed.state.again_after and is_answer(data.outcome, data.served_model):
            ask = (link.purpose, link.attempt)
            last[ask] = max(last.get(ask, (0, None)), (exchange.id, data.served_model), key=itemgetter(0))
    yield from ((purpose, served) for (purpose, _), (_, served) in last.items())
