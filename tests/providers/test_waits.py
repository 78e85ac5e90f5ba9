"""Waits and limits in all the spellings that providers use."""

from __future__ import annotations

import pytest

from harness.providers.limit_headers import Dialect, LearnedLimits, limits_from_headers
from harness.providers.waits import duration_s, wait_in_headers, wait_in_message, wait_until_reset


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360),
        ("1s", 1),
        ("174ms", 0.174),
        ("34.4s", 34.4),
        ("1h2m3.5s", 3723.5),
        ("1d2h", 93600),
        ("20", 20),
        ("0", 0),
        ("-5", 0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("5 apples", None),
    ],
)
def test_durations_are_read_in_every_spelling(text: str, seconds: float | None) -> None:  # F31
    assert duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Limit 30000, Used 28100. Please try again in 4.6s.", 4.6),
        ("Please try again in 50.597142857s.", 50.597142857),
        ("try again in 1m12s", 72),
        ("Please try again in 174ms. Visit https://x", 0.174),
        ("Please retry after 22 seconds.", 22),
        ("Please retry in 34.4s.", 34.4),
        ("Wait 1 minute and 30 seconds before the next request", 90),
        ("Try again in 2 hours.", 7200),
        ("Please try again in 1m 30s.", 90),
        ("You have exceeded token rate limit. Please try after 6 seconds.", 6),
        ("Please try again later.", None),
        ("retry your 3 requests", None),
        ("wait" * 5000, None),
        ("try again " + "a " * 5000, None),
    ],
)
def test_waits_are_found_in_message_text(message: str, seconds: float | None) -> None:  # F31
    assert wait_in_message(message) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "1", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "30, 60"}, 60),
        ({"retry-after": "rubbish, 5"}, 5),
        ({"retry-after": "rubbish"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_seconds_dates_and_milliseconds(  # F31
    headers: dict[str, str], seconds: float | None
) -> None:
    assert wait_in_headers(headers, now_s=10.0) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-reset": "1790000060"}, 60),
        ({"x-ratelimit-reset": "1790000060000"}, 60),
        ({"anthropic-ratelimit-tokens-reset": "2026-09-21T14:14:00Z"}, 1_790_000_040 - 1_790_000_000),
        ({"x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "3"}, None),
    ],
)
def test_resets_are_read_as_durations_and_as_moments(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_until_reset(headers, now_s=1_790_000_000.0) == seconds


def openai_headers(limit: str, left: str, reset: str) -> dict[str, str]:
    return {
        "x-ratelimit-limit-requests": limit,
        "x-ratelimit-remaining-requests": left,
        "x-ratelimit-reset-requests": reset,
        "x-ratelimit-limit-tokens": "200000",
    }


@pytest.mark.parametrize(
    ("dialect", "headers", "limits"),
    [
        ("openai", openai_headers("5000", "4999", "12ms"), LearnedLimits(5000, 200000)),
        ("openai", openai_headers("10000", "9999", "8.64s"), LearnedLimits(None, 200000)),
        ("openai", openai_headers("100", "100", "0s"), LearnedLimits(100, 200000)),
        ("groq", openai_headers("14400", "14399", "6s"), LearnedLimits(None, 200000)),
        (
            "mistral",
            {
                "x-ratelimit-limit-req-10-second": "60",
                "x-ratelimit-limit-tokens-minute": "2000000",
                "x-ratelimit-limit-tokens-month": "1",
            },
            LearnedLimits(360, 2000000),
        ),
        (
            "anthropic",
            {
                "anthropic-ratelimit-requests-limit": "50",
                "anthropic-ratelimit-input-tokens-limit": "20000",
                "anthropic-ratelimit-output-tokens-limit": "8000",
            },
            LearnedLimits(50, None, 20000, 8000),
        ),
        (
            "azure",
            {"x-ratelimit-limit-requests": "20", "x-ratelimit-renewalperiod-requests": "10"},
            LearnedLimits(120, None),
        ),
        ("openai", {"x-ratelimit-limit-requests": "0", "x-ratelimit-limit-tokens": "x"}, LearnedLimits()),
        ("none", openai_headers("5000", "4999", "12ms"), LearnedLimits()),
    ],
)
def test_limits_are_learned_in_each_dialect(
    dialect: Dialect, headers: dict[str, str], limits: LearnedLimits
) -> None:
    assert limits_from_headers(dialect, headers) == limits
