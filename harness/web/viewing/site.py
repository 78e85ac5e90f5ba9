"""All pages of `harness view`, in the order in which routes are looked for."""

from __future__ import annotations

from starlette.applications import Starlette

from harness.cache.store import Store
from harness.web.application import application
from harness.web.guard import Access
from harness.web.media import case_files
from harness.web.viewing import runs
from harness.web.viewing.library import Library

_PAGES = (runs, case_files)


def viewer(store: Store, access: Access, library: Library | None = None) -> Starlette:
    """Return the viewer of a store, which stays the caller's to close; `library`: one that is at hand."""
    found = library or Library(store)
    routes = [route for module in _PAGES for route in module.routes(found)]
    return application(routes, access, found.opened)
