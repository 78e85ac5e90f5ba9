"""The route by which `harness view` serves the media of cases: looked up through their run and case."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.benchmarks.medlay.cases import region_of
from harness.errors import StoreError, UnknownNameError
from harness.media import Media
from harness.web.links import Query, whole_number
from harness.web.media.places import located
from harness.web.media.serving import asked_for, not_shown
from harness.web.media.thumbnails import Box
from harness.web.viewing.library import Library

_NO_CASE = "there is no such medium of a case"


def routes(library: Library) -> list[Route]:
    """Return the routes of this module.

    `/media/file?run=&case=&role=&n=` names a medium by its place in the run's snapshot; `as` and `frame` say
    which form is wanted (`serving.asked_for`).
    """

    async def file(request: Request) -> Response:
        try:
            found = await _medium(library, Query(request.scope["query_string"]))
        except UnknownNameError:
            found = None
        except StoreError as error:
            return not_shown(request, str(error), status=500)
        if found is None:
            return not_shown(request, _NO_CASE)
        media, box = found
        return await asked_for(media, request, box=box)

    return [Route("/media/file", file)]


async def _medium(library: Library, query: Query) -> tuple[Media, Box | None] | None:
    run, case_id, role = (query.one(name) for name in ("run", "case", "role"))
    n = whole_number(query.one("n"))
    if run is None or case_id is None or role is None or n is None:
        return None
    stored = await library.stored(run)
    place = stored.case_index.find(case_id)
    if place is None:
        return None
    case = stored.case_index.case(place)
    many = case.media.get(role, ())
    if n >= len(many):
        return None
    (media,) = await located(library.store, stored.benchmark.name, [many[n]])
    return media, region_of(case)
