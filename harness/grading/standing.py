"""What stands of a grading at a moment: who has graded what, where raters differ, and what is still to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.benchmarks.base import Question
from harness.benchmarks.sheets import GradingTask
from harness.benchmarks.steps import CONSENSUS
from harness.cache.grades import GradeValue
from harness.canonical import canonical_json
from harness.grading.agreement import GradedByTwo, PairAgreement, pair_agreement
from harness.grading.answers_now import AnswersNow
from harness.grading.book import Book, Said
from harness.grading.roster import Roster

FAR_APART = 2
"""From this difference on, ratings of an averaged question are shown to who looks for consensus."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """A question of an answer on which raters differ: rater -> value; what they agreed on, None: nothing yet.

    `needed` is False of a question whose grades are averaged: it is shown, and a consensus may be given.
    """

    question: str
    grades: Mapping[str, GradeValue]
    consensus: GradeValue | None
    needed: bool


class Standing:
    """Questions about one grading, answered from its book and its answers as they were read last.

    `roster` gives who grades what at the moment.
    """

    def __init__(
        self,
        roster: Callable[[], Roster],
        task: GradingTask,
        book: Book,
        answers: AnswersNow,
        questions: Mapping[str, Question],
    ) -> None:
        self._roster = roster
        self._book = book
        self._answers = answers
        self._averaged = frozenset(name for name, question in questions.items() if question.averaged)
        self._asked = tuple(question.name for question in task.questions)
        self._labels = {one.name: tuple(option.value for option in one.options) for one in task.questions}
        self._pooled = task.pooled

    def grades(self, number: int, rater: str, kept: int | None = None) -> dict[str, GradeValue]:
        """Return the grades of a rater that count for an item as it is answered now; `kept`: see `Book`."""
        return self._book.standing(number, rater, self._answers.since.get(number, 0), kept)

    def is_done(self, number: int, rater: str) -> bool:
        """Tell whether a rater has answered all questions about an item; of one without an answer, True."""
        return number in self._answers.gone or self.has_said(number, rater)

    def has_said(self, number: int, rater: str) -> bool:
        """Tell whether a rater has answered all questions about an item."""
        grades = self.grades(number, rater)
        return all(name in grades for name in self._asked)

    def done(self, numbers: Collection[int], rater: str) -> int:
        """Return how many of these items a rater has done, of those that have an answer."""
        return sum(self.is_done(number, rater) for number in numbers if number not in self._answers.gone)

    def there(self, numbers: Collection[int]) -> int:
        """Return how many of these items have an answer that can be graded."""
        return sum(number not in self._answers.gone for number in numbers)

    def disputes(self, number: int) -> list[Dispute]:
        """Return the questions of an item that all who are asked answered, and not alike.

        What somebody said who has retired counts; what they left open is not waited for. A question that has
        a consensus stays among them, whoever is asked about it later.
        """
        roster = self._roster()
        if number in self._answers.gone or len(roster.names) < 2:
            return []
        by_rater = {rater: self.grades(number, rater) for rater in roster.names}
        agreed = self.grades(number, CONSENSUS)
        return list(self._disputes(by_rater, agreed, frozenset(roster.graders(number))))

    def is_settled(self, number: int) -> bool:
        """Tell whether a consensus was given for an item: then its raters cannot change it."""
        return any(name in self._labels for name in self.grades(number, CONSENSUS))

    def _disputes(
        self,
        by_rater: Mapping[str, Mapping[str, GradeValue]],
        agreed: Mapping[str, GradeValue],
        asked: Collection[str],
    ) -> Iterator[Dispute]:
        for name in self._asked:
            said = {rater: grades[name] for rater, grades in by_rater.items() if name in grades}
            averaged = name in self._averaged
            complete = name in agreed or all(rater in said for rater in asked)
            if complete and _differ(list(said.values()), averaged=averaged):
                yield Dispute(name, said, agreed.get(name), not averaged)

    def ended_by(self, numbers: Collection[int], raters: Collection[str]) -> Said | None:
        """Return the grade with which the last of these raters finished these items; None: not all did.

        None also while one of them is being asked again: what the others come to is not what was agreed.
        """
        if not self._answers.awaited.isdisjoint(numbers):
            return None
        last = Said(0, "", 0)
        for number in numbers:
            if number in self._answers.gone:
                continue
            since = self._answers.since.get(number, 0)
            for rater in raters:
                for name in self._asked:
                    first = self._book.first(number, rater, name, since)
                    if first is None:
                        return None
                    last = first if first.kept > last.kept else last
        return last

    def agreement(
        self,
        numbers: Collection[int],
        groups: Mapping[int, str],
        pairs: Iterable[tuple[str, str]],
        kept: int | None = None,
    ) -> list[PairAgreement]:
        """Return how far these pairs of raters agree about these items, in the order of the pairs.

        `groups`: item -> the group of cases that it is resampled with. `kept`: as in `Book`.
        """
        there = [number for number in sorted(numbers) if number not in self._answers.gone]
        pairs = list(pairs)
        said = {
            rater: {number: self.grades(number, rater, kept) for number in there}
            for rater in {rater for pair in pairs for rater in pair}
        }
        return [
            pair_agreement(
                (first, second),
                [GradedByTwo(groups[one], said[first][one], said[second][one]) for one in there],
                self._labels,
                self._pooled,
            )
            for first, second in pairs
        ]


def _differ(values: Sequence[GradeValue], *, averaged: bool) -> bool:
    if not averaged:
        return len(set(map(canonical_json, values))) > 1
    numbers = [value for value in values if isinstance(value, int | float)]
    return bool(numbers) and max(numbers) - min(numbers) >= FAR_APART
