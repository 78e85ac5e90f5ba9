"""What a run is doing while it goes on: a page, and a part of others that is asked for every two seconds."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.cache.runs import LATEST
from harness.web.links import Query, whole_number
from harness.web.pages import HTMX_HEADER, page
from harness.web.viewing import live_rows, live_words
from harness.web.viewing.library import Library
from harness.web.viewing.live_board import LiveBoard, Seen

UNITS_ENDED = "units-ended"
"""The event that htmx fires on a page for which more units have ended than it knows of."""

_MOST_AFTER: Final = 10
"""How often a page that is behind is told so after the end."""

_FRAGMENT = "viewing/templates/live_fragment.html"
_BRIEF = "viewing/templates/live_brief.html"
_SINCE = "viewing/templates/live_since.html"
_STANDS = "viewing/templates/live_stands.html"
_PAGE = "viewing/templates/live.html"


def routes(library: Library, board: LiveBoard) -> list[Route]:
    """Return the route `/live?run=`: a page, or for htmx its changing part.

    That part asks for itself again as long as a session may do something still. `brief=1` gives the summary
    only, for a page that tells in `ended=` how many units it knows to have ended: the answer fires
    `UNITS_ENDED` there while it is another number. `since=` gives a line for a list of units instead, with
    how many ended after it was made, and `stands=1` how the session stands that did not end, which reads no
    more than that.
    """

    async def live(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        run = await library.store.find_run(query.one("run") or LATEST)
        is_part = request.headers.get(HTMX_HEADER) is not None
        if is_part and query.one("stands"):
            first = live_words.first_of(await board.open_sessions(run))
            return page(_STANDS, run=run, first=first, words=live_words)
        seen = await board.seen(run)
        if not is_part:
            return page(_PAGE, seen=seen, words=live_words, rows=live_rows)
        since = whole_number(query.one("since"))
        if since is not None:
            return page(_SINCE, seen=seen, ended=since)
        if query.one("brief"):
            return _brief(seen, whole_number(query.one("ended")), whole_number(query.one("after")) or 0)
        return page(_FRAGMENT, seen=seen, words=live_words, rows=live_rows)

    return [Route("/live", live)]


def _brief(seen: Seen, known: int | None, after: int) -> Response:
    """Return the summary for a page that knows of `known` ended units, and was `after` times told so."""
    behind = known is not None and known != seen.ended
    again = 0 if seen.going_on else after + 1 if behind and after < _MOST_AFTER else None
    part = page(_BRIEF, seen=seen, words=live_words, rows=live_rows, again=again)
    if behind:
        part.headers["hx-trigger"] = UNITS_ENDED
    return part
