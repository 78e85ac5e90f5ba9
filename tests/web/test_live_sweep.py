"""A real sweep, watched: what the pages say of it, and that it does not notice."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_pages import Viewer, sweep, viewer
from scripted_replies import SILENCE, Arrival, Behaviour, chat_reply, rate_limited, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    Done,
    answer_text,
    case_number,
    finish,
    harness,
    right_answer,
    run_args,
    wait_until,
    write_cases,
    write_config,
)

STEPS = 3_000


async def until_said(page: Viewer, *words: str, path: str = "/live?run=latest") -> str:
    """Return the page once it says all these words."""
    said = ""
    for _ in range(STEPS):
        said = await page.text(path)
        if all(one in said for one in words):
            return said
        await asyncio.sleep(0.005)
    raise AssertionError(f"it never said {words}, but: {said}")


def told_of_itself(place: Path) -> bool:
    if not place.exists():
        return False
    with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as database:
        try:
            return bool(database.execute("SELECT count(*) FROM session_live").fetchone()[0])
        except sqlite3.OperationalError:  # its tables are being made
            return False


async def until_a_run(place: Path) -> None:
    await asyncio.to_thread(wait_until, lambda: told_of_itself(place))


def priced(folder: Path, url: str, *, output: float = 10.0, **more: Any) -> None:
    write_config(folder, url, max_in_flight=4, params={}, **more)
    text = (
        (folder / "harness.toml")
        .read_text(encoding="utf-8")
        .replace("params = {}", "params = { max_tokens = 100 }")
    )
    text += f"price = {{ input = 1.0, output = {output} }}\n"
    (folder / "harness.toml").write_text(text, encoding="utf-8")


async def command(*args: str | Path) -> Done:
    """Run a command in this process, beside the loop of the pages."""
    return await asyncio.to_thread(harness, *args)


async def status(folder: Path) -> Any:
    return (await command("status", "latest", "--json", "--store", folder / "store.sqlite3")).json


@pytest.mark.slow
async def test_a_sweep_is_watched_from_its_first_request_to_its_end_and_does_not_notice(
    tmp_path: Path,
) -> None:
    write_cases(tmp_path / "data", 8)
    place = tmp_path / "store.sqlite3"
    with ScriptedServer(lambda arrival: chat_reply(answer_text(), usage=(100, 10))) as server:
        priced(tmp_path, server.url)
        server.hold()
        process = sweep(*run_args(tmp_path, "--max-cost", "0.5"), cwd=tmp_path)
        await until_a_run(place)
        async with viewer(place) as page:
            said = await until_said(page, "1 request in flight")  # the canary
            assert said.startswith(("at work told 0 s ago", "at work told 1 s ago")), said
            assert "0 of 8 units done (0 %)" in said
            assert "$0.0000 of --max-cost $0.5000 count" in said
            assert f" by process {process.pid} on " in said
            for _ in range(20):
                assert 'hx-trigger="every 2s"' in await page.html()
            server.release()
            said = await until_said(page, "8 of 8 units done (100 %)", "nothing is left to ask")
            assert finish(process).code == 0
            html = await page.html()
        assert "hx-trigger" not in html and "in flight</li>" not in html
        assert "valid 8" in said and "$0.0016" in said
        assert len(server.arrivals) == 8, "nothing was asked for the sake of a page"
    facts = await status(tmp_path)
    usd = pytest.approx(0.0016)
    assert facts["spent"]["models"] == [
        {"model": "m", "usd": usd, "known_usd": usd, "sends": 8, "unknown": 0}
    ]
    assert facts["sessions"][0]["standing"] == "ended"
    assert (await command("store", "verify", "--store", place)).code == 0


@pytest.mark.slow
async def test_a_wait_that_the_provider_told_is_shown_until_when_and_a_kill_for_what_it_is(
    tmp_path: Path,
) -> None:
    write_cases(tmp_path / "data", 8)
    place = tmp_path / "store.sqlite3"

    def script(arrival: Arrival) -> Behaviour:
        if case_number(arrival) == 5:
            return rate_limited(300)
        return chat_reply(answer_text(), usage=(100, 10))

    with ScriptedServer(script) as server:
        priced(tmp_path, server.url)
        process = sweep(*run_args(tmp_path), cwd=tmp_path)
        await until_a_run(place)
        async with viewer(place) as page:
            said = await until_said(page, "m: rate limited: 5 min more, until ", "0 requests in flight")
            assert "1 back off before they are sent again: " in said, said
            assert "rate limited 1" in said  # failures, by kind
            before = (await status(tmp_path))["spent"]
            process.send_signal(signal.SIGKILL)
            process.communicate()
            said = await page.text()
            assert said.startswith("killed: its process is gone"), said
            assert "more, until" not in said and "hx-get" not in await page.html()
            await page.board._spent.counted()
            said = await page.text()
        after = await status(tmp_path)
        assert after["sessions"][0]["standing"] == "killed" and after["spent"] == before
        [spent] = after["spent"]["models"]
        assert f"m ${spent['known_usd']:.4f} {spent['sends']} {spent['unknown']} all" in said
        assert "Session 1: counted by stored answers, without what was in flight." in said
        told = (await command("status", "latest", "--store", place)).out
        assert "an unknown end: it was killed" in told


@pytest.mark.slow
async def test_failures_by_kind_units_and_an_interruption_are_told(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 8)
    place = tmp_path / "store.sqlite3"

    def script(arrival: Arrival) -> Behaviour:
        number = case_number(arrival)
        if number == 3:
            return status_reply(400, "this image is bad")
        if number == 4 and arrival.nth == 1:
            return status_reply(503, headers={"retry-after-ms": "1"})
        if number == 7:
            return SILENCE
        return chat_reply("no JSON at all" if number == 2 else answer_text(), usage=(100, 10))

    with ScriptedServer(script) as server:
        priced(tmp_path, server.url)
        process = sweep(*run_args(tmp_path, "--attempts", "1"), cwd=tmp_path)
        await until_a_run(place)
        async with viewer(place) as page:
            said = await until_said(page, "6 of 8 units done", "bad request 1", "unavailable 1", "1 of 4")
            assert "valid 5 unparsable 1 rejected 1" in said
            assert "1 request in flight" in said and "served" not in said
            process.send_signal(signal.SIGINT)
            await until_said(page, "interrupted: finishing what is in flight")
            process.send_signal(signal.SIGINT)
            assert finish(process).code == 130
            said = await page.text()
    assert said.startswith("interrupted 6 of 8 units done")
    assert "unavailable 1" in said  # why requests were sent again, of the session that ended
    assert "6 of 8" in said


@pytest.mark.slow
async def test_two_sessions_on_one_run_are_told_apart_and_added_up(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 8)
    place = tmp_path / "store.sqlite3"
    with ScriptedServer(lambda arrival: chat_reply(answer_text(), usage=(100, 10))) as server:
        priced(tmp_path, server.url)
        server.hold()
        first = sweep(*run_args(tmp_path, "--shard", "1/2"), cwd=tmp_path)
        await until_a_run(place)
        second = sweep(*run_args(tmp_path, "--shard", "2/2"), cwd=tmp_path)
        async with viewer(place) as page:
            said = await until_said(page, "2 requests in flight", "shard 1/2", "shard 2/2")
            assert said.count("at work told") == 3  # the run, and each session
            for process in (first, second):
                assert f" by process {process.pid} on " in said
            first.send_signal(signal.SIGKILL)
            first.communicate()
            said = await until_said(page, "killed: its process is gone", "1 request in flight")
            assert said.startswith("at work"), "one of them goes on"
            assert f" by process {first.pid} on " in said and "it is gone: anyone may take them over" in said
            server.release()
            assert finish(second).code in {0, 3}
            said = await page.text()
    assert "ended" in said and "killed" in said


async def shown(place: Path, *, part: bool = True) -> str:
    async with viewer(place) as page:
        return await page.html(part=part)


def test_no_key_and_no_word_of_a_case_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-live-0123456789abcdef"
    write_cases(tmp_path / "data", 2)
    place = tmp_path / "store.sqlite3"

    def script(arrival: Arrival) -> Behaviour:
        return status_reply(401, f"no such key: {arrival.headers['authorization']}", code="invalid_api_key")

    with ScriptedServer(script) as server:
        config = write_config(tmp_path, server.url)
        text = config.read_text(encoding="utf-8")
        config.write_text(
            text.replace('endpoint = "lab"', 'endpoint = "lab"\napi_key_env = "LAB_KEY"'), encoding="utf-8"
        )
        monkeypatch.setenv("LAB_KEY", key)
        done = harness(*run_args(tmp_path))
        assert done.code == 3, done.err
    said = asyncio.run(shown(place, part=False))
    with closing(sqlite3.connect(place)) as database:
        [(packed,)] = database.execute("SELECT state FROM session_live").fetchall()
    told = zlib.decompress(packed).decode("ascii")
    assert "no such key" in told and "no such key" in said
    for text in (told, said):
        assert key not in text and "0123456789" not in text and "my tooth hurts" not in text
    assert json.loads(told)["pools"][0]["failures"] == {"auth": 1}


def test_an_import_tells_how_many_answers_it_has_read(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
    lines = [json.dumps({"id": f"c{n:03}", "answer": answer_text()}) for n in range(3)]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(lines), encoding="utf-8")
    place = tmp_path / "store.sqlite3"
    done = harness(
        "import", answers, "--benchmark", "triage", "--data", tmp_path / "data", "--model", "theirs",
        "--store", place,
    )  # fmt: skip
    assert done.code == 0, done.err
    said = asyncio.run(shown(place))
    assert "3 answers read" in said and "ended: nothing is left to ask" in said
