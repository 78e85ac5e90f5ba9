"""What a run costs: by exchange, attempt, unit, model and session, and where `--max-cost` stops it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import CLOSE, Arrival, Behaviour, chat_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import answer_text, case_number, harness, records, run_args, write_cases

PRICES = {"a": (1.0, 2.0), "b": (3.0, 15.0), "fixer": (0.5, 4.0), "free": None}
MOST = 1000


def configure(folder: Path, url: str) -> None:
    lines = ["[providers.lab]", 'adapter = "openai"', f'base_url = "{url}/v1"', 'endpoint = "lab"']
    for name, price in PRICES.items():
        lines += [f"[models.{name}]", 'provider = "lab"', f'model = "{name}"', "max_in_flight = 4"]
        lines += [f"params = {{ max_tokens = {MOST} }}", "max_sends = 2"]
        if price is not None:
            lines.append(f"price = {{ input = {price[0]}, output = {price[1]} }}")
    (folder / "harness.toml").write_text("\n".join(lines), encoding="utf-8")


def usd(name: str, given: int, written: int) -> float:
    price = PRICES[name]
    assert price is not None
    return (given * price[0] + written * price[1]) / 1e6


def script(arrival: Arrival) -> Behaviour:
    """Answer with counts that tell arrivals apart; some fail first, and some need the reformatter."""
    name = arrival.json["model"]
    if name == "fixer":
        return chat_reply(answer_text(), usage=(300, 60))
    number = case_number(arrival)
    if number % 4 == 1 and arrival.nth == 1:
        return status_reply(503, headers={"retry-after-ms": "1"})
    text = f"no answer: {name} {number} {arrival.nth}" if number % 4 == 2 else answer_text()
    return chat_reply(text, usage=(100 + number, 10 + number))


def status(folder: Path) -> Any:
    return harness("status", "latest", "--json", "--store", folder / "store.sqlite3").json


def test_the_sums_over_exchanges_attempts_units_models_and_sessions_agree(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 8)
    with ScriptedServer(script) as server:
        configure(tmp_path, server.url)
        args = run_args(tmp_path, models="a,b", reformatter="fixer")
        first = harness(*args, "--shard", "1/2")
        second = harness(*args)
    assert (first.code, second.code) == (0, 0), second.err
    expected: dict[str, float] = defaultdict(float)
    for arrival in server.arrivals:
        name = arrival.json["model"]
        reply = script(arrival)
        body = json.loads(getattr(reply, "body", b"{}"))
        if "usage" in body:
            counts = body["usage"]
            expected[name] += usd(name, counts["prompt_tokens"], counts["completion_tokens"])
    found, by_unit = records(tmp_path), 0.0
    by_model: dict[str, float] = defaultdict(float)
    for record in found:
        each = [one["cost_usd"] for one in record["exchanges"]]
        assert record["evidence_cost_usd"] == record["spent_usd"] == pytest.approx(math.fsum(each))
        by_unit += record["spent_usd"]
        for one in record["exchanges"]:
            by_model["fixer" if one["purpose"] == "reformat" else record["model"]] += one["cost_usd"]
    assert dict(by_model) == pytest.approx(dict(expected)) and len(expected) == 3
    stood = status(tmp_path)
    assert {one["model"]: one["usd"] for one in stood["spent"]["models"]} == pytest.approx(dict(expected))
    sessions = [one["spent_usd"] for one in stood["sessions"]]
    assert len(sessions) == 2 and math.fsum(sessions) == pytest.approx(by_unit)
    for one in stood["sessions"]:
        of_models = math.fsum(model["usd"] for model in one["spent_by_model"].values())
        assert of_models == pytest.approx(one["spent_usd"])
    assert sum(one["sends"] for one in stood["spent"]["models"]) == len(server.arrivals)
    assert f"fixer: ${stood['sessions'][1]['spent_by_model']['fixer']['usd']:.4f}" in second.err
    shown = harness("status", "latest", "--store", tmp_path / "store.sqlite3").out
    assert f"spent on b: ${expected['b']:.4f} for" in shown
    check_explained(tmp_path)


def test_an_exchange_that_answers_several_units_is_paid_for_once(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 4)

    def rambles(arrival: Arrival) -> Behaviour:
        text = answer_text() if arrival.json["model"] == "fixer" else "the same words to everybody"
        return chat_reply(text, usage=(300, 60))

    with ScriptedServer(rambles) as server:
        configure(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--attempts", "1", models="a", reformatter="fixer")).code == 0
    assert [arrival.json["model"] for arrival in server.arrivals].count("fixer") == 1
    whole = 4 * usd("a", 300, 60) + usd("fixer", 300, 60)
    stood = status(tmp_path)
    assert math.fsum(one["usd"] for one in stood["spent"]["models"]) == pytest.approx(whole)
    exchanges = [one for record in records(tmp_path) for one in record["exchanges"]]
    by_key = {one["key"]: one["cost_usd"] for one in exchanges}
    assert len(exchanges) == 8 and math.fsum(by_key.values()) == pytest.approx(whole)


def check_explained(folder: Path) -> None:
    """A unit that needed three attempts and the reformatter says what each of them cost."""
    args = ("explain", "--case", "c002", "--model", "b", "--store", folder / "store.sqlite3")
    facts = harness(*args, "--json").json
    each = usd("b", 102, 12)
    assert [(one["purpose"], one["attempt"], one["sends"]) for one in facts["asks"]] == [
        ("answer", 1, 1), ("answer", 2, 1), ("answer", 3, 1), ("reformat", 1, 1)
    ]  # fmt: skip
    costs = [one["cost_usd"] for one in facts["asks"]]
    assert costs == pytest.approx([each, each, each, usd("fixer", 300, 60)])
    assert facts["evidence_cost_usd"] == facts["spent_usd"] == pytest.approx(math.fsum(costs))
    shown = " ".join(harness(*args).out.split())
    assert f"in all: ${math.fsum(costs):.6f} (attempt 1 ${each:.6f}, attempt 2" in shown


def test_what_nobody_knows_is_null_everywhere_and_never_0(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 2)

    def breaks(arrival: Arrival) -> Behaviour:
        if arrival.json["model"] == "a" and case_number(arrival) == 0:
            return CLOSE if arrival.nth == 1 else chat_reply(answer_text(), usage=(100, 10))
        return chat_reply(answer_text(), usage=(100, 10))

    with ScriptedServer(breaks) as server:
        configure(tmp_path, server.url)
        done = harness(*run_args(tmp_path, models="a,free"))
    assert done.code == 0, done.err
    costs = {(one["model"], one["case_id"]): one["spent_usd"] for one in records(tmp_path)}
    assert costs == {
        ("a", "c000"): None,
        ("a", "c001"): pytest.approx(usd("a", 100, 10)),
        ("free", "c000"): None,
        ("free", "c001"): None,
    }
    spent = {one["model"]: one for one in status(tmp_path)["spent"]["models"]}
    assert (spent["a"]["usd"], spent["free"]["usd"]) == (None, None)
    assert spent["a"] == {
        "model": "a", "usd": None, "known_usd": pytest.approx(2 * usd("a", 100, 10)), "sends": 3, "unknown": 1
    }  # fmt: skip
    assert "without a known price: free" in done.err
    most = "1 send of unknown cost, $0.00"
    assert f"spent in this session: ${2 * usd('a', 100, 10):.4f}; {most}" in done.err
    assert f"  a: ${2 * usd('a', 100, 10):.4f}; {most}" in done.err
    (session,) = status(tmp_path)["sessions"]
    assert session["spent_usd"] == pytest.approx(2 * usd("a", 100, 10)), "known, and no guess in it"
    assert (session["unknown_cost_sends"], session["at_most_usd"]) == (3, None), "two of them unpriced"


def test_answers_without_counts_are_told_apart_from_what_is_known(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 4)

    def script(arrival: Arrival) -> Behaviour:
        counted = case_number(arrival) == 0
        return chat_reply(answer_text(), usage=(100, 10) if counted else None)

    with ScriptedServer(script) as server:
        configure(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--max-cost", "1", models="a"))
    assert done.code == 0, done.err
    (session,) = status(tmp_path)["sessions"]
    known = usd("a", 100, 10)
    assert (session["spent_usd"], session["unknown_cost_sends"]) == (pytest.approx(known), 3)
    more = session["at_most_usd"] - known
    assert 3 * usd("a", 100, MOST) < more < 3 * usd("a", 5000, MOST)
    told = f"spent in this session: ${known:.4f}; 3 sends of unknown cost, ${more:.4f} more at most"
    assert told in done.err


def test_a_limit_below_one_request_says_so_and_what_to_do(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(lambda arrival: chat_reply(answer_text(), usage=(400, 10))) as server:
        configure(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--max-cost", "0.001", models="a"))
    assert done.code == 4 and server.arrivals == []
    assert "note: --max-cost 0.001 USD is reached: one request of 'a' may cost $0.00" in done.err
    assert "(its output limit is 1000 tokens), more than the $0.0010 left; lower max_tokens" in done.err


def test_a_model_at_its_limit_stops_and_the_others_go_on(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 12)
    with ScriptedServer(lambda arrival: chat_reply(answer_text(), usage=(400, MOST))) as server:
        configure(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--max-cost", "b=0.1", models="a,b"))
    assert done.code == 4 and "note: --max-cost 0.1 USD for 'b' is reached: " in done.err
    sends = [arrival.json["model"] for arrival in server.arrivals]
    assert sends.count("a") == 12
    assert 0 < usd("b", 400, MOST) * sends.count("b") <= 0.1
    spent = {one["model"]: one["usd"] for one in status(tmp_path)["spent"]["models"]}
    assert spent["b"] == pytest.approx(usd("b", 400, MOST) * sends.count("b"))


@pytest.mark.parametrize("limit", ["fixer=0.0095", "0.03"])
def test_the_reformatter_counts_as_well(tmp_path: Path, limit: str) -> None:
    write_cases(tmp_path / "data", 12)

    def rambles(arrival: Arrival) -> Behaviour:
        if arrival.json["model"] == "fixer":
            return chat_reply(answer_text(), usage=(300, MOST))
        return chat_reply(f"no answer to {case_number(arrival)}", usage=(400, 10))

    with ScriptedServer(rambles) as server:
        configure(tmp_path, server.url)
        args = run_args(tmp_path, "--max-cost", limit, "--attempts", "1", models="a", reformatter="fixer")
        done = harness(*args)
    sends = [arrival.json["model"] for arrival in server.arrivals]
    assert done.code == 4
    fixed = usd("fixer", 300, MOST) * sends.count("fixer")
    whole = fixed + usd("a", 400, 10) * sends.count("a")
    assert 0 < (fixed if "=" in limit else whole) <= float(limit.rpartition("=")[2])


def test_a_forecast_prices_long_requests_by_their_tier(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    configure(tmp_path, "http://127.0.0.1:9")
    config = tmp_path / "harness.toml"
    asked = run_args(tmp_path, "--dry-run", "--json", "--attempts", "1", models="a")
    (plain,) = harness(*asked).json["models"]
    low, high = plain["input_tokens_low"], plain["input_tokens_high"]
    assert plain["usd_low"] == pytest.approx(usd("a", low, 50))
    assert plain["usd_high"] == pytest.approx(usd("a", high, MOST))
    tiers = f"tiers = [{{ above_input_tokens = {low}, input = 10.0, output = 20.0 }}]"
    config.write_text(config.read_text().replace("output = 2.0 }", f"output = 2.0, {tiers} }}"))
    (tiered,) = harness(*asked).json["models"]
    assert tiered["usd_low"] == plain["usd_low"]
    assert tiered["usd_high"] == pytest.approx(10 * plain["usd_high"])


def test_a_forecast_says_which_length_of_answers_makes_its_high_end(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    configure(tmp_path, "http://127.0.0.1:9")
    asked = run_args(tmp_path, "--dry-run", models="a,b,free")
    assert "assumes answers" not in harness(*asked).out  # max_tokens of the configuration says how long
    config = tmp_path / "harness.toml"
    text = config.read_text().replace("params = { max_tokens = 1000 }", "max_output_tokens = 64000")
    config.write_text(text)
    told = " ".join(harness(*asked).out.split())
    words = "the high end assumes answers of 64000 tokens (a, b); give --param max_tokens=N or --max-cost"
    assert words in told and told.count("assumes answers") == 1
    assert "assumes answers" not in harness(*asked, "--param", "max_tokens=500").out


def restating(folder: Path, *more: str | Path, models: str, reformatter: str = "fixer") -> Any:
    asked = run_args(folder, "--dry-run", "--json", *more, models=models, reformatter=reformatter)
    return harness(*asked).json["reformatters"]


def test_a_forecast_tells_what_the_reformatter_may_cost_apart_from_the_models(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    configure(tmp_path, "http://127.0.0.1:9")
    asked = run_args(tmp_path, "--dry-run", models="a,b", reformatter="fixer")
    without = run_args(tmp_path, "--dry-run", "--json", models="a,b", reformatter="none")
    assert harness(*asked, "--json").json["models"] == harness(*without).json["models"]
    assert harness(*without).json["reformatters"] == []
    (found,) = restating(tmp_path, models="a,b")
    tokens = found["input_tokens_high"]
    assert tokens > 6 * MOST  # the answer in full, and the prompt around it
    assert found == {
        "model": "fixer",
        "asks_low": 0, "asks_high": 6,
        "input_tokens_low": 0, "input_tokens_high": tokens,
        "output_tokens_low": 0, "output_tokens_high": 6 * MOST,
        "usd_low": 0.0, "usd_high": pytest.approx(usd("fixer", tokens, 6 * MOST)),
    }  # fmt: skip
    shown = " ".join(harness(*asked).out.split())
    assert f"on top, the reformatter fixer for 0-6 units: at most {tokens / 1000:.3g}k tokens in" in shown
    assert f", 6k out, {found['usd_high']:.2f} USD" in shown and "without the reformatter" not in shown
    (dear,) = restating(tmp_path, models="a,b", reformatter="free")
    assert (dear["usd_low"], dear["usd_high"], dear["input_tokens_high"]) == (0.0, None, tokens)
    told = harness(*run_args(tmp_path, "--dry-run", models="a,b", reformatter="free")).out.split("\n", 5)[-1]
    assert "price unknown: free" in told and "out, USD unknown" in " ".join(told.split())


def test_a_forecast_restates_stored_answers_that_nobody_has_restated(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 4)

    def rambles(arrival: Arrival) -> Behaviour:
        if arrival.json["model"] == "fixer":
            return status_reply(503, headers={"retry-after-ms": "1"})
        number = case_number(arrival)
        text = answer_text() if number == 0 else f"no answer to {number}: {arrival.nth}"
        return chat_reply(text, usage=(100, 10))

    with ScriptedServer(rambles) as server:
        configure(tmp_path, server.url)
        args = run_args(tmp_path, "--limit", "3", models="a", reformatter="fixer")
        assert harness(*args).code == 3
        (found,) = restating(tmp_path, "--limit", "3", models="a")
        (more,) = restating(tmp_path, models="a")
        assert (found["asks_high"], more["asks_high"]) == (2, 3)  # and one that was not asked yet
        each = found["input_tokens_high"] // 2  # what they hold is known, and short
        assert MOST - 100 < more["input_tokens_high"] - 3 * each < MOST
        server.script = lambda arrival: chat_reply(answer_text(), usage=(100, 10))
        assert harness(*args).code == 0
        before = len(server.arrivals)
        assert restating(tmp_path, models="a")[0]["asks_high"] == 1
        assert "reformatter fixer" not in harness(*args, "--dry-run").out
    assert len(server.arrivals) == before
