"""All pages of `harness view`, in the order in which routes are looked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from harness.cache.store import Store
from harness.web.application import application
from harness.web.guard import Access
from harness.web.media import case_files
from harness.web.viewing import exchanges, live, run_page, runs, side_by_side, unit_page, units
from harness.web.viewing.library import Library
from harness.web.viewing.live_board import LiveBoard

_PAGES = (runs, run_page, units, unit_page, exchanges, side_by_side, case_files)


def viewer(store: Store, access: Access, library: Library | None = None) -> Starlette:
    """Return the viewer of a store, which stays the caller's to close; `library`: one that is at hand."""
    found = library or Library(store)
    board = LiveBoard(store)

    @asynccontextmanager
    async def around() -> AsyncIterator[None]:
        async with found.opened():
            try:
                yield
            finally:
                await board.close()

    routes = [route for module in _PAGES for route in module.routes(found)]
    return application([*routes, *live.routes(found, board)], access, around)
