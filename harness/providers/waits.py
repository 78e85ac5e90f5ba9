"""How long a provider says to wait, and how much it says it allows, in all their spellings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias

from harness.providers.bodies import Object, as_object, details

Dialect: TypeAlias = Literal["openai", "anthropic", "azure", "groq", "mistral", "none"]

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
    rf"(?:try(?:ing)? again|retry(?:ing)?|wait|available again|resets?)(?:\s+\w+){{0,4}}?[\s:]{{1,3}}"
    rf"((?:{_STEPS}){{1,5}}(?![\w.]*\w)|{_STEP}(?:[\s,]{{0,3}}(?:and\s)?{_STEP}){{0,4}})",
    re.IGNORECASE,
)
_COMPACT = re.compile(rf"(?:{_STEPS}){{1,6}}")
_EPOCH_S = 1e9
_EPOCH_MS = 1e11
_LONGEST_MINUTE_WINDOW_S = 600.0


@dataclass(frozen=True, slots=True)
class LearnedLimits:
    """What a provider's headers say this pool may use in a minute; None where they do not say."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    input_tokens_per_minute: float | None = None
    output_tokens_per_minute: float | None = None


def duration_s(text: str) -> float | None:
    """Return the seconds of "6m0s", "174ms", "34.4s", "1h2m3s" or a bare number of seconds; else None."""
    text = text.strip().lower()
    number = _number(text)
    if number is not None:
        return max(0.0, number)
    if not _COMPACT.fullmatch(text):
        return None
    steps = re.findall(r"([\d.]+)(ms|us|ns|[dhms])", text)
    return round(sum(float(amount) * _UNIT_S[unit] for amount, unit in steps), 9)


def wait_in_message(message: str) -> float | None:
    """Return the seconds of "try again in 1m12s", "retry after 22 seconds" ...; None if none is named."""
    found = _MESSAGE.search(message)
    if not found:
        return None
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
            seconds, nanos = _number(str(parts.get("seconds", 0))), _number(str(parts.get("nanos", 0)))
            return max(0.0, (seconds or 0.0) + (nanos or 0.0) / 1e9)
    return None


def wait_in_headers(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the longest of `Retry-After` (seconds or date) and its variants in milliseconds, in seconds.

    Dates count from the answer's own `Date` where it has one, so that a wrong local clock does no harm;
    else from `now_s` (Unix time).
    """
    now_s = _answered_at(headers) or now_s
    waits = [_moment_or_duration(headers[name], now_s) for name in ("retry-after",) if name in headers]
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        number = _number(headers.get(name, ""))
        waits.append(None if number is None else max(0.0, number / 1000))
    return max((wait for wait in waits if wait is not None), default=None)


def wait_until_reset(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds until the limits that may be the cause of a 429 are full again; None if not said.

    Only for answers that name no wait of their own. A request limit with something left was not the cause;
    a token limit may be, as the request can be larger than what is left.
    """
    now_s = _answered_at(headers) or now_s
    waits = []
    for name, value in headers.items():
        if "ratelimit" not in name or "reset" not in name:
            continue
        left = _number(headers.get(name.replace("reset", "remaining"), ""))
        wait = _moment_or_duration(value, now_s)
        if wait is not None and not (left and "token" not in name):
            waits.append(wait)
    return max(waits, default=None)


def limits_from_headers(dialect: Dialect, headers: Mapping[str, str]) -> LearnedLimits:
    """Return the limits per minute that an answer's headers state, in the provider's dialect.

    Limits over longer windows (requests per day) are left out: they are not what paces a minute.
    """
    match dialect:
        case "none":
            return LearnedLimits()
        case "anthropic":
            return LearnedLimits(
                *(_limit(headers, f"anthropic-ratelimit-{kind}-limit")
                  for kind in ("requests", "tokens", "input-tokens", "output-tokens"))
            )
        case "mistral":
            return LearnedLimits(_mistral(headers, "req"), _mistral(headers, "tokens"))
        case "groq":
            # Groq documents limit-requests as requests per day, limit-tokens as tokens per minute.
            return LearnedLimits(tokens_per_minute=_limit(headers, "x-ratelimit-limit-tokens"))
        case "openai" | "azure":
            return LearnedLimits(_per_minute(headers, "requests"), _per_minute(headers, "tokens"))


def _per_minute(headers: Mapping[str, str], kind: str) -> float | None:
    limit = _limit(headers, f"x-ratelimit-limit-{kind}")
    if limit is None:
        return None
    renewal_s = _limit(headers, f"x-ratelimit-renewalperiod-{kind}")
    if renewal_s is not None:
        return limit * 60 / renewal_s
    left = _number(headers.get(f"x-ratelimit-remaining-{kind}", ""))
    reset_s = duration_s(headers.get(f"x-ratelimit-reset-{kind}", ""))
    if left is None or not reset_s or left >= limit:
        return limit
    # The reset time is what refilling the used part takes, which tells the window: 8.64 s for one request
    # of 10,000 is a day. Rounded to milliseconds, so only coarse.
    window_s = reset_s * limit / (limit - left)
    return limit if window_s <= _LONGEST_MINUTE_WINDOW_S else None


def _mistral(headers: Mapping[str, str], kind: str) -> float | None:
    limits = list(_mistral_limits(headers, kind))
    return min(limits, default=None)


def _mistral_limits(headers: Mapping[str, str], kind: str) -> Iterator[float]:
    seconds = {"second": 1, "minute": 60}
    for name in headers:
        found = re.fullmatch(rf"x-ratelimit-limit-{kind}-(?:(\d{{1,4}})-)?(second|minute)", name)
        limit = _limit(headers, name) if found else None
        if found and limit is not None:
            yield limit * 60 / (seconds[found[2]] * max(1, int(found[1] or 1)))


def _limit(headers: Mapping[str, str], name: str) -> float | None:
    number = _number(headers.get(name, ""))
    return number if number is not None and number > 0 else None


def _number(text: str) -> float | None:
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _answered_at(headers: Mapping[str, str]) -> float | None:
    return _moment(headers.get("date", ""))


def _moment_or_duration(text: str, now_s: float) -> float | None:
    number = _number(text)
    if number is not None and number >= _EPOCH_S:
        return max(0.0, (number / 1000 if number >= _EPOCH_MS else number) - now_s)
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
