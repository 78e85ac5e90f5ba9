"""The garbage collector during a session, and that exchanges leave it nothing to do."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from scripted_replies import CLOSE, RESET, Hang, Reply, chat_reply, half, status_reply
from scripted_server import ScriptedServer, closed_url

from harness.collecting import YOUNG, standing_objects_left_alone
from harness.messages import WireRequest
from harness.providers.transport import Transport
from harness.providers.transport_flight import Flight
from harness.settings import Model, Provider


@pytest.fixture
def nothing_collected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_the_collector_looks_seldom_while_units_are_asked_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with standing_objects_left_alone():
        assert gc.get_threshold() == (YOUNG, *before[1:])
        assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


async def send(transport: Transport, url: str) -> bool:
    """Send a request and tell whether it failed."""
    provider = Provider.model_validate({"name": "p", "adapter": "openai", "base_url": url})
    model = Model.model_validate({"name": "m", "model": "m", "provider": provider})
    sent = await transport.send(WireRequest("/x", {}), model, b"x" * 100_000, auth_headers={})
    return sent.fault is not None


def held() -> int:
    """Return how many requests are in memory, with their bodies."""
    return sum(isinstance(one, Flight) for one in gc.get_objects())


@pytest.mark.slow
@pytest.mark.parametrize("answer", [chat_reply("x"), status_reply(500), half(chat_reply("x")), RESET, CLOSE])
@pytest.mark.usefixtures("nothing_collected")
async def test_an_exchange_leaves_no_request_in_memory(answer: Reply | Hang) -> None:
    with ScriptedServer(lambda arrival: answer) as server:
        async with Transport() as transport:
            for _ in range(3):
                await send(transport, server.url)
            assert held() == 0


@pytest.mark.usefixtures("nothing_collected")
async def test_a_refused_connection_leaves_no_request_in_memory() -> None:
    async with Transport() as transport:
        assert await send(transport, closed_url())
        assert held() == 0
