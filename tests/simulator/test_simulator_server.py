"""The simulator over HTTP: the same question has the same answer, whenever and wherever it is asked."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest

from harness.catalogue import CATALOGUE_DIR
from harness.messages import Fault, Message, Reply, Request, Schema, TextPart
from harness.outcomes import ExchangeOutcome
from harness.providers.base import read
from harness.providers.encoding import encode_body
from harness.providers.simulator import adapter
from harness.providers.transport import Transport
from harness.providers.videos import carriage
from harness.settings import Model, Provider
from harness.simulator import behaviours
from harness.simulator.behaviours import BEHAVIOURS, Behaviour
from harness.simulator.server import SimulatorServer, ensure_simulator, stop_simulator
from harness.toml_file import read_toml

LABELS = ("Crowns", "Implants", "Exodontia")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "labels": {
            "type": "object",
            "properties": {name: {"type": "integer", "enum": [0, 1]} for name in LABELS},
            "required": list(LABELS),
            "additionalProperties": False,
        },
        "reasoning": {"type": "string"},
    },
    "required": ["labels", "reasoning"],
    "additionalProperties": False,
}
WANTED = Schema("toy-v1", "0" * 64, SCHEMA)
PROVIDER = Provider(name="sim", adapter="simulator", endpoint="simulator")


def a_model(name: str, **changes: Any) -> Model:
    return Model.model_validate({"name": name, "model": name, "provider": PROVIDER, **changes})


def a_request(text: str = "The patient's complaint:\nmy crown broke", **changes: Any) -> Request:
    return Request(**{"messages": (Message("user", (TextPart(text),)),), "schema": WANTED, **changes})


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport() as opened:
        yield opened


async def ask_once(transport: Transport, url: str, model: Model, request: Request) -> Reply | Fault:
    wire = adapter.build(request, model)
    sent = await transport.send(wire, model, encode_body(wire, {}), auth_headers={}, base_url=url)
    return sent.fault if sent.fault is not None else read(sent.raw, model.provider)


async def ask(transport: Transport, url: str, model: Model, request: Request) -> tuple[Reply, list[Fault]]:
    faults: list[Fault] = []
    for _ in range(4):
        meaning = await ask_once(transport, url, model, request)
        if isinstance(meaning, Reply):
            return meaning, faults
        faults.append(meaning)
    raise AssertionError(f"no answer after {faults}")


async def everything(
    transport: Transport, url: str, order: random.Random
) -> Mapping[tuple[str, int, int], Reply]:
    asked = [(name, case, attempt) for name in BEHAVIOURS for case in range(8) for attempt in (1, 2)]
    order.shuffle(asked)

    async def one(name: str, case: int, attempt: int) -> Reply:
        request = a_request(f"Complaint: tooth {case} is loose", attempt=attempt)
        return (await ask(transport, url, a_model(name, idle_timeout_s=1), request))[0]

    async with asyncio.TaskGroup() as group:
        tasks = {key: group.create_task(one(*key)) for key in asked}
    return {key: task.result() for key, task in tasks.items()}


async def test_a_restart_another_port_and_another_order_change_no_answer(transport: Transport) -> None:
    answers = []
    for seed in (1, 2):
        async with SimulatorServer() as server:
            answers.append(await everything(transport, server.url, random.Random(seed)))
    assert answers[0] == answers[1]


async def test_asking_an_answered_question_again_meets_the_same_faults(transport: Transport) -> None:
    async with SimulatorServer() as server:
        for case in range(12):
            request = a_request(f"Complaint: case {case}")
            model = a_model("sim/flaky", idle_timeout_s=1)
            first, second = [await ask(transport, server.url, model, request) for _ in range(2)]
            assert [fault.outcome for fault in first[1]] == [fault.outcome for fault in second[1]]
            assert first[0] == second[0]


@pytest.mark.parametrize("name", ["sim/steady", "sim/careful", "sim/eager"])
async def test_clean_models_always_fit_the_schema(transport: Transport, name: str) -> None:
    async with SimulatorServer() as server:
        for case in range(10):
            reply, faults = await ask(transport, server.url, a_model(name), a_request(f"case {case}"))
            jsonschema.validate(json.loads(reply.text), SCHEMA)
            assert (faults, reply.outcome) == ([], ExchangeOutcome.ANSWERED)
            assert reply.usage.input_tokens
            assert reply.usage.output_tokens


async def test_200_questions_are_answered_at_once_each_with_its_own(transport: Transport) -> None:
    model, ids = a_model("sim/reformatter"), range(200)

    async def restated(number: int) -> str:
        quoted = f"=== 0a ===\nCrowns: 1, reasoning: number {number}\n=== 0a ==="
        request = a_request(quoted, purpose="reformat")
        return (await ask(transport, server.url, model, request))[0].text

    async with SimulatorServer() as server, asyncio.TaskGroup() as group:
        tasks = [group.create_task(restated(number)) for number in ids]
        await asyncio.wait(tasks)
    for number, task in zip(ids, tasks, strict=True):
        assert json.loads(task.result())["reasoning"] == f"number {number}"  # F8


async def test_an_unknown_model_is_reported_as_such(transport: Transport) -> None:
    async with SimulatorServer() as server:
        meaning = await ask_once(transport, server.url, a_model("sim/nobody"), a_request())
    assert isinstance(meaning, Fault)
    assert meaning.outcome is ExchangeOutcome.MODEL_NOT_FOUND


async def test_a_body_that_is_no_chat_request_is_a_bad_request(transport: Transport) -> None:
    wire = adapter.build(a_request(), a_model("sim/steady"))
    async with SimulatorServer() as server:
        for body in (b"[1]", b"{", b"{}"):
            model = a_model("sim/steady")
            sent = await transport.send(wire, model, body, auth_headers={}, base_url=server.url)
            assert sent.raw.status == 400


async def test_a_small_max_tokens_truncates(transport: Transport) -> None:
    async with SimulatorServer() as server:
        request = a_request(params={"max_tokens": 5})
        reply, _ = await ask(transport, server.url, a_model("sim/steady"), request)
    assert (reply.outcome, len(reply.text)) == (ExchangeOutcome.TRUNCATED, 20)


async def test_a_streamed_answer_says_the_same(transport: Transport) -> None:
    async with SimulatorServer() as server:
        plain, _ = await ask(transport, server.url, a_model("sim/steady"), a_request())
        streamed, _ = await ask(transport, server.url, a_model("sim/steady", stream=True), a_request())
    assert replace(streamed, served_model=plain.served_model) == plain


@pytest.mark.parametrize(
    ("trouble", "outcome"),
    [
        ("rate_limited", ExchangeOutcome.RATE_LIMITED),
        ("server_error", ExchangeOutcome.UNAVAILABLE),
        ("gateway", ExchangeOutcome.UNAVAILABLE),
        ("reset", ExchangeOutcome.TIMEOUT),
        ("stall", ExchangeOutcome.TIMEOUT),
        ("half", ExchangeOutcome.MALFORMED_REPLY),
    ],
)
async def test_each_fault_is_the_real_one_and_clears(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, trouble: behaviours.Fault, outcome: ExchangeOutcome
) -> None:
    monkeypatch.setitem(
        cast(dict[str, Behaviour], BEHAVIOURS),
        "sim/flaky",
        replace(BEHAVIOURS["sim/steady"], fault=lambda question, send: trouble if send == 1 else None),
    )
    model = a_model("sim/flaky", idle_timeout_s=0.3)
    async with SimulatorServer() as server:
        reply, faults = await ask(transport, server.url, model, a_request())
    assert [fault.outcome for fault in faults] == [outcome]
    assert reply.outcome is ExchangeOutcome.ANSWERED
    if trouble == "rate_limited":
        assert faults[0].wait_s is not None
        assert 0.1 <= faults[0].wait_s <= 0.4


async def test_stopping_does_not_wait_for_a_stalled_request(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalled = asyncio.Event()

    def stall(question: object, send: int) -> str:
        stalled.set()
        return "stall"

    monkeypatch.setattr("harness.simulator.server.fault", stall)
    monkeypatch.setattr("harness.simulator.server.STALL_S", 60)
    server = SimulatorServer()
    url = await server.start()
    task = asyncio.ensure_future(ask_once(transport, url, a_model("sim/flaky"), a_request()))
    await asyncio.wait_for(stalled.wait(), 3)
    await asyncio.wait_for(server.stop(), 3)
    meaning = await task
    assert isinstance(meaning, Fault)
    assert meaning.outcome is ExchangeOutcome.TIMEOUT


async def test_the_simulator_is_started_once_and_again_after_it_was_stopped() -> None:
    first = await ensure_simulator()
    assert await ensure_simulator() == first
    await stop_simulator()
    assert (await ensure_simulator()).startswith("http://127.0.0.1:")
    await stop_simulator()


async def test_a_simulator_that_runs_elsewhere_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SIMULATOR_URL", "http://127.0.0.1:9/v1/")
    assert await ensure_simulator() == "http://127.0.0.1:9/v1"


async def test_it_runs_by_itself(transport: Transport, checkout: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "harness.simulator",
        "--port",
        "0",
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), 10)).decode().strip()
        alone, _ = await ask(transport, url, a_model("sim/steady"), a_request())
    finally:
        process.terminate()
        await process.wait()
    async with SimulatorServer() as server:
        here, _ = await ask(transport, server.url, a_model("sim/steady"), a_request())
    assert alone == here


def test_the_catalogue_names_each_behaviour_under_its_own_name_at_no_cost() -> None:
    table: Any = read_toml(CATALOGUE_DIR / "simulator.toml")
    assert set(table["models"]) == set(BEHAVIOURS)
    provider = Provider.model_validate({"name": "sim", **table["providers"]["sim"]})
    for name, entry in table["models"].items():
        model = Model.model_validate({"name": name, **entry, "provider": provider})
        assert (model.model, model.simulated, model.provider.endpoint) == (name, True, "simulator")
        assert (model.price.input, model.price.output) == (0, 0)


def test_one_model_takes_videos_most_take_images_and_some_text_alone() -> None:
    models: Any = read_toml(CATALOGUE_DIR / "simulator.toml")["models"]
    takes = {name: tuple(entry["inputs"]) for name, entry in models.items()}
    assert [name for name, inputs in takes.items() if "video" in inputs] == ["sim/steady"]
    assert {name for name, inputs in takes.items() if inputs == ("text",)} == {
        "sim/reader",
        "sim/reformatter",
    }
    assert all("image" in inputs for inputs in takes.values() if inputs != ("text",))


@pytest.mark.parametrize("fps", [None, 2, 10])
def test_a_clip_goes_as_it_is_to_who_takes_videos_at_any_rate(fps: float | None) -> None:
    table: Any = read_toml(CATALOGUE_DIR / "simulator.toml")
    provider = Provider.model_validate({"name": "sim", **table["providers"]["sim"]})
    takes = a_model("sim/steady", provider=provider, inputs=("text", "image", "video"))
    assert carriage(fps, takes) == "file"
    assert carriage(fps, a_model("sim/messy", provider=provider)) is None


def test_the_adapter_tells_attempt_and_repeat_in_headers_that_are_not_part_of_the_body() -> None:
    wires = [adapter.build(a_request(attempt=n, repeat=n), a_model("sim/steady")) for n in (1, 2)]
    assert wires[0].body == wires[1].body
    assert wires[1].transport_headers == {
        "X-Harness-Attempt": "2",
        "X-Harness-Repeat": "2",
        "X-Harness-Purpose": "answer",
    }
    assert wires[0].body["simulator"] == {"seed": 0, "schema": SCHEMA}
