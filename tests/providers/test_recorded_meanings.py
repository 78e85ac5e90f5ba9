"""Every exchange of the shared collection means what `fixtures/recorded_meanings.jsonl` says of it.

One line a file, each looked at by hand against the table of outcomes: `adapter`, `situation` (the word of the
collection), `outcome`; of a fault `wait_s`, `billed`, `code` and how its message begins (`says`); of a reply
`finish`, `chars` (length of its text), `output_tokens` and `detail`. `note` says why, where the outcome
is not what the situation alone would make one expect.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from store_examples import a_key, a_session, an_exchange
from wire_doubles import provider

from harness.cache.store import Store
from harness.messages import Fault, RawReply, Reply
from harness.providers.base import read
from harness.providers.reading import read_exchange

SHARED = Path(__file__).parents[3] / "shared" / "traffic"
TABLE = Path(__file__).parents[1] / "fixtures" / "recorded_meanings.jsonl"
MEANINGS = [json.loads(line) for line in TABLE.read_text("utf-8").splitlines()]
HERE = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared collection of exchanges is not here")

USUAL = {
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
"""What each situation comes to; a file of which this is not so has a note."""


def recorded(stem: str) -> tuple[str, RawReply]:
    """Return the situation and the raw answer of a file."""
    exchange = json.loads((SHARED / f"{stem}.json").read_text(encoding="utf-8"))
    response = exchange["response"]
    headers = {name.lower(): value for name, value in response["headers"].items()}
    body = response["body"].encode("utf-8", "surrogatepass")
    return exchange["situation"], RawReply(response["status"], headers, body)


def facts(meaning: Fault | Reply) -> dict[str, Any]:
    """Return what a line of the table says of a meaning."""
    if isinstance(meaning, Fault):
        said = {"code": meaning.code, "says": meaning.message[:60]}
        return {"outcome": meaning.outcome, "wait_s": meaning.wait_s, "billed": meaning.maybe_billed, **said}
    return {
        "outcome": meaning.outcome,
        "finish": meaning.finish_reason,
        "chars": len(meaning.text),
        "output_tokens": meaning.usage.output_tokens,
        "detail": meaning.detail and meaning.detail[:60],
    }


def expected(line: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that a line states, its defaults filled in."""
    rest = {key: value for key, value in line.items() if key not in ("file", "adapter", "situation", "note")}
    return {"wait_s": None, "billed": False, **rest} if "says" in line else {"detail": None, **rest}


@HERE
def test_every_file_has_a_stated_meaning_and_every_meaning_its_file() -> None:
    assert sorted(line["file"] for line in MEANINGS) == sorted(path.stem for path in SHARED.glob("*.json"))
    assert len(MEANINGS) > 110


@pytest.mark.parametrize("line", MEANINGS, ids=lambda line: line["file"])
def test_an_outcome_is_that_of_its_situation_or_a_note_says_why(line: dict[str, Any]) -> None:
    assert line["outcome"] == USUAL[line["situation"]] or len(line["note"]) > 20


@HERE
@pytest.mark.parametrize("line", MEANINGS, ids=lambda line: line["file"])
def test_a_file_means_what_is_stated(line: dict[str, Any]) -> None:  # F6, F7, F21, F22, F31
    situation, raw = recorded(line["file"])
    assert situation == line["situation"]
    assert facts(read(raw, provider(line["adapter"]))) == expected(line)


@HERE
async def test_a_stored_exchange_means_the_same(tmp_path: Path) -> None:  # F6
    async with await Store.open(f"sqlite+aiosqlite:///{tmp_path / 'store.sqlite3'}") as store:
        _, session = await a_session(store)
        for line in MEANINGS:
            own = provider(line["adapter"])
            _, raw = recorded(line["file"])
            meaning = read(raw, own)
            fault = meaning if isinstance(meaning, Fault) else None
            exchange = an_exchange(
                line["file"],
                adapter=line["adapter"],
                raw=raw,
                outcome=meaning.outcome,
                usage=meaning.usage,
                maybe_billed=fault is not None and fault.maybe_billed,
                error=fault and fault.message,
            )
            stored = await store.exchange(
                await store.append(exchange, session=session, serve=meaning.outcome.serves)
            )
            assert stored is not None and stored.data.raw == raw
            assert read_exchange(stored.data, own) == meaning, line["file"]
        serving = {line["file"] for line in MEANINGS if "says" not in line}
        served = await store.served(a_key(line["file"]) for line in MEANINGS)
        assert {exchange.data.key for exchange in served.values()} == {a_key(name) for name in serving}
