"""What a pool may do, what it is called, and how it stands at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from harness.outcomes import ExchangeOutcome
from harness.settings import Model


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """What a pool may do; limits per minute are None where none is known.

    `max_in_flight` is start and ceiling of the requests in flight; None lets them adapt from 16.
    `most_in_flight` is what this machine allows, a ceiling only.
    `max_wait_s`: longest time without a success, and longest single wait. `max_sends` is per ask.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    input_tokens_per_minute: float | None = None
    output_tokens_per_minute: float | None = None
    max_in_flight: int | None = None
    max_wait_s: float = 600.0
    max_sends: int = 4
    most_in_flight: int | None = None

    @classmethod
    def of(
        cls, model: Model, max_wait_s: float = 600.0, max_in_flight_override: int | None = None
    ) -> PoolLimits:
        """Return the limits of a model's settings; an override replaces its `max_in_flight`."""
        return cls(
            requests_per_minute=model.requests_per_minute,
            tokens_per_minute=model.tokens_per_minute,
            input_tokens_per_minute=model.input_tokens_per_minute,
            output_tokens_per_minute=model.output_tokens_per_minute,
            max_in_flight=model.max_in_flight if max_in_flight_override is None else max_in_flight_override,
            max_wait_s=max_wait_s,
            max_sends=model.max_sends,
        )

    def tightened(self, other: PoolLimits) -> PoolLimits:
        """Return the limits of a pool that two models share: the lower of each."""
        return PoolLimits(
            *(_lower(getattr(self, one.name), getattr(other, one.name)) for one in fields(PoolLimits))
        )


def _lower(one: float | None, other: float | None) -> Any:
    known = [value for value in (one, other) if value is not None]
    return min(known) if known else None


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """A pool at one moment, for progress lines; waits in seconds from that moment.

    `waiting` stand in the queue, `backing_off` sleep before a retry (by reason in `backing_off_for`).
    `failures` and `ok` count reported exchanges, by outcome; `last_messages` is what was said of each kind
    of failure last. `retries` all back-offs so far.
    """

    name: str
    in_flight: int
    limit: int
    waiting: int
    backing_off: int
    backing_off_for: Mapping[str, int]
    retries: int
    held_until_s: float | None
    held_why: str | None
    closed: str | None
    closed_until_s: float | None
    connected: bool
    sends: int
    ok: int
    failures: Mapping[ExchangeOutcome, int]
    last_messages: Mapping[ExchangeOutcome, str]


def pool_name(model: Model) -> str:
    """Return the name of a model's pool: provider, key variable, model id and endpoint."""
    provider = model.provider
    endpoint = provider.endpoint or _without_credentials(provider.base_url)
    return f"{provider.name}/{provider.api_key_env or 'no-key'}/{model.model}@{endpoint}"


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/") if host else parts.path
