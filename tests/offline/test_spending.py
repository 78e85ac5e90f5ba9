"""What a session without an end spent, from its exchanges and the prices that are kept with it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stored_run_builder import SCALING, Built, Plan, answer, body, build, built_run, case, session_info
from sweep_kit import harness

from harness.budget import Spending
from harness.cache.rows import UnitId
from harness.messages import Usage
from harness.offline.spending import spent_by_model
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.settings import IMPORTED, Price

UNIT = UnitId("alpha", "both", "c1")
OTHER = UnitId("beta", "both", "c1")
PLAN = Plan([case("c1", SCALING)], models=("alpha", "beta"), reformatter="helper")


async def spent(built: Built, session: int | None = None) -> Mapping[str, Spending]:
    sessions = await built.store.sessions(built.run.id)
    (one,) = [one for one in sessions if one.id == (session or built.session)]
    return await spent_by_model(built.store, built.run, one, sessions)


async def test_every_send_counts_once_under_its_model_or_its_reformatter(tmp_path: Path) -> None:
    busy: Any = {"status": 503, "outcome": ExchangeOutcome.UNAVAILABLE}
    async with built_run(tmp_path, PLAN) as built:
        await built.exchange(UNIT, b"busy", **busy)
        shared = await built.exchange(UNIT, "no")
        await built.finish(OTHER, None, [(shared, "answer", 1)])
        await built.exchange(OTHER, answer(SCALING))
        await built.exchange(UNIT, body("nothing", tokens=(50, 5)), purpose="reformat")
        assert await spent(built) == {
            "alpha": Spending(pytest.approx(120e-6), 2),
            "beta": Spending(pytest.approx(120e-6), 1),
            "helper": Spending(pytest.approx(60e-6), 1),
        }


async def test_only_what_the_session_itself_paid_for_counts(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        id = await built.exchange(UNIT, answer(SCALING))
        second = await build(built.store, replace(PLAN, attempts=2), name="second")
        await second.finish(UNIT, UnitOutcome.VALID, [(id, "answer", 1)], used=[id])
        await second.exchange(OTHER, answer(SCALING), adapter=IMPORTED)  # somebody else paid for it
        assert await spent(second) == {}
        assert list(await spent(built)) == ["alpha"]


async def test_the_prices_are_those_of_the_session_with_their_tiers(tmp_path: Path) -> None:
    tiers = [{"above_input_tokens": 99, "input": 10.0, "output": 20.0}]
    tiered = Price.model_validate({"input": 1.0, "output": 2.0, "tiers": tiers})
    async with built_run(tmp_path, replace(PLAN, price=tiered)) as built:
        await built.exchange(UNIT, answer(SCALING))
        dearer = replace(PLAN, price=Price(input=1000.0, output=1000.0))
        later = await built.store.start_session(built.run.id, session_info(dearer))
        await built.exchange(UNIT, answer(SCALING), session=later)
        assert (await spent(built))["alpha"].usd == pytest.approx(1200e-6)
        assert (await spent(built, later))["alpha"].usd == pytest.approx(0.11)


async def test_what_was_put_into_a_cache_is_read_from_the_stored_answer(tmp_path: Path) -> None:
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 1000, "output_tokens": 10}
    text = [{"type": "text", "text": answer(SCALING)}]
    message = {"type": "message", "role": "assistant", "model": "m", "content": text, "usage": usage}
    data = json.dumps(message | {"stop_reason": "end_turn"}).encode()
    plan = replace(PLAN, price=Price(input=1.0, output=2.0, cache_write=4.0))
    async with built_run(tmp_path, plan) as built:
        await built.exchange(UNIT, data, adapter="anthropic", usage=Usage(1100, 10))
        assert (await spent(built))["alpha"].usd == pytest.approx((100 + 4 * 1000 + 2 * 10) / 1e6)


async def test_what_nobody_knows_is_counted_as_unknown(tmp_path: Path) -> None:
    broken: Any = {"status": 0, "outcome": ExchangeOutcome.CONNECTION, "maybe_billed": True}
    async with built_run(tmp_path, PLAN) as built:
        await built.exchange(UNIT, answer(SCALING))
        await built.exchange(UNIT, None, **broken)
        await built.exchange(OTHER, answer(SCALING), link=False, model="whose")
        found = await spent(built)
    assert found == {
        "alpha": Spending(pytest.approx(120e-6), 2, 1, unbounded=1),
        "whose": Spending(0.0, 1, 1, unbounded=1),
    }
    assert found["alpha"].to_json()["usd"] is None


def test_status_says_which_session_it_could_not_count(tmp_path: Path) -> None:
    async def kept() -> None:
        async with built_run(tmp_path, PLAN) as built:
            await built.exchange(UNIT, answer(SCALING))

    asyncio.run(kept())
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as database:
        database.execute("update exchange set body = x'00'")
        database.commit()
    facts = harness("status", "latest", "--json", "--store", tmp_path / "store.sqlite3").json
    assert facts["spent"] == {"models": [], "from_exchanges": [], "uncounted": [1]}
    [session] = facts["sessions"]
    assert (session["counted"], session["spent_usd"]) == (None, None)
    done = harness("status", "latest", "--store", tmp_path / "store.sqlite3")
    assert done.code == 0 and "not counted: what session 1 spent" in done.out
    assert "exchange 1 is damaged" in done.err
