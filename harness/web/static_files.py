"""Style sheets and scripts of the pages: the files of one folder of this package, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.web.links import Query, link

FOLDER: Final = "/static/"
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_ICON: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    b'<rect width="16" height="16" rx="3" fill="#17508a"/>'
    b'<path d="M4 3v10M12 3v10M4 8h8" stroke="#fff" stroke-width="2" fill="none"/></svg>\n'
)
"""The page's icon in a browser's tab: without one, browsers ask for /favicon.ico."""
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    kind: str
    digest: str


def static_route() -> Route:
    """Return the route of these files, which needs no token: they hold nothing of anybody's."""
    return Route(FOLDER + "{name}", _static)


def asset(name: str) -> str:
    """Return the address of a file, which changes with its content. Raises KeyError where there is none."""
    return link(FOLDER + name, v=_files()[name].digest)


async def _static(request: Request) -> Response:
    found = _files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    current = Query(request.scope["query_string"]).one("v") == found.digest
    headers = {"etag": f'"{found.digest}"', "cache-control": _FOR_EVER if current else _ASK_AGAIN}
    if headers["etag"] in known_tags(request):
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.kind, headers=headers)


def known_tags(request: Request) -> set[str]:
    """Return the entity tags, in quotes, of what the browser has, by its If-None-Match."""
    given = request.headers.get("if-none-match", "")
    return {tag.strip().removeprefix("W/") for tag in given.split(",")}


@cache
def _files() -> dict[str, _File]:
    folder = files("harness.web") / "static"
    kinds = {one.name: _TYPES.get(one.name.rpartition(".")[2]) for one in folder.iterdir()}
    found = {name: ((folder / name).read_bytes(), kind) for name, kind in kinds.items() if kind is not None}
    found["icon.svg"] = (_ICON, _TYPES["svg"])
    return {
        name: _File(content, kind, sha256(content).hexdigest()[:16])
        for name, (content, kind) in found.items()
    }
