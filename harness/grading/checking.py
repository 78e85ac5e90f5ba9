"""Whether the grades of a file can be those of a run: everything that is wrong, before anything is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final
from unicodedata import normalize

from harness.benchmarks.base import Question
from harness.benchmarks.sheets import COMMENT
from harness.benchmarks.steps import CONSENSUS, Step, is_consensus, steps_of
from harness.cache.grades import GradeKey, GradeValue, NewGrade
from harness.cache.rows import UnitId
from harness.canonical import canonical_json
from harness.errors import ConfigError
from harness.grading.rows import Fault, GradeRow
from harness.nearest import nearest, nearest_of
from harness.offline.stored_run import StoredRun

DAY_US: Final = 86_400_000_000


def questions_of(stored: StoredRun) -> Mapping[str, Question]:
    """Return the questions that a run's benchmark and its steps name; people may grade by others too.

    Of a step's run, those about its own answers are among them.
    """
    steps = steps_of(stored.manifest.benchmark)
    found = {name: question for step in steps for name, question in step.questions.items()}
    own = stored.benchmark.own_questions if isinstance(stored.benchmark, Step) else {}
    return found | dict(stored.benchmark.questions) | dict(own)


class GradeCheck:
    """Makes grades of the lines of a file about one run; `rater` is who gave those that name nobody.

    `now_us`: the present, in microseconds since 1970 UTC.
    """

    def __init__(self, stored: StoredRun, *, rater: str | None, now_us: int) -> None:
        if rater is not None and not (rater.strip() and rater.isprintable()):
            raise ConfigError(f"--rater {rater!r} is no name; use letters, digits and dashes")
        self.questions = questions_of(stored)
        self._about_answers_of = {
            name: step.kind for step in steps_of(stored.manifest.benchmark) for name in step.own_questions
        }
        self._stored = stored
        self._rater = rater
        self._latest_us = now_us + DAY_US
        self._cases = tuple(map(stored.case_index.id, stored.case_index))

    def grades(self, rows: Sequence[GradeRow]) -> tuple[list[NewGrade], list[Fault]]:
        """Return the grades of all lines that say one, and what is wrong with any.

        Of a line that was read in part, that part is looked at.
        """
        faults = [Fault(row.line, text) for row in rows for text in self._faults(row)]
        whole = [row for row in rows if not row.unread and (row.rater or self._rater)]
        grades = [self._grade(row) for row in whole]
        return grades, [*faults, *_twice(whole, grades)]

    def about_the_run(self, rows: Sequence[GradeRow]) -> bool:
        """Tell whether all lines are about a step's own answers, and not of what it looked at."""
        benchmark = self._stored.benchmark
        own = benchmark.own_questions if isinstance(benchmark, Step) else {}
        return all(
            row.question in own or row.question == COMMENT for row in rows if "question" not in row.unread
        )

    def unnamed(self, grades: Sequence[NewGrade]) -> list[str]:
        """Return the questions of grades that no step of the benchmark names, where any does.

        A comment is no question that anybody would read for the scores.
        """
        asked = dict.fromkeys(grade.question for grade in grades if grade.question != COMMENT)
        return [name for name in asked if self.questions and name not in self.questions]

    def _grade(self, row: GradeRow) -> NewGrade:
        rater = row.rater or self._rater
        assert rater is not None
        rater = CONSENSUS if is_consensus(rater) else rater  # however it is written, its newest grade stands
        unit = UnitId(row.model, row.condition, row.case_id, row.repeat)
        return NewGrade(unit, rater, row.question, row.value, row.graded_at_us, f"line {row.line}")

    def _faults(self, row: GradeRow) -> Iterator[str]:
        manifest, name = self._stored.manifest, self._stored.run.name
        for what, given, known in (
            ("model", row.model, tuple(manifest.models)),
            ("condition", row.condition, tuple(manifest.conditions)),
        ):
            if what not in row.unread and given not in known:
                yield f"run {name!r} has no {what} {given!r}{nearest_of(given, known)}"
        if "case_id" not in row.unread and self._stored.case_index.find(row.case_id) is None:
            yield f"run {name!r} has no case {row.case_id!r}{nearest(row.case_id, self._cases)}"
        if row.repeat > manifest.repeats:
            yield f"run {name!r} has repeats 1 to {manifest.repeats}, not {row.repeat}"
        yield from self._rater_faults(row)
        yield from self._question_faults(row)
        at = row.graded_at_us
        if at is not None and not 0 <= at <= self._latest_us:
            yield "its time lies before 1970 or in the future; correct it, or leave it out"

    def _rater_faults(self, row: GradeRow) -> Iterator[str]:
        if "rater" in row.unread:
            return
        if row.rater is None and self._rater is None:
            yield "'rater' is blank; fill it in, or give --rater NAME"
        elif None not in (row.rater, self._rater) and row.rater != self._rater:
            yield f"its rater is {row.rater!r}, not {self._rater!r}; leave out --rater"

    def _question_faults(self, row: GradeRow) -> Iterator[str]:
        if "question" in row.unread:
            return
        known = self.questions.get(row.question)
        has_value = "value" not in row.unread
        if row.question == COMMENT:
            if has_value and not isinstance(row.value, str):
                yield f"a {COMMENT!r} is text, not {canonical_json(row.value).decode('ascii')}; quote it"
            return
        step = self._about_answers_of.get(row.question)
        if step is not None:
            yield (
                f"{row.question!r} is asked about the answers of the step {step!r}, not about those of "
                f"run {self._stored.run.name!r}; import it to the run of the step"
            )
            return
        if known is None:
            hint = _begun(row.question, self.questions) or nearest(row.question, self.questions)
            if hint:  # a misspelt question would be one that nobody reads
                yield f"unknown question {row.question!r}{hint}"
        elif has_value and not known.takes(row.value):
            values = known.range_text
            given = canonical_json(row.value).decode("ascii")
            hint = "; it looks like a percentage: divide by 100" if _is_percentage(row.value, known) else ""
            yield f"a grade of {row.question!r} is {values}, not {given}{hint}"


def raters_alike(raters: Iterable[str]) -> list[list[str]]:
    """Return the names that are alike but for case, blanks or encoding, those of one person together."""
    found: dict[str, list[str]] = {}
    for rater in sorted(set(raters)):
        found.setdefault(normalize("NFKC", " ".join(rater.split()).casefold()), []).append(rater)
    return [names for names in found.values() if len(names) > 1]


def _is_percentage(value: GradeValue, known: Question) -> bool:
    """Tell whether a value beyond 0 to 1 is one that was printed times 100, as many tools do."""
    whole = not known.values and (known.low, known.high) == (0, 1)
    return whole and isinstance(value, int | float) and not isinstance(value, bool) and 1 < value <= 100


def _begun(question: str, known: Collection[str]) -> str:
    """Return "; did you mean ...?" where exactly one known question begins with this one, as D1 may."""
    found = [name for name in known if name.casefold().startswith(question.casefold())]
    return f"; did you mean {found[0]!r}?" if len(found) == 1 else ""


def _twice(rows: Sequence[GradeRow], grades: Sequence[NewGrade]) -> Iterator[Fault]:
    """Yield the lines that grade the same as an earlier one, and do not tell which of them is newer."""
    seen: dict[GradeKey, dict[int | None, tuple[int, bytes]]] = {}
    for row, grade in zip(rows, grades, strict=True):
        said, at = seen.setdefault(grade.key, {}), grade.graded_at_us
        value = canonical_json(grade.value)
        if at in said:
            line, earlier = said[at]
            how = "says the same as" if earlier == value else "contradicts"
            way = "leave one out" if earlier == value else "leave one out, or give both a time of its own"
            yield Fault(row.line, f"it {how} line {line}; {way}")
        elif said and (at is None or None in said):
            line, _ = next(iter(said.values()))
            told = f"it grades the same as line {line}, and one has no time; give both one"
            yield Fault(row.line, told)
        said.setdefault(at, (row.line, value))
