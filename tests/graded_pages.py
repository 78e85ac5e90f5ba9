"""Gradings served for tests: a run in a store, its pages on a real loopback port, and all that they sent."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from web_site import Site, served

from harness.cache.store import Store
from harness.grading.desk import Desk
from harness.grading.opening import GradingWanted, make_grading
from harness.web.grading.site import grader
from harness.web.guard import Access


@dataclass
class Sent:
    """One answer of the server, as it left it: the address that was asked, headers, the body unpacked."""

    address: str
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    raw: bytes = b""

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.raw) if ("content-encoding", "gzip") in self.headers else self.raw


class Recorder:
    """The outermost middleware: what it is handed is what goes to the browser."""

    def __init__(self, app: ASGIApp, sent: list[Sent]) -> None:
        self._app = app
        self._sent = sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = Sent(f"{scope['path']}?{scope['query_string'].decode('latin-1')}")
        self._sent.append(found)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                found.status = message["status"]
                found.headers += [(name.decode(), value.decode()) for name, value in message["headers"]]
            else:
                found.raw += message.get("body", b"")
            await send(message)

        await self._app(scope, receive, noted)


@dataclass
class GradingSite:
    """A grading that is being served. `sent`: every answer so far."""

    site: Site
    desk: Desk
    sent: list[Sent]

    def link(self, name: str) -> str:
        """Return the personal link of a seat."""
        seat = next(one for one in self.desk.seats if one.name == name)
        return f"{self.site.url}/g/{seat.token}/"

    def grade_all(self, name: str, tier: int = 1) -> None:
        """Answer every question of every open sheet alike, without a browser."""

        async def work() -> None:
            seat = next(one for one in self.desk.seats if one.name == name)
            while (position := await self.desk.next_open(seat)) is not None:
                for question in self.desk.task.questions:
                    await self.desk.grade(seat, position, question.name, tier)

        self.site.run(work())


@contextmanager
def grading_site(store: Path, **wanted: Any) -> Iterator[GradingSite]:
    """Serve a grading of the only run in a store; it is made, or opened again where it is there already."""
    desks: list[Desk] = []
    sent: list[Sent] = []
    asked = GradingWanted(**({"task": "tiers", "raters": ("alice", "bob")} | wanted))

    @asynccontextmanager
    async def made(access: Access) -> AsyncIterator[Starlette]:
        async with await Store.open(str(store), create=False) as opened:
            (run,) = await opened.runs()
            known = await opened.gradings()
            grading = known[0] if known else await make_grading(opened, run, asked)
            desks.append(await Desk.open(opened, grading))
            app = grader(desks, access)
            app.add_middleware(Recorder, sent=sent)
            yield app

    with served(made, token=None) as site:
        yield GradingSite(site, desks[0], sent)
