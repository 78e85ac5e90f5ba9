"""Every exchange of a unit, as real sweeps leave them: sent again and why, read, cut, and to be had whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, json_reply
from scripted_server import ScriptedServer
from step_examples import answering_server, ready_source, step_args, with_small_judge
from stored_run_builder import EXTRACTION, Plan, built_run
from sweep_kit import answer_text, harness, labels_of, run_args, write_cases, write_config
from web.test_unit_page import UNIT, with_image
from web_viewing import Page, Viewing, is_closed, looked_at, viewing

from harness.outcomes import ExchangeOutcome, UnitOutcome

KEY = "sk-proj-Zk3uQ9vXw0aB7cD1eF5gH2jK"
GOOD = chat_reply(answer_text(labels_of(0)), model="m")


def sweep(folder: Path, script: Callable[[Arrival], Behaviour], *more: str, **settings: Any) -> None:
    """Ask one case by a script, and leave its run in a store."""
    write_cases(folder / "data", 1)
    reformatter = settings.pop("reformatter", "none")
    with ScriptedServer(script) as server:
        config = write_config(folder, server.url, ("m", "r"), **settings)
        keyed = config.read_text().replace('endpoint = "lab"', 'endpoint = "lab"\napi_key_env = "LAB_KEY"')
        config.write_text(keyed)
        done = harness(*run_args(folder, *more, reformatter=reformatter))
    assert done.code in {0, 3}, done.err


def unit_page(folder: Path, case: str = "c000", run: str = "latest", **more: str) -> Page:
    async def look(view: Viewing) -> Page:
        return await view.page("/unit", run=run, case=case, **more)

    return looked_at(folder / "store.sqlite3", look)


def asked(folder: Path, path: str, headers: dict[str, str] | None = None, **query: Any) -> Any:
    async def look(view: Viewing) -> Any:
        return await view.get(path, headers, **query)

    return looked_at(folder / "store.sqlite3", look)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)


def test_a_request_that_went_again_says_why_and_which_send_was_used(tmp_path: Path) -> None:
    def script(arrival: Arrival) -> Behaviour:
        if arrival.nth == 1:
            return json_reply({"error": {"message": "overloaded"}}, 503, {"retry-after": "0.01"})
        if arrival.nth == 2:
            return json_reply({"error": {"message": "slow down"}}, 429, {"retry-after": "0.01"})
        return GOOD

    sweep(tmp_path, script)
    text = unit_page(tmp_path).text
    first, second, third = (text.index(f"{n}. answer, attempt 1, send {n}") for n in (1, 2, 3))
    assert "unavailable" in text[first:second] and "status 503" in text[first:second]
    assert "the same request was sent again, because this one ended as unavailable" in text[first:second]
    assert "the provider's words: slow down" in text[second:third]
    assert "because this one ended as rate_limited" in text[second:third]
    assert "answered used" in text[third:].replace("answeredused", "answered used")
    assert "sent again" not in text[third:]


def test_attempts_and_the_reformatter_stand_in_order_each_with_why_the_next_was_asked(tmp_path: Path) -> None:
    def script(arrival: Arrival) -> Behaviour:
        if (arrival.json or {}).get("model") != "m":
            return chat_reply(answer_text(labels_of(0)), model="r")
        return chat_reply(f"prose, the {arrival.nth}th time", model="m")

    sweep(tmp_path, script, "--attempts", "2", reformatter="r")
    text = unit_page(tmp_path).text
    places = [
        text.index(said)
        for said in (
            "1. answer, attempt 1, send 1",
            "not usable: the answer holds no JSON",
            "asked again as attempt 2, because this answer could not be used",
            "2. answer, attempt 2, send 1",
            "no attempt could be used, so the last complete answer went to the reformatter",
            "3. reformatter, send 1",
        )
    ]
    assert places == sorted(places)
    assert "outcome reformatted at reformatter" in text


def test_a_request_is_read_in_turns_with_its_feedback_and_its_media_linked(tmp_path: Path) -> None:
    def script(arrival: Arrival) -> Behaviour:
        return GOOD if len(arrival.json["messages"]) > 1 else chat_reply("prose", model="m")

    sweep(tmp_path, script, "--reask", "feedback")
    page = unit_page(tmp_path)
    parts = [link for link in page_parts(page) if "part=request" in link]
    assert len(parts) == 2
    found = Page(asked(tmp_path, parts[1], {"hx-request": "true"}).text)
    assert "<html" not in found.html
    assert "CASE<000> my tooth hurts" in found.text
    assert found.text.index("CASE<000>") < found.text.index("assistant prose")
    assert "the document as it is stored, media by digest" in found.text and '"$media"' in found.text
    (medium,) = found.links("/media/file")
    assert asked(tmp_path, medium).headers["content-type"] == "image/png"
    whole = asked(tmp_path, found.links("/exchange/body")[-1])
    assert json.loads(whole.content)["model"] == "m"


def page_parts(page: Page) -> list[str]:
    return [values["hx-get"] or "" for tag, values in page.tags if tag == "details" and "hx-get" in values]


def test_without_scripts_the_same_parts_are_pages(tmp_path: Path) -> None:
    sweep(tmp_path, lambda arrival: GOOD)
    page = unit_page(tmp_path)
    for address in page_parts(page):
        assert address in page.links("/exchange")
        found = Page(asked(tmp_path, address).text)
        assert "<html" in found.html and "Exchange 1" in found.text and is_closed(found) == []
        assert (found.key("u") or "").startswith("/unit?")
    assert "This cannot be shown" in asked(tmp_path, "/exchange", id=1, part="all").text


def test_a_key_that_a_server_sent_back_is_nowhere_on_the_pages(tmp_path: Path) -> None:  # F46
    def script(arrival: Arrival) -> Behaviour:
        return json_reply({"error": {"message": f"bad key {KEY}"}}, 401, {"x-echo": f"Bearer {KEY}"})

    sweep(tmp_path, script)
    page = unit_page(tmp_path)
    found = [page.html, asked(tmp_path, "/exchange", id=1).text]
    found += [asked(tmp_path, "/exchange/body", id=1, part=part).text for part in ("body", "request")]
    assert not any(KEY in one for one in found)
    assert "an API key that the server echoed is masked in it" in page.text
    assert "bad key" in found[2]


def test_an_answer_that_was_paid_by_an_earlier_run_says_by_which(tmp_path: Path) -> None:
    sweep(tmp_path, lambda arrival: GOOD, "--name", "first")
    sweep(tmp_path, lambda arrival: GOOD, "--name", "second", "--attempts", "2")
    text = unit_page(tmp_path, run="second").text
    assert "taken from the store: paid by session 1 of run first" in text


def test_a_unit_asked_again_keeps_its_earlier_round(tmp_path: Path) -> None:
    sweep(tmp_path, lambda arrival: chat_reply(answer_text(labels_of(1)), model="m"))
    sweep(tmp_path, lambda arrival: GOOD, "--again", "valid")
    text = unit_page(tmp_path).text
    assert "asked once more because --again marked the unit" in text
    assert "an earlier round" in text[: text.index("2. answer, attempt 1")]


async def test_a_body_of_20_mb_is_cut_on_pages_and_streamed_as_a_file(tmp_path: Path) -> None:
    raw = b'{"choices": "' + b"x" * 20_000_000 + b'"}'
    async with built_run(tmp_path, Plan([with_image("c1", EXTRACTION)])) as built:
        id = await built.exchange(UNIT, raw, outcome=ExchangeOutcome.MALFORMED_REPLY)
        await built.finish(UNIT, UnitOutcome.PROVIDER_ERROR, [(id, "answer", 1)], error="malformed_reply: x")
        async with viewing(built.store) as view:
            page = await view.page("/unit", run="test-run", case="c1")
            part = await view.get("/exchange", {"hx-request": "true"}, id=id, part="body")
            file = await view.get("/exchange/body", id=id)
    assert len(page.html) < 60_000 and len(part.text) < 60_000
    assert "20,000,015 bytes" in part.text
    assert file.content == raw
    assert file.headers["content-type"] == "text/plain"
    assert file.headers["content-disposition"] == f'attachment; filename="exchange-{id}-body.txt"'
    assert file.headers["x-content-type-options"] == "nosniff"


async def test_an_exchange_that_is_not_there_is_refused(tmp_path: Path) -> None:
    plan = Plan([with_image("c1", EXTRACTION)])
    async with built_run(tmp_path, plan) as built, viewing(built.store) as view:
        answers = [await view.get("/exchange", id=id) for id in ("7", "-1", "x", "9" * 40, "")]
        parts = [await view.get("/exchange/body", id="1", part=part) for part in ("headers", "../x")]
    assert {one.status_code for one in answers} == {404} and {one.status_code for one in parts} == {404}


def test_imported_answers_say_where_they_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path / "data", 2)
    Path("harness.toml").write_text('[benchmarks.triage]\ndata = "data"\n', encoding="utf-8")
    line = json.dumps({"id": "c000", "answer": answer_text(labels_of(0))})
    Path("a.jsonl").write_text(line + "\n", encoding="utf-8")
    done = harness("import", "a.jsonl", "--benchmark", "triage", "--model", "old", "--store", "store.sqlite3")
    assert done.code in {0, 3}, done.err
    page, missing = unit_page(tmp_path), unit_page(tmp_path, case="c001")
    assert "imported from 'a.jsonl', row 1" in page.text and "old imported" in page.text
    assert "1. imported answer, attempt 1" in page.text
    assert "its answers are imported, and nobody is asked for it" in page.text
    assert "the imported files hold no answer for this unit" in missing.text


server = pytest.fixture(answering_server)
small_judge = pytest.fixture(with_small_judge)


@pytest.mark.usefixtures("small_judge")
def test_a_step_and_the_answer_that_it_is_about_lead_to_each_other(
    tmp_path: Path, server: ScriptedServer
) -> None:
    ready_source(tmp_path, 2)
    write_config(tmp_path, server.url, ["a", "j"])
    assert harness(*step_args(tmp_path, "--name", "judged")).code == 0
    page = unit_page(tmp_path, run="night", case="c001")
    assert "judge by j in run judged" in page.text
    (there,) = page.links("/unit?run=judged")
    step = Page(asked(tmp_path, there).text)
    assert "This is a unit of the step judge, about an answer of run night" in step.text
    back = next(one for one in step.links("/unit?run=night") if "case=c001" in one)
    assert "c001" in Page(asked(tmp_path, back).text).text
