"""The viewer over a test's store, asked without a server: pages as text, their links, what keys lead to."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import TypeVar

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from harness.cache.store import Store
from harness.web.application import application, within
from harness.web.guard import Access
from harness.web.links import link
from harness.web.viewing.library import Library
from harness.web.viewing.site import Pages

Query = str | int | tuple[str, ...] | None
Result = TypeVar("Result")


@dataclass(frozen=True)
class Viewing:
    """An open viewer."""

    client: httpx.AsyncClient

    async def get(
        self, path: str, headers: Mapping[str, str] | None = None, **query: Query
    ) -> httpx.Response:
        """Ask for an address; a query is added to the path."""
        return await self.client.get(link(path, **query) if query else path, headers=headers)

    async def page(self, path: str, **query: Query) -> Page:
        """Return a page that must be there."""
        answer = await self.get(path, **query)
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return Page(answer.text)


@dataclass(frozen=True)
class Page:
    """A page's HTML."""

    html: str

    @property
    def text(self) -> str:
        """What is read on it, in one line, without tags."""
        reader = _Reader()
        reader.feed(self.html)
        return " ".join("".join(reader.found).split())

    @property
    def tags(self) -> list[tuple[str, dict[str, str | None]]]:
        """Its elements in order, with their attributes."""
        reader = _Reader()
        reader.feed(self.html)
        return reader.tags

    def links(self, start: str) -> list[str]:
        """Return where its links lead, of those that begin so."""
        found = re.findall(r'href="([^"]*)"', self.html)
        return [unescape(one) for one in found if unescape(one).startswith(start)]

    def key(self, key: str) -> str | None:
        """Return where a key leads; None for one that does nothing."""
        for tag, values in self.tags:
            if tag == "a" and key in (values.get("data-key") or "").split():
                return values["href"]
        return None


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"bdi", "span", "wbr", "b", "a", "small"}:
            self.found.append(" ")


@asynccontextmanager
async def pages_of(store: Store, library: Library | None = None) -> AsyncIterator[Starlette]:
    """Give the pages of an open store as those of a place are built, without the look whether it is there."""
    pages = Pages(store, library)
    try:
        yield application([Mount("", app=within(pages.routes))], Access(None), home="/")
    finally:
        await pages.close()


@asynccontextmanager
async def viewing(store: Store) -> AsyncIterator[Viewing]:
    """Give the viewer of a store, without a token."""
    async with (
        pages_of(store) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:1") as client,
    ):
        yield Viewing(client)


def looked_at(place: Path, look: Callable[[Viewing], Awaitable[Result]]) -> Result:
    """Return what is seen of a store that nobody writes; for tests without a loop of their own."""

    async def inside() -> Result:
        opened = await Store.open(str(place), create=False, only_read=True)
        async with opened as store, viewing(store) as view:
            return await look(view)

    return asyncio.run(inside())


def is_closed(page: Page) -> list[str]:
    """Return what a page holds that its policy forbids: scripts and styles in it, handlers, other sites."""
    wrong = []
    for tag, values in page.tags:
        wrong += [f"{tag} {name}" for name in values if name == "style" or name.startswith("on")]
        if tag in {"style", "iframe", "object", "embed", "base"}:
            wrong.append(tag)
        address = values.get("src") or values.get("href") or "/"
        if not address.startswith(("/", "#")) or address.startswith("//"):
            wrong.append(f"{tag} {address}")
        if tag == "script" and not (values.get("src") or "").startswith("/static/"):
            wrong.append("a script of its own")
    return wrong
