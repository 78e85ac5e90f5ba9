"""All pages of `harness view`, in the order in which routes are looked for."""

from __future__ import annotations

from harness.cache.store import Store
from harness.web.media import case_files
from harness.web.viewing import exchanges, live, run_page, runs, side_by_side, unit_page, units
from harness.web.viewing.library import Library
from harness.web.viewing.live_board import LiveBoard

_PAGES = (runs, run_page, units, unit_page, exchanges, side_by_side, case_files)


class Pages:
    """The routes of one open store, which stays the caller's to close, after these."""

    def __init__(self, store: Store, library: Library | None = None) -> None:
        self.library = library or Library(store)
        self._board = LiveBoard(store)
        self.routes = [route for module in _PAGES for route in module.routes(self.library)]
        self.routes += live.routes(self.library, self._board)

    async def close(self) -> None:
        """End what reads the store beside the pages."""
        await self._board.close()
        await self.library.ended()
