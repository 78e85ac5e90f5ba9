"""Connections that keep nobody else waiting: bounded in number, and in the time until a request is there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.web.guard import HEADERS
from harness.web.pages import page


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a server takes.

    `head_s`: seconds within which the head of a request must be there, from the connection's beginning or the
    first byte after the request before. `connections`: how many may be open; beyond, the one that has waited
    longest without a request is closed, else the one that has read nothing of its answer for longest, or the
    new one where each is being answered. `head_bytes`: of a request's head.
    `end_s`: what requests at work get when the server is told to end.
    """

    head_s: float = 10.0
    connections: int = 128
    head_bytes: int = 65_536
    end_s: int = 2


class BoundedConnection(H11Protocol):
    """A connection to a browser."""

    def __init__(self, *, bounds: Bounds, **given: Any) -> None:
        super().__init__(**given)
        self._bounds = bounds
        self._deadline: asyncio.TimerHandle | None = None
        self._unread_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, with a place made for it."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self._bounds.connections:
            others = [
                one for one in self.connections if isinstance(one, BoundedConnection) and one is not self
            ]
            idle = [one for one in others if one.waiting_since is not None]
            unread = [one for one in others if one.unread_since is not None]
            longest = min(unread, key=lambda one: one.unread_since or 0.0, default=self)
            min(idle, key=lambda one: one.waiting_since or 0.0, default=longest).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request; its head must be whole in time."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._watch()
        else:
            self._unwatch()

    def pause_writing(self) -> None:
        """Send no more for now: the browser does not read as fast."""
        self._unread_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on sending."""
        self._unread_since = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or one with too long a head, by a page like any other."""
        refusal = page("templates/error.html", 400, told="this is no request, or its address is too long")
        headers = {**HEADERS, **refusal.headers, "connection": "close"}
        lines = ["HTTP/1.1 400 Bad Request", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self.transport.write("\r\n".join(lines).encode("latin-1") + bytes(refusal.body))
        self.transport.close()

    def drop(self) -> None:
        """Close the connection, whatever it waits for."""
        self._unwatch()
        self.connections.discard(self)
        self.transport.abort()

    @property
    def waiting_since(self) -> float | None:
        """When it began to wait for a request, on the loop's clock; None while one is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        return self._deadline.when() if self._deadline is not None else 0.0

    @property
    def unread_since(self) -> float | None:
        """Since when what was sent lies unread, on the loop's clock; None while the browser reads."""
        return self._unread_since

    def _watch(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(self._bounds.head_s, self.drop)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
