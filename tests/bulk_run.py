"""Fills a built run with many units at once: the rows that a sweep leaves, written in large groups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import insert
from stored_run_builder import EXTRACTION, FILLING, IMAGE, SCALING, Built, Plan, answer, body, case

from harness.benchmarks.base import Case
from harness.benchmarks.prompts import render
from harness.benchmarks.registry import get_benchmark
from harness.cache.exchange_rows import make_row
from harness.cache.rows import Link, NewExchange, UnitId, UnitState
from harness.cache.tables import EXCHANGE, UNIT, UNIT_EXCHANGE
from harness.cache.unit_rows import link_rows, state_row
from harness.canonical import canonical_json
from harness.messages import Purpose, RawReply, Usage
from harness.outcomes import ExchangeOutcome, UnitOutcome

REFORMATTER = "rewriter"
MODELS = ("alpha", "beta", "gamma", "delta")
TRUTHS: Sequence[Sequence[str]] = ((SCALING,), (SCALING, FILLING), (EXTRACTION,), (), (FILLING, EXTRACTION))
_REASONING = "The complaint and the radiograph together suggest {} findings in the {} quadrant. "
_GROUP = 2_000
_USED = {"unavailable": 0, "reformatted": 2, "unparsable": 2}
"""Kind of story -> how many of its last exchanges the outcome rests on, where that is not one."""


@dataclass(frozen=True)
class _Ask:
    purpose: Purpose
    attempt: int
    text: str
    request: bytes


def bulk_plan(n_cases: int, models: Sequence[str] = MODELS, **changes: Any) -> Plan:
    """Return a plan of many cases whose truths and complaints differ."""
    return Plan([bulk_case(place) for place in range(n_cases)], models, reformatter=REFORMATTER, **changes)


def bulk_case(place: int) -> Case:
    complaint = f"Patient {place}: it hurts when I bite, since {place % 9} weeks."
    return case(f"case-{place:06d}", *TRUTHS[place % len(TRUTHS)], complaint=complaint)


def kind_of(unit: UnitId) -> str:
    """Return which story a unit has: how its answers look, by its case's number and its model."""
    place = int(unit.case_id.removeprefix("case-")) + 7 * len(unit.model)
    match place % 100:
        case 0:
            return "reformatted"
        case 1:
            return "unparsable"
        case 2 | 3 | 4:
            return "fenced"
        case 5:
            return "second"
        case 6:
            return "unavailable"
        case _:
            return "valid"


OUTCOMES = {
    "reformatted": UnitOutcome.REFORMATTED,
    "unparsable": UnitOutcome.UNPARSABLE,
    "fenced": UnitOutcome.RECOVERED,
    "second": UnitOutcome.VALID,
    "unavailable": UnitOutcome.PROVIDER_ERROR,
    "valid": UnitOutcome.VALID,
}


async def fill(built: Built) -> int:
    """Write every unit that the plan wants; return the number of exchanges."""
    rows = _rows(built)
    last = 0
    while group := list(islice(rows, _GROUP)):
        exchanges = [row for unit in group for row in unit[0]]
        async with built.store._database.writing() as transaction:
            await transaction.connection.execute(insert(EXCHANGE), exchanges)
            await transaction.connection.execute(insert(UNIT), [unit[1] for unit in group])
            await transaction.connection.execute(
                insert(UNIT_EXCHANGE), [row for unit in group for row in unit[2]]
            )
        last = max(int(row["id"]) for row in exchanges)
    return last


def _rows(built: Built) -> Iterator[tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]]:
    plan, next_id = built.plan, 1
    for number, one in enumerate(plan.cases):
        for model in plan.models:
            for condition in plan.conditions:
                for repeat in range(1, plan.repeats + 1):
                    unit = UnitId(model, condition, one.id, repeat)
                    kind = kind_of(unit)
                    asks = list(_asks(unit, one, kind, number))
                    ids = range(next_id, next_id + len(asks))
                    next_id += len(asks)
                    exchanges = [
                        make_row(_exchange(unit, ask, kind), id=id, session=built.session)
                        for id, ask in zip(ids, asks, strict=True)
                    ]
                    used = ids[len(ids) - _USED.get(kind, 1) :]
                    links = tuple(
                        Link(id, ask.purpose, ask.attempt, used=id in used)
                        for id, ask in zip(ids, asks, strict=True)
                    )
                    error = "unavailable: overloaded" if kind == "unavailable" else None
                    state = UnitState(unit, OUTCOMES[kind], error=error)
                    yield exchanges, state_row(built.run.id, state), link_rows(built.run.id, unit, links)


def _asks(unit: UnitId, one: Case, kind: str, number: int) -> Iterator[_Ask]:
    request = _request(one, unit.condition)
    reasoning = "".join(_REASONING.format(number % 7, word) for word in ("upper", "lower", "left")) * 2
    labels = TRUTHS[(number + len(unit.model)) % len(TRUTHS)]
    good = answer(*labels, reasoning=f"{number}. {reasoning}")
    bad = f"I would suggest {', '.join(labels) or 'no treatment'} for patient {number}. {reasoning}"
    match kind:
        case "valid" | "unavailable":
            yield _Ask("answer", 1, good, request)
        case "fenced":
            yield _Ask("answer", 1, f"Here is it:\n```json\n{good}\n```", request)
        case "second":
            yield _Ask("answer", 1, bad, request)
            yield _Ask("answer", 2, good, request)
        case _:
            for attempt in (1, 2, 3):
                yield _Ask("answer", attempt, bad, request)
            text = good if kind == "reformatted" else "cannot"
            yield _Ask("reformat", 1, text, canonical_json({"messages": [{"content": f"restate {bad}"}]}))


def _request(one: Case, condition: str) -> bytes:
    prompt = get_benchmark("triage").prompt(condition)
    text = render(prompt, {"chief_complaint": one.fields["chief_complaint"]})
    image = {"image_url": {"url": {"$media": [IMAGE, "original", 1], "prefix": "data:image/png;base64,"}}}
    content = [{"type": "text", "text": text}, {"type": "image_url", **image}]
    return canonical_json({"model": "m", "messages": [{"role": "user", "content": content}]})


def _exchange(unit: UnitId, ask: _Ask, kind: str) -> NewExchange:
    name = f"{unit.model}-{unit.case_id}-{unit.condition}-{unit.repeat}-{ask.purpose}-{ask.attempt}"
    failed = kind == "unavailable"
    raw = json.dumps({"error": {"message": "overloaded"}}).encode() if failed else body(ask.text)
    return NewExchange(
        key=f"{name:a>64}",
        twin=f"{name:b>64}",
        pool="lab",
        purpose=ask.purpose,
        attempt=ask.attempt,
        repeat=unit.repeat,
        provider="lab",
        endpoint="lab",
        model=f"{unit.model}-id",
        adapter="openai",
        wire_revision=1,
        request=ask.request,
        raw=RawReply(503 if failed else 200, {"content-type": "application/json", "x-id": name}, raw),
        outcome=ExchangeOutcome.UNAVAILABLE if failed else ExchangeOutcome.ANSWERED,
        started_at_us=1,
        total_s=0.5,
        usage=Usage() if failed else Usage(100, 10),
        error="overloaded" if failed else None,
        media_sent={IMAGE: IMAGE},
    )
