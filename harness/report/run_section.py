"""One run as a section: what came out in short, a section a condition, agreement, cost, methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from harness.benchmarks.details import Against, Breakdown, Change, Detail, Flow, Matrix
from harness.offline.row_units import RowKey
from harness.offline.scored_runs import ScoredRun
from harness.phrases import listed
from harness.report.agreement_tables import agreement_parts, agreement_title
from harness.report.breakdowns import against, breakdown, change, matrix
from harness.report.cost_score import cost_against_score
from harness.report.document import Paragraph, Part, Section, Table
from harness.report.effort_tables import effort_parts
from harness.report.evidence import what_was_asked
from harness.report.flows import Counts, flow_counts, flow_parts
from harness.report.graded_tables import graded_parts
from harness.report.leaderboard import leaderboard, readings
from harness.report.methods import columns_facts, methods
from harness.report.overview import overview
from harness.report.part_ids import PartIds
from harness.report.run_comparisons import Compared
from harness.report.score_view import ConditionView, Json, RunView, row_name
from harness.report.stages import outcomes, stages
from harness.report.summary import summary


async def run_section(
    run: RunView, ids: PartIds, compared: Mapping[str, Compared], *, alone: bool = True
) -> Section:
    """Return everything that a report says of one run, what matters most first.

    `compared`: condition -> its models compared, which stands beside its leaderboard if the run is `alone`;
    of several runs it has a section of its own, as it is about all of them.
    """
    scored, name = run.scored, run.name
    stored = scored.stored
    effort = effort_rows(scored.effort)
    asked = [
        *what_was_asked(scored.score, stored.benchmark.title, stored.manifest.n_cases, stored.conditions)
    ]
    side_by_side = [*overview(run.shown, ids, name), *_unseen(run)]
    sections = [
        await _condition(run, view, effort, ids, compared.get(view.condition) if alone else None)
        for view in run.shown
    ]
    sections += [*_inside(run.inside, ids, name), *_about_the_run(run, effort, ids)]
    tables = [*_tables(side_by_side), *(one for section in sections for one in _tables_in(section))]
    short = summary(run, compared, tables, ids.make(name, "summary"))
    title = f"{scored.score['benchmark']}: run {name}"
    return Section(ids.make("run", name), title, [*asked, short, *side_by_side], sections)


def _about_the_run(run: RunView, effort: Mapping[tuple[str, str], Json], ids: PartIds) -> Iterator[Section]:
    """Yield what is about all conditions: cost, agreement, methods."""
    scored, name = run.scored, run.name
    taken = [*effort_parts(scored.effort["models"], ids, name)]
    if scored.stored.manifest.step is None:  # what a step costs is no cost of whom it is about
        for view in run.shown:
            taken += cost_against_score(view, effort, ids, name)
    how = [*methods(scored.score, scored.effort, scored.stored.manifest, scored.stored.benchmark, ids, name)]
    if run.shown:
        how.append(columns_facts([*run.shown, *run.inside], ids.make(name, "columns")))
    for slug, title, parts in (
        ("graded", "Grading by people", [*graded_parts(scored.score, ids, name)]),
        ("agreement", agreement_title(scored.score), [*agreement_parts(scored.score, ids, name)]),
        ("effort", "Cost, tokens, time", taken),
        ("methods", "Methods", how),
    ):
        if parts:
            yield Section(ids.make(name, slug), title, parts)


def _tables_in(section: Section) -> Iterator[Table]:
    yield from _tables(section.parts)
    for inner in section.sections:
        yield from _tables_in(inner)


def _tables(parts: Iterable[Part]) -> Iterator[Table]:
    return (part for part in parts if isinstance(part, Table))


def effort_rows(effort: Json) -> Mapping[tuple[str, str], Json]:
    """Return (model, condition or union) -> its row; of a step, by whom its answers are about."""
    lists = [effort["about"]] if effort["about"] else [effort["rows"], effort["unions"]]
    return {(row["model"], row["condition"]): row for row in chain.from_iterable(lists)}


def _unseen(run: RunView) -> Iterator[Part]:
    unseen = [view.condition for view in run.views if not view.table.columns]
    if unseen:
        yield Paragraph(f"In `harness score --json` only: {listed(unseen)}.", "note")


async def _condition(
    run: RunView,
    view: ConditionView,
    effort: Mapping[tuple[str, str], Json],
    ids: PartIds,
    compared: Compared | None,
) -> Section:
    name, condition = run.name, view.condition
    board = [*leaderboard(view, ids, name)]
    details: list[Part] = []
    for detail in view.benchmark.details(condition):
        details += [*await _detail(run, view, detail, ids)]
    sections = [
        Section(ids.make(name, condition, slug), f"Condition {condition}: {title}", of_section)
        for slug, title, of_section in (
            ("compared", "models compared", [] if compared is None else compared.parts),
            ("readings", "other readings", [*readings(view, ids, name)]),
            ("details", "in detail", details),
            (
                "ends",
                "how answers ended and were read",
                [*outcomes(view, ids, name), *stages(view, effort, ids, name)],
            ),
        )
        if of_section
    ]
    return Section(ids.make(name, condition, "section"), f"Condition {condition}", board, sections)


def _inside(views: Sequence[ConditionView], ids: PartIds, name: str) -> list[Section]:
    """Return the conditions whose rows a union shows together, each with one table, in one section."""
    if not views:
        return []
    parts = [part for view in views for part in leaderboard(view, ids, name, brief=True)]
    title = f"Conditions of {views[0].table.shown_in} one by one"
    return [Section(ids.make(name, "one-by-one"), title, parts)]


async def _detail(run: RunView, view: ConditionView, detail: Detail, ids: PartIds) -> Iterator[Part]:
    match detail:
        case Breakdown():
            return breakdown(view, detail, ids, run.name)
        case Matrix():
            return matrix(view, detail, ids, run.name)
        case Against():
            return against(view, detail, ids, run.name)
        case Change():
            return change(view, detail, ids, run.name)
        case Flow():
            return await _flow(run, view, detail, ids)


async def _flow(run: RunView, view: ConditionView, flow: Flow, ids: PartIds) -> Iterator[Part]:
    scored = run.scored
    if not set(flow.conditions) <= set(scored.stored.conditions):
        return iter(())
    complete = _complete_in(scored, flow.conditions)
    found: dict[str, tuple[Sequence[Counts], int]] = {}
    for row in view.models:
        if row["model"] in complete:
            units = [
                (await scored.numbers(RowKey("model", row["model"], condition))).units
                for condition in flow.conditions
            ]
            conventions = scored.score["conventions"]
            found[row_name(row)] = flow_counts(units, flow, view.benchmark, conventions)
    left = [row_name(row) for row in view.models if row["model"] not in complete]
    return flow_parts(flow, found, ids, run.name, left)


def _complete_in(scored: ScoredRun, conditions: Sequence[str]) -> set[str]:
    """Return the models of which no unit of these conditions is nobody's answer."""
    rows = [row for row in scored.score["rows"] if row["kind"] == "model" and row["condition"] in conditions]
    return {row["model"] for row in rows} - {row["model"] for row in rows if row["incomplete"]}
