"""Pages of a run that goes on: the viewer beside a sweep in a process of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import httpx
from sweep_kit import spawn

from harness.cache.store import Store
from harness.web.application import application
from harness.web.guard import Access
from harness.web.viewing import live
from harness.web.viewing.library import Library
from harness.web.viewing.live_board import LiveBoard

TELLS_OFTEN = (
    "import harness.live_telling as telling; telling.TELL_EVERY_S = 0.02; "
    "from harness.cli.main import cli; cli.main(prog_name='harness')"
)
"""The program, which tells of itself fifty times a second: no test waits two seconds for words."""


def sweep(*args: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a command that tells of itself often."""
    return spawn(*args, cwd=cwd, env=env, code=TELLS_OFTEN)


@dataclass(frozen=True)
class Viewer:
    """Live pages of a store."""

    store: Store
    board: LiveBoard
    http: httpx.AsyncClient

    async def text(self, path: str = "/live?run=latest", *, part: bool = True) -> str:
        """Return a page, or its changing part, as text without marks; each run of white space is a space."""
        return re.sub(
            r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", await self.html(path, part=part)))
        ).strip()

    async def html(self, path: str = "/live?run=latest", *, part: bool = True) -> str:
        """Return a page, or its changing part."""
        answer = await self.http.get(path, headers={"hx-request": "true"} if part else {})
        assert answer.status_code == 200, answer.text
        return answer.text


@asynccontextmanager
async def viewer(store: str | Path, *, fresh: bool = True) -> AsyncIterator[Viewer]:
    """Open the viewer of a store; `fresh`: it reads anew for each page, whatever the time."""
    async with await Store.open(str(store), create=False, only_read=True) as opened:
        board = LiveBoard(opened, **({"fresh_s": 0.0} if fresh else {}))
        app = application(live.routes(Library(opened), board), Access(None))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as http:
            try:
                yield Viewer(opened, board, http)
            finally:
                await board.close()
