"""Recorded provider exchanges: our own few, and the shared collection where it is at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wire_doubles import provider

from harness.messages import Fault, RawReply
from harness.outcomes import ExchangeOutcome
from harness.providers.base import read

OWN = Path(__file__).parents[1] / "fixtures" / "exchanges"
SHARED = Path(__file__).parents[3] / "shared" / "traffic"

OUTCOMES = {
    "auth": "auth",
    "bad_model_output": "answered",
    "bad_request": "bad_request",
    "content_filter": "filtered",
    "context_length": "context_length",
    "empty": "empty",
    "empty_truncated": "truncated",
    "gateway_text": "unavailable",
    "html_error": "unavailable",
    "image": "answered",
    "in_body_error": "unavailable",
    "invalid_image": "bad_request",
    "json": "answered",
    "model_not_found": "model_not_found",
    "quota_exhausted": "quota_exhausted",
    "rate_limit": "rate_limited",
    "reasoning": "answered",
    "refusal": "refused",
    "server_error": "unavailable",
    "server_overloaded": "unavailable",
    "text": "answered",
    "tool_call": "empty",
    "truncated": "truncated",
    "unsupported_parameter": "bad_request",
}
EXCEPTIONS = {
    "openrouter__err404-noimage": "unsupported_input",  # the model takes no image, whichever it is
    "openai-chat__image-1": "truncated",  # an image question whose answer was cut at 16 tokens
    "vllm__tool-2": "answered",  # a tool call with text beside it
}


def kind_of(path: Path) -> str:
    """Return the format of a shared exchange: by where it was sent, else by its provider's usual one."""
    url = str((json.loads(path.read_text(encoding="utf-8"))["request"] or {}).get("url"))
    if url.endswith("/responses") or path.name.startswith("openai-responses__"):
        return "openai-responses"
    vendor = path.name.partition("__")[0]
    return vendor if vendor in ("gemini", "anthropic") else "openai"


def raw_of(exchange: dict[str, Any]) -> RawReply:
    response = exchange["response"]
    headers = {name.lower(): value for name, value in response["headers"].items()}
    return RawReply(response["status"], headers, response["body"].encode("utf-8", "surrogatepass"))


SHARED_FILES = sorted(SHARED.glob("*.json"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared collection of exchanges is not here")
def test_every_shared_exchange_means_what_it_is_said_to() -> None:
    found, wanted = {}, {}
    for path in SHARED_FILES:
        exchange = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = str(read(raw_of(exchange), provider(kind_of(path))).outcome)
        wanted[path.stem] = EXCEPTIONS.get(path.stem, OUTCOMES[exchange["situation"]])
    assert found == wanted
    assert len(found) > 95


@pytest.mark.parametrize("path", sorted(OWN.glob("*.json")), ids=lambda path: path.stem)
def test_our_own_exchanges_mean_what_they_are_said_to(path: Path) -> None:
    exchange = json.loads(path.read_text(encoding="utf-8"))
    meaning = read(raw_of(exchange), provider(exchange["adapter"]))
    assert meaning.outcome == ExchangeOutcome(exchange["outcome"])
    if isinstance(meaning, Fault):
        assert meaning.wait_s == exchange.get("wait_s")
    else:
        assert meaning.text == exchange.get("text", "")


def test_there_are_own_exchanges_for_every_format() -> None:
    kinds = {json.loads(path.read_text(encoding="utf-8"))["adapter"] for path in OWN.glob("*.json")}
    assert kinds == {"openai", "openai-responses", "gemini", "anthropic"}
