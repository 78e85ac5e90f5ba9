"""One run: how the units of each model ended, with links to lists of them, and the metric that ranks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.cache.runs import LATEST
from harness.offline.step_runs import steps_over
from harness.offline.stored_run import StoredRun
from harness.phrases import no_evidence
from harness.session_standing import any_open
from harness.web.links import Query
from harness.web.pages import page
from harness.web.viewing.filters import OPEN, Facet, Filters, units_link
from harness.web.viewing.library import Library
from harness.web.viewing.run_summaries import flags_of, step_of, title_of
from harness.web.viewing.unit_columns import OUTCOMES
from harness.web.viewing.unit_index import UnitIndex


@dataclass(frozen=True, slots=True)
class Cell:
    """How many units ended so, with the link of their list; none: no link."""

    units: int
    href: str


@dataclass(frozen=True, slots=True)
class CountRow:
    """The units of a model or condition: all of them, then by outcome."""

    name: str
    all: Cell
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class CountTable:
    """Units by outcome, of those outcomes that some unit of the run has."""

    outcomes: Sequence[str]
    rows: Sequence[CountRow]


def routes(library: Library) -> list[Route]:
    """Return the routes of this module."""

    async def run_page(request: Request) -> Response:
        reference = Query(request.scope["query_string"]).one("run") or LATEST
        run = await library.store.find_run(reference)
        index = await library.soon(run.name)
        if index is None:
            return page("viewing/templates/pending.html", run=run)
        stored, runs = index.stored, await library.runs()
        return page(
            "viewing/templates/run.html",
            run=run,
            title=title_of(run.benchmark),
            manifest=stored.manifest,
            flags=flags_of(stored.manifest),
            banner=banner(stored),
            step=step_of(run, {one.digest: one.name for one in runs}),
            steps=[one.run for one in steps_over(runs, run.digest)],
            is_open=any_open(stored.sessions),
            n_units=len(index),
            n_ended=index.reading[1],
            every=units_link(run.name, Filters()),
            by_model=count_table(index, "model"),
            by_condition=count_table(index, "condition") if len(stored.conditions) > 1 else None,
            scores=await library.scores(run.name),
            quoted=shlex.quote,
            wrong=units_link(run.name, Filters(right=("no",))) if index.has_right else None,
        )

    return [Route("/run", run_page)]


def banner(stored: StoredRun) -> str | None:
    """Return what must stand above anything that a made-up run shows."""
    manifest = stored.manifest
    return no_evidence(synthetic=manifest.synthetic, simulated=manifest.simulated)


def count_table(index: UnitIndex, by: Facet) -> CountTable:
    """Return how the units of each model, or condition, stand, as lists of units count them."""
    names, of = (
        (index.layout.models, index.layout.model)
        if by == "model"
        else (index.layout.conditions, index.layout.condition)
    )
    width = len(OUTCOMES)
    flat = np.bincount(of.astype(np.int64) * width + index.columns.outcome, minlength=len(names) * width)
    counts = flat.reshape(len(names), width)
    there = np.flatnonzero(counts.sum(axis=0)).tolist()
    outcomes = [str(OUTCOMES[code] or OPEN) for code in there]
    run = index.stored.run.name

    def row(place: int, name: str) -> CountRow:
        only = Filters().toggled(by, name)
        cells = [
            Cell(int(counts[place, code]), units_link(run, only.toggled("outcome", outcome)))
            for code, outcome in zip(there, outcomes, strict=True)
        ]
        return CountRow(name, Cell(int(counts[place].sum()), units_link(run, only)), cells)

    return CountTable(outcomes, [row(place, name) for place, name in enumerate(names)])
