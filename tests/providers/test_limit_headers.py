"""What limit headers teach a pool, beyond the plain cases of `test_waits.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.providers.limit_headers import Dialect, LearnedLimits, limits_from_headers

SHARED = Path(__file__).parents[3] / "shared" / "traffic"
NOW_S = 1_790_000_000.0


PER_DAY = {"remaining_requests": "998", "reset_requests": "2m52.8s"}


def x(**headers: str) -> dict[str, str]:
    """Headers that begin with x-ratelimit-, `_` as `-`."""
    return {f"x-ratelimit-{name.replace('_', '-')}": value for name, value in headers.items()}


@pytest.mark.parametrize(
    ("dialect", "headers", "limits"),
    [
        # a day of requests is no minute
        ("openai", x(limit_requests="9", remaining_requests="6", reset_requests="8h0m0s"), LearnedLimits()),
        ("openai", x(limit_requests="3", remaining_requests="2", reset_requests="20s"), LearnedLimits(3)),
        ("openai", x(limit_requests="1000", **PER_DAY), LearnedLimits()),
        ("groq", x(limit_requests="1000", **PER_DAY), LearnedLimits()),
        ("groq", x(limit_requests="60", limit_tokens="6000"), LearnedLimits(None, 6000)),
        # xAI gives no reset, Fireworks counts what is read and what is written apart
        ("openai", x(limit_requests="480", remaining_requests="479"), LearnedLimits(480)),
        (
            "openai",
            x(limit_requests="600", limit_tokens_prompt="60000", limit_tokens_generated="12000"),
            LearnedLimits(600, None, 60000, 12000),
        ),
        # Azure: often only what remains; -1 where it does not count; its own periods
        ("azure", x(remaining_requests="79", remaining_tokens="61353"), LearnedLimits()),
        ("azure", x(limit_tokens="-1", remaining_tokens="-1", reset_tokens="0"), LearnedLimits()),
        (
            "azure",
            x(limit_requests="25", limit_tokens="9", renewalperiod_requests="60", renewalperiod_tokens="20"),
            LearnedLimits(25, 27),
        ),
        ("azure", x(limit_requests="500", renewalperiod_requests="86400"), LearnedLimits()),
        # Mistral, as it was and is; Cerebras
        ("mistral", {"ratelimitbysize-limit": "2000000"}, LearnedLimits(None, 2000000)),
        (
            "mistral",
            {"x-ratelimitbysize-limit-minute": "500000", "x-ratelimitbysize-limit-month": "1000000000"},
            LearnedLimits(None, 500000),
        ),
        ("mistral", x(limit_req_minute="720", limit_tokens_minute="5000000"), LearnedLimits(720, 5000000)),
        ("mistral", x(limit_requests_day="14400", limit_tokens_minute="60000"), LearnedLimits(None, 60000)),
        # Together's count of a second is in no dialect's name
        ("openai", {"x-ratelimit-limit": "10", "x-tokenlimit-limit": "3000"}, LearnedLimits()),
        ("none", x(limit_requests="5", remaining_requests="0", reset_requests="9s"), LearnedLimits()),
    ],
)  # fmt: skip
def test_limits_are_those_of_a_minute(
    dialect: Dialect, headers: dict[str, str], limits: LearnedLimits
) -> None:
    assert limits_from_headers(dialect, headers, NOW_S) == limits


@pytest.mark.parametrize(
    ("dialect", "headers", "hold_s"),
    [
        ("openai", x(remaining_requests="0", reset_requests="6m0s", remaining_tokens="5"), 360),
        ("openai", x(remaining_requests="0", reset_requests="1s", remaining_tokens="9"), 1),
        ("openai", x(remaining_requests="0", reset_requests="1", remaining_tokens="0", reset_tokens="2s"), 2),
        ("openai", x(remaining_requests="1", reset_requests="6m0s"), None),
        ("openai", x(remaining_requests="0"), None),
        ("azure", x(remaining_tokens="-1", reset_tokens="0"), None),
        ("azure", x(remaining_tokens="0", reset_tokens="55"), 55),
        ("groq", x(remaining_requests="0", reset_requests="2m59.56s"), 179.56),
        ("mistral", x(remaining_req_minute="0"), None),
        (
            "anthropic",
            {
                "date": "Mon, 21 Sep 2026 14:13:20 GMT",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-09-21T14:13:50Z",
            },
            30,
        ),
        (
            "anthropic",
            {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-09-21T14:13:27Z",
            },
            7,
        ),
        ("openai", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790000060000"}, 60),
    ],
)
def test_nothing_left_is_told_with_until_when(
    dialect: Dialect, headers: dict[str, str], hold_s: float | None
) -> None:
    assert limits_from_headers(dialect, headers, NOW_S).hold_s == pytest.approx(hold_s)


RECORDED: dict[str, tuple[Dialect, LearnedLimits]] = {
    "openai-chat__json-1": ("openai", LearnedLimits(None, 200_000)),
    "openai-chat__text-1": ("openai", LearnedLimits(3500, 90_000)),
    "openai-chat__image-1": ("openai", LearnedLimits(100_000, 40_000)),
    "openai-responses__reasoning-1": ("openai", LearnedLimits(500, 200_000)),
    "azure-openai__content_filter-200": ("azure", LearnedLimits()),
    "groq__text-1": ("groq", LearnedLimits(None, 30_000)),
    "mistral__text-1": ("mistral", LearnedLimits(360, 2_000_000)),
    "mistral__json-1": ("mistral", LearnedLimits(100, 100_000)),
    "xai__image-1": ("openai", LearnedLimits(1800, 10_000_000)),
    "anthropic__thinking-1": ("anthropic", LearnedLimits(4000, 280_000, 200_000, 80_000)),
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared collection of exchanges is not here")
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_headers_teach_the_limits_of_a_minute(name: str) -> None:
    dialect, limits = RECORDED[name]
    headers = json.loads((SHARED / f"{name}.json").read_text("utf-8"))["response"]["headers"]
    assert limits_from_headers(dialect, {key.lower(): value for key, value in headers.items()}) == limits
