"""What a send that got no complete answer comes to: the outcome, the words, and whether it may be billed."""

from __future__ import annotations

import errno
import socket
import ssl
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import aiohttp

from harness.messages import Fault
from harness.outcomes import ExchangeOutcome


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a send came: `started` once a connection stood, `uploaded` once the last byte was given away.

    `place` is host and port; `status` 0 until headers arrived; `size` is the bytes of the answer so far.
    """

    place: str
    started: bool
    uploaded: bool
    status: int
    size: int


def late(progress: Progress, limit: str) -> Fault:
    """Return the fault of a send whose time, named by `limit`, was over."""
    what = f"stopped answering after {progress.size} bytes" if progress.status else "did not answer"
    message = f"{progress.place!r} {what} within {limit}"
    return Fault(ExchangeOutcome.TIMEOUT, message, maybe_billed=progress.uploaded)


def broken(progress: Progress, error: BaseException) -> Fault:
    """Return the fault of a send that an error ended.

    The error's class says little (a reset is the same before and after the request was written), so the
    outcome goes by the progress and only the words by the causes.
    """
    place, reason = repr(progress.place), _reason(error)
    if not progress.started:
        return Fault(ExchangeOutcome.CONNECTION, f"cannot connect to {place}: {reason}")
    if progress.status:
        return malformed(f"the answer of {place} was cut after {progress.size} bytes: {reason}")
    if any(isinstance(cause, aiohttp.ClientResponseError) for cause in _causes(error)):
        return malformed(f"the answer of {place} is not HTTP: {reason}")
    if progress.uploaded:
        message = f"{place} dropped the connection before it answered: {reason}"
        return Fault(ExchangeOutcome.TIMEOUT, message, maybe_billed=True)
    message = f"{place} dropped the connection before it had the whole request: {reason}"
    return Fault(ExchangeOutcome.UNAVAILABLE, message)


def exhausted(progress: Progress) -> Fault:
    """Return the fault of a send whose answer this machine has no memory for: another would fit no better."""
    message = (
        f"this machine has no memory for the answer of {progress.place!r}, of which {progress.size} bytes "
        "had come; lower --max-in-flight, or close other programs"
    )
    return Fault(ExchangeOutcome.UNKNOWN, message, maybe_billed=progress.uploaded)


def malformed(message: str) -> Fault:
    """Return the fault of an answer that cannot be what the server meant to say."""
    return Fault(ExchangeOutcome.MALFORMED_REPLY, message, maybe_billed=True)


def let_go(error: BaseException) -> None:
    """Drop the frames of an error and of its causes.

    They make circles that hold the request, images and all, until the garbage collector comes by.
    """
    for cause in _causes(error):
        cause.__traceback__ = None


def _reason(error: BaseException) -> str:
    causes = list(_causes(error))
    for cause in reversed(causes):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"TLS certificate not accepted, {cause.verify_message}"
            case ssl.SSLError():
                return f"TLS failed, {cause.reason or 'no reason given'}"
            case socket.gaierror():
                return "host name not found"
            case ConnectionRefusedError():
                return "connection refused"
            case ConnectionResetError() | BrokenPipeError():
                return "connection reset"
    for cause in causes:
        match cause:
            case aiohttp.ServerDisconnectedError():
                return "connection closed"
            case aiohttp.ConnectionTimeoutError():
                return "connect_timeout_s is over"
            case aiohttp.ClientHttpProxyError():
                return f"the proxy answered {cause.status}"
            case aiohttp.ClientPayloadError():
                return "connection closed before the end"
            case zlib.error():
                return "its content-encoding cannot be undone"
            case OSError(errno=errno.EMFILE | errno.ENFILE):
                return "too many open files here; lower --max-in-flight, or raise `ulimit -n`"
            case OSError() if cause.strerror:
                return cause.strerror.lower()
    return type(causes[-1]).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what caused it, aiohttp's inner `os_error` included."""
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        inner = current.os_error if isinstance(current, aiohttp.ClientConnectorError) else None
        current = inner or current.__cause__ or current.__context__
