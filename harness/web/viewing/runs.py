"""The first page: all runs of the store."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.web.pages import page
from harness.web.viewing.library import Library


def routes(library: Library) -> list[Route]:
    """Return the routes of this module."""

    async def runs(request: Request) -> Response:
        return page("viewing/templates/runs.html", runs=await library.runs())

    return [Route("/", runs)]
