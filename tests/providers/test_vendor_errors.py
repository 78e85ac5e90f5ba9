"""What the catalogue says of vendors' error bodies that no adapter could know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.config import load_config
from harness.messages import Fault, RawReply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.base import read


@pytest.mark.parametrize(
    ("vendor", "status", "message", "outcome"),
    [
        ("groq", 498, "Flex tier capacity exceeded", Outcome.UNAVAILABLE),
        ("fireworks", 412, "Account acme is suspended, possibly due to reaching the spending limit",
         Outcome.QUOTA_EXHAUSTED),
        ("fireworks", 402, "Payment Required", Outcome.QUOTA_EXHAUSTED),
        ("openrouter", 403, "Your chosen model requires moderation and your input was flagged",
         Outcome.FILTERED),
        ("openrouter", 403, "Request blocked by a guardrail of your workspace", Outcome.FILTERED),
        ("openrouter", 403, "Request blocked: prompt injection patterns detected", Outcome.FILTERED),
        ("openrouter", 403, "You have no permission for this", Outcome.AUTH),
        ("openrouter", 403, "The guardrail service could not be reached", Outcome.AUTH),
        ("openrouter", 403, "The model is not on the allowlist of this key's guardrail", Outcome.AUTH),
        ("openrouter", 403, "Guardrail budget exceeded for this key", Outcome.QUOTA_EXHAUSTED),
        ("openrouter", 403, "The moderation endpoint did not answer", Outcome.AUTH),
        ("openrouter", 503, "No provider meets your routing requirements", Outcome.UNAVAILABLE),
    ],
)  # fmt: skip
def test_a_vendors_error_is_read_as_its_page_says(
    tmp_path: Path, vendor: str, status: int, message: str, outcome: Outcome
) -> None:
    provider = load_config(cwd=tmp_path).provider(vendor)
    body = json.dumps({"error": {"message": message, "code": status}}).encode()
    meaning = read(RawReply(status, {"content-type": "application/json"}, body), provider)
    assert meaning.outcome is outcome
    assert isinstance(meaning, Fault) is not outcome.serves
