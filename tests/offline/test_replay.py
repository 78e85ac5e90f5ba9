from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from stored_run_builder import EXTRACTION, FILLING, SCALING, Built, Plan, answer, body, built_run, case

from harness.cache.rows import Link, UnitId
from harness.messages import RawReply
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import load_run
from harness.outcomes import ExchangeOutcome, UnitOutcome

UNIT = UnitId("alpha", "both", "c1")
PLAN = Plan([case("c1", SCALING)], reformatter="helper")


@pytest.fixture
async def built(tmp_path: Path) -> AsyncIterator[Built]:
    async with built_run(tmp_path, PLAN) as one:
        yield one


async def replayed(built: Built) -> dict[UnitId, ReplayedUnit]:
    stored = await load_run(built.store, built.run)
    return {one.unit: one async for one in replay_units(built.store, stored, Replayer(stored))}


async def result(built: Built, unit: UnitId = UNIT) -> Any:
    return (await replayed(built))[unit].result


def quoting(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"Restate:\n{text}\nEnd."}]}


def restated(*labels: str) -> str:
    return json.dumps({"triage_output": json.loads(answer(*labels))["triage_output"]})


async def test_a_valid_answer_reads_as_it_did(built: Built) -> None:
    await built.valid(UNIT, SCALING)
    found = (await replayed(built))[UNIT]
    assert (found.result.outcome, found.result.stage) == (UnitOutcome.VALID, "attempt-1")
    assert found.result.prediction == json.loads(answer(SCALING))
    assert found.text == answer(SCALING)
    assert not found.changed


@pytest.mark.parametrize(
    ("raw", "outcome"),
    [
        (body(None, finish="length"), UnitOutcome.TRUNCATED),
        (body(None), UnitOutcome.EMPTY),
        (body(""), UnitOutcome.EMPTY),
        (body(None, refusal="I will not"), UnitOutcome.REFUSED),
        (body("", finish="content_filter"), UnitOutcome.FILTERED),
        (body("Failed to obtain answer"), UnitOutcome.UNPARSABLE),
    ],
)
async def test_each_way_of_not_answering_keeps_its_own_outcome(  # F5 F6
    tmp_path: Path, raw: bytes, outcome: UnitOutcome
) -> None:
    async with built_run(tmp_path, replace(PLAN, attempts=1, reformatter=None)) as built:
        await built.answers(UNIT, outcome, raw)
        found = (await replayed(built))[UNIT]
    assert found.result.outcome is outcome
    assert found.result.prediction is None
    assert not found.changed


async def test_reasoning_is_no_answer(built: Built) -> None:  # F6
    raw = body(None, finish="length", reasoning_content=answer(SCALING))
    ids = await built.answers(UNIT, UnitOutcome.TRUNCATED, raw, raw, raw)
    found = (await replayed(built))[UNIT]
    assert (found.result.outcome, found.result.prediction, found.text) == (UnitOutcome.TRUNCATED, None, "")
    assert [ask.exchange_id for ask in found.result.asks] == ids


async def test_a_200_that_holds_an_error_is_nobodys_answer(built: Built) -> None:  # F5
    raw = b'{"error": {"message": "overloaded", "code": 503}}'
    id = await built.exchange(UNIT, raw, outcome=ExchangeOutcome.UNAVAILABLE)
    await built.finish(UNIT, UnitOutcome.PROVIDER_ERROR, [(id, "answer", 1)], error="unavailable: overloaded")
    found = (await replayed(built))[UNIT].result
    assert found.outcome is UnitOutcome.PROVIDER_ERROR
    assert found.prediction is None


async def test_the_reformatters_answer_is_read_filled_and_listed(built: Built) -> None:
    prose = "I would take out the tooth: Exodontia."
    ids = await built.answers(UNIT, UnitOutcome.REFORMATTED, prose, prose, prose)
    partly = json.dumps({"triage_output": {"OMFS": {EXTRACTION: 1}}})
    again = await built.exchange(UNIT, partly, purpose="reformat", request=quoting(prose))
    links = [*((id, "answer", n) for n, id in enumerate(ids, 1)), (again, "reformat", 1)]
    await built.finish(UNIT, UnitOutcome.REFORMATTED, links, used=[ids[-1], again])  # type: ignore[arg-type]
    found = (await replayed(built))[UNIT]
    assert (found.result.outcome, found.result.stage) == (UnitOutcome.REFORMATTED, "reformatter")
    assert found.result.prediction["triage_output"]["OMFS"][EXTRACTION] == 1  # type: ignore[index,call-overload]
    assert len(found.result.filled_keys) == 22
    assert found.result.unsupported == ()
    assert not found.changed


async def test_a_digit_or_a_word_from_the_reformatter_is_never_a_label(built: Built) -> None:  # F12
    prose = "Something else."
    ids = await built.answers(UNIT, UnitOutcome.UNPARSABLE, prose, prose, prose)
    again = await built.exchange(UNIT, "1, contains Exodontia: 1", purpose="reformat", request=quoting(prose))
    links = [*((id, "answer", n) for n, id in enumerate(ids, 1)), (again, "reformat", 1)]
    await built.finish(UNIT, UnitOutcome.UNPARSABLE, links, used=[ids[-1], again])  # type: ignore[arg-type]
    found = await result(built)
    assert (found.outcome, found.prediction) == (UnitOutcome.UNPARSABLE, None)
    assert found.error.kind.startswith("reformatter_")


async def test_a_reformat_of_another_answer_is_a_gap(built: Built) -> None:
    ids = await built.answers(UNIT, UnitOutcome.REFORMATTED, "first", "second", "third")
    again = await built.exchange(UNIT, restated(SCALING), purpose="reformat", request=quoting("other"))
    links = [*((id, "answer", n) for n, id in enumerate(ids, 1)), (again, "reformat", 1)]
    await built.finish(UNIT, UnitOutcome.REFORMATTED, links, used=[ids[-1], again])  # type: ignore[arg-type]
    assert (await result(built)).outcome is UnitOutcome.GAP


async def test_a_unit_that_was_never_begun_is_not_attempted(built: Built) -> None:  # F14
    found = (await replayed(built))[UNIT]
    assert found.result.outcome is UnitOutcome.NOT_ATTEMPTED
    assert found.state is None


async def test_a_unit_marked_to_be_asked_again_is_not_attempted(built: Built) -> None:
    id = await built.valid(UNIT, SCALING)
    await built.store.mark_again(built.run.id, [UNIT])
    assert id
    found = (await replayed(built))[UNIT]
    assert found.result.outcome is UnitOutcome.NOT_ATTEMPTED
    assert len(found.links) == 1


async def test_exchanges_of_earlier_rounds_are_linked_but_not_read(built: Built) -> None:
    old = await built.valid(UNIT, SCALING)
    after = await built.store.mark_again(built.run.id, [UNIT])
    new = await built.exchange(UNIT, answer(FILLING))
    await built.finish(UNIT, UnitOutcome.VALID, [(new, "answer", 1)], used=[new], again_after=after)
    found = (await replayed(built))[UNIT]
    assert found.result.prediction == json.loads(answer(FILLING))
    assert [exchange.id for _, exchange in found.links] == [old, new]
    assert not found.changed


async def test_an_answer_of_an_earlier_round_never_stands_in_for_a_failed_new_one(built: Built) -> None:
    await built.valid(UNIT, SCALING)
    after = await built.store.mark_again(built.run.id, [UNIT])
    new = await built.exchange(UNIT, b"busy", status=503, outcome=ExchangeOutcome.UNAVAILABLE)
    links: Any = [(new, "answer", 1)]
    await built.finish(UNIT, UnitOutcome.PROVIDER_ERROR, links, error="unavailable: busy", again_after=after)
    found = await result(built)
    assert (found.outcome, found.prediction) == (UnitOutcome.PROVIDER_ERROR, None)


async def test_the_latest_exchange_that_serves_is_read(built: Built) -> None:
    busy: Any = {"status": 503, "outcome": ExchangeOutcome.UNAVAILABLE}
    older = await built.exchange(UNIT, answer(FILLING))
    good = await built.exchange(UNIT, answer(SCALING))
    late = await built.exchange(UNIT, b"busy", **busy)
    links: Any = [(id, "answer", 1) for id in (older, good, late)]
    await built.finish(UNIT, UnitOutcome.VALID, links, used=[good])
    found = await result(built)
    assert (found.outcome, found.used[0].exchange_id) == (UnitOutcome.VALID, good)


async def test_a_closed_pool_is_remembered_where_the_exchange_cannot_tell(built: Built) -> None:  # F14
    id = await built.exchange(UNIT, b"busy", status=503, outcome=ExchangeOutcome.UNAVAILABLE)
    await built.finish(
        UNIT, UnitOutcome.NOT_ATTEMPTED, [(id, "answer", 1)], error="not_attempted: the pool is closed"
    )
    found = await result(built)
    assert (found.outcome, found.error.message) == (UnitOutcome.NOT_ATTEMPTED, "the pool is closed")


async def test_a_failure_that_reads_differently_today_counts_as_what_it_is_today(built: Built) -> None:
    raw = json.dumps({"error": {"code": "context_length_exceeded", "message": "too long"}}).encode()
    id = await built.exchange(UNIT, raw, status=400, outcome=ExchangeOutcome.BAD_REQUEST)
    await built.finish(UNIT, UnitOutcome.REJECTED, [(id, "answer", 1)], error="bad_request: too long")
    found = (await replayed(built))[UNIT]
    assert found.result.outcome is UnitOutcome.NOT_APPLICABLE
    assert found.changed


async def test_an_answer_followed_by_a_closed_pool_stays_not_attempted(built: Built) -> None:
    id = await built.exchange(UNIT, "no json")
    await built.finish(UNIT, UnitOutcome.NOT_ATTEMPTED, [(id, "answer", 1)], error="not_attempted: quota")
    assert (await result(built)).outcome is UnitOutcome.NOT_ATTEMPTED


async def test_an_answer_that_needs_an_ask_nobody_made_is_a_gap(built: Built) -> None:
    await built.answers(UNIT, UnitOutcome.VALID, "an answer that a laxer parser took")
    found = (await replayed(built))[UNIT]
    assert found.result.outcome is UnitOutcome.GAP
    assert found.changed


@pytest.mark.parametrize("outcome", [UnitOutcome.CASE_ERROR, UnitOutcome.NOT_APPLICABLE])
async def test_what_was_never_sent_keeps_its_outcome(built: Built, outcome: UnitOutcome) -> None:
    await built.finish(UNIT, outcome, error="media: the file is no image")
    found = await result(built)
    assert (found.outcome, found.error.kind) == (outcome, "media")
    assert found.error.message == "the file is no image"


async def test_an_attempt_that_a_better_parser_accepts_leaves_the_later_ones_unused(built: Built) -> None:
    await built.answers(UNIT, UnitOutcome.VALID, f"Here: {answer(SCALING)}", "no", answer(FILLING))
    found = (await replayed(built))[UNIT]
    assert (found.result.outcome, found.result.stage) == (UnitOutcome.RECOVERED, "attempt-1")
    assert found.result.prediction == json.loads(answer(SCALING))
    assert len(found.links) == 3
    assert found.changed


async def test_a_change_of_stage_alone_is_a_change(built: Built) -> None:
    await built.answers(UNIT, UnitOutcome.VALID, answer(SCALING), "no", answer(FILLING))
    found = (await replayed(built))[UNIT]
    assert found.result.outcome is UnitOutcome.VALID
    assert found.changed


async def test_no_answer_arrived_reads_as_the_stored_fault(built: Built) -> None:
    id = await built.exchange(
        UNIT, b"", status=0, outcome=ExchangeOutcome.TIMEOUT, raw=RawReply(0, {}, b""), maybe_billed=True
    )
    await built.finish(UNIT, UnitOutcome.PROVIDER_ERROR, [(id, "answer", 1)])
    found = await result(built)
    assert (found.outcome, found.error.kind) == (UnitOutcome.PROVIDER_ERROR, "timeout")


async def test_one_poisoned_answer_does_not_end_the_replay(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> None:
        raise RecursionError

    await built.valid(UNIT, SCALING)
    monkeypatch.setattr("harness.answers.readings.extract", explode)
    found = await result(built)
    assert (found.outcome, found.error.kind) == (UnitOutcome.PROVIDER_ERROR, "internal")


async def test_every_wanted_unit_comes_once_and_rows_stay_together(tmp_path: Path) -> None:
    plan = Plan(
        [case("c1"), case("c2"), case("c10")],
        models=("beta", "alpha"),
        conditions=("both", "complaint"),
        repeats=2,
    )
    async with built_run(tmp_path, plan) as built:
        await built.valid(UnitId("beta", "both", "c10", 2))
        await built.valid(UnitId("alpha", "complaint", "c1", 1))
        stored = await load_run(built.store, built.run)
        units = [one.unit async for one in replay_units(built.store, stored, Replayer(stored))]
    assert len(units) == len(set(units)) == 3 * 2 * 2 * 2
    rows = [(unit.model, unit.condition) for unit in units]
    assert len(list(dict.fromkeys(rows))) == 1 + sum(a != b for a, b in pairwise(rows))


async def test_links_of_a_reformat_ask_do_not_answer_an_attempt(built: Built) -> None:  # F11
    id = await built.exchange(UNIT, answer(SCALING), purpose="reformat")
    await built.store.finish_unit(built.run.id, _state(UnitOutcome.VALID), [Link(id, "reformat", 1, True)])
    assert (await result(built)).outcome is UnitOutcome.GAP


def _state(outcome: UnitOutcome) -> Any:
    from harness.cache.rows import UnitState

    return UnitState(UNIT, outcome)
