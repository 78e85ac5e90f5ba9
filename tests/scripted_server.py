"""A loopback HTTP/1.1 server that does what a test tells it, down to the single byte.

It runs in a thread of its own (or as a process: `python tests/scripted_server.py --port 0`), logs every
arrival, and answers in OpenAI's chat format, or in Gemini's where the path says generateContent.

    from scripted_replies import status_reply
    from scripted_server import ScriptedServer

    def script(arrival):                          # called once an arrival; None = the default answer
        return status_reply(503) if arrival.nth == 1 else None

    with ScriptedServer(script) as server:
        ...                                       # send to server.url (no path in it)
    assert [a.json["model"] for a in server.arrivals] == ["m", "m"]

What a script is given (`Arrival`): `number` (from 0, over all), `nth` (from 1, among equal path + body), `at`
(monotonic seconds), `path`, `headers` (lower case), `body`, `json`, `text` (all text parts
joined), `connection` (id, from 1), `nth_on_connection` (from 1), `in_flight` (requests being answered,
itself included).

What it may return (all in `scripted_replies`): a `Reply`, or one of the builders
    chat_reply(text, finish=, usage=(in, out), model=, reasoning=, refusal=, headers=)
    gemini_reply(text, finish=, usage=, block_reason=, headers=)
    sse_reply(events, interval_s=)         server-sent events, chunked
    json_reply(value, status, headers)     status_reply(status, message, code=, kind=, headers=)
    rate_limited(wait_s)                   html_reply(status)     huge_reply(size)
    half(reply, share, how)                after that share of the body: "close", "reset", "silence"
    chunked(reply, size)                   in chunks; `half` of it lacks the last one
    after_interim(reply, 100, 103)         interim answers first
    endless_headers(reply)                 header lines until the client leaves
    redirect_reply(status, location)       gzip_reply(reply, sound=)
    wrong_length(reply, off)               content-length says `off` bytes more (or fewer) than are sent
    dripping(reply, interval_s, size)      `size` bytes every `interval_s`; headers=True: the headers so
    delayed(reply, s)                      silence of s seconds first
    closing(reply)                         the connection is closed afterwards, unannounced
or `RESET`, `CLOSE` (after the request was read, no answer), `SILENCE` (nothing, for ever).

Scripts are composed: `in_turn(a, b)` by `number`, then the default; `by_sends(a, b)` by `nth`, then the
default; `burst(n, reply)`: the first n arrivals. Whatever the script, `server.on_connect` (a function of
the connection's id) may return "reset", "close" or "silence" to treat a connection so before anything is
read from it.

Without a script, markers in the request's text decide: `<<NAME=VALUE xN>>`, xN = only for the first N equal
arrivals (several markers take turns). Names: status=503, wait=0.5 (429 with that wait), delay=0.2 (of the
answer), text=..., finish=length, reset, close, silence, drip=0.1, half=0.5, long=10, short=10, html=502,
empty, huge=SIZE. Unmarked, the answer echoes the request's text.

Kept for assertions: `arrivals`, `max_in_flight`, `in_flight`, `connections` (accepted so far), and with
`log=PATH` one JSON line an arrival. `server.hold()` keeps every answer back until `server.release()`;
`server.refuse()` stops listening and drops what is open, `server.accept()` listens again on the same port;
`wait_for(count)` blocks until so many requests have arrived (from a test's event loop:
`await asyncio.to_thread(server.wait_for, 3)`), `wait_until_closed()` until no connection is open.
`closed_url()` is an address at which nobody listens. An error in a script is raised by `stop`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import ssl
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from scripted_replies import Arrival, Hang, Reply, Script, by_markers, default_reply

OnConnect: TypeAlias = Literal["reset", "close", "silence"]


def closed_url() -> str:
    """Return an address of this machine at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


class ScriptedServer:
    """The server; a context manager. `tls` makes it speak HTTPS."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        port: int = 0,
        log: Path | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.script = script
        self.on_connect: Callable[[int], OnConnect | None] = lambda connection: None
        self.arrivals: list[Arrival] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self.connections = 0
        self.failures: list[BaseException] = []
        self._port, self._log, self._tls = port, log, tls
        self._counts: Counter[tuple[str, bytes]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted server", daemon=True)
        self._gate = asyncio.Event()
        self._gate.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._arrived = threading.Condition()

    @property
    def url(self) -> str:
        """Scheme, host and port; no path."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """Listen; the port is known afterwards."""
        self._thread.start()
        self.accept()
        return self

    def stop(self) -> None:
        """Drop all connections and stop. Raises the first error of a script."""
        self._call(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self.failures:
            raise self.failures[0]

    def accept(self) -> None:
        """Listen (again), on the same port."""
        self._call(self._listen())

    def refuse(self) -> None:
        """Stop listening: new connections are refused, open ones are dropped."""
        self._call(self._shut())

    def hold(self) -> None:
        """Answer nothing from now on; what arrives waits, in flight, for `release`."""
        self._loop.call_soon_threadsafe(self._gate.clear)

    def release(self) -> None:
        """Answer again, what has been waiting first."""
        self._loop.call_soon_threadsafe(self._gate.set)

    def wait_for(self, count: int, timeout_s: float = 10.0) -> None:
        """Block until so many requests have arrived. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.arrivals) >= count, timeout_s):
                raise TimeoutError(f"{len(self.arrivals)} of {count} requests arrived in {timeout_s} s")

    def wait_until_closed(self, timeout_s: float = 10.0) -> None:
        """Block until no connection is open. Raises TimeoutError."""
        end = time.monotonic() + timeout_s
        while self._tasks:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(self._tasks)} connections are open after {timeout_s} s")
            time.sleep(0.001)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self._port, backlog=4096, ssl=self._tls, limit=1 << 26
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._converse(self.connections, reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        except Exception as error:  # noqa: BLE001 (a script's fault: `stop` raises it in the test)
            self.failures.append(error)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _converse(
        self, connection: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        at_once = self.on_connect(connection)
        if at_once is not None:
            await _hang(Hang(at_once), reader, writer)
            return
        served = 0
        while (head := await _read_head(reader)) is not None:
            served += 1
            path, headers = head
            body = await _read_body(reader, headers)
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
            try:
                arrival = self._arrive(path, headers, body, connection, served)
                await self._gate.wait()
                behaviour = self.script(arrival) if self.script else by_markers(arrival)
                goes_on = await _perform(behaviour or default_reply(arrival), reader, writer)
            finally:
                self.in_flight -= 1
            if not goes_on:
                return

    def _arrive(
        self, path: str, headers: Mapping[str, str], body: bytes, connection: int, served: int
    ) -> Arrival:
        self._counts[path, body] += 1
        arrival = Arrival(
            number=len(self.arrivals),
            nth=self._counts[path, body],
            at=time.monotonic(),
            path=path,
            headers=headers,
            body=body,
            connection=connection,
            nth_on_connection=served,
            in_flight=self.in_flight,
        )
        with self._arrived:
            self.arrivals.append(arrival)
            self._arrived.notify_all()
        if self._log is not None:
            line = {
                "number": arrival.number,
                "nth": arrival.nth,
                "at": arrival.at,
                "path": path,
                "headers": dict(headers),
                "json": arrival.json,
                "in_flight": arrival.in_flight,
            }
            with self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return arrival


async def _read_head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return first.split(" ")[1], {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    pieces = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        pieces.append((await reader.readexactly(size + 2))[:-2])
    await reader.readuntil(b"\r\n")
    return b"".join(pieces)


async def _hang(hang: Hang, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if hang.how == "silence":
        while await reader.read(1 << 16):  # until the client leaves
            pass
    if hang.how == "reset":
        _arm_reset(writer)


def _arm_reset(writer: asyncio.StreamWriter) -> None:
    # with SO_LINGER 0, closing sends RST instead of FIN
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _perform(
    behaviour: Reply | Hang, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Answer; False when the connection is to end."""
    if isinstance(behaviour, Hang):
        await _hang(behaviour, reader, writer)
        return False
    await asyncio.sleep(behaviour.delay_s)
    await _write_head(behaviour, writer)
    left = behaviour.cut_after
    for index, piece in enumerate(behaviour.pieces):
        if index and behaviour.interval_s:
            await asyncio.sleep(behaviour.interval_s)
        part = piece if left is None else piece[:left]
        writer.write(b"%x\r\n%b\r\n" % (len(part), part) if behaviour.declared == -1 and part else part)
        await writer.drain()
        if left is not None:
            left -= len(part)
            if left <= 0:
                await asyncio.sleep(0.02)  # lets the client read what was sent before the connection ends
                await _hang(Hang(behaviour.cut), reader, writer)
                return False
    if behaviour.declared == -1:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    if behaviour.close:
        writer.close()
        await writer.wait_closed()
    return not behaviour.close


async def _write_head(reply: Reply, writer: asyncio.StreamWriter) -> None:
    headers = dict(reply.headers)
    if reply.declared == -1:
        headers["transfer-encoding"] = "chunked"
    else:
        whole = sum(map(len, reply.pieces))
        headers["content-length"] = str(whole if reply.declared is None else reply.declared)
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    head = reply.interim + "".join(f"{line}\r\n" for line in lines).encode("latin-1") + reply.extra_head
    while reply.endless_head:
        writer.write(head)
        await writer.drain()  # raises when the client leaves
        head = reply.endless_head
    head += b"\r\n"
    if not reply.header_drip_s:
        writer.write(head)
        return
    for at in range(len(head)):
        writer.write(head[at : at + 1])
        await writer.drain()
        await asyncio.sleep(reply.header_drip_s)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a process that obeys markers; prints the URL and ends when stdin does."""
    parser = argparse.ArgumentParser(description="scripted loopback server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="JSONL file of arrivals")
    options = parser.parse_args(arguments)
    with ScriptedServer(port=options.port, log=options.log) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
