"""What a run is doing while it goes on: a page, and a part of others that is asked for every two seconds."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.cache.runs import LATEST
from harness.web.links import Query
from harness.web.pages import HTMX_HEADER, page
from harness.web.viewing import live_rows, live_words
from harness.web.viewing.library import Library
from harness.web.viewing.live_board import LiveBoard

_FRAGMENT = "viewing/templates/live_fragment.html"
_BRIEF = "viewing/templates/live_brief.html"
_PAGE = "viewing/templates/live.html"


def routes(library: Library, board: LiveBoard) -> list[Route]:
    """Return the route `/live?run=`: a page, or for htmx its changing part, with `brief=1` only the summary.

    That part asks for itself again as long as a session may do something still.
    """

    async def live(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        run = await library.store.find_run(query.one("run") or LATEST)
        seen = await board.seen(run)
        name = _PAGE
        if request.headers.get(HTMX_HEADER) is not None:
            name = _BRIEF if query.one("brief") else _FRAGMENT
        return page(name, seen=seen, words=live_words, rows=live_rows)

    return [Route("/live", live)]
