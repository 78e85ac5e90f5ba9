"""All pages of `harness grade`: a personal link leads to its seat's pages, and to nothing else.

Each seat has its pages below `/g/TOKEN/`. Whoever has no seat is told the same whatever was asked, and a
seat's pages are routes of its role alone: a rater's link does not come to the lead's pages, whatever stands
behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.types import Receive, Scope, Send

from harness.cache.database import StoreGoneError
from harness.errors import GradeRefusedError, HarnessError, UnknownNameError
from harness.grading.desk import Desk
from harness.grading.seats import Role
from harness.web.application import application
from harness.web.grading import consensus, lead, rater
from harness.web.grading.keeping import GONE, Keeping
from harness.web.grading.rater import Page
from harness.web.grading.saving import save
from harness.web.grading.seated import Seated, seated
from harness.web.guard import Access
from harness.web.pages import HTMX_HEADER, page

_log = logging.getLogger(__name__)

_NO_SEAT: Final = "this link opens nothing here; ask whoever leads the grading for yours"
_STAY: Final = (
    f"{GONE}. What is given now is not saved; a page that has answers which are not saved keeps them as long "
    "as it stays open, and saves them once this grading is served again"
)
_FAILED: Final = "this cannot be shown now; tell whoever leads the grading"


def grader(desks: Sequence[Desk], access: Access, keeping: Keeping | None = None) -> Starlette:
    """Return the pages of gradings. The desks stay the caller's, and their store the caller's to close.

    `keeping` is of that one store, and is told what becomes of it; None: nobody needs to know.
    """
    seats = _Seats(desks, keeping or Keeping(desks[0].store))
    return application([Mount("/g/{token}", app=seats)], access)


class _Seats:
    """Finds the seat of a link, and hands on to the pages of its role."""

    def __init__(self, desks: Sequence[Desk], keeping: Keeping) -> None:
        self._desks = desks
        self._keeping = keeping
        self._pages: Mapping[Role, Router] = {
            "rater": _router(rater.routes()),
            "consensus": _router(consensus.routes()),
            "lead": _router(lead.routes()),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = await self._seated(scope["path_params"]["token"])
        if found is None:
            await page("templates/error.html", 403, told=_NO_SEAT)(scope, receive, send)
            return
        scope["state"] = {**scope.get("state", {}), "seated": found}
        await self._pages[found.seat.role](scope, receive, send)

    async def _seated(self, token: str) -> Seated | None:
        for desk in self._desks:
            # What is wrong with a store is told by the pages of a seat, and to no stranger.
            with suppress(HarnessError):
                await desk.reload()
        # Every desk is asked, so that the time it takes says nothing of which one knows the link.
        found = [(desk, seat) for desk in self._desks if (seat := desk.seat_of(token)) is not None]
        return Seated(*found[0], self._keeping) if found else None


def _router(routes: Iterable[Route]) -> Router:
    return Router([Route(one.path, _telling(one.endpoint), methods=one.methods) for one in routes])


def _telling(work: Page) -> Page:
    """Return an endpoint that tells a seat's holder of its errors, before anybody else does."""

    async def checked(request: Request) -> Response:
        """Answer from one store alone: what was read of one that is gone is shown to nobody."""
        if work is save:
            return await work(request)  # it looks by itself, and remembers what was not kept
        await seated(request).keeping.check()
        answer = await work(request)
        await seated(request).keeping.check()
        return answer

    async def told(request: Request) -> Response:
        try:
            return await checked(request)
        except StoreGoneError as error:
            seated(request).keeping.lose(error)
            return _gone(request)
        except HarnessError as error:
            return _told(error, seated(request))

    return told


def _gone(request: Request) -> Response:
    if request.method == "POST" and HTMX_HEADER in request.headers:
        return PlainTextResponse(GONE, 503)
    return page("grading/templates/told.html", 503, told=_STAY, base=seated(request).base)


def _told(error: HarnessError, who: Seated) -> Response:
    """Say what is wrong: to raters only what was written for them; other words may name models or cases."""
    told, status = (str(error) if who.seat.role == "lead" else _FAILED), 500
    if isinstance(error, GradeRefusedError):
        told, status = str(error), 409
    elif isinstance(error, UnknownNameError):
        told, status = "there is no such sheet", 404
    else:
        kind = type(error).__name__
        _log.error("error: a page of a %s failed: %s; the lead's pages may say why", who.seat.role, kind)
    return page("grading/templates/told.html", status, told=told, base=who.base)
