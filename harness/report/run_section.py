"""One run as a section: what was asked, a section a condition, effort, agreement, methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from harness.benchmarks.details import Against, Breakdown, Change, Detail, Flow, Matrix
from harness.offline.row_units import RowKey
from harness.offline.scored_runs import ScoredRun
from harness.phrases import listed
from harness.report.agreement_tables import agreement_parts
from harness.report.breakdowns import against, breakdown, change, matrix
from harness.report.document import Paragraph, Part, Section
from harness.report.effort_tables import cost_against_score, effort_parts
from harness.report.evidence import what_was_asked
from harness.report.flows import Counts, flow_counts, flow_parts
from harness.report.leaderboard import leaderboard
from harness.report.methods import methods
from harness.report.overview import overview
from harness.report.part_ids import PartIds
from harness.report.score_view import ConditionView, Json, RunView, row_name
from harness.report.stages import outcomes, stages


async def run_section(run: RunView, ids: PartIds, compared: Section | None = None) -> Section:
    """Return everything that a report says of one run; `compared`: of its models, if it is alone."""
    scored, name = run.scored, run.name
    stored = scored.stored
    shown, inside = run.shown, run.inside
    effort = effort_rows(scored.effort)
    head = [
        *what_was_asked(scored.score, stored.benchmark.title, stored.manifest.n_cases, stored.conditions),
        *overview(shown, ids, name),
        *_unseen(run),
    ]
    sections = [await _condition(run, view, effort, ids) for view in shown]
    sections += _inside(inside, ids, name)
    sections += [] if compared is None else [compared]
    taken = [*effort_parts(scored.effort["models"], ids, name)]
    agreed = [*agreement_parts(scored.score, ids, name)]
    method = [*methods(scored.score, scored.effort, stored.manifest, stored.benchmark, ids, name)]
    for slug, title, parts in (
        ("effort", "Cost, tokens, time", taken),
        ("agreement", "Agreement with people", agreed),
        ("methods", "Methods", method),
    ):
        if parts:
            sections.append(Section(ids.make(name, slug), title, parts))
    return Section(ids.make("run", name), f"{scored.score['benchmark']}: run {name}", head, sections)


def effort_rows(effort: Json) -> Mapping[tuple[str, str], Json]:
    """Return (model, condition or union) -> its row; of a step, by whom its answers are about."""
    lists = [effort["about"]] if effort["about"] else [effort["rows"], effort["unions"]]
    return {(row["model"], row["condition"]): row for row in chain.from_iterable(lists)}


def _unseen(run: RunView) -> Iterator[Part]:
    unseen = [view.condition for view in run.views if not view.table.columns]
    if unseen:
        yield Paragraph(f"In `harness score --json` only: {listed(unseen)}.", "note")


async def _condition(
    run: RunView, view: ConditionView, effort: Mapping[tuple[str, str], Json], ids: PartIds
) -> Section:
    name, condition = run.name, view.condition
    parts = [*leaderboard(view, ids, name)]
    if run.scored.stored.manifest.step is None:  # what a step costs is no cost of whom it is about
        parts += cost_against_score(view, effort, ids, name)
    ends = [*outcomes(view, ids, name), *stages(view, effort, ids, name)]
    details: list[Part] = []
    for detail in view.benchmark.details(condition):
        details += [*await _detail(run, view, detail, ids)]
    sections = [
        Section(ids.make(name, condition, slug), title, of_section)
        for slug, title, of_section in (
            ("details", f"{condition} in detail", details),
            ("ends", f"{condition}: how answers ended and were read", ends),
        )
        if of_section
    ]
    return Section(ids.make(name, condition, "section"), condition, parts, sections)


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
