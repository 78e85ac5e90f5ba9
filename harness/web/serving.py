"""A server for one application, on loopback unless told otherwise, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import shlex
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette

from harness.errors import ConfigError
from harness.web.connections import BoundedConnection, Bounds

LOOPBACK: Final = "127.0.0.1"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at a name or an address; port 0: a free one. Raises ConfigError."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ConfigError(f"--host {host!r} is no name or address of this machine") from error
    found = socket.socket(family, kind)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        found.close()
        raise ConfigError(
            f"cannot listen on {_bracketed(host)}:{port}: {error.strerror}; choose another --port, "
            "or none for a free one"
        ) from error
    return found


def is_open(listening: socket.socket) -> bool:
    """Tell whether other machines may reach this socket."""
    return not ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def base_address(host: str, listening: socket.socket) -> str:
    """Return the address at which a browser finds the site, without a path: "http://127.0.0.1:8731"."""
    bound, port = listening.getsockname()[:2]
    name = socket.gethostname() if _is_any(bound) else host
    return f"http://{_bracketed(name)}:{port}"


def tunnel(port: int) -> str:
    """Return the command by which another computer reaches a port of this one's loopback."""
    return shlex.join(["ssh", "-N", "-L", f"{port}:127.0.0.1:{port}", socket.gethostname()])


def names_of(host: str, listening: socket.socket) -> frozenset[str]:
    """Return the names by which a browser may call the site, in lower case; loopback's are always allowed.

    Any other name could be one that its owner made to mean this machine (DNS rebinding).
    """
    bound = listening.getsockname()[0].partition("%")[0]
    names = {host, bound}
    if _is_any(bound):
        names = {socket.gethostname(), socket.getfqdn()}
    return frozenset(_bracketed(name).casefold() for name in names)


async def serve(
    app: Starlette,
    listening: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
    stop: asyncio.Event | None = None,
    bounds: Bounds | None = None,
) -> None:
    """Answer requests until the process gets SIGINT or SIGTERM, or `stop` is set; closes the socket.

    `ready` is called once these signals end it in an orderly way: the moment to tell people where it is.
    Requests at work get two seconds then; a second signal ends them at once. What the application's lifespan
    raises is raised. Signals are only listened to in the main thread.
    """
    bounds = bounds or Bounds()
    server = _Server(_config(app, bounds))
    with listening:
        async with app.router.lifespan_context(app):
            with _signals(server):
                ready()
                await _until(server, listening, stop or asyncio.Event())
            await _end_of(server.server_state.tasks)


def _config(app: Starlette, bounds: Bounds) -> uvicorn.Config:
    protocol: Any = partial(BoundedConnection, bounds=bounds)
    return uvicorn.Config(
        app, log_config=None, log_level=logging.CRITICAL, access_log=False, server_header=False,
        date_header=False, proxy_headers=False, timeout_graceful_shutdown=bounds.end_s, ws="none",
        http=protocol, loop="asyncio", lifespan="off", h11_max_incomplete_event_size=bounds.head_bytes,
    )  # fmt: skip


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `serve`: Uvicorn's own way ends in a second signal once all is closed."""
        yield


async def _until(server: _Server, listening: socket.socket, stop: asyncio.Event) -> None:
    async def stopping() -> None:
        await stop.wait()
        server.should_exit = True

    waiting = asyncio.create_task(stopping())
    try:
        await server.serve(sockets=[listening])
    finally:
        waiting.cancel()


async def _end_of(tasks: set[asyncio.Task[None]]) -> None:
    """Wait for cancelled requests, so that none uses what is closed next."""
    left = list(tasks)
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=1.0)


@contextlib.contextmanager
def _signals(server: _Server) -> Iterator[None]:
    def told() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, told)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _is_any(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_unspecified


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
