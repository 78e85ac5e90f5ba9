"""The images and clips of a sheet, for those who ask: they are named by their place alone."""

from __future__ import annotations

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.grading.desk import Shown
from harness.web.grading.seated import Seated, position_of, seated
from harness.web.links import link, whole_number
from harness.web.media.places import located
from harness.web.media.serving import asked_for
from harness.web.media.shown import Address, CaseMedia, plain_media
from harness.web.media.thumbnails import Box
from harness.web.pages import HTMX_HEADER, page


def media_routes() -> list[Route]:
    """Return the routes of a seat's media: a viewer of all that a sheet has, and each by itself."""
    return [
        Route("/sheet/{position}/media", _viewer),
        Route("/media/{position}/{number}", _medium),
    ]


async def _viewer(request: Request) -> Response:
    """Return the viewer as a part of the sheet's page, or as a page of its own without JavaScript."""
    who = seated(request)
    shown = await who.desk.sheet(who.seat, position_of(request))
    if not shown.media:
        raise HTTPException(404)
    part = HTMX_HEADER in request.headers
    name = "media_part" if part else "media_page"
    return page(
        f"grading/templates/{name}.html",
        title=who.desk.task.title,
        base=who.base,
        address=f"{who.base}sheet/{shown.position}",
        position=shown.position,
        media=await _media(who, shown),
    )


async def _media(who: Seated, shown: Shown) -> CaseMedia:
    assert shown.sheet is not None, "who has no sheet has no media"
    store, benchmark = who.desk.store, who.desk.stored.benchmark.name
    return await plain_media(store, benchmark, shown.sheet.media, _addresses(who, shown), box=_box(shown))


def _addresses(who: Seated, shown: Shown) -> Callable[[int], Address]:
    def of_medium(number: int) -> Address:
        def address(**query: str | int) -> str:
            return link(f"{who.base}media/{shown.position}/{number + 1}", **query)

        return address

    return of_medium


def _box(shown: Shown) -> Box | None:
    region = None if shown.sheet is None else shown.sheet.region
    if region is None:
        return None
    x0, y0, x1, y1 = region
    return x0, y0, x1, y1


async def _medium(request: Request) -> Response:
    who = seated(request)
    shown = await who.desk.sheet(who.seat, position_of(request))
    number = whole_number(request.path_params["number"])
    if number is None or not 1 <= number <= len(shown.media):
        raise HTTPException(404)
    wanted = shown.media[number - 1].medium
    (found,) = await located(who.desk.store, who.desk.stored.benchmark.name, [wanted])
    return await asked_for(found, request, box=_box(shown))
