"""Pages of whatever store lies at a place now: opened anew when it is another one, or is there again.

What was read of one store is never shown with what was read of another: each has an index, a thread and
connections of its own, and an answer leaves only if its store was still there once it was made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.cache.database import StoreGoneError
from harness.cache.opening import is_there
from harness.cache.store import Store
from harness.cache.witness import Witness
from harness.errors import HarnessError, StoreError
from harness.moments import now_us, shown_moment
from harness.web.application import application, within
from harness.web.guard import Access
from harness.web.notices import noticing
from harness.web.pages import page
from harness.web.viewing.library import Library
from harness.web.viewing.site import Pages

_AGAIN_S: Final = 1.0
"""How often a store that is not there is looked for, at most."""
_PATIENCE_S: Final = 2.0
"""How long a page waits for a store that is being opened."""
_LET_GO_S: Final = 10.0
"""How long a store that was lost stays open for the pages that are being made of it."""
_LOST: Final = "viewing/templates/store_lost.html"


@dataclass
class _Opened:
    """A store that was there, and its pages; `notices`: what stands above each of them."""

    store: Store
    pages: Pages
    app: ASGIApp
    witness: Witness
    notices: tuple[str, ...]
    visitors: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)


class PresentStore:
    """An application of the pages of one place, opened by `at`, which raises what the first look raises."""

    def __init__(
        self, url: str, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._url = url
        self._tell = tell
        self._clock = clock
        self._opened: _Opened | None = None
        self._opening: asyncio.Task[_Opened] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self._lost: _Opened | None = None
        self._why = ""
        self._found = ""
        self._since = ""
        self._next_try = 0.0

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str, tell: Callable[[str], None]) -> AsyncIterator[PresentStore]:
        """Open the store at a URL, which must be there; close it, or its successor, afterwards."""
        found = cls(url, tell)
        found._opened = await found._open(tell)
        try:
            yield found
        finally:
            await found._close()

    @property
    def store(self) -> Store:
        """The store that was there at the beginning."""
        assert self._opened is not None
        return self._opened.store

    @property
    def library(self) -> Library:
        """What pages know of it."""
        assert self._opened is not None
        return self._opened.pages.library

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the store that is there, or say what became of it."""
        for _ in range(2):  # a store that was replaced is shown at once, by a request that changes nothing
            opened = await self._present()
            if opened is None or await self._answered(opened, scope, receive, send):
                break
        else:
            opened = None
        if opened is None:
            answer = page(_LOST, 503, told=self._why, found=self._found, since=self._since)
            await answer(scope, receive, send)

    async def _answered(self, opened: _Opened, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer by one store; False, and nothing was sent, where it was lost meanwhile."""
        sending = _Sending(send, opened)
        opened.visitors += 1
        try:
            with noticing(opened.notices):
                await opened.app(scope, receive, sending)
        except StoreGoneError as error:
            if sending.started:
                raise
            sending.lost = error
        finally:
            opened.visitors -= 1
            if not opened.visitors:
                opened.left.set()
        if sending.lost is not None:
            self._retire(opened, sending.lost)
        return sending.lost is None

    async def _present(self) -> _Opened | None:
        """Return the store that is there; None: there is none, and `_why` says what is known."""
        opened = self._opened
        if opened is not None:
            try:
                opened.store.check_place()
            except StoreGoneError as error:
                self._retire(opened, error)
            else:
                return opened
        if self._opening is None:
            if self._clock() < self._next_try:
                return None
            self._next_try = self._clock() + _AGAIN_S
            self._opening = asyncio.create_task(self._open_again())
        await asyncio.wait([self._opening], timeout=_PATIENCE_S)
        return self._taken()

    def _taken(self) -> _Opened | None:
        """Take what was opened, if that is done; others may have taken it meanwhile."""
        task = self._opening
        if task is None or not task.done():
            return self._opened
        self._opening = None
        try:
            self._opened = task.result()
        except HarnessError:
            return None
        self._tell("note: the store is there again; the pages show what is in it now")
        return self._opened

    async def _open_again(self) -> _Opened:
        """Open what lies there now; where it cannot be, remember why, unless nothing lies there."""
        try:
            return await self._open(lambda told: None)
        except HarnessError as error:
            try:
                self._found = str(error) if await is_there(self._url) else ""
            except HarnessError:
                self._found = str(error)
            raise

    async def _open(self, warn: Callable[[str], None]) -> _Opened:
        told: list[str] = []

        def warned(words: str) -> None:
            told.append(words)
            warn(words)

        store = await Store.open(self._url, create=False, only_read=True, patient=False, warn=warned)
        try:
            witness = await store.witness()
            told += await self._notices(store)
        except BaseException:
            await store.close()
            raise
        pages = Pages(store)
        return _Opened(store, pages, within(pages.routes), witness, tuple(told))

    async def _notices(self, store: Store) -> list[str]:
        """Return what whoever looks at a store should know of how it was opened."""
        now = shown_moment(now_us())
        told = []
        if self._lost is not None and not await _is_same(store, self._lost):
            told.append(
                f"This is another store than the one that lay here until {self._since}, or that one as it "
                f"was earlier: it was opened at {now}, and all that is shown is read from it."
            )
        if store.is_snapshot:
            told.append(
                "This store can only be read, and nobody writes to it as far as can be seen from here: it is "
                f"shown as it stood at {now}. Once it is written to, it is read anew."
            )
        return told

    def _retire(self, opened: _Opened, why: StoreError) -> None:
        """Show nothing of a store any more, and close it when no page is being made of it."""
        if self._opened is not opened:
            return
        self._opened, self._lost, self._next_try = None, opened, 0.0
        self._why, self._found, self._since = str(why), "", shown_moment(now_us())
        self._tell(f"warning: {why}; the pages say so, and show the store again when it is there")
        task = asyncio.create_task(self._let_go(opened))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _let_go(self, opened: _Opened) -> None:
        if opened.visitors:
            opened.left.clear()
            await asyncio.wait([asyncio.create_task(opened.left.wait())], timeout=_LET_GO_S)
        await opened.pages.close()
        await opened.store.close()

    async def _close(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])
            self._taken()
        if self._opened is not None:
            self._opened.visitors = 0
            await self._let_go(self._opened)
        if self._retiring:
            await asyncio.wait(self._retiring)


def lasting_viewer(present: PresentStore, access: Access) -> Starlette:
    """Return the viewer of a place, as long as `present` is open."""
    return application([Mount("", app=present)], access, home="/")


async def _is_same(store: Store, before: _Opened) -> bool:
    """Tell whether a store is the one that was lost, with all that was in it."""
    if before.store.is_snapshot:
        return True  # it was written to: that is what it was given up for
    try:
        await store.witness(before.witness)
    except StoreGoneError:
        return False
    return store.identity == before.store.identity


class _Sending:
    """Sends the messages of an answer if its store is still the one that it was made of."""

    def __init__(self, send: Send, opened: _Opened) -> None:
        self._send = send
        self._opened = opened
        self.started = False
        self.lost: StoreError | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            try:
                self._opened.witness = await self._opened.store.witness(self._opened.witness)
            except StoreError as error:
                self.lost = error
            else:
                self.started = True
        if self.lost is None:
            await self._send(message)


