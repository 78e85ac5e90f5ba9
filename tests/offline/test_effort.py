"""What a run's answers took: equal to the sums over its exported records, on runs that were really asked."""

from __future__ import annotations

import asyncio
import json
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bulk_run import bulk_plan, fill
from scripted_replies import CLOSE, Arrival, Behaviour, chat_reply, status_reply
from scripted_server import ScriptedServer
from step_examples import SECRET, answering, ready_source, step_args, with_small_judge
from store_examples import an_exchange
from stored_run_builder import SCALING, Built, Plan, answer, build, built_run, case
from sweep_kit import (
    answer_text,
    case_number,
    harness,
    labels_of,
    records,
    run_args,
    write_cases,
    write_config,
)

from harness.cache.key import wire_document
from harness.cache.rows import Exchange, UnitId
from harness.cache.store import Store
from harness.canonical import canonical_json
from harness.messages import Message, Request, Schema, TextPart, Usage
from harness.offline.asked_with import CONTENT, sent_fields
from harness.offline.effort import Effort
from harness.offline.effort_sums import TOKENS, Dollars, latency_json
from harness.offline.export import read_jsonl
from harness.offline.records import RecordMaker
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import load_run
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.providers.base import ADAPTERS, get_adapter
from harness.settings import Model, Price, Provider


async def of_store(store: Store, ref: str = "latest") -> Any:
    """Return a run's effort, through JSON as it will be stored."""
    stored = await load_run(store, await store.find_run(ref))
    effort, replayer = Effort(stored), Replayer(stored)
    async for replayed in replay_units(store, stored, replayer):
        effort.note(replayed)
    return json.loads(json.dumps(effort.to_json(), allow_nan=False))


def effort_of(path: Path, ref: str = "latest") -> Any:
    async def inside() -> Any:
        async with await Store.open(str(path), create=False) as store:
            return await of_store(store, ref)

    return asyncio.run(inside())


def total(values: Sequence[float | None]) -> float | None:
    return None if None in values else math.fsum(value for value in values if value is not None)


def check_sends(found: Any, sends: Sequence[Any], *, own: bool = True) -> None:
    """Compare the sums of sends with the `exchanges` of records."""
    answered = [one for one in sends if one["text"] is not None]
    assert (found["sends"], found["answered"]) == (len(sends), len(answered))
    assert found["asks"] == sum(one["send"] == 1 for one in sends)
    assert found["cached_sends"] == sum(one["cached"] for one in sends)
    assert found["faults"] == Counter(one["outcome"] for one in sends if one["text"] is None)
    for kind in TOKENS:
        told = [one["usage"][kind] for one in sends if one["usage"][kind] is not None]
        assert found["tokens_told"][kind] == len(told)
        assert found[kind] == (sum(told) if told or not answered else None)
    untold = [one for one in answered if None in [one["usage"][kind] for kind in TOKENS[:2]]]
    assert found["tokens_unknown"] == len(untold)
    costs = [one["cost_usd"] for one in sends]
    assert found["cost_unknown"] == costs.count(None)
    assert found["known_evidence_usd"] == math.fsum(cost for cost in costs if cost is not None)
    paid = [one["cost_usd"] for one in sends if not one["cached"]]
    assert found["spent_unknown"] == paid.count(None)
    assert found["known_spent_usd"] == math.fsum(cost for cost in paid if cost is not None)
    if own:
        check_latency(found["latency_s"], answered)


def check_latency(found: Any, answered: Sequence[Any]) -> None:
    seconds = [one["latency_s"] for one in answered if one["latency_s"] is not None]
    assert found["n"] == len(seconds)
    if not seconds:
        assert set(found.values()) == {0, None}
        return
    assert found["mean"] == math.fsum(seconds) / len(seconds)
    assert found["max"] == max(seconds)
    for name, share in (("p50", 50), ("p90", 90), ("p99", 99)):
        assert found[name] == pytest.approx(np.percentile(seconds, share), rel=1e-12)


def check_row(row: Any, of_row: Sequence[Any]) -> None:
    """Compare a row with its records."""
    sends = [one for record in of_row for one in record["exchanges"]]
    check_sends(row, sends, own=False)
    check_sends(row["answers"], [one for one in sends if one["purpose"] == "answer"])
    restated = [one for one in sends if one["purpose"] == "reformat"]
    assert (row["reformatter"] is None) == (not restated)
    if restated:
        check_sends(row["reformatter"], restated)
    assert row["latency_s"] == row["answers"]["latency_s"]
    assert row["units"] == len(of_row)
    assert row["outcomes"] == Counter(record["outcome"] for record in of_row)
    stages = Counter(record["stage"] for record in of_row if record["stage"] is not None)
    assert {name: n for name, n in row["stages"].items() if n} == stages
    assert row["errors"] == Counter(record["error"]["kind"] for record in of_row if record["error"])
    attempts = Counter(
        str(len({one["attempt"] for one in record["exchanges"] if one["purpose"] == "answer"}))
        for record in of_row
    )
    assert row["attempts"] == attempts
    assert row["evidence_cost_usd"] == total([record["evidence_cost_usd"] for record in of_row])
    assert row["spent_usd"] == total([record["spent_usd"] for record in of_row])
    assert row["cached_units"] == sum(
        bool(record["exchanges"])
        and not record["imported"]
        and all(one["cached"] for one in record["exchanges"])
        for record in of_row
    )
    for name in ("filled_keys", "unsupported"):
        assert row[name] == Counter(key for record in of_row for key in record[name])


def check(effort: Any, found: Sequence[Any]) -> None:
    """Compare everything with records; each list of rows must hold each unit once."""
    for name, rows in (("rows", effort["rows"]), ("models", effort["models"])):
        assert sum(row["units"] for row in rows) == len(found) > 0, name
        for row in rows:
            of_row = [
                record
                for record in found
                if record["model"] == row["model"] and row["condition"] in (None, record["condition"])
            ]
            check_row(row, of_row)
    for record in found:
        params = effort["params"][record["model"]]
        assert params["params"] == record["params"]
        assert params["dropped_params"] == record["dropped_params"]
        condition = effort["conditions"][record["condition"]]
        assert condition["schema"] == record["schema"]
        assert record["prompt"] in (None, condition["prompt"])


PRICES = {
    "a": "{ input = 1.0, output = 2.0 }",
    "b": "{ input = 0.3, output = 1.7 }",
    "fixer": "{ input = 0.5, output = 4.0 }",
}


def configure(folder: Path, url: str, models: Sequence[str] = ("a", "b", "free", "fixer")) -> None:
    lines = ["[providers.lab]", 'adapter = "openai"', f'base_url = "{url}/v1"', 'endpoint = "lab"']
    for name in models:
        lines += [f"[models.{name}]", 'provider = "lab"', f'model = "{name}"', "max_sends = 2"]
        lines += ["params = { max_tokens = 700, temperature = 0.5 }"]
        lines += [f"price = {PRICES[name]}"] if name in PRICES else []
    (folder / "harness.toml").write_text("\n".join(lines), encoding="utf-8")


def script(arrival: Arrival) -> Behaviour:
    """Answer as a provider does on a bad day; by the case's number."""
    name = arrival.json["model"]
    if name == "fixer":
        return chat_reply(answer_text(), usage=(300, 60))
    number = case_number(arrival)
    match number % 6:
        case 1 if arrival.nth == 1:
            return status_reply(503, headers={"retry-after-ms": "1"})
        case 2:
            return chat_reply(f"no answer: {name} {number} {arrival.nth}", usage=(100 + number, 10))
        case 3 if arrival.nth == 1 and name == "a":
            return CLOSE
        case 4 if name == "b":
            return status_reply(400)
        case 5:
            return chat_reply(answer_text(labels_of(number)), usage=None)
    return chat_reply(answer_text(labels_of(number)), usage=(100 + number, 10 + number), model="served-1")


@pytest.mark.slow
def test_the_sums_are_those_of_the_exported_records_after_a_bad_day(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 12)
    with ScriptedServer(script) as server:
        configure(tmp_path, server.url)
        args = run_args(tmp_path, "--repeats", "2", models="a,b,free", reformatter="fixer")
        first = harness(*args, "--limit", "6")
        second = harness(*args)
        third = harness(*args, "--again", "reformatted")
    assert {first.code, second.code, third.code} == {3}, third.err
    found, effort = records(tmp_path), effort_of(tmp_path / "store.sqlite3")
    check(effort, found)
    rows = {row["model"]: row for row in effort["rows"]}
    assert rows["a"]["cost_unknown"] and rows["a"]["evidence_cost_usd"] is None
    assert rows["a"]["known_evidence_usd"] > 0
    assert rows["free"]["known_evidence_usd"] == rows["free"]["reformatter"]["known_evidence_usd"] > 0
    assert rows["a"]["faults"]["unavailable"] and rows["b"]["faults"]["bad_request"]
    assert rows["a"]["stages"]["reformatter"] and rows["a"]["reformatter"]["asks"]
    assert rows["a"]["cached_units"] > 0  # those of the smaller run
    assert {"model": "served-1", "answers": 16} in rows["a"]["answers"]["served_models"]


def test_parameters_prompts_sessions_and_versions_are_told_as_they_were_kept(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(lambda arrival: chat_reply(answer_text(), usage=(10, 2))) as server:
        configure(tmp_path, server.url)
        assert harness(*run_args(tmp_path, models="a", reformatter="fixer")).code == 0
        assert harness(*run_args(tmp_path, models="a", reformatter="fixer")).code == 0
    effort = effort_of(tmp_path / "store.sqlite3")
    asked = effort["params"]["a"]
    assert asked["params"] == {"max_tokens": 700, "temperature": 0.5}
    [sent] = asked["sent"]
    assert sent["body"] == {"max_tokens": 700, "model": "a", "temperature": 0.5}  # F15
    assert server.arrivals[0].json.items() >= sent["body"].items()
    assert (sent["purpose"], sent["conditions"], sent["adapter"]) == ("answer", ["both"], "openai")
    assert (asked["role"], effort["params"]["fixer"]["role"]) == ("model", "reformatter")
    assert [one["output"] for one in asked["prices"]] == [2.0]
    assert [one["exit_code"] for one in effort["sessions"]] == [0, 0]
    from harness import __version__

    assert effort["versions"] == [__version__]
    assert effort["dates"]["first"] == effort["sessions"][0]["started"]
    assert effort["dates"]["last"] == effort["sessions"][1]["ended"]
    assert effort["dates"]["first"] <= effort["asked"]["first"] <= effort["asked"]["last"]
    assert effort["conditions"]["both"]["prompt"]["id"] == "triage-both-v1"
    assert effort["policy"]["attempts"] == 3
    assert "CASE<" not in json.dumps(effort) and "hurts" not in json.dumps(effort)


UNIT = UnitId("alpha", "both", "c1")
PLAN = Plan([case("c1", SCALING), case("c2", SCALING)], reformatter="helper", dropped_params=("top_p",))


async def exported(built: Built) -> list[Any]:
    stored = await load_run(built.store, built.run)
    replayer, maker = Replayer(stored), RecordMaker(stored)
    return [
        json.loads(json.dumps(maker.record(one)))
        async for one in replay_units(built.store, stored, replayer)
    ]


async def compared(built: Built) -> Any:
    effort = await of_store(built.store, built.run.name)
    check(effort, await exported(built))
    return effort


async def test_what_another_run_paid_for_is_evidence_and_served_from_the_store(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN, name="first") as first:
        id = await first.valid(UNIT, SCALING)
        second = await build(first.store, replace(PLAN, attempts=2), name="second")
        await second.finish(UNIT, UnitOutcome.VALID, [(id, "answer", 1)], used=[id])
        effort = await compared(second)
    [row] = effort["rows"]
    assert (row["evidence_cost_usd"], row["spent_usd"]) == (pytest.approx(120e-6), 0.0)
    assert (row["cached_units"], row["units"], row["attempts"]) == (1, 2, {"0": 1, "1": 1})


async def test_an_unknown_price_makes_the_sum_null_and_its_known_part_is_told_apart(tmp_path: Path) -> None:
    async with built_run(tmp_path, replace(PLAN, price=Price(input=1.0))) as built:
        await built.valid(UNIT, SCALING)
        other = UnitId("alpha", "both", "c2")
        busy = await built.exchange(other, b"busy", status=503, outcome=ExchangeOutcome.UNAVAILABLE)
        links: Any = [(busy, "answer", 1)]
        await built.finish(other, UnitOutcome.PROVIDER_ERROR, links, error="unavailable: x")
        effort = await compared(built)
    [row] = effort["rows"]
    assert (row["evidence_cost_usd"], row["spent_usd"], row["cost_unknown"]) == (None, None, 1)
    assert row["known_evidence_usd"] == 0.0


async def test_an_earlier_round_counts_in_sends_cost_and_attempts(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        await built.answers(UNIT, UnitOutcome.UNPARSABLE, "no", "still no", "never")
        after = await built.store.mark_again(built.run.id, [UNIT])
        new = await built.exchange(UNIT, answer(SCALING))
        await built.finish(UNIT, UnitOutcome.VALID, [(new, "answer", 1)], used=[new], again_after=after)
        effort = await compared(built)
    [row] = effort["rows"]
    assert (row["attempts"], row["sends"], row["answered"]) == ({"0": 1, "3": 1}, 4, 4)


async def test_a_run_that_nobody_began_has_rows_of_zeros(tmp_path: Path) -> None:
    async with built_run(tmp_path, PLAN) as built:
        effort = await compared(built)
    [row] = effort["rows"]
    assert (row["units"], row["sends"], row["input_tokens"], row["evidence_cost_usd"]) == (2, 0, 0, 0.0)
    assert row["stages"] == {"attempt-1": 0, "attempt-2": 0, "attempt-3": 0, "reformatter": 0}
    assert row["asked"] == effort["asked"] == {"first": None, "last": None}


@pytest.mark.slow
async def test_many_units_add_up_without_a_rounding_error(tmp_path: Path) -> None:
    plan = bulk_plan(200, conditions=("both", "opg"), price=Price(input=0.1, output=0.7))
    async with built_run(tmp_path, plan) as built:
        await fill(built)
        effort = await compared(built)
    assert len(effort["rows"]) == 8 and len(effort["models"]) == 4
    assert [row["condition"] for row in effort["rows"]] == [*["both"] * 4, *["opg"] * 4]


def test_dollars_add_up_as_fsum_does_over_any_magnitudes() -> None:
    chance = np.random.default_rng(5)
    values = [float(x) for x in chance.random(5_000) * 10.0 ** chance.integers(-12, 6, 5_000)]
    values += [5e-324, 1e300, 0.1]
    dollars, other = Dollars(), Dollars()
    for value in values[:2_000]:
        dollars.add(value, value)
    for value in values[2_000:]:
        other.add(value, 0.0)
    dollars.merge(other)
    assert dollars.total == (math.fsum(values), math.fsum(values[:2_000]))
    dollars.add(None, 0.0)
    assert dollars.total == (None, math.fsum(values[:2_000]))
    dollars.add(None, None)
    assert dollars.total == (None, None) and dollars.known[0] == math.fsum(values)
    assert (dollars.unknown, dollars.spent_unknown) == (2, 1)


def test_quantiles_lie_between_their_neighbours_in_proportion() -> None:
    assert latency_json(array("d", [10.0, 1.0, 3.0, 2.0])) == {
        "n": 4, "mean": 4.0, "p50": 2.5, "p90": pytest.approx(7.9), "p99": pytest.approx(9.79), "max": 10.0
    }  # fmt: skip
    assert latency_json(array("d", [0.25])) == {
        "n": 1, **dict.fromkeys(("mean", "p50", "p90", "p99", "max"), 0.25)
    }  # fmt: skip


async def test_tokens_that_only_stand_beside_an_answer_are_counted(tmp_path: Path) -> None:
    silent = json.dumps({"choices": [{"message": {"content": answer(SCALING)}, "finish_reason": "stop"}]})
    async with built_run(tmp_path, PLAN) as built:
        id = await built.exchange(UNIT, silent.encode(), usage=Usage(40, 4))
        await built.finish(UNIT, UnitOutcome.VALID, [(id, "answer", 1)], used=[id])
        effort = await compared(built)
    [row] = effort["rows"]
    assert (row["input_tokens"], row["output_tokens"], row["tokens_unknown"]) == (40, 4, 0)
    assert row["evidence_cost_usd"] == pytest.approx(48e-6)


def test_imported_answers_cost_and_took_what_their_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HARNESS_STORE", raising=False)
    write_cases(tmp_path / "data", 4)
    (tmp_path / "harness.toml").write_text('[benchmarks.triage]\ndata = "data"\n', encoding="utf-8")
    more: list[dict[str, Any]] = [
        {"cost_usd": 0.25, "latency_s": 2.5},
        {"latency_s": 4.0},
        {},
        {"usage": {"input_tokens": 7, "output_tokens": 3}},
    ]
    lines = [
        {"id": f"c{number:03}", "answer": answer_text(labels_of(number)), **one}
        for number, one in enumerate(more)
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = harness("import", "answers.jsonl", "--benchmark", "triage", "--model", "old")
    assert done.code == 0, done.err
    assert harness("export", "latest", "--out", "records.jsonl").code == 0
    effort = effort_of(tmp_path / ".harness" / "store.sqlite3")
    check(effort, list(read_jsonl(tmp_path / "records.jsonl")))
    [row] = effort["rows"]
    assert row["imported"] and row["cached_units"] == 0 and row["spent_usd"] == 0.0
    assert effort["params"]["old"]["params"] is None and effort["params"]["old"]["sent"] == []
    assert (row["known_evidence_usd"], row["latency_s"]["max"]) == (0.25, 4.0)
    assert row["asked"] == {"first": None, "last": None}


small_judge = pytest.fixture(with_small_judge)


@pytest.mark.usefixtures("small_judge")
def test_a_step_tells_what_it_took_for_whom_it_looked_at_too(tmp_path: Path) -> None:
    ready_source(tmp_path, 4, models="a,b")
    with ScriptedServer(answering) as server:
        write_config(tmp_path, server.url, ("a", "b", "j"), max_sends=2)
        done = harness(*step_args(tmp_path))
    assert done.code == 0, done.err
    found, effort = records(tmp_path), effort_of(tmp_path / "store.sqlite3")
    check(effort, found)
    assert {row["model"] for row in effort["rows"]} == {"j"}
    assert [(row["model"], row["condition"]) for row in effort["about"]] == [("a", "both"), ("b", "both")]
    for row in effort["about"]:
        check_row(row, [one for one in found if one["step"]["about"]["model"] == row["model"]])
    assert SECRET not in json.dumps(effort)


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
def test_nothing_of_what_is_asked_is_among_the_fields_that_say_how(kind: str) -> None:
    if kind == "imported":
        assert sent_fields(as_exchange(canonical_json({"messages": "asked"}), kind))["body"] == {}
        return
    schema = Schema("x-v1", "0" * 64, {"type": "object", "properties": {"a": {"enum": ["long" * 200]}}})
    messages = (Message("system", (TextPart("SECRET one"),)), Message("user", (TextPart("SECRET two"),)))
    request = Request(messages, {"max_tokens": 77}, schema, "schema")
    wire = get_adapter(kind).build(request, a_model(kind))
    fields = sent_fields(as_exchange(wire_document(wire), kind))
    assert "SECRET" not in json.dumps(fields) and "longlong" not in json.dumps(fields)
    assert "77" in json.dumps(fields["body"])
    assert set(json.loads(wire_document(wire))) - set(fields["body"]) <= CONTENT


def as_exchange(request: bytes, adapter: str) -> Exchange:
    return Exchange(1, 1, an_exchange(request=request, adapter=adapter))


def a_model(kind: str) -> Model:
    settings: dict[str, Any] = {"model_prefix": "bedrock/"} if kind == "litellm" else {}
    provider = Provider(name="p", adapter=kind, base_url="http://127.0.0.1:9", **settings)
    id = "bedrock/m" if kind == "litellm" else "m"
    return Model(name="m", provider=provider, model=id, structured=("json", "schema"))


def test_a_request_that_cannot_be_read_any_more_is_told_as_unknown() -> None:
    assert sent_fields(as_exchange(b"no JSON", "openai"))["body"] is None
