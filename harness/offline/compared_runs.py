"""Rows of stored runs compared: of one benchmark, in one condition, scored in one way."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from harness.benchmarks.base import CaseSet
from harness.benchmarks.registry import chosen_conventions, get_benchmark
from harness.benchmarks.task import Task
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.comparison.common_cases import Reading
from harness.comparison.comparing import compare
from harness.comparison.contenders import Contender, RunCases
from harness.comparison.result import Comparison, Correction
from harness.errors import ConfigError
from harness.nearest import nearest_or_known
from harness.offline.contender_names import Named, Wanted
from harness.offline.contenders import complete_models, contender, run_cases
from harness.offline.row_units import RowKey
from harness.offline.scored_runs import ScoredRun, scored_run
from harness.offline.step_runs import as_step, source_run
from harness.phrases import count, listed

_Key: TypeAlias = tuple[int, str, str]
"""The id of a run, and kind and name of a row of it."""


@dataclass(frozen=True, slots=True)
class HowCompared:
    """How runs are scored and compared; None in `condition` and `metrics`: the main ones.

    `corrected` are cases whose references replace those of the runs, where inputs agree.
    """

    condition: str | None = None
    metrics: Sequence[str] | None = None
    correction: Correction = "holm"
    reading: Reading = "as_answered"
    conventions: Mapping[str, str] | None = None
    grades: str | None = None
    corrected: CaseSet | None = None


async def compare_runs(
    store: Store, wanted: Wanted, how: HowCompared, *, tell: Callable[[str], None]
) -> Comparison:
    """Score the runs where that is needed, and compare the rows that are wanted.

    `tell` gets sentences about what was decided. Raises ConfigError for runs of several benchmarks, for no
    common condition, for a step that is not compared, and as `compare` does.
    """
    runs = wanted.runs()
    await _check_steps(store, runs)
    names = sorted({run.benchmark for run in runs})
    if len(names) > 1:
        told = "; ".join(f"{run.name} is {run.benchmark}" for run in runs)
        raise ConfigError(f"runs of {' and '.join(names)} have nothing to compare ({told})")
    scored = {
        run.id: await scored_run(
            store,
            run,
            conventions=how.conventions,
            grades=how.grades,
            corrected=how.corrected,
            tell=tell,
        )
        for run in runs
    }
    condition = _condition(list(scored.values()), how.condition, tell)
    rows, left_out = _rows(wanted, scored, condition)
    _check_number(rows, wanted, left_out)
    labels = _labels(rows)
    cases = {run.id: run_cases(scored[run.id], alone=len(runs) == 1) for run in runs}
    contenders = [await _contender(row, condition, scored, cases, labels[_key(row)]) for row in rows]
    benchmark = next(iter(scored.values())).stored.benchmark
    conventions = chosen_conventions(benchmark, how.conventions or {})
    with benchmark.prepared(conventions) as prepared:
        found = compare(
            prepared,
            contenders,
            condition=condition,
            conventions=conventions,
            metrics=how.metrics,
            baseline=None if wanted.baseline is None else labels[_key(wanted.baseline)],
            correction=how.correction,
            reading=how.reading,
            not_compared=left_out,
        )
    return replace(found, warnings=(*found.warnings, *_corrected(scored.values())))


def _corrected(scored: Iterable[ScoredRun]) -> Iterator[str]:
    """Yield which runs are compared by other references than they kept."""
    for one in scored:
        if cases := one.references.corrected:
            yield (
                f"REFERENCES CORRECTED: those of {count(len(cases), 'case')} of run {one.stored.run.name}: "
                f"{listed(cases)}"
            )


async def _check_steps(store: Store, runs: Sequence[Run]) -> None:
    """Raise ConfigError where a run is a step whose metrics are not compared, before anything is scored."""
    for run in runs:
        step = as_step(run)
        if step is None or _has_sums(get_benchmark(run.benchmark)):
            continue
        source = await source_run(store, step.source)
        what = f"run {run.name!r} is a step ({step.kind}) over answers of run"
        cannot = "what a step says of answers is not compared"
        if source is None:
            raise ConfigError(f"{what} {step.source[:12]}, which is not in this store; {cannot}")
        command = shlex.join(["harness", "compare", source.name])
        raise ConfigError(f"{what} {source.name!r}; {cannot}; compare the answers: `{command}`")


def _has_sums(benchmark: object) -> bool:
    return getattr(type(benchmark), "sums", None) is not Task.sums


def _condition(
    scored: Sequence[ScoredRun], asked: str | None, tell: Callable[[str], None]
) -> str:
    """Return the condition or union that is compared: the first that all runs have and that has a ranking."""
    of_runs = [
        list(dict.fromkeys(row["condition"] for row in one.score["rows"] if row["kind"] == "model"))
        for one in scored
    ]
    shared: list[str] = [name for name in of_runs[0] if all(name in other for other in of_runs)]
    if asked is not None:
        if asked not in shared:
            known = nearest_or_known(asked, shared)
            raise ConfigError(f"condition {asked!r} is not scored in every run that is compared{known}")
        return asked
    ranked = [name for name in shared if scored[0].score["ranked_by"].get(name) is not None]
    if not ranked and not shared:
        told = "; ".join(
            f"{one.stored.run.name}: {', '.join(names)}" for one, names in zip(scored, of_runs, strict=True)
        )
        raise ConfigError(f"these runs have no condition in common ({told})")
    chosen = (ranked or shared)[0]
    others = [name for name in shared if name != chosen]
    if others:
        tell(f"note: condition {chosen!r} is compared; --condition chooses another: {', '.join(others)}")
    return chosen


def _rows(
    wanted: Wanted, scored: Mapping[int, ScoredRun], condition: str
) -> tuple[list[Named], list[str]]:
    """Return the rows that are compared, each once, and who of whole runs is not."""
    rows: list[Named] = []
    left_out: list[str] = []
    for run in wanted.whole:
        names, others = complete_models(scored[run.id], condition)
        rows += [Named(run, "model", name) for name in names]
        left_out += others
    rows += wanted.rows
    if wanted.baseline is not None:
        rows.append(wanted.baseline)
    return list({_key(row): row for row in rows}.values()), left_out


def _check_number(rows: Sequence[Named], wanted: Wanted, left_out: Sequence[str]) -> None:
    """Raise ConfigError where fewer than two rows are left, with what became of the others."""
    if len(rows) > 1:
        return
    there = repr(rows[0].name) if rows else "nobody"
    named = len(wanted.rows) + (wanted.baseline is not None)
    twice = f", named {named} times" if rows and named > 1 else ""
    others = f"; not compared unless named as RUN:MODEL: {', '.join(left_out)}" if left_out else ""
    raise ConfigError(f"a comparison takes two at least, and there is {there}{twice}; name another{others}")


def _labels(rows: Sequence[Named]) -> dict[_Key, str]:
    """Return what each row is called: what a user would type, with its run where that is needed."""
    names = [row.name if row.kind == "model" else f"{row.kind}:{row.name}" for row in rows]
    return {
        _key(row): name if names.count(name) == 1 else f"{_run_of(row).name}:{name}"
        for row, name in zip(rows, names, strict=True)
    }


async def _contender(
    row: Named, condition: str, scored: Mapping[int, ScoredRun], cases: Mapping[int, RunCases], label: str
) -> Contender:
    run = _run_of(row)
    return await contender(scored[run.id], RowKey(row.kind, row.name, condition), cases[run.id], label)


def _key(row: Named) -> _Key:
    return _run_of(row).id, row.kind, row.name


def _run_of(row: Named) -> Run:
    assert row.run is not None, "names are placed in runs before"
    return row.run
