"""A loopback provider in a process of its own, as fast as asyncio makes it: its CPU is nobody's cost.

`python -m perf.loopback` prints its port. It reads requests of HTTP/1.1 with a content-length and gives each
the same answer of OpenAI's chat format. `GET /stats` tells what it saw; `POST /reset?delay_s=S&hold=N` starts
anew: every answer is held back for S seconds, and N of them until N wait at once (or `HOLD_S` are over); the
very first is never held, since a model is asked one request alone before the flood.
"""

from __future__ import annotations

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

HOLD_S = 20.0


class Seen:
    """What has arrived since the last reset, and how answers are held back."""

    def __init__(self, delay_s: float = 0.0, hold: int = 0) -> None:
        self.delay_s = delay_s
        self.hold = hold
        self.held: list[Conversation] = []
        self.arrivals = self.in_flight = self.max_in_flight = self.body_bytes = 0

    def stats(self) -> bytes:
        """Return the counts as JSON."""
        return json.dumps(
            {"arrivals": self.arrivals, "max_in_flight": self.max_in_flight, "body_bytes": self.body_bytes}
        ).encode()


class Server:
    """All connections of one server."""

    def __init__(self, answer: bytes) -> None:
        self.answer = _response(answer)
        self.seen = Seen()

    def arrived(self, conversation: Conversation, size: int) -> None:
        """Count a request, and answer it now or later."""
        seen, loop = self.seen, asyncio.get_running_loop()
        seen.arrivals += 1
        seen.body_bytes += size
        seen.in_flight += 1
        seen.max_in_flight = max(seen.max_in_flight, seen.in_flight)
        if seen.hold and seen.arrivals > 1:
            seen.held.append(conversation)
            if len(seen.held) == 1:
                loop.call_later(HOLD_S, self.let_go, seen)
            if len(seen.held) >= seen.hold:
                self.let_go(seen)
        elif seen.delay_s:
            loop.call_later(seen.delay_s, self.reply, seen, conversation)
        else:
            self.reply(seen, conversation)

    def let_go(self, seen: Seen) -> None:
        """Answer all that are held, and hold no more."""
        held, seen.held, seen.hold = seen.held, [], 0
        for conversation in held:
            self.reply(seen, conversation)

    def reply(self, seen: Seen, conversation: Conversation) -> None:
        """Send the answer."""
        seen.in_flight -= 1
        conversation.write(self.answer)

    def control(self, target: str) -> bytes:
        """Carry out an order of the one who measures."""
        parts = urlsplit(target)
        body = self.seen.stats()
        if parts.path == "/reset":
            wanted = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.seen = Seen(float(wanted.get("delay_s", 0)), int(wanted.get("hold", 0)))
        return _response(body)


class Conversation(asyncio.Protocol):
    """One connection: requests one after the other, bodies counted and dropped."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._transport: asyncio.WriteTransport | None = None
        self._head = b""
        self._left = 0
        self._size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take in a piece of a head or of a body."""
        while data:
            data = self._skip_body(data) if self._left else self._take_head(data)

    def write(self, data: bytes) -> None:
        """Send bytes, unless the other side is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _skip_body(self, data: bytes) -> bytes:
        """Drop what belongs to the body; returns what comes after it."""
        taken = min(self._left, len(data))
        self._left -= taken
        if not self._left:
            self._server.arrived(self, self._size)
        return data[taken:] if taken < len(data) else b""

    def _take_head(self, data: bytes) -> bytes:
        """Read a head once it is complete; returns what comes after it."""
        self._head += data
        head, end, rest = self._head.partition(b"\r\n\r\n")
        if not end:
            return b""
        self._head = b""
        line, *fields = head.split(b"\r\n")
        target = line.decode("latin-1").split(" ")[1]
        if target.startswith(("/stats", "/reset")):
            self.write(self._server.control(target))
            return rest
        lengths = [int(one.split(b":")[1]) for one in fields if one.lower().startswith(b"content-length:")]
        self._size = self._left = lengths[0] if lengths else 0
        if not self._left:
            self._server.arrived(self, 0)
        return rest


def _response(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve() -> None:
    server = Server(sys.stdin.buffer.read())
    listening = await asyncio.get_running_loop().create_server(
        lambda: Conversation(server), "127.0.0.1", 0, backlog=2048
    )
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
