"""How an exchange and a unit can end."""

from __future__ import annotations

from enum import StrEnum


class ExchangeOutcome(StrEnum):
    """What one HTTP round trip meant. The first five serve later asks, errors never do."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FILTERED = "filtered"
    TRUNCATED = "truncated"
    EMPTY = "empty"

    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    CONNECTION = "connection"
    MALFORMED_REPLY = "malformed_reply"
    TIMEOUT = "timeout"
    BAD_REQUEST = "bad_request"
    CONTEXT_LENGTH = "context_length"
    UNSUPPORTED_INPUT = "unsupported_input"
    QUOTA_EXHAUSTED = "quota_exhausted"
    AUTH = "auth"
    MODEL_NOT_FOUND = "model_not_found"
    UNKNOWN = "unknown"

    @property
    def serves(self) -> bool:
        """True if a stored exchange with this outcome answers later asks of the same key."""
        return self in _SERVING


_SERVING = frozenset(
    {
        ExchangeOutcome.ANSWERED,
        ExchangeOutcome.REFUSED,
        ExchangeOutcome.FILTERED,
        ExchangeOutcome.TRUNCATED,
        ExchangeOutcome.EMPTY,
    }
)


def is_answer(outcome: ExchangeOutcome, served_model: str | None) -> bool:
    """Return whether a model answered in an exchange: what a filter stopped may name none."""
    return outcome.serves and (served_model is not None or outcome is not ExchangeOutcome.FILTERED)


class UnitOutcome(StrEnum):
    """How one unit (case x condition x model x repeat) ended."""

    VALID = "valid"
    RECOVERED = "recovered"
    REFORMATTED = "reformatted"

    UNPARSABLE = "unparsable"
    REFUSED = "refused"
    FILTERED = "filtered"
    TRUNCATED = "truncated"
    EMPTY = "empty"

    REJECTED = "rejected"
    PROVIDER_ERROR = "provider_error"
    NOT_ATTEMPTED = "not_attempted"
    NOT_APPLICABLE = "not_applicable"
    CASE_ERROR = "case_error"
    GAP = "gap"


USABLE = frozenset({UnitOutcome.VALID, UnitOutcome.RECOVERED, UnitOutcome.REFORMATTED})
"""Outcomes with a prediction."""

UNUSABLE = frozenset(
    {
        UnitOutcome.UNPARSABLE,
        UnitOutcome.REFUSED,
        UnitOutcome.FILTERED,
        UnitOutcome.TRUNCATED,
        UnitOutcome.EMPTY,
    }
)
"""The model's own failures: worst value in the `as answered` reading."""

INCOMPLETE = frozenset(
    {
        UnitOutcome.REJECTED,
        UnitOutcome.PROVIDER_ERROR,
        UnitOutcome.NOT_ATTEMPTED,
        UnitOutcome.GAP,
    }
)
"""Nobody's answer: in neither reading, and the model is incomplete and unranked."""

ASKED_AGAIN_ON_RESUME = frozenset(
    {
        UnitOutcome.REJECTED,
        UnitOutcome.PROVIDER_ERROR,
        UnitOutcome.NOT_ATTEMPTED,
        UnitOutcome.GAP,
        UnitOutcome.CASE_ERROR,
    }
)
"""Unit outcomes that the same `run` tries again without `--again`.

`case_error` is looked at again because a file may have come back; it costs nothing.
"""

SHOWN_AS_FAILED = frozenset(INCOMPLETE | {UnitOutcome.CASE_ERROR})
"""Outcomes that make a run end with exit code 3."""
