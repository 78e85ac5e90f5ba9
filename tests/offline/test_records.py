from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stored_run_builder import IMAGE, PRICE, SCALING, Built, Plan, answer, body, build, built_run, case

from harness.cache.rows import UnitId
from harness.messages import Usage
from harness.offline.export import COLUMNS
from harness.offline.records import RecordMaker
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import load_run
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.settings import Price

UNIT = UnitId("alpha", "both", "c1")
PLAN = Plan([case("c1", SCALING)], reformatter="helper", dropped_params=("temperature",))


async def records(built: Built, *, raw: bool = False) -> Sequence[Any]:
    stored = await load_run(built.store, built.run)
    replayer = Replayer(stored)
    maker = RecordMaker(stored, raw=raw)
    return [maker.record(one) async for one in replay_units(built.store, stored, replayer)]


async def test_a_record_has_every_field_and_the_exchange_behind_it(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await built.valid(UNIT, SCALING)
        [record] = await records(built)
    assert list(record) == list(COLUMNS)
    [exchange] = record.pop("exchanges")
    assert exchange == {
        "purpose": "answer",
        "attempt": 1,
        "send": 1,
        "key": "c1-alpha-1-answer-1",
        "used": True,
        "status": 200,
        "outcome": "answered",
        "finish_reason": "stop",
        "cached": False,
        "latency_s": 0.5,
        "usage": {"input_tokens": 100, "output_tokens": 10, "reasoning_tokens": None, "cached_tokens": None},
        "cost_usd": pytest.approx(120e-6),
        "text": answer(SCALING),
        "reasoning": None,
    }
    assert record["prompt"]["id"] == "triage-both-v1"
    assert record["schema"]["id"] == "triage-v1"
    assert record["media"] == [{"sha256": IMAGE, "mime": "image/png", "bytes": 100, "recipe": "original"}]
    assert (record["params"], record["dropped_params"]) == ({"max_tokens": 500}, ["temperature"])  # F15
    assert (record["outcome"], record["stage"], record["error"]) == ("valid", "attempt-1", None)
    assert record["prediction"] == json.loads(answer(SCALING))
    assert record["spent_usd"] == record["evidence_cost_usd"] == pytest.approx(120e-6)


async def test_a_unit_that_was_never_begun_has_a_record_without_evidence(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        [record] = await records(built)
    assert (record["outcome"], record["exchanges"], record["media"]) == ("not_attempted", [], [])
    assert record["error"] == {"kind": "not_attempted", "message": "not asked yet"}
    assert record["evidence_cost_usd"] == record["spent_usd"] == 0.0


async def test_three_bad_answers_keep_three_bodies_and_the_sum_of_their_usage(tmp_path: Path) -> None:  # F26
    async with built_run(tmp_path, PLAN) as built:
        texts = ["no", "still no", "never"]
        ids = await built.answers(UNIT, UnitOutcome.UNPARSABLE, *texts)
        request = {"messages": [{"role": "user", "content": "never"}]}
        again = await built.exchange(
            UNIT, body("nothing", tokens=(50, 5)), purpose="reformat", request=request, usage=Usage(50, 5)
        )
        links: Any = [*((id, "answer", n) for n, id in enumerate(ids, 1)), (again, "reformat", 1)]
        await built.finish(UNIT, UnitOutcome.UNPARSABLE, links, used=[ids[-1], again])
        [record] = await records(built)
    sends = record["exchanges"]
    assert [one["text"] for one in sends] == [*texts, "nothing"]
    assert [(one["purpose"], one["attempt"], one["used"]) for one in sends] == [
        ("answer", 1, False), ("answer", 2, False), ("answer", 3, True), ("reformat", 1, True),
    ]  # fmt: skip
    assert sum(one["usage"]["input_tokens"] for one in sends if one["purpose"] == "answer") == 300
    assert sends[3]["usage"]["input_tokens"] == 50
    assert record["evidence_cost_usd"] == pytest.approx(3 * 120e-6 + 60e-6)


async def test_failed_sends_are_listed_in_order_without_a_text(tmp_path: Path) -> None:  # F5
    async with built_run(tmp_path, PLAN) as built:
        busy: Any = {"status": 503, "outcome": ExchangeOutcome.UNAVAILABLE}
        ids = [await built.exchange(UNIT, b"busy", **busy) for _ in range(2)]
        ids.append(await built.exchange(UNIT, answer(SCALING)))
        await built.finish(UNIT, UnitOutcome.VALID, [(id, "answer", 1) for id in ids], used=ids[-1:])
        [record] = await records(built)
    sends = record["exchanges"]
    assert [(one["send"], one["status"], one["outcome"], one["text"]) for one in sends] == [
        (1, 503, "unavailable", None), (2, 503, "unavailable", None), (3, 200, "answered", answer(SCALING)),
    ]  # fmt: skip
    assert [one["cost_usd"] for one in sends[:2]] == [0.0, 0.0]


async def test_what_another_run_paid_for_is_evidence_but_not_spent(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN, name="first") as first:
        id = await first.valid(UNIT, SCALING)
        second = await build(first.store, replace(PLAN, attempts=2), name="second")
        await second.finish(UNIT, UnitOutcome.VALID, [(id, "answer", 1)], used=[id])
        [record] = await records(second)
    assert record["exchanges"][0]["cached"] is True
    assert (record["evidence_cost_usd"], record["spent_usd"]) == (pytest.approx(120e-6), 0.0)


async def test_an_unknown_price_is_null_and_never_zero(tmp_path: Path) -> None:
    async with built_run(tmp_path, replace(PLAN, price=Price(input=1.0))) as built:
        await built.valid(UNIT, SCALING)
        [record] = await records(built)
    assert (record["evidence_cost_usd"], record["spent_usd"]) == (None, None)
    assert record["exchanges"][0]["cost_usd"] is None


async def test_prices_are_those_of_the_session_that_paid(tmp_path: Path) -> None:
    from stored_run_builder import session_info

    async with built_run(tmp_path, PLAN) as built:
        await built.valid(UNIT, SCALING)
        dearer = replace(PLAN, price=Price(input=1000.0, output=1000.0))
        await built.store.start_session(built.run.id, session_info(dearer))
        [record] = await records(built)
    assert record["spent_usd"] == pytest.approx((100 * PRICE.input + 10 * PRICE.output) / 1e6)  # type: ignore[operator]


async def test_earlier_rounds_stay_in_the_record_and_in_the_cost(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await built.valid(UNIT, SCALING)
        after = await built.store.mark_again(built.run.id, [UNIT])
        new = await built.exchange(UNIT, answer())
        await built.finish(UNIT, UnitOutcome.VALID, [(new, "answer", 1)], used=[new], again_after=after)
        [record] = await records(built)
    assert [one["used"] for one in record["exchanges"]] == [False, True]
    assert record["spent_usd"] == pytest.approx(240e-6)


async def test_raw_adds_what_was_sent_and_what_came_back(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await built.valid(UNIT, SCALING)
        bad = await built.exchange(UNIT, b"\xff\x00", status=500, outcome=ExchangeOutcome.UNAVAILABLE)
        assert bad
        [record] = await records(built, raw=True)
    good, failed = record["exchanges"]
    assert json.loads(good["body"])["choices"][0]["message"]["content"] == answer(SCALING)
    assert good["headers"] == {"content-type": "application/json"}
    assert json.loads(good["request"])["messages"][0]["role"] == "user"
    assert failed["body"] == {"base64": "/wA="}
    assert failed["error"]
    assert good["error"] is None


@pytest.mark.parametrize("text", ["a\x00b", "lone \ud83d surrogate", "🦷", "x" * 200_000, "\u2028\u0085"])
async def test_whatever_a_model_writes_comes_out_identical(tmp_path: Path, text: str) -> None:  # F45
    async with built_run(tmp_path, replace(PLAN, reformatter=None)) as built:
        await built.answers(UNIT, UnitOutcome.UNPARSABLE, text, text, text)
        [record] = await records(built)
    assert [one["text"] for one in record["exchanges"]] == [text] * 3


async def test_reasoning_is_kept_apart_from_the_text(tmp_path: Path) -> None:  # F6
    async with built_run(tmp_path, PLAN) as built:
        await built.answers(UNIT, UnitOutcome.VALID, body(answer(SCALING), reasoning_content="let me see"))
        [record] = await records(built)
    [send] = record["exchanges"]
    assert (send["text"], send["reasoning"]) == (answer(SCALING), "let me see")
