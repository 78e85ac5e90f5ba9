"""The models of all runs of one benchmark, compared condition by condition on the cases that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.base import Benchmark
from harness.comparison.comparing import compare
from harness.comparison.contenders import RunCases
from harness.comparison.result import Comparison
from harness.errors import ConfigError
from harness.offline.contenders import contender, run_cases
from harness.offline.row_units import RowKey
from harness.report.comparisons import comparison_parts, not_compared
from harness.report.document import Paragraph, Part, Section
from harness.report.part_ids import PartIds
from harness.report.score_view import RunView, row_name

_FAMILIES: Final = (
    "This condition is a family of tests of its own: p values are adjusted within it, not over all {} "
    "conditions."
)


@dataclass(frozen=True, slots=True)
class Compared:
    """The models of one condition compared: as parts, and as data unless there was nothing to compare."""

    parts: Sequence[Part]
    result: Comparison | None = None


async def compared_conditions(
    runs: Sequence[RunView],
    benchmark: Benchmark,
    conventions: Mapping[str, str],
    ids: PartIds,
    said: Collection[str] = (),
) -> Mapping[str, Compared]:
    """Return the comparison of a benchmark's models in every condition that ranks.

    `benchmark` is the prepared one. Runs of one benchmark are compared together, so that each condition has
    one family of tests. Warnings that are `said` already are not repeated.
    """
    conditions = dict.fromkeys(
        view.condition for run in runs for view in run.shown if view.main_metric is not None
    )
    cases = [run_cases(run.scored, alone=len(runs) == 1) for run in runs]
    found = {}
    for condition in conditions:
        one = await _condition(runs, cases, condition, benchmark, conventions)
        head = [Paragraph(_FAMILIES.format(len(conditions)))] if len(conditions) > 1 else []
        if one.result is not None:
            parts = [*one.parts, *head, *comparison_parts(one.result, ids, benchmark.name, said)]
            one = Compared(parts, one.result)
        found[condition] = one
    return found


def comparison_section(compared: Mapping[str, Compared], benchmark: str, ids: PartIds) -> Section | None:
    """Return the comparisons of several runs as a section of its own; None without any."""
    sections = [
        Section(
            ids.make(benchmark, "compared", condition), f"Condition {condition}: models compared", one.parts
        )
        for condition, one in compared.items()
        if one.parts
    ]
    if not sections:
        return None
    return Section(ids.make(benchmark, "compared"), f"{benchmark}: models of all runs compared", [], sections)


async def _condition(
    runs: Sequence[RunView],
    cases: Sequence[RunCases],
    condition: str,
    benchmark: Benchmark,
    conventions: Mapping[str, str],
) -> Compared:
    """Compare one condition; the parts say who is not compared, and why."""
    found = [
        (run, of_run, row)
        for run, of_run in zip(runs, cases, strict=True)
        for view in run.views
        if view.condition == condition
        for row in view.models
    ]
    chosen = [one for one in found if not one[2]["incomplete"] and one[2]["n_cases"]]
    left = [row_name(row) for _, _, row in found if row["incomplete"]]
    unasked = [row_name(row) for _, _, row in found if not row["incomplete"] and not row["n_cases"]]
    said = [*not_compared(left, "incomplete"), *not_compared(unasked, "no case applies to them")]
    if len(chosen) < 2:
        told = "only one complete model" if chosen else "no complete model"
        return Compared([*said, Paragraph(f"Nothing to compare: there is {told}.", "note")] if found else [])
    labels = _labels([(run.name, row_name(row)) for run, _, row in chosen])
    try:
        contenders = [
            await contender(run.scored, RowKey("model", row["model"], condition), of_run, label)
            for (run, of_run, row), label in zip(chosen, labels, strict=True)
        ]
        result = compare(benchmark, contenders, condition=condition, conventions=conventions)
    except ConfigError as error:
        return Compared([*said, Paragraph(f"Not compared: {error}.", "note")])
    return Compared(said, result)


def _labels(names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a label a contender: its name, with its run where several have it, as `harness compare` does."""
    times = Counter(name for _, name in names)
    return [name if times[name] == 1 else f"{run}:{name}" for run, name in names]
