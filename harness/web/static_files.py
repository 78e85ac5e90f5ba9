"""Style sheets and scripts of the pages: the files of one folder of this package, and nothing else."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_TYPES: Final = {"css": "text/css", "js": "text/javascript"}


def static_route() -> Route:
    """Return the route of these files, which needs no token: they hold nothing of anybody's."""
    return Route("/static/{name}", _static)


async def _static(request: Request) -> Response:
    found = _files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return Response(found[0], media_type=found[1])


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    folder = files("harness.web") / "static"
    kinds = {one.name: _TYPES.get(one.name.rpartition(".")[2]) for one in folder.iterdir()}
    return {name: ((folder / name).read_bytes(), kind) for name, kind in kinds.items() if kind is not None}
