"""The derived tables of a store, made anew while a run is scored."""

from __future__ import annotations

import pickle
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Self, TypeAlias

from harness.benchmarks.base import Benchmark
from harness.cache.derived import RecordRow, Values, record_values, score_values
from harness.cache.rows import Run, UnitId
from harness.cache.store import Store
from harness.line_spool import spool_error
from harness.offline.code_digest import parser_digest, scorer_digest
from harness.offline.replay import ReplayedUnit

_Unit: TypeAlias = tuple[Values, tuple[str, str, str, int], Sequence[float] | None]

_IN_MEMORY_BYTES = 8_000_000
_TOGETHER = 200
"""Units that are put into the file, and taken out of it, at a time."""


class DerivedTables:
    """Takes replayed units one by one; `store` puts them in place of what the run had, in two commits.

    The run's stored scores go with the first of them; `scoring` names this scoring, which alone may store
    others after that. Rows wait in a file without a name, because a run's answers may not fit into memory;
    they wait as they will be stored, because nobody else can write while they are.
    """

    def __init__(self, run: Run, benchmark: Benchmark, conventions: Mapping[str, str]) -> None:
        self.scoring = secrets.token_hex(16)
        self._run = run
        self._benchmark = benchmark
        self._conventions = conventions
        self._parser = parser_digest(run.benchmark)
        self._scorer = scorer_digest(run.benchmark)
        self._waiting: list[_Unit] = []
        self._spool: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - closed in __exit__

    def add(self, replayed: ReplayedUnit, numbers: Sequence[float] | None) -> None:
        """Take one unit with its numbers; None: it is nobody's answer, so it has no score."""
        unit, result = replayed.unit, replayed.result
        row = RecordRow(unit, result.outcome, result.stage, result.prediction, replayed.text, self._parser)
        key = (unit.model, unit.condition, unit.case_id, unit.repeat)
        self._waiting.append((record_values(self._run.id, row), key, numbers))
        if len(self._waiting) >= _TOGETHER:
            self._flush()

    async def store(self, store: Store) -> None:
        """Replace the run's records and unit scores. Raises StoreError, SpoolError."""
        self._flush()
        records = (record for record, _, _ in self._units())
        await store.replace_records(self._run.id, records, scoring=self.scoring)
        await store.replace_unit_scores(self._run.id, self._score_rows(), scoring=self.scoring)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # what a full disk did not take is told already
            self._spool.close()

    def _flush(self) -> None:
        try:
            pickle.dump(self._waiting, self._spool, pickle.HIGHEST_PROTOCOL)
            self._spool.flush()
        except OSError as error:
            raise spool_error("what is scored", error) from error
        self._waiting = []

    def _score_rows(self) -> Iterator[Values]:
        for _, key, numbers in self._units():
            if numbers is not None:
                scores = {
                    metric: (value, "no value for this unit" if value is None else None)
                    for metric, value in self._score_unit(numbers, condition=key[1]).items()
                }
                yield from score_values(self._run.id, UnitId(*key), scores, self._scorer)

    def _score_unit(self, numbers: Sequence[float], *, condition: str) -> Mapping[str, float | None]:
        return self._benchmark.score_unit(numbers, condition, self._conventions)

    def _units(self) -> Iterator[_Unit]:
        self._spool.seek(0)
        while True:
            try:
                together: list[_Unit] = pickle.load(self._spool)
            except EOFError:
                return
            yield from together
