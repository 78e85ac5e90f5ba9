"""A loopback proxy before a Postgres server that loses connections at a chosen moment.

    async with a_proxy(server) as proxy:
        store = await Store.open(proxy.url(schema))
        proxy.at_commit = "lose the answer"     # or "lose the commit"; once
        proxy.refuse()                          # from now on nobody gets in
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from postgres_server import PostgresServer

_COMMIT = b"COMMIT;"


class PostgresProxy:
    """Passes bytes on, until told otherwise.

    `commits`: how many were seen; `leaves`: after a loss no connection is left, and nobody gets in any more.
    """

    def __init__(self, server: PostgresServer) -> None:
        self.at_commit: Literal["pass", "lose the answer", "lose the commit"] = "pass"
        self.leaves = False
        self.commits = 0
        self.stays_away = False
        self._parts = urlsplit(server.url)
        self._listener: asyncio.Server | None = None
        self._answered = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    def url(self, schema: str) -> str:
        """Return the URL of a store behind this proxy."""
        assert self._listener is not None
        port = self._listener.sockets[0].getsockname()[1]
        user = parse_qs(self._parts.query).get("user", [self._parts.username or ""])[0]
        who = user + (f":{self._parts.password}" if self._parts.password else "")
        return f"postgresql://{who}@127.0.0.1:{port}{self._parts.path}?sslmode=disable&schema={schema}"

    async def start(self) -> None:
        """Listen on a port that the system chooses."""
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    def lose_all(self) -> None:
        """Break every connection."""
        for writer in self._writers:
            writer.transport.abort()

    def refuse(self) -> None:
        """Break every connection, and each new one at once."""
        self.stays_away = True
        self.lose_all()

    async def stop(self) -> None:
        """Close everything."""
        assert self._listener is not None
        self._listener.close()
        self.lose_all()
        await self._listener.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.stays_away:
            writer.transport.abort()
            return
        try:
            back_reader, back_writer = await self._connect()
        except OSError:  # the server behind is away: the client meets that too
            writer.transport.abort()
            return
        self._writers |= {writer, back_writer}
        dropping = asyncio.Event()
        pumps = [
            asyncio.create_task(self._forwards(reader, back_writer, dropping)),
            asyncio.create_task(self._backwards(back_reader, writer, dropping)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
            for one in (writer, back_writer):
                self._writers.discard(one)
                one.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        folder = parse_qs(self._parts.query).get("host", [None])[0]
        if folder is not None:
            return await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.5432")
        return await asyncio.open_connection(self._parts.hostname, self._parts.port or 5432)

    async def _forwards(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, dropping: asyncio.Event
    ) -> None:
        while data := await self._piece(reader):
            if _COMMIT in data:
                self.commits += 1
                choice, self.at_commit = self.at_commit, "pass"
                leaves = choice != "pass" and self.leaves
                if choice == "lose the answer":
                    dropping.set()
                    writer.write(data)
                    await asyncio.wait_for(self._answered.wait(), 30)
                if leaves:
                    self.refuse()
                if choice != "pass":
                    return
            writer.write(data)
            await writer.drain()

    async def _backwards(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, dropping: asyncio.Event
    ) -> None:
        while data := await self._piece(reader):
            if dropping.is_set():
                self._answered.set()
                return
            writer.write(data)
            await writer.drain()

    async def _piece(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.read(1 << 16)
        except OSError:
            return b""


@asynccontextmanager
async def a_proxy(server: PostgresServer) -> AsyncIterator[PostgresProxy]:
    """Give a running proxy before a server."""
    proxy = PostgresProxy(server)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
