"""An answer that was paid for is kept, even if this machine has no memory to read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.invariants import read_store
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import case_number, harness, records, right_answer, run_args, write_cases, write_config

from harness import sending
from harness.cache import exchanges
from harness.cache.rows import NewExchange
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
    assert (exchange.raw.status, exchange.maybe_billed) == (200, True)
    assert exchange.raw.body == (b"" if step == "mask_secrets" else chat_reply("fine").body)  # never unmasked
    assert "ran out of memory" in str(exchange.error)


def test_an_answer_that_the_store_has_no_memory_for_is_cut_and_takes_no_other_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F40
    make_row = exchanges.make_row

    def short_of_memory(exchange: NewExchange, **ids: int) -> dict[str, object]:
        if len(exchange.raw.body) > 1 << 20:
            raise MemoryError
        return make_row(exchange, **ids)

    monkeypatch.setattr(exchanges, "make_row", short_of_memory)
    write_cases(tmp_path / "data", 8)

    def script(arrival: Arrival) -> Reply:
        return chat_reply("y" * (2 << 20)) if case_number(arrival) == 3 else right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path))
        assert done.code == 3, done.err
        assert len(server.arrivals) == 8
    by_case = {record["case_id"]: record for record in records(tmp_path, raw=True)}
    cut = by_case.pop("c003")
    assert cut["outcome"] == "provider_error" and "only the start is kept" in done.err
    assert {record["outcome"] for record in by_case.values()} == {"valid"} and len(by_case) == 7
    (exchange,) = read_store(tmp_path / "store.sqlite3").exchanges["m", 3]
    assert exchange.data.outcome == "unknown" and "only the start is kept" in str(exchange.data.error)
    assert exchange.data.maybe_billed and exchange.data.raw.body.startswith(b'{"id"')
    assert len(exchange.data.raw.body) == 1 << 20
