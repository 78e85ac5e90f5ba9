"""What answers with a failure status mean."""

from __future__ import annotations

from typing import Any

import pytest
from wire_doubles import answer, provider

from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome
from harness.providers.base import get_adapter
from harness.providers.openai import OpenAIAdapter

OPENAI, GEMINI = get_adapter("openai"), get_adapter("gemini")
HTML = "<!DOCTYPE html><html><title>Bad gateway</title></html>"


def chat(status: int, body: Any, **headers: str) -> Fault | Reply:
    return OPENAI.read_error(answer(body, status, **headers), provider("openai"))


def error(message: str = "", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def google_quota(quota_id: str | None, delay: str | None) -> dict[str, Any]:
    details: list[Any] = []
    if quota_id:
        details.append({"@type": "x/google.rpc.QuotaFailure", "violations": [{"quotaId": quota_id}]})
    if delay:
        details.append({"@type": "x/google.rpc.RetryInfo", "retryDelay": delay})
    message = "You exceeded your current quota, please check your plan and billing details."
    return error(message, code=429, status="RESOURCE_EXHAUSTED", details=details)


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (429, error("slow down", code="rate_limit_exceeded"), "rate_limited"),
        (429, "", "rate_limited"),
        (429, error("The engine is currently overloaded", type="engine_overloaded_error"), "unavailable"),
        (500, error("boom"), "unavailable"),
        (503, "upstream connect error", "unavailable"),
        (529, error("Overloaded", type="overloaded_error"), "unavailable"),
        (502, HTML, "unavailable"),
        (403, HTML, "unavailable"),
        (500, error("EngineCore encountered an issue."), "unavailable"),
        (500, error("Cannot connect to host 127.0.0.1:9", type="InternalServerError"), "unavailable"),
        (401, {"error": "Unauthorized"}, "auth"),
        (401, HTML, "auth"),
        (403, error("not allowed", code="permission_denied"), "auth"),
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided."}, "auth"),
        (404, {"detail": "Not Found"}, "model_not_found"),
        (404, error("The model `nope` does not exist.", type="NotFoundError", code=404), "model_not_found"),
        (403, error("Project has no access", code="model_not_found"), "model_not_found"),
        (404, error("No endpoints found that support image input", code=404), "unsupported_input"),
        (400, error("At most 8 image(s) may be provided in one prompt."), "unsupported_input"),
        (413, error("Request too large for model `x` on tokens per minute (TPM)"), "unsupported_input"),
        (413, "<html><h1>413 Request Entity Too Large</h1></html>", "bad_request"),
        (413, "length limit exceeded", "bad_request"),
        (413, "", "bad_request"),
        (429, error("Request too large for gpt-4o: Limit 30000, Requested 40000"), "unsupported_input"),
        (400, error("x", code="context_length_exceeded"), "context_length"),
        (400, error("This model's maximum context length is 4096 tokens. However, ..."), "context_length"),
        (
            400,
            error("the request exceeds the available context size", type="exceed_context_size_error"),
            "context_length",
        ),
        (400, error("max_tokens=100000 cannot be greater than max_model_len=4096."), "bad_request"),
        (400, error("Failed to load image: cannot identify image file"), "bad_request"),
        (400, {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "bad_request"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
        (400, error("Unsupported parameter: 'stop'", code="unsupported_parameter"), "bad_request"),
        (402, error("pay"), "quota_exhausted"),
        (429, error("x", code="insufficient_quota"), "quota_exhausted"),
        (400, error("Your credit balance is too low to access the API."), "quota_exhausted"),
        (
            403,
            {"error": "Your team has either used all available credits or reached its spending limit."},
            "quota_exhausted",
        ),
        (
            400,
            error("please make sure your account is in good standing", code="Arrearage"),
            "quota_exhausted",
        ),
        (429, error("Rate limit exceeded: free-models-per-day"), "quota_exhausted"),
        (400, error("x", code="content_filter"), "filtered"),
        (403, {"code": "no permission", "error": "Content violates usage guidelines."}, "filtered"),
        (408, "", "timeout"),
        (418, error("teapot"), "unknown"),
        (302, "", "unknown"),
        (400, [error("API key not valid.", status="INVALID_ARGUMENT")], "auth"),
    ],
)
def test_errors_are_told_apart(status: int, body: Any, outcome: str) -> None:  # F21, F22
    assert chat(status, body).outcome == outcome


@pytest.mark.parametrize(
    ("body", "outcome", "wait_s"),
    [
        (google_quota("GenerateRequestsPerMinutePerProject", "34.4s"), "rate_limited", 34.4),
        (google_quota("GenerateRequestsPerMinutePerProject", None), "rate_limited", None),
        (google_quota("GenerateRequestsPerDayPerProject", "3s"), "quota_exhausted", None),
        (google_quota(None, "12s"), "rate_limited", 12.0),
        (google_quota(None, None), "quota_exhausted", None),
        (
            error("Resource exhausted. Try again later.", code=429, status="RESOURCE_EXHAUSTED"),
            "rate_limited",
            None,
        ),
    ],
)
def test_google_quotas_of_a_day_close_the_pool_and_those_of_a_minute_wait(
    body: Any, outcome: str, wait_s: float | None
) -> None:  # F22
    fault = GEMINI.read_error(answer(body, 429), provider("gemini"))
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.wait_s) == (outcome, wait_s)


@pytest.mark.parametrize(
    ("body", "headers", "wait_s"),
    [
        (error("x"), {"retry_after": "7"}, 7.0),
        (error("Please try again in 1m12s."), {}, 72.0),
        (error("Please try again in 4.6s."), {"retry_after": "1"}, 4.6),
        (error("x"), {"retry_after": "1", "retry_after_ms": "0"}, 1.0),
        (
            error("x"),
            {
                "x_ratelimit_remaining_requests": "0",
                "x_ratelimit_reset_requests": "6m0s",
                "x_ratelimit_remaining_tokens": "5",
                "x_ratelimit_reset_tokens": "174ms",
            },
            360.0,
        ),
        (
            error("x"),
            {
                "x_ratelimit_remaining_requests": "9",
                "x_ratelimit_reset_requests": "6m0s",
                "x_ratelimit_remaining_tokens": "5",
                "x_ratelimit_reset_tokens": "174ms",
            },
            0.174,
        ),
        (error("x"), {"retry_after": "21600"}, 21600.0),
        (error("x"), {}, None),
    ],
)
def test_a_rate_limit_says_how_long_to_wait_in_full(  # F31, F51
    body: Any, headers: dict[str, str], wait_s: float | None
) -> None:
    fault = chat(429, body, **headers)
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.wait_s) == (ExchangeOutcome.RATE_LIMITED, wait_s)


def test_an_overloaded_server_may_name_a_wait_too() -> None:
    fault = chat(503, error("overloaded"), retry_after="2")
    assert isinstance(fault, Fault)
    assert fault.wait_s == 2.0


def test_dates_count_from_the_answers_own_clock() -> None:
    adapter = OpenAIAdapter(now_s=lambda: 0.0)
    date, later = "Sun, 29 Nov 2026 10:00:00 GMT", "Sun, 29 Nov 2026 10:00:30 GMT"
    fault = adapter.read_error(answer("", 429, date=date, retry_after=later), provider("openai"))
    assert isinstance(fault, Fault)
    assert fault.wait_s == 30.0


def test_a_400_made_of_the_models_own_output_is_its_answer() -> None:
    body = error("Tool call validation failed", code="tool_use_failed", failed_generation='{"labels": []}')
    reply = chat(400, body)
    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.text) == (ExchangeOutcome.ANSWERED, '{"labels": []}')


def test_a_block_tells_the_providers_own_words_and_no_text() -> None:  # F5
    reply = chat(400, error("The prompt was filtered.", code="content_filter"))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.detail) == ("", "The prompt was filtered.")


def test_a_gateway_timeout_may_have_been_paid() -> None:
    fault = chat(504, HTML)
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.maybe_billed) == (ExchangeOutcome.UNAVAILABLE, True)
    assert chat(408, "") == Fault(ExchangeOutcome.TIMEOUT, "status 408 without a word", maybe_billed=True)


@pytest.mark.parametrize(
    ("rule", "status", "body", "outcome"),
    [
        ({"code": "house_limit"}, 429, error("x", code="house_limit"), "quota_exhausted"),
        ({"message": "GO AWAY"}, 400, error("please go away"), "quota_exhausted"),
        ({"status": 418}, 418, "", "quota_exhausted"),
        ({"status": 429, "code": "house_limit"}, 429, error("x", code="other"), "rate_limited"),
        ({}, 418, "", "unknown"),
    ],
)
def test_the_providers_own_rules_come_first(
    rule: dict[str, Any], status: int, body: Any, outcome: str
) -> None:
    own = provider("openai", errors={"quota_exhausted": [rule]})
    assert OPENAI.read_error(answer(body, status), own).outcome == outcome


def test_an_openrouter_wait_until_a_moment_in_milliseconds_is_read() -> None:
    adapter = OpenAIAdapter(now_s=lambda: 1_790_000_000.0)
    raw = answer(error("Rate limit exceeded: free-models-per-day"), 429, x_ratelimit_reset="1790003600000")
    fault = adapter.read_error(raw, provider("openai"))
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.wait_s) == (ExchangeOutcome.QUOTA_EXHAUSTED, 3600.0)


def test_a_redirect_says_where_to_and_what_to_do_without_what_may_be_secret() -> None:
    place = "https://user:pa55@new.example:8443/v2/chat?key=s3cret#part"
    fault = chat(307, HTML, location=place)
    assert isinstance(fault, Fault) and fault.outcome is ExchangeOutcome.UNKNOWN
    assert "'https://new.example:8443/v2/chat'" in fault.message and "base_url" in fault.message
    assert not any(secret in fault.message for secret in ("pa55", "s3cret"))  # F46
