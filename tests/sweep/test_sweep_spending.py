"""What sessions spent that were killed, are at work, or were cut off: counted from what they stored."""

from __future__ import annotations

import json
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import SILENCE, Arrival, Behaviour, chat_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    answer_text,
    case_number,
    finish,
    harness,
    run_args,
    spawn,
    wait_said,
    wait_until,
    write_cases,
)

CASES = 8
PRICES = {"a": (1.0, 2.0), "b": (3.0, 15.0), "fixer": (0.5, 4.0)}
MOST = {"a": 1001, "b": 1002, "fixer": 1003}
TIER = 105
"""Input tokens above which model b costs ten times as much."""


def configure(folder: Path, url: str) -> None:
    lines = ["[providers.lab]", 'adapter = "openai"', f'base_url = "{url}/v1"', 'endpoint = "lab"']
    for name, (given, written) in PRICES.items():
        tier = f"{{ above_input_tokens = {TIER}, input = {10 * given}, output = {10 * written} }}"
        tiers = f", tiers = [{tier}]" if name == "b" else ""
        lines += [f"[models.{name}]", 'provider = "lab"', "max_in_flight = 4", "max_sends = 2"]
        lines.append('model = "fixer"' if name == "fixer" else 'model = "the-same"')
        lines.append(f"params = {{ max_tokens = {MOST[name]} }}")
        lines.append(f"price = {{ input = {given}, output = {written}{tiers} }}")
    (folder / "harness.toml").write_text("\n".join(lines), encoding="utf-8")


def usd(name: str, given: int, written: int) -> float:
    dear = 10 if name == "b" and given > TIER else 1
    return dear * (given * PRICES[name][0] + written * PRICES[name][1]) / 1e6


def asked(arrival: Arrival) -> str:
    """Return the model: two of them are one to the provider, and differ in their limit of output."""
    return next(name for name, most in MOST.items() if most == arrival.json["max_tokens"])


def script(arrival: Arrival) -> Behaviour:
    """Answer all cases but the last; some fail first, and one needs the reformatter."""
    if asked(arrival) == "fixer":
        return chat_reply(answer_text(), usage=(300, 60))
    number = case_number(arrival)
    if number == CASES - 1:
        return SILENCE
    if number == 1 and arrival.nth == 1:
        return status_reply(503, headers={"retry-after-ms": "1"})
    text = f"no answer: {asked(arrival)} {number}" if number == 2 else answer_text()
    return chat_reply(text, usage=(100 + number, 10 + number))


def paid(server: ScriptedServer) -> tuple[dict[str, float], dict[str, int]]:
    """Return what the arrivals that were answered cost by model, and how many they were."""
    costs: dict[str, float] = defaultdict(float)
    sends: dict[str, int] = defaultdict(int)
    for arrival in server.arrivals:
        reply = script(arrival)
        if reply is SILENCE:
            continue
        sends[asked(arrival)] += 1
        counts = json.loads(getattr(reply, "body", b"{}")).get("usage")
        if counts is not None:
            cost = usd(asked(arrival), counts["prompt_tokens"], counts["completion_tokens"])
            costs[asked(arrival)] += cost
    return dict(costs), dict(sends)


def status(folder: Path) -> Any:
    return harness("status", "latest", "--json", "--store", folder / "store.sqlite3").json


def in_silence(server: ScriptedServer) -> int:
    return sum(script(arrival) is SILENCE for arrival in list(server.arrivals))


def stored(folder: Path) -> int:
    return sum(one["sends"] for one in status(folder)["spent"]["models"])


@pytest.mark.slow
def test_a_killed_session_is_counted_from_what_it_stored(tmp_path: Path) -> None:  # F23
    write_cases(tmp_path / "data", CASES)
    args = run_args(tmp_path, "--attempts", "1", models="a,b", reformatter="fixer")
    with ScriptedServer(script) as server:
        configure(tmp_path, server.url)
        process = spawn(*args, cwd=tmp_path)
        wait_until(lambda: in_silence(server) == 2)
        wait_until(lambda: stored(tmp_path) == 2 * CASES + 2)  # 7 answers and a failure each, 2 restated
        at_work = status(tmp_path)
        process.send_signal(signal.SIGKILL)
        finish(process)
        costs, sends = paid(server)
        killed = status(tmp_path)
        assert set(costs) == set(PRICES) and killed["spent"] == at_work["spent"]
        assert {one["model"]: one["usd"] for one in killed["spent"]["models"]} == pytest.approx(costs)
        assert {one["model"]: one["sends"] for one in killed["spent"]["models"]} == sends
        [session] = killed["sessions"]
        assert (session["ended"], session["counted"], session["sends"]) == (None, "exchanges", 18)
        assert session["spent_usd"] == pytest.approx(sum(costs.values()))
        assert session["unknown_cost_sends"] == 0
        assert session["at_most_usd"] is None, "what was in flight is not stored"
        server.script = lambda arrival: chat_reply(answer_text(), usage=(100, 10))
        assert harness(*args).code == 0
    whole = status(tmp_path)
    costs["a"] += usd("a", 100, 10)
    costs["b"] += usd("b", 100, 10)
    assert {one["model"]: one["usd"] for one in whole["spent"]["models"]} == pytest.approx(costs)
    assert [one["counted"] for one in whole["sessions"]] == ["exchanges", "end"]
    assert (whole["spent"]["from_exchanges"], whole["spent"]["uncounted"]) == ([1], [])
    shown = harness("status", "latest", "--store", tmp_path / "store.sqlite3").out
    assert f"spent on b: ${costs['b']:.4f} for 9 sends" in shown
    assert "session 1 is counted by stored answers, without those in flight" in shown


@pytest.mark.slow
def test_a_send_that_is_cut_off_costs_nobody_knows_what(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", CASES)
    args = run_args(tmp_path, "--attempts", "1", models="a", reformatter="fixer")
    with ScriptedServer(script) as server:
        configure(tmp_path, server.url)
        process = spawn(*args, cwd=tmp_path)
        wait_until(lambda: in_silence(server) == 1)
        wait_until(lambda: stored(tmp_path) == CASES + 1)
        process.send_signal(signal.SIGINT)
        wait_said(process, "interrupted:")
        process.send_signal(signal.SIGINT)
        done = finish(process)
        costs, _ = paid(server)
    assert done.code == 130
    stood = status(tmp_path)
    spent = {one["model"]: one for one in stood["spent"]["models"]}
    assert stood["sessions"][0]["counted"] == "end" and stood["sessions"][0]["cut_off"] == 1
    assert spent["fixer"]["usd"] == pytest.approx(costs["fixer"])
    assert spent["a"] == {
        "model": "a", "usd": None, "known_usd": pytest.approx(costs["a"]), "sends": CASES + 1, "unknown": 1
    }  # fmt: skip
    shown = harness("status", "latest", "--store", tmp_path / "store.sqlite3").out
    assert "and what 1 sends cost is not known" in shown
