"""The server of the pages: found by its names, bounded against slow clients, ended promptly."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from web_site import Site, served

from harness.errors import ConfigError
from harness.web.application import application
from harness.web.connections import BoundedConnection, Bounds
from harness.web.guard import HEADERS, Access
from harness.web.serving import LOOPBACK, base_address, is_open, listen, names_of, serve

WAIT_S = 30.0


class Pages:
    """An application whose page /wait answers only when it is told to, and /take when all has come."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.cancelled = threading.Event()

    @asynccontextmanager
    async def made(self, access: Access) -> AsyncIterator[Starlette]:
        async def shown(request: Request) -> Response:
            return PlainTextResponse("shown")

        async def wait(request: Request) -> Response:
            self.asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            raise AssertionError

        async def take(request: Request) -> Response:
            return PlainTextResponse(f"took {len(await request.body())}")

        yield application(
            [Route("/", shown), Route("/wait", wait), Route("/take", take, methods=["POST"])], access
        )


@contextmanager
def site_with(bounds: Bounds | None = None, pages: Pages | None = None, **access: float) -> Iterator[Site]:
    made = (pages or Pages()).made
    with served(lambda given: made(replace(given, **access)), token=None, bounds=bounds) as site:
        yield site


@contextmanager
def connected(site: Site, data: bytes = b"") -> Iterator[socket.socket]:
    host, _, port = site.url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as line:
        line.sendall(data)
        yield line


def all_of(line: socket.socket) -> bytes:
    """Return what comes until the other side closes; fails after a while."""
    found = b""
    try:
        while piece := line.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def get(site: Site, path: str = "/") -> httpx.Response:
    return httpx.get(site.url + path, trust_env=False, timeout=WAIT_S)


HEAD = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n"

# Where it listens


def test_a_port_in_use_is_told_and_a_free_one_is_found() -> None:
    with listen(LOOPBACK, 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"cannot listen on 127.0.0.1:{port}: Address already in use; "
        ):
            listen(LOOPBACK, port)
        assert base_address(LOOPBACK, first) == f"http://127.0.0.1:{port}"
        assert not is_open(first)


@pytest.mark.parametrize("host", ["no.such.name.invalid", "300.1.1.1", "", "ö" * 300, "192.0.2.1"])
def test_what_is_no_address_of_this_machine_is_told(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_names(*arguments: object, **options: object) -> None:
        raise socket.gaierror("no such name")

    if host != "192.0.2.1":
        monkeypatch.setattr(socket, "getaddrinfo", no_names)
    with pytest.raises(ConfigError, match=r"is no name or address of this machine|cannot listen on 192"):
        listen(host, 0)


def test_on_all_addresses_the_machines_names_are_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Lab7")
    monkeypatch.setattr(socket, "getfqdn", lambda: "lab7.clinic.example")
    with listen("0.0.0.0", 0) as listening:
        assert is_open(listening)
        assert base_address("0.0.0.0", listening) == f"http://Lab7:{listening.getsockname()[1]}"
        assert names_of("0.0.0.0", listening) == {"lab7", "lab7.clinic.example"}


def test_on_one_address_its_name_and_number_are_its_names() -> None:
    with listen("localhost", 0) as listening:
        assert names_of("localhost", listening) >= {"localhost", "127.0.0.1"}


def test_pages_are_served_by_ipv6() -> None:
    try:
        listening = listen("::1", 0)
    except ConfigError:
        pytest.skip("this machine has no IPv6")
    base = base_address("::1", listening)
    assert base == f"http://[::1]:{listening.getsockname()[1]}" and not is_open(listening)
    assert names_of("::1", listening) == {"[::1]"}

    async def ask() -> int:
        stop, pages = asyncio.Event(), Pages()
        async with pages.made(Access(None, hosts=names_of("::1", listening))) as app:
            serving = asyncio.create_task(serve(app, listening, stop=stop))
            async with httpx.AsyncClient(trust_env=False, timeout=WAIT_S) as client:
                status = (await client.get(base + "/")).status_code
            stop.set()
            await serving
            return status

    assert asyncio.run(ask()) == 200


async def test_what_its_lifespan_raises_is_raised() -> None:
    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        raise ConfigError("not today")
        yield

    with pytest.raises(ConfigError, match="not today"):
        await serve(application([], Access(None), lifespan), listen(LOOPBACK, 0))


async def test_its_lifespan_begins_and_ends_once() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        seen.append("begun")
        yield
        seen.append("ended")

    stop = asyncio.Event()
    app = application([], Access(None), lifespan)
    await serve(app, listen(LOOPBACK, 0), stop=stop, ready=lambda: (seen.append("ready"), stop.set())[1])
    assert seen == ["begun", "ready", "ended"]


# Slow and many clients


@pytest.mark.parametrize("data", [b"", b"GET", HEAD], ids=["nothing", "a word", "a head without its end"])
def test_whoever_sends_no_whole_request_is_let_go(data: bytes) -> None:
    with site_with(Bounds(head_s=0.3)) as site, connected(site, data) as line:
        assert all_of(line) == b""


def test_a_second_request_must_come_in_time_too() -> None:
    with site_with(Bounds(head_s=0.3)) as site, connected(site, HEAD + b"\r\n") as line:
        assert line.recv(65_536).startswith(b"HTTP/1.1 200")
        line.sendall(b"GET /unit HTT")
        all_of(line)


def test_slow_clients_keep_nobody_waiting() -> None:
    """More of them than there may be connections: those that have waited longest make room."""
    with site_with(Bounds(head_s=600, connections=8)) as site:
        lines = [socket.create_connection(_place(site), timeout=WAIT_S) for _ in range(20)]
        try:
            for line in lines[:10]:
                with suppress(ConnectionError):
                    line.sendall(HEAD)
            for _ in range(3):
                assert get(site).text == "shown"
            assert all_of(lines[0]) == b""
        finally:
            for line in lines:
                line.close()


def test_requests_at_work_are_not_broken_by_new_connections() -> None:
    pages = Pages()
    asked = HEAD.replace(b"/ ", b"/wait ") + b"\r\n"
    bounds = Bounds(head_s=600, connections=1, end_s=1)
    with site_with(bounds, pages) as site, connected(site, asked):
        assert pages.asked.wait(WAIT_S)
        with connected(site) as second:
            assert all_of(second) == b""
        assert not pages.cancelled.is_set()


def test_clients_that_never_read_keep_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """They ask for more than fits into what lies between; files that hold nothing need no token."""
    pause, paused = BoundedConnection.pause_writing, threading.Semaphore(0)

    def noted(self: BoundedConnection) -> None:
        pause(self)
        paused.release()

    monkeypatch.setattr(BoundedConnection, "pause_writing", noted)
    asked = HEAD.replace(b"/ ", b"/static/htmx.min.js ") + b"\r\n"
    with site_with(Bounds(head_s=600, connections=4)) as site:
        lines = []
        try:
            for _ in range(8):
                line = socket.socket()
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                line.connect(_place(site))
                line.setblocking(False)
                lines.append(line)
                with suppress(BlockingIOError):
                    line.send(asked * 400)
                assert paused.acquire(timeout=WAIT_S)
            for _ in range(3):
                assert get(site).text == "shown"
        finally:
            for line in lines:
                line.close()


def test_a_body_that_never_ends_is_refused() -> None:
    head = b"POST /take HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 10\r\n\r\nabc"
    with site_with(body_s=0.3) as site, connected(site, head) as line:
        found = all_of(line)
    assert found.startswith(b"HTTP/1.1 408") and b"did not come in time" in found


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_long_is_answered_by_a_page(chunked: bool) -> None:
    """It is read to its end first: who is cut off while sending never sees the answer."""
    size = 3_000_000
    content = iter([b"x" * 10_000] * 300) if chunked else b"x" * size
    with site_with() as site:
        found = httpx.post(site.url + "/take", content=content, trust_env=False, timeout=WAIT_S)
        assert (found.status_code, "longer than 1,048,576 bytes" in found.text) == (413, True)
        assert get(site).text == "shown"


@pytest.mark.parametrize("chunked", [False, True])
def test_whoever_first_sends_all_and_then_reads_sees_why(chunked: bool) -> None:
    """As browsers do with a form: eight megabytes fit into no buffer on the way."""
    size = 8_000_000
    kind = b"transfer-encoding: chunked" if chunked else b"content-length: %d" % size
    body = (b"%x\r\n" % size + b"x" * size + b"\r\n0\r\n\r\n") if chunked else b"x" * size
    head = b"POST /take HTTP/1.1\r\nhost: 127.0.0.1\r\n" + kind + b"\r\n\r\n"
    with site_with() as site, connected(site, head + body) as line:
        assert all_of(line).startswith(b"HTTP/1.1 413 ")


def test_an_endless_body_is_cut_off() -> None:
    head = b"POST /take HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk, sent = b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n", 0
    with site_with() as site, connected(site, head) as line:
        with pytest.raises(ConnectionError):
            while sent < 400_000_000:
                line.sendall(chunk)
                sent += len(chunk)
        assert sent < 100_000_000


@pytest.mark.parametrize(
    "data",
    [b"hello\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
     HEAD + b"host: evil.example\r\n\r\n",
     b"GET /" + b"a" * 70_000, HEAD + b"x-long: " + b"a" * 70_000, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"],
    ids=["words", "a byte", "no host", "two hosts", "a long address", "a long head", "TLS"],
)  # fmt: skip
def test_what_is_no_request_gets_a_page_with_the_policy(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with site_with() as site, connected(site, data) as line:
        found = all_of(line)
    assert found.startswith(b"HTTP/1.1 400 ")
    head = found.partition(b"\r\n\r\n")[0].decode().casefold()
    assert all(f"{name}: {value.casefold()}" in head for name, value in HEADERS.items())
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_an_upgrade_is_not_taken_up() -> None:
    asked = HEAD + b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: eA==\r\n\r\n"
    with site_with() as site, connected(site, asked) as line:
        assert line.recv(65_536).startswith(b"HTTP/1.1 200")


# The end


def test_it_ends_with_lines_open_and_a_page_that_waits() -> None:
    """Nobody waits for them longer than `end_s`."""
    pages = Pages()
    with site_with(Bounds(head_s=600, end_s=1), pages) as site:
        idle = socket.create_connection(_place(site), timeout=WAIT_S)
        waiting = socket.create_connection(_place(site), timeout=WAIT_S)
        kept = httpx.Client(trust_env=False, timeout=WAIT_S)
        assert kept.get(site.url + "/").text == "shown"
        waiting.sendall(HEAD.replace(b"/ ", b"/wait ") + b"\r\n")
        assert pages.asked.wait(WAIT_S)
    assert pages.cancelled.is_set()
    for line in (idle, waiting):
        assert all_of(line) == b"" or line is waiting
        line.close()
    kept.close()
    with pytest.raises(OSError):
        socket.create_connection(_place(site), timeout=WAIT_S).close()


def _place(site: Site) -> tuple[str, int]:
    host, _, port = site.url.removeprefix("http://").rpartition(":")
    return host, int(port)
