"""What Anthropic's failure statuses mean, how long they ask to wait, and what its headers allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wire_doubles import answer, provider

from harness.messages import Fault, RawReply, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.limits import PoolLimits
from harness.pools.pacing import Pacer
from harness.providers.base import get_adapter, read
from harness.providers.limit_headers import LearnedLimits, limits_from_headers

ANTHROPIC = get_adapter("anthropic")
SHARED = Path(__file__).parents[3] / "shared" / "traffic"
RECORDED = sorted(SHARED.glob("anthropic__*.json"))
BAD, RATE = "invalid_request_error", "rate_limit_error"
MEANINGS = {
    "anthropic__err400-image-5mb": "bad_request",
    "anthropic__err400-prefill": "bad_request",
    "anthropic__err400-toolong": "context_length",
    "anthropic__err401-1": "auth",
    "anthropic__err404-1": "model_not_found",
    "anthropic__err429-input-tpm": "rate_limited",
    "anthropic__err503-text": "unavailable",
    "anthropic__err529-1": "unavailable",
    "anthropic__image-1": "answered",
    "anthropic__json-1": "answered",
    "anthropic__max_tokens-1": "truncated",
    "anthropic__refusal-1": "refused",
    "anthropic__text-1": "answered",
    "anthropic__thinking-1": "answered",
    "anthropic__tool-1": "empty",
}


def failed(status: int, kind: str, message: str = "", code: str | None = None, **headers: str) -> Any:
    said: dict[str, Any] = {"type": kind, "message": message}
    if code:
        said["details"] = {"error_code": code}
    body = {"type": "error", "error": said, "request_id": "req_1"}
    return ANTHROPIC.read_error(answer(body, status, **headers), provider("anthropic"))


@pytest.mark.skipif(not RECORDED, reason="the shared collection of exchanges is not here")
def test_every_recorded_exchange_means_what_it_is_said_to() -> None:
    found, waits = {}, set()
    for path in RECORDED:
        response = json.loads(path.read_text(encoding="utf-8"))["response"]
        raw = RawReply(response["status"], response["headers"], response["body"].encode())
        meaning = read(raw, provider("anthropic"))
        found[path.stem] = str(meaning.outcome)
        waits.add(meaning.wait_s if isinstance(meaning, Fault) else None)
    assert found == MEANINGS
    assert waits == {None}  # none of the recorded errors names a wait; a retry-after of a 200 is none


@pytest.mark.parametrize(
    ("status", "kind", "message", "outcome"),
    [
        (400, BAD, "max_tokens: Field required", "bad_request"),
        (400, BAD, "max_tokens: 90000 > 64000, which is the maximum allowed", "bad_request"),
        (400, BAD, "prompt is too long: 214315 tokens > 200000 maximum", "context_length"),
        (
            400,
            BAD,
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input "
            "length or `max_tokens` and try again",
            "context_length",
        ),
        (
            400,
            BAD,
            "messages.0.content.1.image.source.base64: image exceeds 10 MB maximum: 23045044 bytes > "
            "10485760 bytes",
            "bad_request",
        ),
        (
            400,
            BAD,
            "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max "
            "allowed size: 8000 pixels",
            "bad_request",
        ),
        (400, BAD, "Could not process image", "bad_request"),
        (400, BAD, "too many images and documents: 101 + 0 > 100", "unsupported_input"),
        (400, BAD, "Output blocked by content filtering policy", "filtered"),
        (
            400,
            BAD,
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing",
            "quota_exhausted",
        ),
        (
            400,
            BAD,
            "You have reached your specified workspace API usage limits. You will regain access on "
            "2026-12-01 at 00:00 UTC.",
            "quota_exhausted",
        ),
        (429, RATE, "You have reached your API usage limits: the threshold is crossed", "quota_exhausted"),
        (400, BAD, "This organization has been disabled.", "auth"),
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (402, "billing_error", "There is an issue with your billing", "quota_exhausted"),
        (403, "permission_error", "Your API key does not have permission", "auth"),
        (404, "not_found_error", "model: nope", "model_not_found"),
        (409, "conflict_error", "modified concurrently", "unknown"),
        (413, "request_too_large", "Request exceeds the maximum size", "unsupported_input"),
        (429, RATE, "Number of request tokens has exceeded your limit", "rate_limited"),
        (429, RATE, "Usage credits are required for long context requests.", "unsupported_input"),
        (500, "api_error", "Internal server error", "unavailable"),
        (503, "api_error", "Service unavailable", "unavailable"),
        (529, "overloaded_error", "Overloaded", "unavailable"),
        (499, "an_error_of_tomorrow", "?", "unknown"),
    ],
)
def test_each_kind_of_error_is_told_apart(status: int, kind: str, message: str, outcome: str) -> None:  # F22
    meaning = failed(status, kind, message)
    assert meaning.outcome == Outcome(outcome)
    assert isinstance(meaning, Reply) is (outcome == "filtered")


def test_a_request_that_timed_out_on_their_side_may_be_paid() -> None:
    fault = failed(504, "timeout_error", "The request timed out while processing.")
    assert (fault.outcome, fault.maybe_billed) == (Outcome.UNAVAILABLE, True)
    assert failed(529, "overloaded_error").maybe_billed is False


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "enforced_spend_limit_reached"),
        (429, "contract_spend_limit_reached"),
        (402, "linked_organization_spend_limit_reached"),
    ],
)
def test_a_limit_of_spending_is_no_wait_whatever_the_headers_say(status: int, code: str) -> None:  # F22
    reset = {"anthropic_ratelimit_requests_reset": "2026-11-30T00:00:09Z"}
    fault = failed(status, "rate_limit_error", "words that may change", code, **reset)
    assert (fault.outcome, fault.wait_s) == (Outcome.QUOTA_EXHAUSTED, None)


RESETS = {
    "date": "Mon, 30 Nov 2026 00:00:00 GMT",
    "anthropic_ratelimit_requests_remaining": "40",
    "anthropic_ratelimit_requests_reset": "2026-11-30T00:00:59Z",
    "anthropic_ratelimit_input_tokens_remaining": "0",
    "anthropic_ratelimit_input_tokens_reset": "2026-11-30T00:00:21Z",
    "anthropic_ratelimit_output_tokens_remaining": "8000",
    "anthropic_ratelimit_output_tokens_reset": "2026-11-30T00:00:01Z",
}


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [({"retry_after": "17", **RESETS}, 17.0), (RESETS, 21.0), ({}, None)],
)
def test_a_rate_limit_waits_as_told_else_until_its_tokens_are_back(
    headers: dict[str, str], wait_s: float | None
) -> None:  # F31
    fault = failed(429, "rate_limit_error", "would exceed the rate limit of 20,000 input tokens", **headers)
    assert (fault.outcome, fault.wait_s) == (Outcome.RATE_LIMITED, wait_s)


def test_an_overloaded_server_may_name_a_wait() -> None:
    assert failed(529, "overloaded_error", "Overloaded", retry_after="3").wait_s == 3.0


@pytest.mark.parametrize(
    ("headers", "limits"),
    [
        (
            {
                "anthropic-ratelimit-requests-limit": "4000",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2025-03-15T12:54:26Z",
                "anthropic-ratelimit-tokens-limit": "280000",
                "anthropic-ratelimit-input-tokens-limit": "200000",
                "anthropic-ratelimit-output-tokens-limit": "80000",
            },
            LearnedLimits(4000, 280_000, 200_000, 80_000),
        ),
        (
            {"anthropic-ratelimit-requests-limit": "5", "anthropic-ratelimit-tokens-limit": "10000"},
            LearnedLimits(5, 10_000, None, None),
        ),
        ({"anthropic-ratelimit-requests-limit": "soon", "x-ratelimit-limit-requests": "9"}, LearnedLimits()),
    ],
)
def test_input_and_output_tokens_are_limited_apart(headers: dict[str, str], limits: LearnedLimits) -> None:
    learned = limits_from_headers("anthropic", headers)
    assert learned == limits
    pacer = Pacer(PoolLimits(output_tokens_per_minute=70_000))
    pacer.learn(learned)
    assert pacer.limit("requests") == limits.requests_per_minute
    assert pacer.limit("input_tokens") == limits.input_tokens_per_minute
    assert pacer.limit("output_tokens") == 70_000  # never above what is configured
