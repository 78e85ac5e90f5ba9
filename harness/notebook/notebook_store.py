"""A store for notebooks: its runs, records, scores and metrics as Arrow tables, read and never written."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar

from harness.cache.location import display, find_store
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.cache.units import Only
from harness.config import load_config
from harness.errors import UnknownNameError
from harness.nearest import nearest_or_known
from harness.notebook.apart import run_apart, stream_apart
from harness.notebook.columns import (
    METRICS,
    RECORDS,
    RUNS,
    SCORES,
    Column,
    arrow,
    batch_of,
    schema_of,
    table_of,
)
from harness.notebook.rows import Row, metric_rows, record_row, run_row, score_rows
from harness.offline.corrected_cases import corrected_cases
from harness.offline.records import RecordMaker
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.row_units import ROW_KINDS, RowKey
from harness.offline.scored_runs import ScoredRun, scored_run
from harness.offline.stored_run import load_run
from harness.outcomes import UnitOutcome

ArrowTable: TypeAlias = Any
"""A `pyarrow.Table`."""
ArrowReader: TypeAlias = Any
"""A `pyarrow.RecordBatchReader`."""
Names: TypeAlias = str | Collection[str] | None
"""A name, several, or None for all."""
Result = TypeVar("Result")

UNITS_A_BATCH: Final = 1_000
ROWS_A_BATCH: Final = 20_000
_SHOWN: Final = 3
logger = logging.getLogger(__name__)


class NotebookStore:
    """The runs of a store as Arrow tables, for pandas, polars and DuckDB; made by `harness.open_store`.

    Every call reads what is committed then, in a thread of its own with its own event loop, so it works where
    one runs already. Nothing is ever written, made or migrated. A run is named as on the command line: by its
    name, its beginning, at least four digits of its digest, or `latest`, the one that was worked on last.

    Each table ends with the column `escaped`: null, or the names of the row's columns whose text Arrow cannot
    hold (lone surrogates, which broken JSON brings) and which `harness.offline.cells.unescape_cell` gives
    back. What every column means: `docs/notebooks.md`, and the metadata `about` of a schema's fields.

    Methods raise UnknownNameError for a name that is not there, StoreError where the store cannot be read,
    ConfigError where pyarrow is missing, ValueError once it is closed.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._closed = False
        self._names = [run.name for run in self._read(lambda store: store.newest_runs())]

    @property
    def place(self) -> str:
        """Return where the store is, without a password."""
        return display(self._url)

    def runs(self) -> ArrowTable:
        """Return a table of all runs, one row each, the one that was worked on last first.

        Columns: `run`, `digest`, `benchmark`, `source`, `models` (list), `conditions` (list), `n_cases`,
        `repeats`, `n_units`, `synthetic`, `simulated`, `imported`, `created`, `last_session` (UTC),
        `sessions`, `escaped`.
        """

        async def rows(store: Store) -> list[Row]:
            return [run_row(run, await store.sessions(run.id)) for run in await store.newest_runs()]

        return table_of(RUNS, self._read(rows))

    def records(
        self,
        run: str = LATEST,
        *,
        models: Names = None,
        conditions: Names = None,
        outcomes: Names = None,
        exchanges: bool = False,
    ) -> ArrowTable:
        """Return a table of a run's units, one row each: outcome, prediction, text, tokens, cost, latency.

        Answers are read anew by the code of today, as `harness export` does it, so they are never out of
        date; some thousand units a second. `models` and `conditions` leave the others unread. `exchanges`
        fills the column of that name, which is by far the largest. Where a run does not fit into memory, take
        `record_batches`.

        Columns: `run`, `benchmark`, `model`, `condition`, `case_id`, `repeat`, `about_model`,
        `about_condition`, `about_case_id`, `about_repeat`, `imported`, `outcome`, `stage`, `prediction`
        (JSON), `text`, `error_kind`, `error`, `filled_keys` (list), `unsupported` (list), `attempts`,
        `sends`, `cached`, `latency_s`, `input_tokens`, `output_tokens`, `reasoning_tokens`, `cached_tokens`,
        `evidence_cost_usd`, `spent_usd`, `served_model`, `exchanges` (JSON), `escaped`.
        """
        reader = self.record_batches(
            run, models=models, conditions=conditions, outcomes=outcomes, exchanges=exchanges
        )
        return reader.read_all()

    def record_batches(
        self,
        run: str = LATEST,
        *,
        models: Names = None,
        conditions: Names = None,
        outcomes: Names = None,
        exchanges: bool = False,
    ) -> ArrowReader:
        """Return a reader of the same rows, a thousand units at a time, of which a few batches are in memory.

        Iterate over it, or give it to what takes a stream (`pyarrow.dataset.write_dataset`, DuckDB).
        """
        wanted = _names(outcomes)
        _known(wanted, [outcome.value for outcome in UnitOutcome], "outcome")
        only = Only(_names(models), _names(conditions))

        async def rows(store: Store) -> AsyncIterator[Row]:
            stored = await load_run(store, await store.find_run(run))
            _known(only.models, stored.manifest.models, "model", run=stored.run.name)
            _known(only.conditions, stored.manifest.conditions, "condition", run=stored.run.name)
            maker = RecordMaker(stored)
            async with aclosing(replay_units(store, stored, Replayer(stored), only=only)) as stream:
                async for replayed in stream:
                    if wanted is None or replayed.result.outcome.value in wanted:
                        yield record_row(stored, maker, replayed, exchanges=exchanges)

        return self._reader(RECORDS, rows, UNITS_A_BATCH)

    def scores(
        self,
        run: str = LATEST,
        *,
        models: Names = None,
        conditions: Names = None,
        kinds: Names = "model",
        conventions: Mapping[str, str] | None = None,
        grades: str | None = None,
        data: str | os.PathLike[str] | None = None,
    ) -> ArrowTable:
        """Return a table of the values of single units, one row a unit and metric.

        They are those of the units that the reading `as_answered` of `metrics` is made of: an unusable answer
        counts as the worst value, nobody's answer is not there. `kinds`: "model", "rater", "baseline" (those
        of one answer). Never out of date: see `metrics`.

        Columns: `run`, `kind`, `model`, `condition`, `case_id`, `repeat`, `outcome`, `metric`, `value`,
        `reason`, `escaped`.
        """
        _known(_names(kinds), ROW_KINDS, "kind")
        chosen = Only(_names(models), _names(conditions))

        async def rows(store: Store) -> AsyncIterator[Row]:
            scored = await _scored(store, run, conventions, grades, data)
            wanted = _rows_of(scored, _names(kinds))
            name = scored.stored.run.name
            _known(chosen.models, [key.name for key in wanted], "model", run=name)
            _known(chosen.conditions, [key.condition for key in wanted], "condition", run=name)
            for key in wanted:
                if chosen.has(key.name, key.condition):
                    for row in score_rows(scored, key, await scored.numbers(key)):
                        yield row

        return self._reader(SCORES, rows, ROWS_A_BATCH).read_all()

    def metrics(
        self,
        run: str = LATEST,
        *,
        conventions: Mapping[str, str] | None = None,
        grades: str | None = None,
        data: str | os.PathLike[str] | None = None,
    ) -> ArrowTable:
        """Return a table of a run's metrics, one row a row of the scores, reading and metric.

        Stored scores are taken only where nothing that they depend on has changed since: answers, grades, the
        code that reads and scores, `conventions`. Else the run is scored for this call, which a line on
        stderr says; `harness score RUN` stores that once for all. `conventions`, `grades` and `data` are
        those of `harness score`; `data` is a folder of case files with corrected references, which count for
        cases whose inputs are unchanged. CaseFileError where it cannot be read.

        Columns: `run`, `kind` (model, rater, baseline), `model`, `condition`, `reading` (as_answered,
        valid_only, without_reformatter), `metric`, `value`, `n`, `ci_low`, `ci_high`, `ci_method`, `sd`,
        `reason`, `rank`, `rank_reason`, `incomplete`, `to_complete`, `coverage`, `n_cases`, `n_units`,
        `escaped`.
        """

        async def rows(store: Store) -> list[Row]:
            return list(metric_rows((await _scored(store, run, conventions, grades, data)).score))

        return table_of(METRICS, self._read(rows))

    def close(self) -> None:
        """Let it go: no call reads from it any more. A second call does nothing."""
        self._closed = True

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        """Close it."""
        self.close()
        return False

    def __repr__(self) -> str:
        """Say where it is, which runs it had when it was opened, and what can be asked of it."""
        runs = ", ".join(map(repr, self._names[:_SHOWN])) or "none"
        more = f" and {len(self._names) - _SHOWN} older" if len(self._names) > _SHOWN else ""
        ways = "closed" if self._closed else ".runs() .records(run) .scores(run) .metrics(run)"
        return f"<harness store {self.place!r}; runs: {runs}{more}; {ways}>"

    def _read(self, work: Callable[[Store], Coroutine[Any, Any, Result]]) -> Result:
        """Return what a coroutine finds in the store."""
        self._check_open()
        return run_apart(lambda: _opened(self._url), work)

    def _reader(
        self, columns: tuple[Column, ...], work: Callable[[Store], AsyncIterator[Row]], size: int
    ) -> ArrowReader:
        """Return a reader of rows, `size` at a time."""
        self._check_open()
        schema = schema_of(columns)

        async def batches(store: Store) -> AsyncIterator[Any]:
            rows: list[Row] = []
            async for row in work(store):
                rows.append(row)
                if len(rows) == size:
                    yield batch_of(columns, schema, rows)
                    rows = []
            yield batch_of(columns, schema, rows)

        items = stream_apart(lambda: _opened(self._url), batches)
        return arrow().RecordBatchReader.from_batches(schema, _begun(items))

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("this store is closed; open it again with harness.open_store")


def open_store(url: str | os.PathLike[str] | None = None) -> NotebookStore:
    """Open a store for reading (see `harness.open_store`)."""
    place = None if url is None else os.fspath(url)
    config_store = None if place else load_config(None).store
    return NotebookStore(find_store(place, os.environ, config_store, Path.cwd()))


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Store]:
    async with await Store.open(url, only_read=True, warn=logger.warning) as store:
        yield store


def _begun(items: Iterator[Any]) -> Iterator[Any]:
    """Return the items with the first of them made: so what is wrong with a name is said at once."""
    first = next(items)

    def all_of_them() -> Iterator[Any]:
        yield first
        yield from items

    return all_of_them()


async def _scored(
    store: Store,
    ref: str,
    conventions: Mapping[str, str] | None,
    grades: str | None,
    data: str | os.PathLike[str] | None,
) -> ScoredRun:
    run = await store.find_run(ref)
    corrected = None if data is None else corrected_cases([run], await store.runs(), Path(data))
    return await scored_run(
        store, run, conventions=conventions, grades=grades, corrected=corrected, tell=logger.warning
    )


def _rows_of(scored: ScoredRun, kinds: frozenset[str] | None) -> list[RowKey]:
    """Return the rows of these kinds, those of unions apart: their units stand in the conditions."""
    unions = scored.stored.benchmark.unions(scored.stored.conditions)
    return [
        key
        for key in scored.rows
        if (kinds is None or key.kind in kinds) and key.condition not in unions
    ]


def _names(names: Names) -> frozenset[str] | None:
    if names is None:
        return None
    return frozenset({names} if isinstance(names, str) else names)


def _known(
    names: frozenset[str] | None, known: Collection[str], what: str, *, run: str | None = None
) -> None:
    """Raise UnknownNameError for a name that is not among the known ones."""
    of_run = "" if run is None else f" in run {run!r}"
    for name in sorted(names or ()):
        if name not in known:
            raise UnknownNameError(f"no {what} {name!r}{of_run}{nearest_or_known(name, sorted(set(known)))}")

