"""A server for one application, on loopback unless told otherwise, until Ctrl-C."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette

from harness.errors import ConfigError

LOOPBACK = "127.0.0.1"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0: a free one. Raises ConfigError where it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port, or none for a free one"
        ) from error
    return found


async def serve(app: Starlette, listening: socket.socket) -> None:
    """Answer requests until the process is told to stop."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, date_header=False,
        timeout_graceful_shutdown=3, ws="none", http="h11", loop="asyncio",
    )  # fmt: skip
    await uvicorn.Server(config).serve(sockets=[listening])
