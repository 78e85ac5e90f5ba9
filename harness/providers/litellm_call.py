"""One call of LiteLLM, kept in this process: its request is taken from it, or an answer handed to it.

LiteLLM sends by a transport of ours, which knows by the thread which call it serves. A thread that is in a
call cannot open a connection or look up a name by other ways either.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import httpx

from harness.messages import RawReply

_NETWORK: Final = frozenset({"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"})
# Of a request's headers these are of the connection or of LiteLLM itself, and are ours to set.
_NOT_SENT: Final = frozenset(
    {"host", "connection", "content-length", "accept-encoding", "user-agent", "transfer-encoding",
     "request-source"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as LiteLLM made it: the URL may hold a key in its query, the headers hold one mostly."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class Taken(BaseException):
    """Ends a call of LiteLLM where it would send; no handler of its own catches this."""


@dataclass(slots=True)
class Call:
    """What is asked of LiteLLM: a request to be taken, or, where an `answer` is given, what it reads in that.

    `reached_for` is where it wanted to connect by itself; `answered`: the answer is handed over.
    """

    api_key: str | None
    answer: RawReply | None = None
    taken: Outgoing | None = None
    reached_for: str | None = None
    answered: bool = False


class _Here(threading.local):
    """The call that a thread is in; without `__slots__`, whose values all threads of a `local` share."""

    call: Call | None = None


_here = _Here()


def current() -> Call | None:
    """Return the call that this thread serves."""
    return _here.call


@contextmanager
def within(call: Call) -> Iterator[None]:
    """Serve a call in this thread."""
    _here.call = call
    try:
        yield
    finally:
        _here.call = None


class CallTransport(httpx.BaseTransport):
    """Hands requests to the call that its thread is in, and takes the answer from it."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        call = _here.call
        if call is None or call.answered or call.taken is not None:
            raise Taken
        if call.answer is None:
            kept = {
                name: value
                for name, value in request.headers.items()
                if name not in _NOT_SENT and not name.startswith("x-stainless-")
            }
            call.taken = Outgoing(request.method, str(request.url), kept, request.read())
            raise Taken
        call.answered = True
        answer = call.answer
        return httpx.Response(
            answer.status, headers=_answer_headers(answer), content=answer.body, request=request
        )


def _answer_headers(raw: RawReply) -> dict[str, str]:
    """Return an answer's headers without those of its transfer, which is over."""
    gone = {"content-encoding", "transfer-encoding", "content-length"}
    return {name: value for name, value in raw.headers.items() if name not in gone and value.isascii()}


@lru_cache(maxsize=1)
def keep_off_the_network() -> bool:
    """Keep LiteLLM's threads off the network, however it goes there; once a process."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _NETWORK and (call := getattr(_here, "call", None)) is not None:
            place = arguments[0] if event.startswith("socket.get") else arguments[-1]
            call.reached_for = call.reached_for or repr(place)
            raise PermissionError(f"no connection but our own while LiteLLM translates: {place!r}")

    sys.addaudithook(refuse)
    return True
