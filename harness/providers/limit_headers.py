"""How much a provider's headers say this pool may use, in each dialect (`[providers.X] limit_headers`).

openai: `x-ratelimit-limit-requests` and `-tokens`, a minute. Page "Rate limits": requests count a day on low
    tiers, and `x-ratelimit-reset-*`, the time until all is back, tells: 8.64 s for one of 10,000 is a day.
    xAI speaks so without resets (recorded answers; page "Rate limits": a minute). Fireworks adds
    `-tokens-prompt` and `-tokens-generated`, a minute (page "Rate limits").
azure: the same, with `x-ratelimit-renewalperiod-*` in seconds; often only `-remaining-`, and -1 where nothing
    is counted (recorded answers, issue threads of Azure and openai-dotnet).
groq: `x-ratelimit-limit-tokens`, a minute; its `-limit-requests` always counts a day (page "Rate limits").
mistral: `x-ratelimit-limit-req-minute`, `-tokens-minute`, `-req-10-second` (recorded answers); those of a
    month are no pace. `ratelimitbysize-limit` of 2024 counts the tokens of a minute. Cerebras speaks so too.
anthropic: `anthropic-ratelimit-*-limit` of requests, tokens, input and output tokens, a minute (page "Rate
    limits").
none: Gemini, DeepSeek, DashScope, Moonshot and vLLM state nothing; Together's `x-ratelimit-limit` counts a
    second and changes with its load; OpenRouter tells with a 429 only, which is a wait.

What is learned is never above what is configured (`harness.pools.pacing`). A header that says that nothing is
left, and until when, holds the pool for as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from harness.providers.waits import answered_at, duration_s, moment_or_duration_s, number

Dialect: TypeAlias = Literal["openai", "anthropic", "azure", "groq", "mistral", "none"]

_LONGEST_MINUTE_WINDOW_S = 600.0
_MISTRAL: Final = r"x-ratelimit-limit-{kind}-(?:(\d{{1,4}})-)?(second|minute)"
_BY_SIZE: Final = ("ratelimitbysize-limit", "x-ratelimitbysize-limit-minute")
_LEFT: Final = re.compile(r"rate-?limit\S*remaining|remaining\S*rate-?limit")


@dataclass(frozen=True, slots=True)
class LearnedLimits:
    """What a provider's headers say this pool may use in a minute; None where they do not say.

    `hold_s`: in how many seconds there will be something left again, where there is nothing now.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    input_tokens_per_minute: float | None = None
    output_tokens_per_minute: float | None = None
    hold_s: float | None = None


def limits_from_headers(
    dialect: Dialect, headers: Mapping[str, str], now_s: float | None = None
) -> LearnedLimits:
    """Return the limits per minute that an answer's headers state, in the provider's dialect.

    Limits over longer windows (requests per day) are left out: they are not what paces a minute. `now_s`
    (Unix time) serves for moments, where the answer has no date of its own.
    """
    match dialect:
        case "none":
            return LearnedLimits()
        case "anthropic":
            kinds = ("requests", "tokens", "input-tokens", "output-tokens")
            limits = LearnedLimits(*(_limit(headers, f"anthropic-ratelimit-{kind}-limit") for kind in kinds))
        case "mistral":
            limits = LearnedLimits(_mistral(headers, "req(?:uests)?"), _mistral(headers, "tokens"))
        case "groq":
            limits = LearnedLimits(tokens_per_minute=_limit(headers, "x-ratelimit-limit-tokens"))
        case "openai" | "azure":
            kinds = ("requests", "tokens", "tokens-prompt", "tokens-generated")
            limits = LearnedLimits(*(_per_minute(headers, kind) for kind in kinds))
    return replace(limits, hold_s=_nothing_left_for_s(headers, now_s))


def _nothing_left_for_s(headers: Mapping[str, str], now_s: float | None) -> float | None:
    now = answered_at(headers) or now_s
    waits = []
    for name, value in headers.items():
        if _LEFT.search(name) and number(value) == 0:
            reset = headers.get(name.replace("remaining", "reset"), "")
            waits.append(duration_s(reset) if now is None else moment_or_duration_s(reset, now))
    return max((wait for wait in waits if wait), default=None)


def _per_minute(headers: Mapping[str, str], kind: str) -> float | None:
    limit = _limit(headers, f"x-ratelimit-limit-{kind}")
    if limit is None:
        return None
    renewal_s = _limit(headers, f"x-ratelimit-renewalperiod-{kind}")
    if renewal_s is not None:
        return limit * 60 / renewal_s if renewal_s <= _LONGEST_MINUTE_WINDOW_S else None
    left = number(headers.get(f"x-ratelimit-remaining-{kind}", ""))
    reset_s = duration_s(headers.get(f"x-ratelimit-reset-{kind}", ""))
    if left is None or not reset_s or left >= limit:
        return limit
    # The reset time is what refilling the used part takes, which tells the window: 8.64 s for one request
    # of 10,000 is a day. Rounded to milliseconds, so only coarse.
    window_s = reset_s * limit / (limit - left)
    return limit if window_s <= _LONGEST_MINUTE_WINDOW_S else None


def _mistral(headers: Mapping[str, str], kind: str) -> float | None:
    limits = list(_mistral_limits(headers, kind))
    if kind == "tokens" and not limits:
        limits = [limit for name in _BY_SIZE if (limit := _limit(headers, name)) is not None]
    return min(limits, default=None)


def _mistral_limits(headers: Mapping[str, str], kind: str) -> Iterator[float]:
    seconds = {"second": 1, "minute": 60}
    for name in headers:
        found = re.fullmatch(_MISTRAL.format(kind=kind), name)
        limit = _limit(headers, name) if found else None
        if found and limit is not None:
            yield limit * 60 / (seconds[found[2]] * max(1, int(found[1] or 1)))


def _limit(headers: Mapping[str, str], name: str) -> float | None:
    stated = number(headers.get(name, ""))
    return stated if stated is not None and stated > 0 else None
