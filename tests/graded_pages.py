"""Gradings served for tests: a run in a store, its pages on a real loopback port, and people at them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from web_site import Site, served

from harness.cache.store import Store
from harness.grading.desk import Desk
from harness.grading.opening import GradingWanted, make_grading
from harness.web.grading.site import grader
from harness.web.guard import Access


@dataclass
class GradingSite:
    """A grading that is being served."""

    site: Site
    desk: Desk

    def link(self, name: str) -> str:
        """Return the personal link of a seat."""
        seat = next(one for one in self.desk.seats if one.name == name)
        return f"{self.site.url}/g/{seat.token}/"


@contextmanager
def grading_site(store: Path, run: str = "night", **wanted: Any) -> Iterator[GradingSite]:
    """Serve a grading of a run, which is made or, where it is there already, opened again."""
    found: list[Desk] = []
    asked = GradingWanted(**({"task": "tiers", "raters": ("alice", "bob")} | wanted))

    @asynccontextmanager
    async def made(access: Access) -> AsyncIterator[Starlette]:
        async with await Store.open(str(store), create=False) as opened:
            known = await opened.gradings()
            grading = known[0] if known else await make_grading(opened, await opened.find_run(run), asked)
            found.append(await Desk.open(opened, grading))
            yield grader(found, access)

    with served(made, token=None) as site:
        yield GradingSite(site, found[0])
