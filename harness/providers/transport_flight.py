"""One send on its way: how far the request went, how long it may take, and what has come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from harness.messages import Fault, RawReply
from harness.providers.content_encoding import decoder_for
from harness.providers.reply_memory import ReplyMemory
from harness.providers.transport_faults import Progress, malformed
from harness.settings import Model

KEPT_OF_TOO_LONG = 1024 * 1024
"""Bytes kept of an answer that is too long: enough to see what it was, and read again with every score."""

_UPLOAD_CHUNK = 256 * 1024
_AT_ONCE = 32 * 1024
"""A request up to this size goes into the socket at once: there is no silence to be measured meanwhile."""

_ENCODED_PIECE = 16 * 1024
"""Compressed bytes that are undone at a time: they may hold a thousand times as many."""

_NO_ANSWER = RawReply(0, {}, b"")

Clock: TypeAlias = Callable[[], float]


@dataclass(slots=True)
class Flight:
    """One send as it proceeds. `place` is host and port, for messages.

    `memory` is the room that the answers of one transport share, `taken` what this one has of it.
    `pause_s` is the longest silence between two chunks of the answer, in seconds; None, and before the first
    chunk: the model's `idle_timeout_s`.
    """

    place: str
    body: bytes
    model: Model
    clock: Clock
    max_reply_bytes: int
    memory: ReplyMemory
    pause_s: float | None = None
    taken: int = 0
    began: float = 0.0
    started: bool = False
    uploaded: bool = False
    deadline: asyncio.Timeout | None = None
    ends_at: float = 0.0
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    size: int = 0
    first_byte_s: float | None = None

    def __post_init__(self) -> None:
        self.began = self.clock()

    def start(self) -> None:
        """Note that a connection stands and the request goes out: the timeouts start."""
        self.started = True
        self.ends_at = asyncio.get_running_loop().time() + self.model.total_timeout_s

    def allow(self, idle_s: float | None) -> None:
        """Set the deadline to the end of the total time, or sooner where `idle_s` is less."""
        if self.deadline is None or self.deadline.expired():
            return
        end = self.ends_at
        if idle_s is not None:
            end = min(end, asyncio.get_running_loop().time() + idle_s)
        if end != self.deadline.when():
            self.deadline.reschedule(end)

    def progress(self) -> Progress:
        """Return how far the send has come."""
        return Progress(self.place, self.started, self.uploaded, self.status, self.size)

    def limit(self) -> str:
        """Return the setting whose time is over."""
        if asyncio.get_running_loop().time() >= self.ends_at:
            return f"total_timeout_s = {self.model.total_timeout_s:g}"
        if self.size and self.pause_s is not None and self.model.idle_timeout_s > self.pause_s:
            return f"{self.pause_s:g} s between two chunks"
        return f"idle_timeout_s = {self.model.idle_timeout_s:g}"

    def raw(self) -> RawReply:
        """Return what has arrived so far."""
        return RawReply(self.status, self.headers, b"".join(self.chunks)) if self.status else _NO_ANSWER

    @property
    def kept(self) -> int:
        """The number of bytes of the answer that are in memory."""
        return sum(map(len, self.chunks))

    def keep_start(self) -> None:
        """Forget an answer that nobody can use, but for its first bytes."""
        while self.chunks and self.kept > KEPT_OF_TOO_LONG + len(self.chunks[-1]):
            self.chunks.pop()
        try:
            self.chunks = [b"".join(self.chunks)[:KEPT_OF_TOO_LONG]]
        except MemoryError:
            del self.chunks[1:]

    def give_back(self) -> None:
        """Count the answer no more: it is on its way to the store, or nobody wants it."""
        self.memory.give_back(self.taken)
        self.taken = 0

    async def receive(self, response: aiohttp.ClientResponse) -> Fault | None:
        """Read an answer to its end; a Fault if it is too long.

        Raises zlib.error for a broken encoding, MemoryError where all answers together leave it no room.
        """
        self.first_byte_s = self.clock() - self.began
        self.status = response.status
        headers = read_headers(response.raw_headers)
        self.headers = headers
        # Until the first chunk the model may think, however early its headers came; the socket's limit holds.
        self.allow(None)
        idle_s = None if self.pause_s is None else min(self.pause_s, self.model.idle_timeout_s)
        decoder = decoder_for(headers["content-encoding"]) if "content-encoding" in headers else None
        content = response.content
        # Not `response.read()`: what came before a cut is kept, and an endless answer is given up.
        while data := await (content.readany() if decoder is None else content.read(_ENCODED_PIECE)):
            too_long = self._keep(data if decoder is None else decoder.decode(data))
            if too_long is not None:
                return too_long
            if idle_s is not None:
                self.allow(idle_s)
        return None if decoder is None else self._keep(decoder.flush())

    def _keep(self, data: bytes) -> Fault | None:
        self.size += len(data)
        if self.size > self.max_reply_bytes:
            self.keep_start()
            return malformed(
                f"the answer is longer than {self.max_reply_bytes} bytes; its first {self.kept} are kept"
            )
        if data:
            if not self.memory.take(self.taken, len(data)):
                raise MemoryError
            self.taken += len(data)
            self.chunks.append(data)
        return None


class Upload(aiohttp.Payload):
    """The request body: that it is asked for proves a connection, each chunk that silence ended.

    A payload of our own also spares the warning that aiohttp has for large bodies.
    """

    _autoclose = True

    def __init__(self, flight: Flight) -> None:
        super().__init__(flight.body, content_type="application/json")
        self._size = len(flight.body)
        self._flight = flight

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write the body, noting in the flight how far it went."""
        flight, body = self._flight, self._flight.body
        flight.start()
        for position in range(0, len(body), _UPLOAD_CHUNK):
            if len(body) > _AT_ONCE:
                flight.allow(flight.model.idle_timeout_s)
            if position + _UPLOAD_CHUNK >= len(body):
                flight.uploaded = True  # before it is written: from here on it may be worked on
            await writer.write(body[position : position + _UPLOAD_CHUNK])
        flight.allow(None)  # silence from here on is measured on the socket

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the body as text, as every payload must."""
        return self._flight.body.decode(encoding, errors)


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return an answer's headers, names in lower case, cookies left out; what is given twice is joined.

    All are read as ASCII, else as UTF-8, else as Latin-1, which reads anything.
    """
    fields = [(name.lower(), value) for name, value in raw if not name.lower().startswith(b"set-cookie")]
    for encoding in ("ascii", "utf-8"):
        try:
            return _joined(fields, encoding)
        except UnicodeDecodeError:
            continue
    return _joined(fields, "iso-8859-1")


def _joined(fields: Iterable[tuple[bytes, bytes]], encoding: str) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name_bytes, value_bytes in fields:
        name, value = name_bytes.decode(encoding), value_bytes.decode(encoding)
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
