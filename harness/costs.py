"""What tokens cost: exact arithmetic on known prices, None wherever anything is unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from harness.canonical import JSON
from harness.messages import Usage
from harness.settings import Model, Price

OUTPUT_LIMIT_PARAMS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Names under which a request may limit its output, the neutral one first."""

_MILLION = 1_000_000


def cost_usd(usage: Usage, price: Price) -> float | None:
    """Return US dollars for the tokens of one exchange; None when a price or a count is unknown.

    Cached input tokens cost `cached_input` where that is known, else the full input price (never less
    than what is billed). A price of 0 costs 0 however many tokens there were.
    """
    cached = min(usage.cached_tokens or 0, usage.input_tokens or 0)
    fresh = None if usage.input_tokens is None else usage.input_tokens - cached
    cached_price = price.input if price.cached_input is None else price.cached_input
    counts = (fresh, price.input), (cached, cached_price), (usage.output_tokens, price.output)
    return total_usd(part_usd(*count) for count in counts)


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
    neither, or no price: such an ask cannot be held to a budget.
    """
    output_tokens = output_limit(model, params)
    return total_usd((part_usd(input_tokens, model.price.input), part_usd(output_tokens, model.price.output)))


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
