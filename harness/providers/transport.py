"""The one place that talks HTTP: one request sent, one answer or one fault, nothing retried."""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import environ
from types import TracebackType
from typing import Literal, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import certifi

from harness.errors import ConfigError
from harness.messages import Fault, RawReply, WireRequest
from harness.providers.addresses import environment_proxy, request_url, split_credentials
from harness.providers.reply_memory import ReplyMemory, reply_memory
from harness.providers.transport_faults import broken, exhausted, late, let_go
from harness.providers.transport_flight import Clock, Flight, Upload
from harness.settings import Model

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Largest answer that is read; no model writes more."""

STREAM_IDLE_S = 60.0
"""Longest silence between two chunks of a streamed answer."""

KEEPALIVE_S = 4.0
"""How long an idle connection is kept: less than the 5 s after which uvicorn (vLLM) closes its end, so that
no request is written to a connection that is just being closed."""

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


class _Target(NamedTuple):
    """Where a request goes: its URL and that URL's `scheme://host:port`; credentials of the address apart."""

    url: str
    origin: str
    place: str
    credentials: str | None


class _Way(NamedTuple):
    """How servers are reached: kept connections, and a proxy on the way to them."""

    session: aiohttp.ClientSession
    proxy: str | None
    proxy_headers: Mapping[str, str] | None


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
        self._ways: dict[_WayKey, _Way] = {}
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
        target = _target(base_url or model.provider.base_url, wire.path)
        basic = {"authorization": target.credentials} if target.credentials else {}
        headers = _headers(basic, model.provider.headers, wire.headers, wire.transport_headers, auth_headers)
        headers["content-length"] = str(len(body))
        way = self._way_to(target, model.provider.verify_tls)
        pause_s = STREAM_IDLE_S if model.stream and not wire.thinks_silently else None
        flight = Flight(target.place, body, model, self._clock, self._max_reply_bytes, self._memory, pause_s)
        if method == "GET":
            flight.start()  # nothing is uploaded that could say when the timeouts start
        try:
            fault = await _fly(way, method, target, headers, flight)
            try:
                raw = flight.raw()
            except MemoryError:
                flight.keep_start()
                raw, fault = flight.raw(), exhausted(flight.progress())
        finally:
            flight.give_back()
        if fault is not None and raw.status and not 200 <= raw.status < 300:
            fault = None  # the status says what is wrong, however little of its page arrived
        return Sent(raw, self._clock() - flight.began, flight.first_byte_s, fault)

    async def aclose(self) -> None:
        """Close all connections; the next `send` would open new ones."""
        ways, self._ways = list(self._ways.values()), {}
        for way in ways:
            await way.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _way_to(self, target: _Target, verify_tls: bool) -> _Way:
        origin = target.origin
        if origin not in self._proxies:
            self._proxies[origin] = self._proxy_for(target.url)
        key = (origin.partition(":")[0], verify_tls, self._proxies[origin])
        if key not in self._ways:
            self._ways[key] = _open_way(*key)
        return self._ways[key]


@lru_cache(maxsize=256)
def _target(base_url: str, path: str) -> _Target:
    """Return where a request goes, and the credentials of the address; parsed once for all requests."""
    url, credentials = request_url(base_url, path)
    parts = urlsplit(url)
    return _Target(url, f"{parts.scheme}://{parts.netloc}", parts.netloc, credentials)


async def _fly(
    way: _Way, method: str, target: _Target, headers: Mapping[str, str], flight: Flight
) -> Fault | None:
    """Send and read the answer into the flight; return what went wrong. Raises ConfigError for a bad URL."""
    model = flight.model
    try:
        async with asyncio.timeout(None) as deadline:
            flight.deadline = deadline
            async with way.session.request(
                method,
                target.url,
                headers=headers,
                data=Upload(flight) if method == "POST" else None,
                allow_redirects=False,
                timeout=_timeouts(model.connect_timeout_s, model.idle_timeout_s),
                proxy=way.proxy,
                proxy_headers=way.proxy_headers,
            ) as response:
                return await flight.receive(response)
    except aiohttp.InvalidURL as error:
        raise ConfigError(
            f"{str(error.url)!r} is no address; mend base_url, or the proxy that the environment names"
        ) from error
    except (aiohttp.ClientError, OSError, zlib.error) as error:
        let_go(error)
        progress = flight.progress()
        if deadline.expired() or isinstance(error, aiohttp.SocketTimeoutError):
            return late(progress, flight.limit())
        return broken(progress, error)
    except MemoryError:
        flight.keep_start()
        return exhausted(flight.progress())
    finally:
        flight.deadline = None  # an upload that goes on after an early answer must not touch it


def _open_way(scheme: str, verify_tls: bool, proxy: str | None) -> _Way:
    tls = _tls() if verify_tls and scheme == "https" else verify_tls
    session = aiohttp.ClientSession(
        # limit 0: how many are in flight is the pools' decision; left alone, it would be 100
        connector=aiohttp.TCPConnector(limit=0, ssl=tls, keepalive_timeout=KEEPALIVE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )
    if proxy is None:
        return _Way(session, None, None)
    # in the URL, credentials would pass through a class that aiohttp calls deprecated with a warning
    address, credentials = split_credentials(proxy)
    return _Way(session, address, {"authorization": credentials} if credentials else None)


def _tls() -> ssl.SSLContext:
    """Return how servers are verified: by certifi's authorities, or by those that the environment names."""
    if environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(
            cafile=environ.get("SSL_CERT_FILE") or None, capath=environ.get("SSL_CERT_DIR") or None
        )
    return ssl.create_default_context(cafile=certifi.where())


@lru_cache(maxsize=64)
def _timeouts(connect_s: float, idle_s: float) -> aiohttp.ClientTimeout:
    # `connect` is name look-up, connection and TLS together
    return aiohttp.ClientTimeout(connect=connect_s, sock_connect=connect_s, sock_read=idle_s)


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
