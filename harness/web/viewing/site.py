"""All pages of `harness view`, in the order in which routes are looked for."""

from __future__ import annotations

from starlette.applications import Starlette

from harness.cache.store import Store
from harness.web.application import application
from harness.web.guard import Access
from harness.web.media import case_files
from harness.web.viewing import runs
from harness.web.viewing.library import Library


def viewer(store: Store, access: Access) -> Starlette:
    """Return the viewer of a store, which stays the caller's to close."""
    library = Library(store)
    return application([*runs.routes(library), *case_files.routes(library)], access)
