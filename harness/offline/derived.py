"""The derived tables of a store, made anew while a run is scored."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import IO, Any, Self

from harness.benchmarks.base import Benchmark, Case, Scored
from harness.cache.derived import RecordRow, UnitScore
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.offline.code_digest import parser_digest, scorer_digest
from harness.offline.replay import ReplayedUnit
from harness.outcomes import UNUSABLE, USABLE

_IN_MEMORY_BYTES = 32_000_000


class DerivedTables:
    """Takes replayed units one by one; `store` puts them in place of what the run had, in two commits.

    Rows wait in a file without a name, because a run's answers may not fit into memory.
    """

    def __init__(
        self, run: Run, benchmark: Benchmark, cases: Mapping[str, Case], conventions: Mapping[str, str]
    ) -> None:
        self._run = run
        self._benchmark = benchmark
        self._cases = cases
        self._conventions = conventions
        self._parser = parser_digest(run.benchmark)
        self._scorer = scorer_digest(run.benchmark)
        self._spool: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - closed in __exit__

    def add(self, replayed: ReplayedUnit) -> None:
        """Take one unit."""
        result = replayed.result
        row = RecordRow(
            replayed.unit, result.outcome, result.stage, result.prediction, replayed.text, self._parser
        )
        pickle.dump((row, self._scores(replayed)), self._spool, pickle.HIGHEST_PROTOCOL)

    async def store(self, store: Store) -> None:
        """Replace the run's records and unit scores. Raises StoreError."""
        await store.replace_records(self._run.id, (row for row, _ in self._rows()))
        await store.replace_unit_scores(
            self._run.id, (score for row, scores in self._rows() for score in self._score_rows(row, scores))
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spool.close()

    def _scores(self, replayed: ReplayedUnit) -> Mapping[str, float | None]:
        result = replayed.result
        counts = result.outcome in USABLE or result.outcome in UNUSABLE
        if not counts:
            return {}
        scored = Scored(self._cases[replayed.unit.case_id], result.outcome, result.prediction)
        return self._benchmark.score_unit(scored, self._conventions)

    def _score_rows(self, row: RecordRow, scores: Mapping[str, float | None]) -> Iterator[UnitScore]:
        for metric, value in scores.items():
            reason = "there is no answer" if value is None else None
            yield UnitScore(row.unit, metric, value, reason, self._scorer)

    def _rows(self) -> Iterator[tuple[RecordRow, Mapping[str, float | None]]]:
        self._spool.seek(0)
        while True:
            try:
                found: Any = pickle.load(self._spool)
            except EOFError:
                return
            yield found
