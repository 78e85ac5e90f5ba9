"""Our own recorded and hand-written exchanges, a few of each format."""

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


def raw_of(exchange: dict[str, Any]) -> RawReply:
    response = exchange["response"]
    headers = {name.lower(): value for name, value in response["headers"].items()}
    return RawReply(response["status"], headers, response["body"].encode("utf-8", "surrogatepass"))


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
