"""Whom the words of `harness compare` mean: runs, models of runs, raters, baselines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from harness.cache.rows import Run
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.errors import ConfigError, UnknownNameError
from harness.nearest import nearest, nearest_or_known
from harness.offline.row_units import ROW_KINDS, RowKind

_RUN: Final = "run"


class Named(NamedTuple):
    """A row of a run; `run` None: of whichever runs are compared."""

    run: Run | None
    kind: RowKind
    name: str


@dataclass(slots=True)
class Wanted:
    """What the words come to: runs with all their complete models, and rows that are named."""

    whole: list[Run] = field(default_factory=list)
    rows: list[Named] = field(default_factory=list)
    baseline: Named | None = None

    def runs(self) -> list[Run]:
        """Return every run that is needed, each once."""
        rows = [*self.rows, *([self.baseline] if self.baseline is not None else [])]
        runs = (*self.whole, *(row.run for row in rows))
        return list({run.id: run for run in runs if run is not None}.values())


async def wanted(store: Store, words: Sequence[str], baseline: str | None) -> Wanted:
    """Return whom words name; no words are the latest run.

    A run's name, the beginning of its digest or "latest" means all its complete models, unless models are
    named beside it: then these models of it. Models without any run are those of the latest run that has
    them all. RUN:NAME is a model of a run, `rater:NAME` and `baseline:NAME` (or RUN:rater:NAME) are others,
    `run:NAME` and `model:NAME` say which of two things of one name is meant. Raises UnknownNameError and,
    where a word means two things, ConfigError.
    """
    names = await _Names.of(store)
    read = [await names.read(word) for word in words or [LATEST]]
    runs = list({run.id: run for run in read if isinstance(run, Run)}.values())
    named = [one for one in read if isinstance(one, Named)]
    models = [one.name for one in named if one.run is None and one.kind == "model"]
    if runs:
        where = runs
    elif models:
        where = [names.latest_with(models)]
    else:
        where = list({row.run.id: row.run for row in named if row.run is not None}.values())
    found = Wanted(whole=[] if models else runs)
    for row in named:
        found.rows += names.placed(row, where)
    if baseline is not None:
        found.baseline = await _baseline(names, baseline, found, where)
    return found


async def _baseline(names: _Names, word: str, found: Wanted, where: Sequence[Run]) -> Named:
    read = await names.read(word)
    if isinstance(read, Run):
        raise ConfigError(f"--baseline {word!r} is a run; name one of its models, as {read.name}:MODEL")
    known = [row for row in found.rows if (row.kind, row.name) == (read.kind, read.name)]
    places = [read] if read.run is not None else known or names.placed(read, where)
    if len(places) > 1:
        runs = " or ".join(f"{row.run.name}:{row.name}" for row in places if row.run is not None)
        raise ConfigError(f"--baseline {word!r} is in several of these runs; say {runs}")
    return places[0]


class _Names:
    """The runs of a store, the latest first, with the names of their models."""

    def __init__(self, store: Store, runs: Sequence[Run]) -> None:
        self._store = store
        self._runs = runs
        self._models: Mapping[int, frozenset[str]] = {
            run.id: frozenset() if _is_step(run) else _models(run) for run in runs
        }

    @classmethod
    async def of(cls, store: Store) -> _Names:
        return cls(store, await store.newest_runs())

    async def read(self, word: str) -> Run | Named:
        """Return what a word means. Raises ConfigError where that is two things, or nothing."""
        head, colon, rest = word.partition(":")
        if colon and rest and head == _RUN:
            return await self._store.find_run(rest)
        if colon and rest and head in ROW_KINDS:
            return Named(None, head, rest)
        run, why = await self._run(word)
        is_model = any(word in models for models in self._models.values())
        if is_model and run is not None and (word in (run.name, LATEST) or run.digest.startswith(word)):
            raise ConfigError(
                f"{word!r} is both a run and a model; write run:{word} for the run, model:{word} or "
                f"RUN:{word} for the model"
            )
        readings: list[Run | Named] = [Named(None, "model", word)] if is_model else []
        if run is not None and not is_model:
            readings.append(run)
        readings += [one async for one in self._exact(word)]
        if len(readings) > 1:
            raise ConfigError(
                f"{word!r} means more than one thing; write model:{word} for the model, or the run by its "
                "digest"
            )
        if not readings:
            raise why if why is not None and "is short for" in str(why) else await self._unknown(word)
        return readings[0]

    async def _exact(self, word: str) -> AsyncIterator[Named]:
        """Yield what RUN:MODEL and RUN:KIND:NAME mean; names of both may hold colons."""
        for place, letter in enumerate(word):
            left, right = word[:place], word[place + 1 :]
            if letter != ":" or not left or not right:
                continue
            run, _ = await self._run(left)
            if run is None:
                continue
            kind, colon, name = right.partition(":")
            if colon and name and kind in ROW_KINDS:
                yield Named(run, kind, name)
            elif right in self._models[run.id] or _is_step(run):
                yield Named(run, "model", right)

    async def _run(self, ref: str) -> tuple[Run | None, UnknownNameError | None]:
        try:
            return await self._store.find_run(ref), None
        except UnknownNameError as error:
            return None, error

    async def _unknown(self, word: str) -> UnknownNameError:
        head, colon, rest = word.partition(":")
        run, _ = await self._run(head) if colon else (None, None)
        if run is not None:
            known = nearest_or_known(rest, sorted(self._models[run.id]))
            return UnknownNameError(f"run {run.name!r} has no model {rest!r}{known}")
        models = frozenset().union(*self._models.values())
        near = nearest(word, [*(run.name for run in self._runs), *models])
        return UnknownNameError(
            f"{word!r} is no run and no model of any run{near}; `harness status` lists runs, "
            "`harness status RUN` the models of one; raters and baselines are rater:NAME and baseline:NAME"
        )

    def latest_with(self, models: Sequence[str]) -> Run:
        """Return the latest run that asks all of these models."""
        found = next((run for run in self._runs if self._models[run.id].issuperset(models)), None)
        if found is None:
            told = "; ".join(f"{model} in {self._some_runs(model)}" for model in dict.fromkeys(models))
            raise ConfigError(f"no run asks all of these models ({told}); write each as RUN:MODEL")
        return found

    def _some_runs(self, model: str) -> str:
        runs = [run.name for run in self._runs if model in self._models[run.id]]
        return f"{', '.join(runs[:3])}{' and others' if len(runs) > 3 else ''}" if runs else "none"

    def placed(self, row: Named, where: Sequence[Run]) -> list[Named]:
        """Return a row in each of the runs that it can be in. Raises UnknownNameError where none asks it."""
        if row.run is not None:
            return [row]
        if row.kind != "model":
            return [row._replace(run=run) for run in where or self._runs[:1]]
        found = [row._replace(run=run) for run in where if row.name in self._models[run.id] or _is_step(run)]
        if not found:
            runs = ", ".join(run.name for run in where)
            raise UnknownNameError(
                f"no model {row.name!r} in {runs or 'any run'}; it is in: {self._some_runs(row.name)}; write "
                "RUN:MODEL"
            )
        return found


def _models(run: Run) -> frozenset[str]:
    return frozenset(cast("Mapping[str, object]", run.manifest["models"]))


def _is_step(run: Run) -> bool:
    return run.manifest.get("step") is not None
