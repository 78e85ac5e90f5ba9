"""All pages of `harness view`, in the order in which routes are looked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from harness.cache.store import Store
from harness.web.application import application
from harness.web.guard import Access
from harness.web.viewing import live, runs
from harness.web.viewing.library import Library
from harness.web.viewing.live_board import LiveBoard


def viewer(store: Store, access: Access) -> Starlette:
    """Return the viewer of a store, which stays the caller's to close."""
    library = Library(store)
    board = LiveBoard(store)

    @asynccontextmanager
    async def around() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await board.close()

    return application([*runs.routes(library), *live.routes(library, board)], access, around)
