"""Of how many answers other grades than those that count are stored: what the models of steps gave.

People's grades go before a model's as soon as there is one, so that a number may lack grades while a step has
those of every answer. Counted where nobody chose, while a run is scored: answers that are usable, and that
have a grade of every question that the step answers, about what the answer is now.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.benchmarks.base import Case
from harness.cache.store import Store
from harness.canonical import JSON
from harness.offline.chosen_grades import ChosenGrades, grades_of_others
from harness.offline.replay import ReplayedUnit
from harness.offline.stored_run import StoredRun
from harness.outcomes import USABLE


class OtherGrades:
    """Takes the units of a run, and counts their grades: those that count, and those of each step."""

    def __init__(self, stored: StoredRun, chosen: ChosenGrades, others: Sequence[ChosenGrades]) -> None:
        self._chosen = chosen
        self._usable = 0
        self._steps = [_OfStep(stored, one) for one in others]
        self._others = others

    def corrected(self, cases: Collection[str]) -> None:
        """Take cases whose reference was corrected: what was said of answers to them does not count."""
        for one in self._others:
            one.corrected = frozenset(cases)

    def note(self, replayed: ReplayedUnit, case: Case) -> None:
        """Count one unit, if it has a usable answer."""
        if replayed.result.outcome in USABLE:
            self._usable += 1
            for step in self._steps:
                step.note(replayed, case, self._chosen)

    def to_json(self) -> list[JSON]:
        """Return the steps with grades of more answers than count, as the scores have them."""
        return [one.to_json(self._usable) for one in self._steps if one.graded > one.counted]


class _OfStep:
    def __init__(self, stored: StoredRun, grades: ChosenGrades) -> None:
        assert grades.benchmark is not None
        self._grades = grades
        self._questions = grades.benchmark.questions.keys() & stored.benchmark.questions.keys()
        self.graded = self.counted = 0

    def note(self, replayed: ReplayedUnit, case: Case, chosen: ChosenGrades) -> None:
        self.graded += self._questions <= self._grades.of(replayed, case).keys()
        self.counted += self._questions <= chosen.of(replayed, case).keys()

    def to_json(self, usable: int) -> JSON:
        step = self._grades.step
        assert step is not None
        return {
            "name": step.run.name,
            "model": step.model,
            "simulated": self._grades.simulated,
            "usable": usable,
            "graded": self.graded,
            "counted": self.counted,
        }


async def other_grades(
    store: Store, stored: StoredRun, chosen: ChosenGrades | None, wanted: str | None
) -> OtherGrades | None:
    """Return room for the units of a run whose grades nobody chose; None where no step has others."""
    if chosen is None or wanted is not None or chosen.kind == "model":
        return None
    found = await grades_of_others(store, stored)
    return OtherGrades(stored, chosen, found) if found else None
