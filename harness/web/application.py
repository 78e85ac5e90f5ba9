"""One application a command: its routes behind the guard, its static files, its error pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from harness.errors import HarnessError
from harness.web.guard import Access, Guard
from harness.web.pages import page
from harness.web.static_files import static_route

Lifespan = Callable[[], AbstractAsyncContextManager[None]]

_NOT_HERE: Final = 404


def application(routes: Sequence[BaseRoute], access: Access, lifespan: Lifespan | None = None) -> Starlette:
    """Return the application of these pages; `access` says who may open them."""

    @asynccontextmanager
    async def around(_: Starlette) -> AsyncIterator[None]:
        if lifespan is None:
            yield
            return
        async with lifespan():
            yield

    return Starlette(
        routes=[static_route(), *routes],
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={HTTPException: _on_http, HarnessError: _on_ours},
        lifespan=around,
    )


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = "there is no such page" if error.status_code == _NOT_HERE else error.detail
    return page("templates/error.html", error.status_code, told=told)


async def _on_ours(request: Request, error: Exception) -> Response:
    return page("templates/error.html", 400, told=str(error))
