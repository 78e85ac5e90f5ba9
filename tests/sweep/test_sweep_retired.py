"""Models that their provider has withdrawn: what is stored of them answers, nothing is sent, others go on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from scripted_server import ScriptedServer
from sweep_kit import harness, records, right_answer, run_args, write_cases, write_config

from harness.cache.store import Store
from harness.offline.stored_run import load_run
from harness.settings import Price

RETIRED = 'retired = "gone since 2020-01-01; stand-in: m"\n'


def withdraw(config: Path, model: str, how: str = RETIRED) -> None:
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace(f"[models.{model}]\n", f"[models.{model}]\n{how}"), encoding="utf-8")


def test_nothing_is_sent_to_a_retired_model_and_the_others_go_on(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url, ("m", "old"))
        priced = "max_output_tokens = 99\nprice = { input = 1.0, output = 1.0 }\n[models.old]\n"
        config.write_text(config.read_text().replace("[models.old]\n", priced), encoding="utf-8")
        withdraw(config, "old")  # its price is unknown, which is no reason to refuse a limit
        done = harness(*run_args(tmp_path, "--max-cost", "5", models="m,old"))
    assert done.code == 3, done.err
    assert [arrival.json["model"] for arrival in server.arrivals] == ["m"] * 3
    assert "model 'old' is retired: gone since 2020-01-01; stand-in: m" in done.err
    ended = sorted((record["model"], record["outcome"]) for record in records(tmp_path))
    assert ended == [("m", "valid")] * 3 + [("old", "not_attempted")] * 3


def test_what_was_paid_for_before_it_was_retired_still_answers(tmp_path: Path) -> None:  # F29
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url, ("m", "old"))
        first = harness(*run_args(tmp_path, "--json", models="m,old"))
        withdraw(config, "old")
        again = harness(*run_args(tmp_path, "--json", models="m,old"))
        other = harness(*run_args(tmp_path, "--json", "--attempts", "1", models="old"))
    assert (first.code, again.code, other.code) == (0, 0, 0), other.err
    assert again.out == first.out
    assert len(server.arrivals) == 6


def test_a_retired_model_needs_no_key(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url, ("old",))
        config.write_text(config.read_text().replace("endpoint", 'api_key_env = "LAB_KEY"\nendpoint'))
        withdraw(config, "old")
        done = harness(*run_args(tmp_path, models="old"))
    assert done.code == 3 and "LAB_KEY" not in done.err and server.arrivals == []


def test_a_retired_model_is_asked_at_an_address_of_the_users_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cases(tmp_path / "data", 1)
    monkeypatch.setenv("XAI_API_KEY", "a-long-secret-key")
    with ScriptedServer(right_answer) as server:
        address = f'[providers.xai]\nbase_url = "{server.url}/v1"\n'
        (tmp_path / "harness.toml").write_text(address, encoding="utf-8")
        done = harness(*run_args(tmp_path, models="grok-4"))
    assert done.code == 0, done.err
    assert [arrival.json["model"] for arrival in server.arrivals] == ["grok-4-0709"]
    assert "model 'grok-4' is retired by its provider (xAI withdrew grok-4-0709" in done.err
    assert "asked at the base_url that you gave for 'xai'" in done.err


def test_an_end_that_is_near_is_told_by_a_run_and_by_its_dry_run(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        day = datetime.now(UTC).date() + timedelta(days=9)
        withdraw(config, "m", f'retires_on = "{day}"\n')
        dry = harness(*run_args(tmp_path, "--dry-run"))
        done = harness(*run_args(tmp_path))
    assert (dry.code, done.code) == (0, 0), done.err
    for said in (dry.err, done.err):
        assert f"note: model 'm' ends soon: its provider withdraws it on {day} (by harness.toml)\n" in said


def test_a_run_of_every_vendor_is_planned_without_a_key(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 2)
    (tmp_path / "harness.toml").touch()
    names = "gemini-3-flash,o3,claude-sonnet-4.5,grok-4,kimi-k2.5,qwen-vl-max,local/any"
    dry = harness(*run_args(tmp_path, "--dry-run", "--json", models=names))
    assert dry.code == 0, dry.err
    planned = {one["model"]: one for one in dry.json["models"]}
    assert planned.keys() == set(names.split(","))
    assert all(one["units"] == 2 and one["not_applicable"] == 0 for one in planned.values())
    for name, one in planned.items():
        retired = f"model {name!r} is retired" in dry.err
        assert one["to_send"] == (0 if retired else 2), name
    assert not (tmp_path / "store.sqlite3").exists()


def test_a_provider_whose_address_only_the_user_knows_asks_for_it(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    (tmp_path / "harness.toml").touch()
    done = harness(*run_args(tmp_path, models="azure/my-deployment"))
    assert done.code == 2
    assert "provider 'azure' of model 'azure/my-deployment' has no address of its own" in done.err
    assert '[providers.azure] base_url = "https://MY-RESOURCE.openai.azure.com/openai/v1"' in done.err


def test_azure_gets_the_key_in_its_own_header_and_the_deployment_as_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F46
    write_cases(tmp_path / "data", 1)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-long-secret-key")
    with ScriptedServer(right_answer) as server:
        address = f'[providers.azure]\nbase_url = "{server.url}/openai/v1"\n'
        (tmp_path / "harness.toml").write_text(address, encoding="utf-8")
        done = harness(*run_args(tmp_path, "--param", "max_tokens=9", models="azure/my-deployment"))
    assert done.code == 0, done.err
    (arrival,) = server.arrivals
    assert arrival.headers["api-key"] == "a-long-secret-key" and "authorization" not in arrival.headers
    assert arrival.path == "/openai/v1/chat/completions"
    assert (arrival.json["model"], arrival.json["max_completion_tokens"]) == ("my-deployment", 9)
    assert "a-long-secret-key" not in done.out + done.err
    assert b"a-long-secret-key" not in (tmp_path / "store.sqlite3").read_bytes()


def test_a_price_and_its_source_are_kept_with_the_session(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, price={})
        config = tmp_path / "harness.toml"
        priced = config.read_text().replace("price = {}", "price = { input = 1.0, output = 2.0 }")
        config.write_text(priced, encoding="utf-8")
        assert harness(*run_args(tmp_path)).code == 0
    (kept,) = asyncio.run(session_prices(tmp_path))
    assert kept == Price(input=1.0, output=2.0, source="harness.toml")


async def session_prices(folder: Path) -> list[Price]:
    async with await Store.open(f"sqlite+aiosqlite:///{folder / 'store.sqlite3'}", create=False) as store:
        (run,) = await store.runs()
        stored = await load_run(store, run)
        return [stored.price("m", session.id) for session in await store.sessions(run.id)]
