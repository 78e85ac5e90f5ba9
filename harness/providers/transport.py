"""The one place that talks HTTP: one request sent, one answer or one fault, nothing retried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import Literal, Self, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from harness.errors import ConfigError
from harness.messages import Fault, RawReply, WireRequest
from harness.providers.addresses import environment_proxy, request_url, split_credentials
from harness.providers.reply_memory import ReplyMemory, reply_memory
from harness.providers.transport_faults import Progress, broken, exhausted, late, malformed
from harness.settings import Model

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Largest answer that is read; no model writes more."""

KEPT_OF_TOO_LONG = 1024 * 1024
"""Bytes that are kept of a longer one: enough to see what it was, and read again with every score."""

STREAM_IDLE_S = 60.0
"""Longest silence between two chunks of a streamed answer."""

KEEPALIVE_S = 4.0
"""How long an idle connection is kept: less than the 5 s after which uvicorn (vLLM) closes its end, so that
no request is written to a connection that is just being closed."""

_UPLOAD_CHUNK = 256 * 1024
_NO_ANSWER = RawReply(0, {}, b"")

Clock: TypeAlias = Callable[[], float]
_WayKey: TypeAlias = tuple[str, bool, str | None]


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one send.

    `fault` None: `raw` is a complete answer of any status, or an error status whose body was cut. Else `raw`
    holds whatever arrived (status 0: nothing). Times in seconds since `send` was called.
    """

    raw: RawReply
    total_s: float
    first_byte_s: float | None = None
    fault: Fault | None = None


class Transport:
    """Sends requests; keeps connections for each way to reach a server, opened when it is first needed.

    Belongs to one event loop. `proxy_for` says which proxy an address is reached through.
    """

    def __init__(
        self,
        *,
        clock: Clock = time.monotonic,
        proxy_for: Callable[[str], str | None] = environment_proxy,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        memory: ReplyMemory | None = None,
    ) -> None:
        self._clock = clock
        self._proxy_for = proxy_for
        self._max_reply_bytes = max_reply_bytes
        self._memory = reply_memory() if memory is None else memory
        self._ways: dict[_WayKey, AiohttpTransport] = {}
        self._proxies: dict[str, str | None] = {}

    async def send(
        self,
        wire: WireRequest,
        model: Model,
        body: bytes,
        *,
        auth_headers: Mapping[str, str],
        base_url: str | None = None,
        method: Literal["POST", "GET"] = "POST",
    ) -> Sent:
        """Send one request once and return what came of it; redirects are not followed.

        `body` is the encoded body. `base_url` stands in for the provider's. Timeouts are the model's:
        connecting has its own, the others start when the request goes out. Raises ConfigError for an
        address or a header that HTTP does not allow.
        """
        url, credentials = _target(base_url or model.provider.base_url, wire.path)
        basic = {"authorization": credentials} if credentials else {}
        headers = _headers(basic, model.provider.headers, wire.headers, wire.transport_headers, auth_headers)
        headers["content-length"] = str(len(body))
        way = self._way_to(str(url), model.provider.verify_tls)
        pause_s = STREAM_IDLE_S if model.stream and not wire.thinks_silently else None
        flight = _Flight(body, model, self._clock, self._max_reply_bytes, self._memory, pause_s)
        # Past httpx.AsyncClient: its cookies, redirects and log lines are not wanted, and cost as much again.
        content = None
        if method == "POST":
            content = _Upload(flight)
        else:
            flight.start()  # nothing is uploaded that could say when the timeouts start
        request = httpx.Request(
            method, url, headers=headers, content=content, extensions={"timeout": _timeouts(model)}
        )
        try:
            fault = await _fly(way, request, flight)
            try:
                raw = flight.raw()
            except MemoryError:
                flight.keep_start()
                raw, fault = flight.raw(), exhausted(flight.progress(request.url))
        finally:
            flight.give_back()
        if fault is not None and raw.status and not 200 <= raw.status < 300:
            fault = None  # the status says what is wrong, however little of its page arrived
        return Sent(raw, self._clock() - flight.began, flight.first_byte_s, fault)

    async def aclose(self) -> None:
        """Close all connections; the next `send` would open new ones."""
        ways, self._ways = list(self._ways.values()), {}
        for way in ways:
            await way.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _way_to(self, url: str, verify_tls: bool) -> AiohttpTransport:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._proxies:
            self._proxies[origin] = self._proxy_for(url)
        key = (parts.scheme, verify_tls, self._proxies[origin])
        if key not in self._ways:
            self._ways[key] = _open_way(*key)
        return self._ways[key]


@dataclass(slots=True)
class _Flight:
    """One send as it proceeds: how far the request went, and what has come back."""

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
        soon = self.ends_at if idle_s is None else asyncio.get_running_loop().time() + idle_s
        self.deadline.reschedule(min(self.ends_at, soon))

    def progress(self, url: httpx.URL) -> Progress:
        """Return how far the send has come."""
        place = url.netloc.decode("ascii", "replace")
        return Progress(place, self.started, self.uploaded, self.status, self.size)

    def limit(self) -> str:
        """Return the setting whose time is over."""
        if asyncio.get_running_loop().time() >= self.ends_at:
            return f"total_timeout_s = {self.model.total_timeout_s:g}"
        if self.status and self.pause_s is not None and self.model.idle_timeout_s > self.pause_s:
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

    async def receive(self, response: httpx.Response) -> Fault | None:
        """Read an answer to its end; a Fault if it is too long."""
        self.first_byte_s = self.clock() - self.began
        self.status = response.status_code
        self.headers = {
            name: value for name, value in response.headers.items() if not name.startswith("set-cookie")
        }
        idle_s = None if self.pause_s is None else min(self.pause_s, self.model.idle_timeout_s)
        self.allow(idle_s)
        async for chunk in response.aiter_bytes():
            self.size += len(chunk)
            if self.size > self.max_reply_bytes:
                self.keep_start()
                return malformed(
                    f"the answer is longer than {self.max_reply_bytes} bytes; its first {self.kept} are kept"
                )
            if not self.memory.take(self.taken, len(chunk)):
                raise MemoryError
            self.taken += len(chunk)
            self.chunks.append(chunk)
            if idle_s is not None:
                self.allow(idle_s)
        return None


class _Upload:
    """The request body in chunks: that the first is asked for proves a connection, each that silence ended.

    Handing all bodies over in this way also spares the copy and the warning that aiohttp has for large ones.
    """

    def __init__(self, flight: _Flight) -> None:
        self._flight = flight

    async def __aiter__(self) -> AsyncIterator[bytes]:
        flight, body = self._flight, self._flight.body
        flight.start()
        for position in range(0, len(body), _UPLOAD_CHUNK):
            flight.allow(flight.model.idle_timeout_s)
            if position + _UPLOAD_CHUNK >= len(body):
                flight.uploaded = True  # before it is written: from here on it may be worked on
            yield body[position : position + _UPLOAD_CHUNK]
        flight.allow(None)  # silence from here on is measured on the socket


@lru_cache(maxsize=256)
def _target(base_url: str, path: str) -> tuple[httpx.URL, str | None]:
    """Return where a request goes, and the credentials of the address; parsed once for all requests."""
    url, credentials = request_url(base_url, path)
    return httpx.URL(url), credentials


async def _fly(way: AiohttpTransport, request: httpx.Request, flight: _Flight) -> Fault | None:
    try:
        async with asyncio.timeout(None) as deadline:
            flight.deadline = deadline
            response = await way.handle_async_request(request)
            try:
                return await flight.receive(response)
            finally:
                await response.aclose()
    except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
        progress = flight.progress(request.url)
        if deadline.expired() or isinstance(error, httpx.ReadTimeout):
            return late(progress, flight.limit())
        return broken(progress, error)
    except MemoryError:
        flight.keep_start()
        return exhausted(flight.progress(request.url))
    finally:
        flight.deadline = None  # an upload that goes on after an early answer must not touch it


def _open_way(scheme: str, verify_tls: bool, proxy: str | None) -> AiohttpTransport:
    tls = httpx.create_ssl_context(verify=verify_tls and scheme == "https")
    session = aiohttp.ClientSession(
        # limit 0: how many are in flight is the pools' decision; left alone, it would be 100
        connector=aiohttp.TCPConnector(limit=0, ssl=tls, keepalive_timeout=KEEPALIVE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    return AiohttpTransport(verify=tls, client=session, proxy=_proxy(proxy) if proxy else None)


def _proxy(url: str) -> httpx.Proxy:
    # in the URL, credentials would pass through a class that aiohttp calls deprecated with a warning
    address, credentials = split_credentials(url)
    return httpx.Proxy(address, headers={"authorization": credentials} if credentials else None)


def _timeouts(model: Model) -> dict[str, float]:
    # `pool` is what aiohttp calls `connect`: name look-up, connection and TLS together
    return {
        "connect": model.connect_timeout_s, "pool": model.connect_timeout_s, "read": model.idle_timeout_s
    }  # fmt: skip


def _headers(*sources: Mapping[str, str]) -> dict[str, str]:
    headers = {
        "accept": "application/json",
        "accept-encoding": "identity",  # what is stored is what was sent, and half of it can be read
        "content-type": "application/json",
        "user-agent": "mllm-harness",
    }
    for source in sources:
        for name, value in source.items():
            if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()):
                raise ConfigError(
                    f"header {name!r} holds a character that HTTP does not allow; look for line ends and "
                    "letters beyond ASCII in the API key's variable or in `headers`"
                )
            headers[name.lower()] = value
    return headers
