"""One application a command: its routes behind the guard, its static files, its error pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp

from harness.cache.database import StoreGoneError
from harness.errors import HarnessError, StoreError, UnknownNameError
from harness.web.guard import Access, Guard
from harness.web.pages import page
from harness.web.static_files import static_route

Lifespan = Callable[[], AbstractAsyncContextManager[None]]

_TOLD: Final = {
    404: "there is no such page",
    405: "this page cannot be asked for in this way",
}
_STATUS: Final = ((UnknownNameError, 404), (StoreError, 500))
"""Errors of ours -> status; any other is the asker's, 400."""
_WORTH_PACKING: Final = 1_000
"""Bytes from which on a text is compressed. No page holds both a secret and what another site could choose:
the token is in no page of `view`, and where it stands in addresses one must have it to get the page. So a
length gives nothing away (BREACH)."""


def application(
    routes: Sequence[BaseRoute], access: Access, lifespan: Lifespan | None = None, home: str | None = None
) -> Starlette:
    """Return the application of these pages; `access` says who may open them.

    `lifespan` is what lives as long as the server; what it raises, `serve` raises. `home`: the first page, to
    which pages that tell of an error lead.
    """

    @asynccontextmanager
    async def around(_: Starlette) -> AsyncIterator[None]:
        if lifespan is None:
            yield
            return
        async with lifespan():
            yield

    app = Starlette(
        routes=[static_route(), *routes],
        middleware=[
            Middleware(Guard, access=access),
            Middleware(GZipMiddleware, minimum_size=_WORTH_PACKING, compresslevel=6),
        ],
        exception_handlers={HTTPException: _on_http, HarnessError: _on_ours},
        lifespan=around,
    )
    app.state.home = home
    return app


def within(routes: Sequence[BaseRoute]) -> ASGIApp:
    """Return pages that are a part of an application, which guards them: their errors are pages too.

    StoreGoneError is raised: there is no such store any more, which concerns more than one page.
    """
    return ExceptionMiddleware(
        Router(routes), {HTTPException: _on_http, HarnessError: _on_ours, StoreGoneError: _on_gone}
    )


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = _TOLD.get(error.status_code, error.detail)
    response = page("templates/error.html", error.status_code, told=told, home=request.app.state.home)
    response.headers.update(error.headers or {})
    return response


async def _on_gone(request: Request, error: Exception) -> Response:
    raise error


async def _on_ours(request: Request, error: Exception) -> Response:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    return page("templates/error.html", status, told=str(error), home=request.app.state.home)
