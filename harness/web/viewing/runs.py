"""The first page: all runs of the store, the one that was worked on last first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.moments import shown_moment
from harness.web.pages import page
from harness.web.viewing import live_words
from harness.web.viewing.library import Library
from harness.web.viewing.run_summaries import RunSummary


def routes(library: Library) -> list[Route]:
    """Return the routes of this module."""

    async def runs(request: Request) -> Response:
        return page("viewing/templates/runs.html", runs=await library.summaries(), ended=ended, how=how)

    return [Route("/", runs)]


def ended(run: RunSummary) -> str:
    """Return when the last session of a run was."""
    last = run.last
    if last is None:
        return "none yet"
    if last.ended_at_us is None:
        return f"since {shown_moment(last.started_at_us)}"
    return shown_moment(last.ended_at_us)


def how(run: RunSummary) -> str | None:
    """Return how the last session of a run ended, None for one that did not."""
    last = run.last
    return None if last is None or last.ended_at_us is None else live_words.ending(last.exit_code)
