"""What a stored exchange means: the same function for the run and for every later replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.cache.key import names_sent
from harness.cache.rows import NewExchange
from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome
from harness.providers.base import read
from harness.settings import Provider


def read_exchange(exchange: NewExchange, provider: Provider) -> Reply | Fault:
    """Return what an exchange means, by its raw answer; by its stored fault where no whole answer came.

    A cut answer is never read again: what arrived of it might look whole.
    """
    if _is_whole(exchange):
        meaning = read(exchange.raw, provider, adapter=exchange.adapter)
        return with_names(meaning, names_sent(exchange.request))
    return Fault(
        exchange.outcome,
        exchange.error or str(exchange.outcome),
        maybe_billed=exchange.maybe_billed,
        usage=exchange.usage,
    )


def with_names(meaning: Reply | Fault, names: Mapping[str, str] | None) -> Reply | Fault:
    """Return what an exchange means, with the aliases under which its keys were asked for."""
    return replace(meaning, names=names) if names and isinstance(meaning, Reply) else meaning


def _is_whole(exchange: NewExchange) -> bool:
    if exchange.raw.status == 0:
        return False
    if not 200 <= exchange.raw.status < 300:
        return True
    cut = exchange.outcome is ExchangeOutcome.MALFORMED_REPLY and exchange.maybe_billed
    return not cut and exchange.outcome is not ExchangeOutcome.TIMEOUT
