"""Made-up exchanges for the store's tests."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cache.rows import NewExchange
from harness.cache.store import Store
from harness.canonical import sha256_hex
from harness.messages import RawReply, Usage
from harness.outcomes import ExchangeOutcome

TABLES = (
    "run", "session", "exchange", "served", "unit", "unit_exchange", "record", "unit_score", "scored_run",
    "row_units", "blob", "media",
    "media_place", "grade", "grading",
)  # fmt: skip


def dump(path: Path) -> dict[str, list[Any]]:
    """Return every row of every table of a store's file, claims apart."""
    with sqlite3.connect(path) as database:
        found = {name: sorted(database.execute(f"SELECT * FROM {name}"), key=repr) for name in TABLES}
    database.close()
    return found


def a_key(name: object) -> str:
    return sha256_hex(str(name).encode())


def an_exchange(name: object = "one", **changes: Any) -> NewExchange:
    """An answered exchange whose key comes from its name."""
    exchange = NewExchange(
        key=a_key(name),
        twin=a_key(f"twin of {name}"),
        pool="lab",
        purpose="answer",
        attempt=1,
        repeat=1,
        provider="lab",
        endpoint="lab-vllm",
        model="some/model",
        adapter="openai",
        wire_revision=1,
        request=b'{"messages":[]}',
        raw=RawReply(200, {"content-type": "application/json"}, f'{{"text":"{name}"}}'.encode()),
        outcome=ExchangeOutcome.ANSWERED,
        started_at_us=1_700_000_000_000_000,
        total_s=1.25,
        first_byte_s=0.5,
        served_model="some/model-0101",
        usage=Usage(10, 20, 5, 0),
    )
    return replace(exchange, **changes)


async def a_session(store: Store, name: str | None = None, digest: str = "a" * 64) -> tuple[int, int]:
    """Return the ids of a run and a session."""
    run = await store.save_run(name, digest, "triage", {"cases": 3})
    return run.id, await store.start_session(run.id, {"version": "0"})
