"""The models of all runs of one benchmark, compared condition by condition on the cases that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.benchmarks.base import Benchmark
from harness.comparison.comparing import compare
from harness.comparison.contenders import RunCases
from harness.errors import ConfigError
from harness.offline.contenders import contender, run_cases
from harness.offline.row_units import RowKey
from harness.report.comparisons import comparison_parts, not_compared
from harness.report.document import Paragraph, Part, Section
from harness.report.part_ids import PartIds
from harness.report.score_view import RunView, row_name

_FAMILIES: Final = (
    "Each condition is a family of tests of its own: p values are adjusted within a condition, not over all."
)


async def comparison_section(
    runs: Sequence[RunView], benchmark: Benchmark, conventions: Mapping[str, str], ids: PartIds
) -> Section | None:
    """Return the comparisons of a benchmark's models in every condition that ranks; None without any.

    `benchmark` is the prepared one. Runs of one benchmark are compared together, so that each condition has
    one family of tests.
    """
    conditions = dict.fromkeys(
        view.condition for run in runs for view in run.shown if view.main_metric is not None
    )
    cases = [run_cases(run.scored, alone=len(runs) == 1) for run in runs]
    sections = []
    for condition in conditions:
        parts = [*await _condition(runs, cases, condition, benchmark, conventions, ids)]
        if parts:
            section_id = ids.make(benchmark.name, "compared", condition)
            sections.append(Section(section_id, condition, parts))
    if not sections:
        return None
    head = [Paragraph(_FAMILIES)] if len(sections) > 1 else []
    return Section(ids.make(benchmark.name, "compared"), f"{benchmark.name}: models compared", head, sections)


async def _condition(
    runs: Sequence[RunView],
    cases: Sequence[RunCases],
    condition: str,
    benchmark: Benchmark,
    conventions: Mapping[str, str],
    ids: PartIds,
) -> Iterator[Part]:
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
        return iter([*said, Paragraph(f"Nothing to compare: there is {told}.", "note")] if found else [])
    labels = _labels([(run.name, row_name(row)) for run, _, row in chosen])
    try:
        contenders = [
            await contender(run.scored, RowKey("model", row["model"], condition), of_run, label)
            for (run, of_run, row), label in zip(chosen, labels, strict=True)
        ]
        comparison = compare(benchmark, contenders, condition=condition, conventions=conventions)
    except ConfigError as error:
        return iter([*said, Paragraph(f"Not compared: {error}.", "note")])
    return iter([*said, *comparison_parts(comparison, ids, benchmark.name)])


def _labels(names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a label a contender: its name, with its run where several have it, as `harness compare` does."""
    times = Counter(name for _, name in names)
    return [name if times[name] == 1 else f"{run}:{name}" for run, name in names]
