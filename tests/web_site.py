"""Pages served for tests: an application on a real loopback port, in a thread with a loop of its own.

    with view_site(tmp_path / "store.sqlite3") as site:        # harness view, read-only
        httpx.get(site.link("/run?run=x"), headers=FROM_TERMINAL)     # 303, and the cookie
        with site.client() as client: ...                       # an httpx client that has the cookie

    @asynccontextmanager
    async def made(access):                                     # any other application
        async with await Store.open(...) as store:
            yield my_application(store, access)
    with served(made, token=None) as site: ...                  # `site.url + "/g/TOKEN/"`

What is opened within `made` lives in the server's loop: `site.run(coroutine)` runs something there and waits.
All is closed at the end, and an error of the server is raised there. Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from starlette.applications import Starlette

from harness.web.connections import Bounds
from harness.web.guard import Access
from harness.web.serving import LOOPBACK, listen, serve
from harness.web.viewing.present_store import PresentStore, lasting_viewer

T = TypeVar("T")
Made = Callable[[Access], AbstractAsyncContextManager[Starlette]]

TOKEN = "token-of-the-tests"
FROM_TERMINAL = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
"""What a browser sends with an address that was typed, or clicked in a terminal."""
_PATIENCE_S = 60.0


@dataclass
class Site:
    """An application that is being served."""

    url: str
    token: str | None
    loop: asyncio.AbstractEventLoop = field(repr=False)

    def link(self, path: str = "/") -> str:
        """Return the whole address of a page, with the token that opens it."""
        if self.token is None:
            return self.url + path
        return f"{self.url}{path}{'&' if '?' in path else '?'}token={self.token}"

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the server's loop and return what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_PATIENCE_S)

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Give a client that has the cookie."""
        with httpx.Client(base_url=self.url, trust_env=False, timeout=_PATIENCE_S) as client:
            if self.token is not None:
                client.get(self.link(), headers=FROM_TERMINAL)
            yield client


@contextmanager
def served(made: Made, *, token: str | None = TOKEN, bounds: Bounds | None = None) -> Iterator[Site]:
    """Serve what `made` gives for an `Access` until the end of the block."""
    listening = listen(LOOPBACK, 0)
    port = listening.getsockname()[1]
    access = Access(token, cookie=f"harness-{port}")
    ready, failed, held = threading.Event(), list[BaseException](), list[Any]()

    async def work() -> None:
        stop = asyncio.Event()
        held.extend((asyncio.get_running_loop(), stop))
        async with made(access) as app:
            ready.set()
            await serve(app, listening, stop=stop, bounds=bounds)

    def thread() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:  # noqa: BLE001 - raised in the test's own thread
            failed.append(error)
        finally:
            ready.set()

    server = threading.Thread(target=thread, name="web site", daemon=True)
    server.start()
    try:
        assert ready.wait(_PATIENCE_S), "the application was not made in time"
        if not failed:
            yield Site(f"http://{LOOPBACK}:{port}", token, held[0])
    finally:
        if server.is_alive():
            held[0].call_soon_threadsafe(held[1].set)
        server.join(_PATIENCE_S)
        listening.close()
        if failed:
            raise failed[0]
    assert not server.is_alive(), "the server did not end"


@contextmanager
def view_site(store: Path | str, **options: Any) -> Iterator[Site]:
    """Serve the pages of `harness view` for a store, as the command does: only reading."""

    @asynccontextmanager
    async def made(access: Access) -> AsyncIterator[Starlette]:
        async with PresentStore.at(str(store), said.append) as present:
            yield lasting_viewer(present, access)

    said: list[str] = []

    with served(made, **options) as site:
        yield site
