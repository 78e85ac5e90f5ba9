"""What each provider's own token counts cost, worked out by hand from its price page."""

from __future__ import annotations

from typing import Any

import pytest
from wire_doubles import answer, candidate, completion, message, provider

from harness.costs import cost_usd, rates_of
from harness.messages import Reply, Usage
from harness.providers.base import get_adapter
from harness.settings import Price

OPENAI = Price(input=2.0, output=8.0, cached_input=0.5)
XAI = Price(input=3.0, output=15.0, cached_input=0.75)
DEEPSEEK = Price(input=0.28, output=0.42, cached_input=0.028)
GEMINI = Price.model_validate(
    {
        "input": 1.25, "output": 10.0, "cached_input": 0.125,
        "tiers": [{"above_input_tokens": 200_000, "input": 2.5, "output": 15.0, "cached_input": 0.25}],
    }
)  # fmt: skip
CLAUDE = Price(input=3.0, output=15.0, cached_input=0.3, cache_write=3.75)


def responses(usage: dict[str, Any]) -> dict[str, Any]:
    said = {"type": "message", "content": [{"type": "output_text", "text": "yes"}]}
    return {"object": "response", "status": "completed", "output": [said], "usage": usage}


@pytest.mark.parametrize(
    ("adapter", "body", "price", "usd"),
    [
        # OpenAI: reasoning is within the completion, cached within the prompt.
        # 400 x 2 + 600 x 0.5 + 500 x 8 = 800 + 300 + 4000 per million
        (
            "openai",
            completion(usage={
                "prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500,
                "prompt_tokens_details": {"cached_tokens": 600},
                "completion_tokens_details": {"reasoning_tokens": 300},
            }),
            OPENAI, 0.0051,
        ),
        (
            "openai-responses",
            responses({
                "input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500,
                "input_tokens_details": {"cached_tokens": 600},
                "output_tokens_details": {"reasoning_tokens": 300},
            }),
            OPENAI, 0.0051,
        ),
        # xAI: reasoning stands beside the completion, the total tells.
        # 1000 x 3 + (100 + 900) x 15 = 3000 + 15000
        (
            "openai",
            completion(usage={
                "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 2000,
                "completion_tokens_details": {"reasoning_tokens": 900},
                "prompt_tokens_details": {"cached_tokens": 0},
            }),
            XAI, 0.018,
        ),
        # DeepSeek: hits and misses of its cache beside the prompt that holds both.
        # 100 x 0.28 + 900 x 0.028 + 200 x 0.42 = 28 + 25.2 + 84
        (
            "openai",
            completion(usage={
                "prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200,
                "prompt_cache_hit_tokens": 900, "prompt_cache_miss_tokens": 100,
                "completion_tokens_details": {"reasoning_tokens": 150},
            }),
            DEEPSEEK, 0.0001372,
        ),
        # Gemini: thoughts beside the candidates, both output; cached within the prompt.
        # 600 x 1.25 + 400 x 0.125 + (100 + 900) x 10 = 750 + 50 + 10000
        (
            "gemini",
            candidate(usageMetadata={
                "promptTokenCount": 1000, "candidatesTokenCount": 100, "thoughtsTokenCount": 900,
                "cachedContentTokenCount": 400, "totalTokenCount": 2000,
            }),
            GEMINI, 0.0108,
        ),
        # above 200,000 tokens everything costs more: 150000 x 2.5 + 100000 x 0.25 + 1000 x 15
        (
            "gemini",
            candidate(usageMetadata={
                "promptTokenCount": 250_000, "candidatesTokenCount": 1000,
                "cachedContentTokenCount": 100_000, "totalTokenCount": 251_000,
            }),
            GEMINI, 0.415,
        ),
        # Anthropic: what was read from a cache and put into one stands beside the input.
        # 50 x 3 + 100000 x 0.3 + 2000 x 3.75 + 500 x 15 = 150 + 30000 + 7500 + 7500
        (
            "anthropic",
            message(usage={
                "input_tokens": 50, "cache_read_input_tokens": 100_000,
                "cache_creation_input_tokens": 2000, "output_tokens": 500,
                "cache_creation": {"ephemeral_5m_input_tokens": 2000, "ephemeral_1h_input_tokens": 0},
            }),
            CLAUDE, 0.04515,
        ),
        # kept for an hour it costs another price, which is not known: null, not a guess
        (
            "anthropic",
            message(usage={
                "input_tokens": 50, "cache_creation_input_tokens": 2000, "output_tokens": 500,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 2000},
            }),
            CLAUDE, None,
        ),
        # nothing said: nothing known
        ("openai", completion(), OPENAI, None),
        ("gemini", candidate(), GEMINI, None),
    ],
)  # fmt: skip
def test_a_providers_counts_cost_what_its_page_says(
    adapter: str, body: dict[str, Any], price: Price, usd: float | None
) -> None:
    reply = get_adapter(adapter).read_reply(answer(body), provider(adapter))
    assert isinstance(reply, Reply)
    assert cost_usd(reply.usage, price) == (None if usd is None else pytest.approx(usd, rel=1e-12))


@pytest.mark.parametrize(("tokens", "rate"), [(0, 1.0), (100, 1.0), (101, 2.0), (1000, 2.0), (1001, 4.0)])
def test_the_highest_tier_that_is_exceeded_holds(tokens: int, rate: float) -> None:
    tiers = [{"above_input_tokens": 1000, "input": 4.0}, {"above_input_tokens": 100, "input": 2.0}]
    assert rates_of(Price.model_validate({"input": 1.0, "tiers": tiers}), tokens).input == rate


def test_a_tier_without_a_price_is_unknown_and_not_the_lower_one() -> None:
    price = Price.model_validate({"input": 1.0, "output": 1.0, "tiers": [{"above_input_tokens": 9}]})
    assert cost_usd(Usage(9, 1), price) == pytest.approx(1e-5)
    assert cost_usd(Usage(10, 1), price) is None


def test_what_is_put_into_a_cache_at_an_unknown_price_costs_nobody_knows_what() -> None:
    usage = Usage(100, 10, cache_write_tokens=50)
    assert cost_usd(usage, Price(input=1.0, output=1.0)) is None
    assert cost_usd(usage, Price(input=0.0, output=0.0)) == 0.0
