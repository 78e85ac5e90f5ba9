"""An answer that was paid for is kept, even if this machine has no memory to read it."""

from __future__ import annotations

import pytest
from scripted_replies import chat_reply
from scripted_server import ScriptedServer

from harness import sending
from harness.identity import build
from harness.messages import Fault, Message, Request, TextPart
from harness.outcomes import ExchangeOutcome
from harness.providers.transport import Transport
from harness.sending import Sender
from harness.settings import Model, Provider


def run_short(*arguments: object) -> None:
    raise MemoryError


@pytest.mark.parametrize("step", ["mask_secrets", "read"])
async def test_an_answer_that_cannot_be_read_for_want_of_memory_is_still_an_exchange(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # F26
    with ScriptedServer(lambda arrival: chat_reply("fine")) as server:
        provider = Provider(name="p", adapter="openai", base_url=f"{server.url}/v1")
        model = Model(name="m", model="m", provider=provider)
        request = Request((Message("user", (TextPart("hello"),)),))
        async with Transport() as transport:
            monkeypatch.setattr(sending, step, run_short)
            sender = Sender(transport, {"K": "a-secret-key"})
            exchange, meaning = await sender.send(model, request, build(request, model), pool="p")
    assert isinstance(meaning, Fault) and meaning.outcome is ExchangeOutcome.UNKNOWN
    assert (exchange.raw.status, exchange.raw.body, exchange.maybe_billed) == (200, b"", True)
    assert "ran out of memory" in str(exchange.error)
