"""How long a provider says to wait, in all its spellings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from harness.providers.bodies import Object, as_object, details

_UNIT_S = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9}
_LONG_UNITS = (
    (re.compile(r"milli(?:second)?s?|msecs?"), "ms"),
    (re.compile(r"sec(?:ond)?s?"), "s"),
    (re.compile(r"min(?:ute)?s?"), "m"),
    (re.compile(r"h(?:ou)?rs?|hours?"), "h"),
    (re.compile(r"days?"), "d"),
)
_STEP = (
    r"\d{1,12}(?:\.\d{1,12})?\s{0,2}"
    r"(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b"
)
_STEPS = r"\d{1,12}(?:\.\d{1,12})?(?:ms|us|ns|[dhms])"
_MESSAGE = re.compile(
    rf"(?:try(?:ing)? (?:again|after)|retry(?:ing)?|wait|available again|resets?)"
    rf"(?:\s+\w+){{0,4}}?[\s:]{{1,3}}"
    rf"({_STEP}(?:[\s,]{{0,3}}(?:and\s)?{_STEP}){{0,4}}|(?:{_STEPS}){{1,5}}(?![\w.]*\w))",
    re.IGNORECASE,
)
_DELAY = re.compile(r"\bretryDelay\W{1,16}(\d{1,9}(?:\.\d{1,9})?)s\b", re.IGNORECASE)
_COMPACT = re.compile(rf"(?:{_STEPS}){{1,6}}")
_FIELDS = {  # what gateways put into a body beside the words -> seconds
    "retry_after": 1.0, "retry_after_seconds": 1.0, "retryAfter": 1.0, "retryAfterSeconds": 1.0,
    "retry_after_ms": 0.001, "retryAfterMs": 0.001,
}  # fmt: skip
_RESET = re.compile(r"rate-?limit.*reset")  # Azure writes x-rate-limit-reset-tokens too
_EPOCH_S = 1e9
_EPOCH_MS = 1e11


def duration_s(text: str) -> float | None:
    """Return the seconds of "6m0s", "174ms", "34.4s", "1h2m3s" or a bare number of seconds; else None."""
    text = text.strip().lower()
    amount = number(text)
    if amount is not None:
        return max(0.0, amount)
    if not _COMPACT.fullmatch(text):
        return None
    steps = re.findall(r"([\d.]+)(ms|us|ns|[dhms])", text)
    return round(sum(float(amount) * _UNIT_S[unit] for amount, unit in steps), 9)


def wait_in_message(message: str) -> float | None:
    """Return the seconds of "try again in 1m12s", "retry after 22 seconds" ...; None if none is named.

    Else those of Google's `retryDelay`, where a gateway put its body into the words.
    """
    found = _MESSAGE.search(message)
    if not found:
        within = _DELAY.search(message)
        return float(within[1]) if within else None
    text = re.sub(r"[\s,]|and", "", found[1].lower())
    for long, short in _LONG_UNITS:
        text = long.sub(short, text)
    return duration_s(text)


def wait_in_details(content: Object) -> float | None:
    """Return the seconds of a Google error's `RetryInfo.retryDelay`; None if it has none."""
    for detail in details(content):
        delay = detail.get("retryDelay")
        if isinstance(delay, str):
            return duration_s(delay)
        parts = as_object(delay)
        if parts:
            seconds, nanos = number(str(parts.get("seconds", 0))), number(str(parts.get("nanos", 0)))
            return max(0.0, (seconds or 0.0) + (nanos or 0.0) / 1e9)
    return None


def wait_in_fields(content: Object) -> float | None:
    """Return the longest wait that a body states in a field of its own (`retry_after`), in seconds."""
    waits = [
        amount * unit_s
        for place in (content, as_object(content.get("metadata")), *details(content))
        for name, unit_s in _FIELDS.items()
        if (amount := number(str(place.get(name, "")))) is not None and amount >= 0
    ]
    return max(waits, default=None)


def wait_in_headers(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the longest of `Retry-After` (seconds or date) and its variants in milliseconds, in seconds.

    Dates count from the answer's own `Date` where it has one, so that a wrong local clock does no harm;
    else from `now_s` (Unix time).
    """
    now_s = answered_at(headers) or now_s
    told = headers.get("retry-after", "")
    # Sent twice (by a server and by its gateway) it arrives as a list; dates hold a comma of their own.
    spellings = (told, *told.split(",")) if moment_or_duration_s(told, now_s) is None else (told,)
    waits = [moment_or_duration_s(spelling, now_s) for spelling in spellings]
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        amount = number(headers.get(name, ""))
        waits.append(None if amount is None else max(0.0, amount / 1000))
    return max((wait for wait in waits if wait is not None), default=None)


def wait_until_reset(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds until the limits that may be the cause of a 429 are full again; None if not said.

    Only for answers that name no wait of their own. A request limit with something left was not the cause;
    a token limit may be, as the request can be larger than what is left.
    """
    now_s = answered_at(headers) or now_s
    waits = []
    for name, value in headers.items():
        if not _RESET.search(name):
            continue
        left = number(headers.get(name.replace("reset", "remaining"), ""))
        wait = moment_or_duration_s(value, now_s)
        if wait is not None and not (left and "token" not in name):
            waits.append(wait)
    return max(waits, default=None)


def number(text: str) -> float | None:
    """Return the finite number that a text is, else None."""
    try:
        amount = float(text.strip())
    except ValueError:
        return None
    return amount if math.isfinite(amount) else None


def answered_at(headers: Mapping[str, str]) -> float | None:
    """Return when an answer was given (Unix time), by its own date; None where it has none."""
    return _moment(headers.get("date", ""))


def moment_or_duration_s(text: str, now_s: float) -> float | None:
    """Return the seconds from `now_s` (Unix time) to a date, an epoch or after a duration; else None."""
    amount = number(text)
    if amount is not None and amount >= _EPOCH_S:
        return max(0.0, (amount / 1000 if amount >= _EPOCH_MS else amount) - now_s)
    wait = duration_s(text)
    if wait is not None:
        return wait
    moment = _moment(text)
    return None if moment is None else max(0.0, moment - now_s)


def _moment(text: str) -> float | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
