"""Grades that are computed here: the values of a metric of every text answer, kept as those of a rater.

A grade's time is one microsecond after the answer that it is about was asked for: it never passes for a grade
of an answer that came later, however long computing takes.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from harness.benchmarks.base import Question
from harness.cache.grades import Grade, NewGrade
from harness.cache.parts import chunks
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.errors import ConfigError
from harness.grading.answer_texts import AnswerText, Passed, answer_texts
from harness.grading.checking import questions_of
from harness.grading.text_metrics import TextMetric
from harness.offline.new_answers import answered_since
from harness.offline.stored_run import StoredRun

WINDOW: Final = 512
"""Answers that are sorted by length, so that those of one batch are alike."""
KEEP_EVERY_S: Final = 20.0
"""How long computed values may wait to be kept, unless keeping takes long itself."""
KEEPING_SHARE: Final = 20
"""Keeping takes at most one part in so many of the time."""
MOST_WAITING: Final = 20_000
TELL_EVERY_S: Final = 10.0


@dataclass(slots=True)
class Computed:
    """What there was to compute, and what became of it, counted in units.

    `known` are graded by this rater already, `left` were beyond the limit. `beyond` have a value that the
    question does not take: they are not graded. `others`: rater -> units that it graded by this question.
    """

    question: str
    rater: str
    open: int = 0
    known: int = 0
    left: int = 0
    computed: int = 0
    kept: int = 0
    beyond: int = 0
    no_reference: int = 0
    passed: Passed = field(default_factory=Passed)
    others: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """Return the counts by name."""
        return {
            "question": self.question, "rater": self.rater, "open": self.open, "known": self.known,
            "left": self.left, "computed": self.computed, "kept": self.kept, "beyond_range": self.beyond,
            "without_reference": self.no_reference, "without_text": self.passed.no_text,
            "unusable": dict(sorted(self.passed.unusable.items())), "other_raters": dict(self.others),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which answers are computed: those without a value, or all of them `again`; `limit` of them at most."""

    batch: int = 16
    again: bool = False
    limit: int | None = None
    dry_run: bool = False


class Computing:
    """Computes one metric over one run; `found` counts, at every moment, what was done."""

    def __init__(
        self,
        store: Store,
        stored: StoredRun,
        metric: TextMetric,
        wanted: Wanted,
        *,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._stored = stored
        self._metric = metric
        self._wanted = wanted
        self._tell = tell
        self._clock = clock
        self._standing: dict[UnitId, Grade] = {}
        self._since: Mapping[UnitId, int] = {}
        self._waiting: list[NewGrade] = []
        self.found = Computed(metric.question, metric.rater)

    async def run(self) -> Computed:
        """Count what is open, compute it and keep it. Cancelled, what was computed is kept.

        Raises ConfigError where the run has no answer that a text could be compared with, StoreError.
        """
        await self._read_standing()
        await self._count()
        if not self._wanted.dry_run:
            try:
                await self._compute()
            finally:
                await self._keep()
        return self.found

    async def _read_standing(self) -> None:
        grades = await self._store.grades(self._stored.run.id)
        same = [one for one in grades if one.question == self._metric.question]
        self._standing = {one.unit: one for one in same if one.rater == self._metric.rater}
        others = Counter(one.rater for one in same if one.rater != self._metric.rater)
        self.found.others = dict(sorted(others.items()))
        self._since = await answered_since(self._store, self._stored, self._standing.keys())

    async def _count(self) -> None:
        found = self.found
        async with aclosing(answer_texts(self._store, self._stored, found.passed)) as texts:
            async for text in texts:
                if not (text.reference or "").strip():
                    found.no_reference += 1
                elif self._is_open(text.unit):
                    found.open += 1
                else:
                    found.known += 1
        if not found.open + found.known:
            raise ConfigError(_nothing_to_compare(self._stored, found))
        if self._wanted.limit is not None:
            found.left = max(found.open - self._wanted.limit, 0)

    def _is_open(self, unit: UnitId) -> bool:
        grade = self._standing.get(unit)
        return self._wanted.again or grade is None or grade.graded_at_us < self._since.get(unit, 0)

    async def _open(self) -> AsyncGenerator[AnswerText, None]:
        count = 0
        async with aclosing(answer_texts(self._store, self._stored, Passed())) as texts:
            async for text in texts:
                if count == self._wanted.limit:
                    return
                if (text.reference or "").strip() and self._is_open(text.unit):
                    count += 1
                    yield text

    async def _compute(self) -> None:
        began = told = kept = self._clock()
        pause, total = KEEP_EVERY_S, self.found.open - self.found.left
        async with aclosing(_windows(self._open())) as windows:
            async for window in windows:
                for batch in chunks(window, self._wanted.batch):
                    pairs = [(one.answer, one.reference or "") for one in batch]
                    self._add(batch, await asyncio.to_thread(self._metric.values, pairs))
                    now = self._clock()
                    if now - told >= TELL_EVERY_S:
                        told = now
                        self._tell(_progress(self._metric.question, self.found.computed, total, now - began))
                    if now - kept >= pause or len(self._waiting) >= MOST_WAITING:
                        await self._keep()
                        kept = self._clock()
                        pause = max(KEEP_EVERY_S, KEEPING_SHARE * (kept - now))

    def _add(self, batch: Sequence[AnswerText], values: Sequence[float]) -> None:
        question = questions_of(self._stored).get(self._metric.question, Question())
        for text, value in zip(batch, values, strict=True):
            self.found.computed += 1
            if not question.takes(value):
                self.found.beyond += 1
                continue
            before = self._standing.get(text.unit)
            if before is not None and before.value == value and not self._is_of_other_answer(before):
                continue
            newest = -1 if before is None else before.graded_at_us
            at = max(text.asked_at_us, newest) + 1
            self._waiting.append(
                NewGrade(text.unit, self._metric.rater, self._metric.question, value, at)
            )

    def _is_of_other_answer(self, grade: Grade) -> bool:
        return grade.graded_at_us < self._since.get(grade.unit, 0)

    async def _keep(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            added = await self._store.add_grades(self._stored.run.id, waiting)
            self.found.kept += added.new


async def _windows(texts: AsyncIterator[AnswerText]) -> AsyncGenerator[list[AnswerText], None]:
    window: list[AnswerText] = []
    async for text in texts:
        window.append(text)
        if len(window) == WINDOW:
            yield sorted(window, key=_length)
            window = []
    if window:
        yield sorted(window, key=_length)


def _length(text: AnswerText) -> int:
    return max(len(text.answer), len(text.reference or ""))


def _progress(name: str, done: int, total: int, seconds: float) -> str:
    rate = done / seconds if seconds else 0.0
    left = f", {(total - done) / rate / 60:.0f} min left" if rate else ""
    return f"{name}: {done} of {total} answers, {rate:.1f} a second{left}"


def _nothing_to_compare(stored: StoredRun, found: Computed) -> str:
    def why() -> Iterator[str]:
        if found.passed.no_text:
            yield f"answers that are no text: {found.passed.no_text}"
        if found.no_reference:
            yield f"without a reference text: {found.no_reference}"
        yield from (f"{name}: {count}" for name, count in sorted(found.passed.unusable.items()))

    told = ", ".join(why())
    return (
        f"run {stored.run.name!r} ({stored.manifest.benchmark}) has no text answer with a text to compare it "
        f"with{f' ({told})' if told else ''}; name a run that has some"
    )
