"""What tokens cost: exact arithmetic on known prices, None wherever anything is unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from harness.canonical import JSON
from harness.messages import Usage
from harness.settings import Model, Price, Rates

OUTPUT_LIMIT_PARAMS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Names under which a request may limit its output, the neutral one first."""

_MILLION = 1_000_000


def cost_usd(usage: Usage, price: Price) -> float | None:
    """Return US dollars for the tokens of one exchange; None when a price or a count is unknown.

    Cached input tokens cost `cached_input` where that is known, else the full input price (never less
    than what is billed). Tokens put into a cache cost `cache_write`, which is more than the input price:
    where it is unknown, so is what they cost, as it is of those kept for long. A long request is priced as a
    whole by the tier that it reaches. A price of 0 costs 0 however many tokens there were.
    """
    rates = rates_of(price, usage.input_tokens or 0)
    whole = usage.input_tokens or 0
    cached = min(usage.cached_tokens or 0, whole)
    written = min(usage.cache_write_tokens or 0, whole - cached)
    long = min(usage.long_write_tokens or 0, written)
    fresh = None if usage.input_tokens is None else whole - cached - written
    counts = (
        (fresh, rates.input),
        (cached, rates.input if rates.cached_input is None else rates.cached_input),
        (written - long, write_rate(rates)),
        (long, 0.0 if rates.input == 0 else None),
        (usage.output_tokens, rates.output),
    )
    return total_usd(part_usd(*count) for count in counts)


def rates_of(price: Price, input_tokens: int) -> Rates:
    """Return the rates of a request with so many input tokens: of the highest tier that they exceed.

    Google prices every token of a request by its length ("Gemini Developer API pricing": prompts <= 200k
    tokens, prompts > 200k tokens), and so do Anthropic, OpenAI and xAI.
    """
    if not price.tiers:
        return price
    reached = [tier for tier in price.tiers if input_tokens > tier.above_input_tokens]
    return max(reached, key=lambda tier: tier.above_input_tokens, default=price)


def write_rate(rates: Rates) -> float | None:
    """Return what a token costs that is put into a cache; None where only the input price is known."""
    return 0.0 if rates.cache_write is None and rates.input == 0 else rates.cache_write


def send_cost_usd(usage: Usage, price: Price, *, serves: bool, maybe_billed: bool) -> float | None:
    """Return US dollars for one send, failed ones included.

    A provider bills no error: a failed send without token counts costs 0, unless the request may have
    been worked on (`maybe_billed`): then nobody knows, and the answer is None.
    """
    counted = usage.input_tokens is not None or usage.output_tokens is not None
    if not serves and not maybe_billed and not counted:
        return 0.0
    return cost_usd(usage, price)


def reserve_usd(model: Model, input_tokens: int, params: Mapping[str, JSON]) -> float | None:
    """Return the most that one ask may cost, in US dollars: the input estimate plus its output limit.

    The output limit is the request's own, else the model's `max_output_tokens`. None when there is
    neither, or no price: such an ask cannot be held to a budget. Input that the provider is asked to keep
    (`cache_control`) is taken to cost what keeping it does.
    """
    rates = rates_of(model.price, input_tokens)
    each = rates.input
    if "cache_control" in params and each is not None:
        dearer = write_rate(rates)
        each = None if dearer is None else max(each, dearer)
    return total_usd((part_usd(input_tokens, each), part_usd(output_limit(model, params), rates.output)))


def output_limit(model: Model, params: Mapping[str, JSON]) -> int | None:
    """Return the most tokens that one answer may have; None when nothing limits it."""
    for name in OUTPUT_LIMIT_PARAMS:
        value = params.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return model.max_output_tokens


def total_usd(parts: Iterable[float | None]) -> float | None:
    """Return the sum, or None if any part is unknown."""
    known: list[float] = []
    for part in parts:
        if part is None:
            return None
        known.append(part)
    return math.fsum(known)


def part_usd(tokens: int | None, usd_per_million: float | None) -> float | None:
    """Return US dollars for one kind of tokens; None when price or count is unknown, 0 where either is 0."""
    if usd_per_million == 0 or tokens == 0:
        return 0.0
    if tokens is None or usd_per_million is None:
        return None
    return tokens * usd_per_million / _MILLION
