"""Every situation of a send, and what one ask makes of it: written down from the table of outcomes, by hand.

Columns: what the server does; the exchanges that one ask leaves with `max_sends = 1` and by default (4), by
outcome; what its unit comes to (None: it is answered); whether a failed send may have been billed; whether
the pool is closed by it. Arrivals at the server are as many as exchanges unless `arrives` is False.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from contract.dialects import TEXT, Dialect
from scripted_replies import (
    CLOSE,
    RESET,
    SILENCE,
    Behaviour,
    Reply,
    Script,
    chunked,
    dripping,
    half,
    html_reply,
    redirect_reply,
    wrong_length,
)

Outcomes: TypeAlias = tuple[str, ...]
Acts: TypeAlias = Callable[[Dialect], Behaviour | Script]

SOON: Mapping[str, Any] = {"idle_timeout_s": 0.05}
"""For servers that never go on: however slow this machine is, they are never there in time."""

GIVEN_S = (7.0, 9.0)
"""Waits that servers tell; they pass on a clock of the test's own."""


@dataclass(frozen=True)
class Situation:
    """One row of the table."""

    name: str
    acts: Acts
    once: Outcomes
    by_default: Outcomes
    unit: str | None = None
    billed: bool = False
    closes: bool = False
    arrives: bool = True
    waits_s: float = 0.0
    """What the provider said to wait, in all; the ask may take longer, never less."""
    settings: Mapping[str, Any] = field(default_factory=dict)


def _row(
    name: str, acts: Acts, once: str | Outcomes, by_default: str | Outcomes, unit: str | None, **more: Any
) -> Situation:
    """Outcomes that differ are given one by one; "outcome x4" stands for four alike."""
    return Situation(name, acts, _listed(once), _listed(by_default), unit, **more)


def _listed(outcomes: str | Outcomes) -> Outcomes:
    if isinstance(outcomes, tuple):
        return outcomes
    outcome, _, times = outcomes.partition(" x")
    return (outcome,) * int(times or 1)


def _whole(dialect: Dialect) -> Reply:
    return dialect.answer(TEXT)


def _fails(kind: str, status: int | None = None) -> Acts:
    return lambda dialect: dialect.fails(kind, status)


def _then_answers(first: Callable[[Dialect], list[Behaviour]]) -> Acts:
    def acts(dialect: Dialect) -> Script:
        bad, good = first(dialect), _whole(dialect)
        return lambda arrival: bad[arrival.number] if arrival.number < len(bad) else good

    return acts


_LIMITED_TWICE = ("rate_limited", "rate_limited", "answered")
# Back-off doubles, from 2 s to 60: within the 600 s of --max-wait, after which the pool is closed.
_UNTOLD = "rate_limited x15"

ANSWERS = [
    _row("200", _whole, "answered", "answered", None),
    _row("200 with the request's block", lambda d: d.blocked(), "blocked", "blocked", None),
    _row("200 that drips", lambda d: dripping(_whole(d), 0.001, 16), "answered", "answered", None),
    _row("200 in chunks", lambda d: chunked(_whole(d), 16), "answered", "answered", None),
]

REFUSALS = [
    _row("400", _fails("bad_request"), "bad_request", "bad_request", "rejected"),
    _row("422", _fails("unprocessable", 422), "bad_request", "bad_request", "rejected"),
    _row("400 context", _fails("context_length"), "context_length", "context_length", "not_applicable"),
    _row("413", _fails("too_large"), "unsupported_input", "unsupported_input", "not_applicable"),
    _row("401", _fails("auth"), "auth", "auth", "not_attempted", closes=True),
    _row("403", _fails("forbidden"), "auth", "auth", "not_attempted", closes=True),
    _row(
        "404", _fails("model_not_found"), "model_not_found", "model_not_found", "not_attempted", closes=True
    ),
    _row(
        "out of credit", _fails("quota"), "quota_exhausted", "quota_exhausted", "not_attempted", closes=True
    ),
    _row(
        "402", _fails("quota", 402), "quota_exhausted", "quota_exhausted", "not_attempted", closes=True
    ),
    _row("418", _fails("unavailable", 418), "unknown", "unknown", "provider_error"),
    _row("307", lambda d: redirect_reply(307, "/elsewhere"), "unknown", "unknown", "provider_error"),
]  # fmt: skip

RATE_LIMITS = [
    _row(
        "429 twice, with waits", _then_answers(lambda d: [d.limited(one) for one in GIVEN_S]),
        _LIMITED_TWICE, _LIMITED_TWICE, None, waits_s=sum(GIVEN_S),
    ),
    _row(
        "429 twice, without waits", _then_answers(lambda d: [d.fails("rate_limited")] * 2),
        _LIMITED_TWICE, _LIMITED_TWICE, None,
    ),
    _row(
        "429 cut in the middle", _then_answers(lambda d: [half(d.limited(7.0), 0.97)]),
        ("rate_limited", "answered"), ("rate_limited", "answered"), None,
    ),
    _row(
        # at 0, 200, 400 and 600 s; by then nothing has come of it for as long as --max-wait allows
        "429 for ever, with waits", lambda d: d.limited(200.0),
        "rate_limited x4", "rate_limited x4", "not_attempted", closes=True, waits_s=600.0,
    ),
    _row(
        "429 for ever, without waits", _fails("rate_limited"), _UNTOLD, _UNTOLD, "not_attempted", closes=True
    ),
    _row(
        # longer than anyone wants: not slept through
        "429 until tomorrow", lambda d: d.limited(40_000.0),
        "rate_limited", "rate_limited", "not_attempted", closes=True,
    ),
]  # fmt: skip

FAILURES = [
    _row("500", _fails("internal"), "unavailable", "unavailable x4", "provider_error"),
    _row("502 page", lambda d: html_reply(502), "unavailable", "unavailable x4", "provider_error"),
    _row("503", _fails("unavailable"), "unavailable", "unavailable x4", "provider_error"),
    _row("503 overloaded", _fails("overloaded", 503), "unavailable", "unavailable x4", "provider_error"),
    _row("529", _fails("overloaded", 529), "unavailable", "unavailable x4", "provider_error"),
    _row(
        "503, then 200", _then_answers(lambda d: [d.fails("unavailable")]),
        ("unavailable",), ("unavailable", "answered"), None,
    ),
    _row("half of a 503", lambda d: half(d.fails("unavailable")), "unavailable", "unavailable x4",
         "provider_error"),
    # behind the gateway the work went on: as a timeout
    _row("504", _fails("unavailable", 504), "unavailable", "unavailable x2", "provider_error", billed=True),
    _row("408", _fails("unavailable", 408), "timeout", "timeout x2", "provider_error", billed=True),
    _row("200 with an error", _fails("overloaded", 200), "unavailable", "unavailable x4", "provider_error"),
    _row("200 page", lambda d: html_reply(200), "malformed_reply", "malformed_reply x4", "provider_error",
         billed=True),
    _row("200, blank", lambda d: Reply(200, {"content-type": "application/json"}, (b"  \n",)),
         "malformed_reply", "malformed_reply x4", "provider_error", billed=True),
]  # fmt: skip

_CUT = {"unit": "provider_error", "billed": True}

BROKEN = [
    _row("reset", lambda d: RESET, "timeout", "timeout x2", **_CUT),
    _row("closed", lambda d: CLOSE, "timeout", "timeout x2", **_CUT),
    _row("reset, then 200", _then_answers(lambda d: [RESET]), ("timeout",), ("timeout", "answered"), None,
         billed=True),
    _row("stall", lambda d: SILENCE, "timeout", "timeout x2", settings=SOON, **_CUT),
    _row("stall in mid-body", lambda d: half(_whole(d), how="silence"), "timeout", "timeout x2",
         settings=SOON, **_CUT),
    _row("drip without end", lambda d: dripping(_whole(d), 0.05), "timeout", "timeout x2",
         settings={"total_timeout_s": 0.06}, **_CUT),
    _row("drip of headers", lambda d: dripping(_whole(d), 0.05, headers=True), "timeout", "timeout x2",
         settings={"total_timeout_s": 0.06}, **_CUT),
    _row("half a body", lambda d: half(_whole(d)), "malformed_reply", "malformed_reply x4", **_CUT),
    _row("half a body, reset", lambda d: half(_whole(d), how="reset"), "malformed_reply",
         "malformed_reply x4", **_CUT),
    _row("half of the chunks", lambda d: half(chunked(_whole(d), 16)), "malformed_reply",
         "malformed_reply x4", **_CUT),
    _row("all but the last byte", lambda d: wrong_length(_whole(d), 1), "malformed_reply",
         "malformed_reply x4", **_CUT),
    _row("half a body, then 200", _then_answers(lambda d: [half(_whole(d))]), ("malformed_reply",),
         ("malformed_reply", "answered"), None, billed=True),
]  # fmt: skip

WHOLE = [*ANSWERS, *REFUSALS, *RATE_LIMITS, *FAILURES, *BROKEN]


def _stream(dialect: Dialect, interval_s: float = 0.0) -> Reply:
    return dialect.streamed(dialect.events(TEXT), interval_s)


def _begun(dialect: Dialect, *more: bytes) -> Reply:
    """Return a stream that ends properly with `more` after the first half of the answer."""
    events = dialect.events(TEXT)
    return dialect.streamed([*events[: _said_half(events)], *more])


def _said_half(events: tuple[bytes, ...]) -> int:
    """Return how many events it takes until some of the text was said, but not all."""
    start = TEXT[:3].encode()
    return next(number for number, event in enumerate(events, 1) if start in event)


def _broken_stream(how: Any) -> Acts:
    def acts(dialect: Dialect) -> Reply:
        said, whole = len(_begun(dialect).body), _stream(dialect)
        return half(whole, (said + 3) / len(whole.body), how)

    return acts


STREAMED = [
    _row("stream", _stream, "answered", "answered", None),
    _row("stream that drips", lambda d: dripping(_stream(d), 0.001, 40), "answered", "answered", None),
    _row("one piece though a stream was asked for", _whole, "answered", "answered", None),
    _row("stall in mid-stream", _broken_stream("silence"), "timeout", "timeout x2", settings=SOON, **_CUT),
    _row("stream that drips without end", lambda d: dripping(_stream(d), 0.05), "timeout", "timeout x2",
         settings={"total_timeout_s": 0.06}, **_CUT),
    _row("cut stream", _broken_stream("close"), "malformed_reply", "malformed_reply x4", **_CUT),
    _row("reset in mid-stream", _broken_stream("reset"), "malformed_reply", "malformed_reply x4", **_CUT),
    _row("stream that stops early", _begun, "malformed_reply", "malformed_reply x4", **_CUT),
    _row("stream without an event", lambda d: d.streamed([b": keep-alive\n\n"]), "malformed_reply",
         "malformed_reply x4", **_CUT),
    # at most twice: what had been said of the answer may be billed
    _row("error in mid-stream", lambda d: _begun(d, d.error_event(d.errors["overloaded"])), "unavailable",
         "unavailable x2", **_CUT),
    _row("error before the first word", lambda d: d.streamed([d.error_event(d.errors["overloaded"])]),
         "unavailable", "unavailable x4", "provider_error"),
    _row("error in mid-stream, then a stream",
         _then_answers(lambda d: [_begun(d, d.error_event(d.errors["internal"]))]), ("unavailable",),
         ("unavailable", "answered"), None, billed=True),
    _row("503 in place of a stream", _fails("unavailable"), "unavailable", "unavailable x4",
         "provider_error"),
    _row("429 in place of a stream", _then_answers(lambda d: [d.limited(7.0)]),
         ("rate_limited", "answered"), ("rate_limited", "answered"), None, waits_s=7.0),
]  # fmt: skip
