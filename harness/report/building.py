"""A report made from the scores of stored runs: everything in it is data, nothing is written yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from harness.benchmarks.base import Benchmark, CaseSet
from harness.benchmarks.registry import chosen_conventions, get_benchmark
from harness.benchmarks.steps import Step
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.canonical import JSON
from harness.errors import ConfigError
from harness.nearest import nearest_or_known
from harness.offline.scored_runs import ScoredRun, scored_run
from harness.phrases import listed
from harness.report.catalogue_models import models_asked, not_the_catalogues
from harness.report.document import Report, Section
from harness.report.evidence import all_warnings
from harness.report.part_ids import PartIds
from harness.report.published import published
from harness.report.run_comparisons import compared_conditions, comparison_section
from harness.report.run_section import run_section
from harness.report.score_view import ConditionView, RunView, conditions_of

Tell: TypeAlias = Callable[[str], None]

_NAMING: Final = (
    "benchmark",
    "run",
    "parser",
    "scorer",
    "conventions",
    "synthetic",
    "simulated",
    "imported",
    "intervals",
    "references",
)
"""What of a run's scores stands in the JSON of a report; all else is in its tables."""


async def build_report(
    store: Store,
    runs: Sequence[Run],
    *,
    conventions: Mapping[str, str] | None = None,
    grades: str | None = None,
    corrected: CaseSet | None = None,
    tell: Tell | None = None,
) -> Report:
    """Return the report of runs, scored first where stored scores are out of date (`tell` gets a line then).

    Runs stand by benchmark. `conventions` and `grades` go to those runs whose benchmarks have such; the
    references of `corrected`, cases of the one benchmark of all runs, replace theirs where inputs agree.
    Raises ConfigError for a convention that no benchmark of the runs has, grades where none uses any, and no
    run at all; StoreError.
    """
    if not runs:
        raise ConfigError("a report is of one run at least; name one")
    benchmarks = {run.benchmark: get_benchmark(run.benchmark) for run in runs}
    wanted = conventions or {}
    _check(wanted, grades, benchmarks)
    found = [
        await scored_run(
            store,
            run,
            conventions=_own(wanted, benchmarks[run.benchmark]),
            grades=grades if _is_graded(benchmarks[run.benchmark]) else None,
            corrected=corrected,
            tell=tell,
        )
        for run in runs
    ]
    ids = PartIds()
    views = [await _run_view(store, one) for one in found]
    warned = all_warnings([one.score for one in found])
    sections: list[Section] = []
    together: list[Section] = []
    for benchmark in benchmarks.values():
        of_benchmark = [view for view in views if view.scored.score["benchmark"] == benchmark.name]
        chosen = chosen_conventions(benchmark, _own(wanted, benchmark))
        with benchmark.prepared(chosen) as prepared:
            compared = await compared_conditions(of_benchmark, prepared, chosen, ids, warned)
        alone = len(of_benchmark) == 1
        sections += [await run_section(view, ids, compared, alone=alone) for view in of_benchmark]
        across = None if alone else comparison_section(compared, benchmark.name, ids)
        together += [] if across is None else [across]
    sections += together
    return Report(_title(views), sections, warned, _facts(found))


def _check(wanted: Mapping[str, str], grades: str | None, benchmarks: Mapping[str, Benchmark]) -> None:
    known = {name for benchmark in benchmarks.values() for name in benchmark.conventions}
    for name in wanted:
        if name not in known:
            where = listed(list(benchmarks))
            raise ConfigError(f"unknown convention {name!r} of {where}{nearest_or_known(name, known)}")
    if grades not in (None, "none") and not any(map(_is_graded, benchmarks.values())):
        raise ConfigError(f"{listed(list(benchmarks))}: scored without grades; leave out --grades")


def _own(wanted: Mapping[str, str], benchmark: Benchmark) -> dict[str, str]:
    return {name: value for name, value in wanted.items() if name in benchmark.conventions}


def _is_graded(benchmark: Benchmark) -> bool:
    return bool(benchmark.questions) and not isinstance(benchmark, Step)


async def _run_view(store: Store, scored: ScoredRun) -> RunView:
    score, stored = scored.score, scored.stored
    # Rows of a step are named by the conditions of the answers; what was printed of it, by its own.
    own = None if stored.manifest.step is None else next(iter(stored.conditions))
    asked = await models_asked(store, stored.run.manifest, stored.manifest)
    named = sorted({row["model"] for row in score["rows"] if row["kind"] == "model"})
    others = {name: why for name in named if (why := not_the_catalogues(asked, name)) is not None}
    views = [
        ConditionView(
            score, stored.benchmark, condition, published(score["benchmark"], own or condition), others
        )
        for condition in conditions_of(score)
    ]
    return RunView(scored, views)


def _title(views: Sequence[RunView]) -> str:
    names = [view.name for view in views]
    benchmarks = list(dict.fromkeys(view.scored.score["benchmark"] for view in views))
    return f"{listed(benchmarks)}: {'run' if len(names) == 1 else 'runs'} {listed(names)}"


def _facts(found: Sequence[ScoredRun]) -> dict[str, JSON]:
    """Return what names the runs and the code behind their numbers."""
    return {"runs": [{key: one.score[key] for key in _NAMING} for one in found]}
