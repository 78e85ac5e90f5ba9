"""Everything that a server can do to us, as a table: what it does, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from scripted_replies import (
    CLOSE,
    RESET,
    SILENCE,
    Behaviour,
    Reply,
    after_interim,
    chunked,
    closing,
    delayed,
    dripping,
    endless_headers,
    gzip_reply,
    half,
    html_reply,
    huge_reply,
    json_reply,
    rate_limited,
    redirect_reply,
    status_reply,
    wrong_length,
)

MAX_SENDS = 3
IDLE_S = 1.5
TOTAL_S = 3.0
"""The timeouts of the model in every scenario."""

Sends: TypeAlias = Literal["one", "twice", "max", "as told"]
"""Most sends of an ask that always meets it (DESIGN 5): one, once more, `max_sends`, as often as told."""


@dataclass(frozen=True)
class Misbehaviour:
    """`treat` makes it of the right answer and the address of another server.

    `outcomes` are those that its exchanges may have; one of them says `says`. `unit`: how a unit ends that
    meets nothing else, None: with the answer. `answers`: the client may take the right answer from it.
    """

    name: str
    treat: Callable[[Reply, str], Behaviour]
    outcomes: frozenset[str]
    says: str = ""
    sends: Sends = "max"
    unit: str | None = "provider_error"
    answers: bool = False
    slow: bool = False

    @property
    def answers_at_once(self) -> bool:
        """Whether its first send brings the answer."""
        return self.unit is None

    @property
    def most_sends(self) -> int:
        """The number of sends that `sends` means."""
        return {"one": 1, "twice": 2, "max": MAX_SENDS, "as told": 50}[self.sends]


def _answered(name: str, treat: Callable[[Reply], Behaviour], *, slow: bool = False) -> Misbehaviour:
    return Misbehaviour(
        name, lambda reply, _: treat(reply), frozenset({"answered"}), unit=None, answers=True, slow=slow
    )


def _malformed(
    name: str, treat: Callable[[Reply], Behaviour], says: str, *, answers: bool = False
) -> Misbehaviour:
    return Misbehaviour(
        name, lambda reply, _: treat(reply), frozenset({"malformed_reply"}), says, answers=answers
    )


def _late(name: str, treat: Callable[[Reply], Behaviour], says: str, *, slow: bool = True) -> Misbehaviour:
    return Misbehaviour(
        name, lambda reply, _: treat(reply), frozenset({"timeout"}), says, sends="twice", slow=slow
    )


def _status(status: int, outcome: str, sends: Sends, unit: str, message: str = "") -> Misbehaviour:
    said = message or f"scripted {status}"
    return Misbehaviour(
        str(status), lambda _, __: status_reply(status, said), frozenset({outcome}), said, sends, unit
    )


def _echoing_the_key(reply: Reply, _: str) -> Reply:
    """An error that quotes the request's headers: the server puts the key where `ECHO` stands."""
    return status_reply(500, "you sent Bearer ECHO", headers={"x-echo": "Bearer ECHO"})


def _utf8(reply: Reply) -> Reply:
    """Bytes that are no UTF-8, where they do not change what was answered."""
    body = reply.body.replace(b"chatcmpl-scripted", b"\xff\xfe\xed\xa0\x80")
    return replace(reply, pieces=(body,))


def _redirect(status: int) -> Misbehaviour:
    return Misbehaviour(
        f"redirect {status}",
        lambda _, elsewhere: redirect_reply(status, f"{elsewhere}/v1/chat/completions?token=t0ken"),
        frozenset({"unknown"}),
        "base_url",
        "one",
    )


MISBEHAVIOURS = (
    # the right answer, in unusual clothes
    _answered("chunked", chunked),
    _answered("interim answers", lambda reply: after_interim(reply, 100, 103, 102)),
    _answered("gzip although nobody asked", lambda reply: gzip_reply(reply, sound=True)),
    _answered("blank lines before", lambda reply: replace(reply, pieces=(b"\r\n  \n" * 20, reply.body))),
    _answered("invalid utf-8", _utf8),
    _answered("two content types", lambda reply: replace(reply, extra_head=b"content-type: text/html\r\n")),
    _answered("keep-alive closed under us", closing),
    _answered("late but in time", lambda reply: delayed(reply, 0.4)),
    _answered("a drip that ends in time", lambda reply: dripping(reply, 0.01, 100)),
    _answered("slow headers that end in time", lambda reply: dripping(reply, 0.002, headers=True)),
    # no answer
    _late("reset after the request", lambda reply: RESET, "connection reset", slow=False),
    _late("closed after the request", lambda reply: CLOSE, "connection closed", slow=False),
    _late("silence", lambda reply: SILENCE, "idle_timeout_s"),
    _late("silence in the headers", lambda reply: replace(reply, header_drip_s=60.0), "idle_timeout_s"),
    _late("an endless drip", lambda reply: dripping(reply, 0.4), "total_timeout_s"),
    _late("half a body, then silence", lambda reply: half(reply, how="silence"), "idle_timeout_s"),
    # a broken answer
    _malformed("half a body, then closed", half, "was cut after"),
    _malformed("half a body, then reset", lambda reply: half(reply, how="reset"), "was cut after"),
    _malformed("length too long", lambda reply: wrong_length(reply, 10), "was cut after"),
    _malformed("length too short", lambda reply: wrong_length(reply, -10), ""),
    _malformed("chunks cut off", lambda reply: half(chunked(reply)), "was cut after"),
    _malformed("html with 200", lambda reply: html_reply(200), "a web page"),
    _malformed("blank lines only", lambda reply: replace(reply, pieces=(b"\r\n" * 9,)), "without content"),
    _malformed("no body", lambda reply: replace(reply, pieces=(b"",)), "without content"),
    _malformed("gzip garbage", lambda reply: gzip_reply(reply, sound=False), "content-encoding"),
    _malformed("endless headers", endless_headers, "not HTTP"),
    _malformed(
        "two lengths", lambda reply: replace(reply, extra_head=b"content-length: 3\r\n"), "not HTTP",
        answers=True,
    ),
    _malformed(
        "length and chunks", lambda reply: replace(reply, extra_head=b"transfer-encoding: chunked\r\n"),
        "not HTTP", answers=True,
    ),
    # an error
    Misbehaviour("429", lambda *_: rate_limited(0.2), frozenset({"rate_limited"}), "slow down", "as told"),
    Misbehaviour(
        "error with 200",
        lambda *_: json_reply({"error": {"message": "upstream fell over", "code": 502}}),
        frozenset({"unavailable"}),
        "upstream fell over",
    ),
    Misbehaviour("the key echoed", _echoing_the_key, frozenset({"unavailable"}), "you sent Bearer"),
    _status(500, "unavailable", "max", "provider_error"),
    _status(503, "unavailable", "max", "provider_error", "overloaded"),
    _status(400, "bad_request", "one", "rejected"),
    _status(422, "bad_request", "one", "rejected"),
    _status(413, "unsupported_input", "one", "not_applicable"),
    _status(418, "unknown", "one", "provider_error"),
    *(_redirect(status) for status in (301, 302, 307, 308)),
)
"""What a server does to single requests."""

HUGE = Misbehaviour(
    "300 MB", lambda *_: huge_reply(300 << 20), frozenset({"malformed_reply"}), "longer than", slow=True
)
"""Apart from the others: it costs a second and much memory on either side."""

BY_NAME = {one.name: one for one in (*MISBEHAVIOURS, HUGE)}
