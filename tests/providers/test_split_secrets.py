"""Keys that come back in pieces: what the pieces add up to holds none, and everything else stays."""  # F46

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from contract.dialects import dialect_of
from contract.test_contract_arrivals import streams
from scripted_server import ScriptedServer
from wire_doubles import ask, candidate, completion, message, message_events, named_events, provider

from harness.identity import build
from harness.messages import RawReply, Reply
from harness.providers.base import ADAPTERS, get_adapter, read
from harness.providers.encoding import mask_secrets
from harness.providers.reading import read_exchange
from harness.providers.secret_forms import MASK
from harness.providers.split_secrets import mask_pieces, may_be_split
from harness.providers.streams import is_event_stream
from harness.providers.transport import Transport
from harness.sending import Sender
from harness.settings import Model

KEY = "sk-0123456789abcdefghijkl"
TEXT = f"you were let in by {KEY}, as ever"


def _reply(adapter: str, body: bytes) -> Reply:
    meaning = read(RawReply(200, {}, body), provider(adapter))
    assert isinstance(meaning, Reply)
    return meaning


@pytest.mark.parametrize("text", [TEXT, f"{KEY} let me in"])
async def test_what_is_stored_of_a_streamed_key_holds_no_part_of_it(text: str) -> None:
    dialect = dialect_of("openai")
    with ScriptedServer(lambda arrival: dialect.streamed(dialect.events(text))) as server:
        account = provider("openai", base_url=server.url, api_key_env="K")
        asked = Model(name="m", model="m", provider=account, stream=True)
        async with Transport() as transport:
            sender = Sender(transport, {"K": KEY})
            exchange, meaning = await sender.send(asked, ask(), build(ask(), asked), pool="p")
    assert isinstance(meaning, Reply) and meaning.text == text.replace(KEY, MASK)
    assert exchange.masked and read_exchange(exchange, account) == meaning


@pytest.mark.parametrize("text", [TEXT, f"{KEY} let me in"])
@pytest.mark.parametrize("adapter", [name for name in ADAPTERS if streams(name)])
def test_a_streamed_key_is_masked_and_the_rest_is_what_it_was(adapter: str, text: str) -> None:
    body = b"".join(dialect_of(adapter).events(text))
    before = _reply(adapter, body)
    searched, masked = mask_secrets(body, [KEY])
    assert may_be_split(_reply(adapter, searched), searched, [KEY], masked=masked)
    joined, found = mask_pieces(body, [KEY])
    assert found and mask_pieces(joined, [KEY]) == (joined, False)
    joined, _ = mask_secrets(joined, [KEY])
    assert _reply(adapter, joined) == replace(before, text=before.text.replace(KEY, MASK))
    assert KEY not in _all_texts(joined)


def test_a_stream_without_a_key_keeps_its_bytes() -> None:
    body = b": hello\r\n" + b"".join(dialect_of("openai").events("nothing here")).replace(b"\n", b"\r\n")
    assert mask_pieces(body, [KEY]) == (body, False)
    assert not may_be_split(_reply("openai", body), body, [KEY], masked=False)


def test_a_stream_that_came_to_nothing_is_searched_too() -> None:
    events = message_events(message(TEXT))
    body = named_events(events[:-2])
    fault = get_adapter("anthropic").read_reply(RawReply(200, {}, body), provider("anthropic"))
    assert is_event_stream(body) and may_be_split(fault, body, [KEY], masked=False)
    masked, found = mask_pieces(body, [KEY])
    assert found and KEY not in _all_texts(masked)


def _all_texts(body: bytes) -> str:
    """Return all strings of a stream's events that are words, after each other."""
    lines = [line for line in body.split(b"\n") if line.startswith(b"data:") and b"[DONE]" not in line]
    found: list[str] = []
    for line in lines:
        _add_texts(json.loads(line[5:]), found)
    return "".join(found)


def _add_texts(value: Any, found: list[str]) -> None:
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, str) and name in {"text", "content", "delta"}:
            found.append(inner)
        elif isinstance(inner, dict | list):
            _add_texts(inner, found)


def _halves(key: str) -> Iterable[str]:
    return key[:11], key[11:]


@pytest.mark.parametrize("adapter", ["openai", "gemini", "anthropic"])
def test_a_key_in_two_parts_of_one_message_is_masked(adapter: str) -> None:
    parts = [{"type": "text", "text": part} for part in _halves(KEY)]
    whole = {
        "openai": lambda: completion({"content": parts}),
        "gemini": lambda: candidate([{"text": part} for part in _halves(KEY)]),
        "anthropic": lambda: message(parts),
    }[adapter]()
    body = json.dumps(whole).encode()
    assert may_be_split(_reply(adapter, body), body, [KEY], masked=False)
    masked, found = mask_pieces(body, [KEY])
    assert found and _reply(adapter, masked).text == MASK


def test_thoughts_and_answer_are_not_joined() -> None:
    thought, answer = _halves(KEY)
    parts = [{"text": thought, "thought": True}, {"text": answer}]
    body = json.dumps(candidate(parts)).encode()
    assert mask_pieces(body, [KEY]) == (body, False)


def test_what_is_nested_without_end_is_searched_as_well() -> None:
    deep = b'{"a":' * 400 + b'["%s","%s"]' % (KEY[:9].encode(), KEY[9:].encode()) + b"}" * 400
    masked, found = mask_pieces(deep, [KEY])
    assert found and MASK.encode() in masked
