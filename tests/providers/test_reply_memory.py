"""Long answers share a bounded room: those beyond it give up, the usual ones go on."""

from __future__ import annotations

import asyncio
import resource

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, huge_reply
from scripted_server import ScriptedServer

from harness import address_space
from harness.messages import WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers import reply_memory as module
from harness.providers.reply_memory import FREE_BYTES, MOST_BYTES, ReplyMemory, reply_memory
from harness.providers.transport import Sent, Transport
from harness.settings import Model, Provider

MIB = 1 << 20


def test_the_first_bytes_of_every_answer_are_free_and_all_else_is_counted() -> None:
    memory = ReplyMemory(most=100)
    assert memory.take(0, FREE_BYTES) and memory.held == 0
    assert memory.take(FREE_BYTES - 10, 70) and memory.held == 60
    assert not memory.take(FREE_BYTES, 41) and memory.held == 60
    assert memory.take(0, FREE_BYTES + 40) and memory.held == 100
    memory.give_back(FREE_BYTES + 60)
    memory.give_back(FREE_BYTES + 40)
    memory.give_back(10)
    assert memory.held == 0


def test_half_of_what_ulimit_leaves_is_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_space, "left", lambda: 60 * MIB)
    assert reply_memory().most == 30 * MIB
    monkeypatch.setattr(address_space, "left", lambda: 0)
    assert reply_memory().most == 0
    for plenty in (None, 10**12):
        monkeypatch.setattr(address_space, "left", lambda plenty=plenty: plenty)
        assert module.reply_memory().most == MOST_BYTES


def test_what_is_left_is_the_limit_less_what_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert address_space.left() is None
    most = 1 << 50
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (most, most))
    left = address_space.left()
    assert left is not None and most - (1 << 44) < left < most - 10 * MIB
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (MIB, MIB))
    assert address_space.left() == 0


async def test_long_answers_beyond_the_room_keep_their_start_and_let_the_others_be_read() -> None:
    def script(arrival: Arrival) -> Behaviour:
        return huge_reply(3 * MIB) if "long" in arrival.text else chat_reply("fine")

    provider = Provider(name="p", adapter="openai", base_url="http://127.0.0.1:9/v1")
    model = Model(name="m", model="m", provider=provider)
    memory = ReplyMemory(most=3 * MIB)
    with ScriptedServer(script) as server:
        async with Transport(memory=memory) as transport:

            async def ask(what: str) -> Sent:
                body = f'{{"messages": [{{"role": "user", "content": "{what}"}}]}}'.encode()
                wire = WireRequest("/chat/completions", {})
                return await transport.send(wire, model, body, auth_headers={}, base_url=f"{server.url}/v1")

            memory.held = 2 * MIB  # as if another were being read
            long, short = await asyncio.gather(ask("long"), ask("short"))
            assert memory.held == 2 * MIB
            memory.held = 0
            later = await ask("long")
    assert long.fault is not None and long.fault.outcome is ExchangeOutcome.UNKNOWN
    assert long.fault.maybe_billed and len(long.raw.body) == MIB
    assert "has no memory for the answer" in long.fault.message and "--max-in-flight" in long.fault.message
    assert short.fault is None and b"fine" in short.raw.body
    assert later.fault is None and len(later.raw.body) == 3 * MIB
    assert memory.held == 0
