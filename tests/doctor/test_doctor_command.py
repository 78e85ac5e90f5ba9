"""`harness doctor` against a scripted server and the simulator: each check's good and bad ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import SILENCE, Arrival, Behaviour, chat_reply, json_reply, rate_limited, status_reply
from scripted_server import ScriptedServer, closed_url
from sweep_kit import Done, finish, harness, spawn, wait_until, write_config

KEY = "sk-doctor-0123456789abcdefSECRET"
HEADERS = {
    "x-ratelimit-limit-requests": "600",
    "x-ratelimit-limit-tokens": "90000",
    "x-ratelimit-remaining-requests": "599",
    "x-ratelimit-reset-requests": "0.1s",
}


def listed(*names: str, **facts: Any) -> Behaviour:
    entries = [{"id": name, "object": "model", **facts} for name in names]
    return json_reply({"object": "list", "data": entries})


def kind(arrival: Arrival) -> str:
    """Return which of the doctor's calls this is."""
    if arrival.path.endswith("/models"):
        return "list"
    if "/models/" in arrival.path:
        return "page"
    if (chosen := arrival.json.get("response_format")) is not None:
        return "schema" if chosen["type"] == "json_schema" else "json"
    return "image" if b"image_url" in arrival.body else "text"


GOOD: dict[str, Behaviour] = {
    "page": json_reply({"detail": "Not Found"}, 404),
    "list": listed("m", max_model_len=4096),
    "text": chat_reply("Pelican.", model="m", headers=HEADERS),
    "image": chat_reply("Yellow, then green.", model="m"),
    "schema": chat_reply('{"word": "tangerine"}', model="m"),
    "json": chat_reply('{"colour": "green"}', model="m"),
}


def doctor(
    folder: Path, *args: str, replies: dict[str, Behaviour] | None = None, extra: str = "", **settings: Any
) -> tuple[Done, list[str]]:
    """Run the doctor on model m at a server; return what it said and which calls arrived."""
    script = GOOD | (replies or {})
    with ScriptedServer(lambda arrival: script[kind(arrival)]) as server:
        path = write_config(folder, server.url, **settings)
        text = path.read_text(encoding="utf-8").replace('endpoint = "lab"', f'endpoint = "lab"\n{extra}')
        path.write_text(text, encoding="utf-8")
        done = harness("doctor", "--models", "m", "--config", path, *args)
        return done, [kind(arrival) for arrival in server.arrivals]


def checks(done: Done) -> dict[str, dict[str, Any]]:
    (model,) = done.json
    return {one["check"]: one for one in model["checks"]}


def levels(done: Done) -> dict[str, str]:
    return {name: one["level"] for name, one in checks(done).items()}


def test_a_sound_model_is_ok_in_every_check_and_each_is_asked_once(tmp_path: Path) -> None:
    done, calls = doctor(tmp_path, "--json", extra='limit_headers = "openai"')
    assert done.code == 0, done.err
    assert set(levels(done).values()) == {"ok"}
    assert calls == ["page", "list", "text", "image", "schema", "json"]
    assert "600 requests, 90,000 tokens a minute" in checks(done)["limits"]["text"]
    assert "4,096 tokens of context" in checks(done)["model"]["text"]
    assert checks(done)["served"]["text"] == "as asked: 'm'"


def test_no_store_is_opened_and_nothing_stored_answers(tmp_path: Path) -> None:
    for _ in range(2):
        _, calls = doctor(tmp_path)
        assert calls.count("text") == 1
    assert not list(tmp_path.rglob("*sqlite*"))


def test_the_lines_fit_eighty_columns_and_tell_latency_tokens_and_usd(tmp_path: Path) -> None:
    done, _ = doctor(tmp_path)
    assert max(map(len, done.out.splitlines())) <= 80
    (line,) = [line for line in done.out.splitlines() if line.startswith("  ok    text")]
    assert "answered 'Pelican.'" in line and "11+7 tokens, $?" in line
    assert "4 of unknown price in all" in done.err


def test_a_missing_key_is_named_and_nothing_is_sent(tmp_path: Path) -> None:
    done, calls = doctor(tmp_path, "--json", extra='api_key_env = "LAB_API_KEY"')
    assert (done.code, calls) == (3, [])
    assert levels(done)["key"] == "fail" and checks(done)["key"]["text"] == "LAB_API_KEY is not set"
    assert set(levels(done).values()) == {"fail", "-"}


@pytest.mark.parametrize("flag", [["--json"], ["--raw"]])
def test_a_key_that_the_server_echoes_is_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: list[str]
) -> None:  # F46
    monkeypatch.setenv("LAB_API_KEY", KEY)
    said = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    refused = json_reply(said, 401, {"x-echo": KEY})
    done, calls = doctor(
        tmp_path, *flag, extra='api_key_env = "LAB_API_KEY"', replies=dict.fromkeys(GOOD, refused)
    )
    assert done.code == 3
    assert KEY not in done.out + done.err
    assert "Incorrect API key provided: [masked key]" in " ".join(done.out.split())
    assert calls == ["page", "list", "text"]


def test_the_key_goes_to_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", f" {KEY}\n")
    sent: list[str | None] = []

    def script(arrival: Arrival) -> Behaviour:
        sent.append(arrival.headers.get("authorization"))
        return GOOD[kind(arrival)]

    with ScriptedServer(script) as server:
        path = write_config(tmp_path, server.url)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('endpoint = "lab"', 'api_key_env = "LAB_API_KEY"'), encoding="utf-8")
        assert harness("doctor", "--models", "m", "--config", path).code == 0
    assert sent == [f"Bearer {KEY}"] * 6


@pytest.mark.parametrize(
    ("reply", "words", "advice"),
    [
        (status_reply(401, "bad key", code="invalid_api_key"), "status 401, auth: bad key", "check"),
        (status_reply(429, "empty", code="insufficient_quota"), "quota exhausted: empty", "add credit"),
        (status_reply(500, "boom"), "status 500, unavailable: boom", "status page"),
        (status_reply(400, "no such field"), "bad request: no such field", "a parameter"),
        (status_reply(402, "Insufficient Balance"), "quota exhausted: Insufficient", "add credit"),
    ],
)
def test_a_refused_question_fails_with_the_providers_words_and_advice(
    tmp_path: Path, reply: Behaviour, words: str, advice: str
) -> None:  # F21
    done, calls = doctor(tmp_path, "--json", replies={"text": reply})
    assert done.code == 3
    assert levels(done)["text"] == "fail" and levels(done)["endpoint"] == "ok"
    assert words in checks(done)["text"]["text"]
    assert advice in checks(done)["text"]["advice"]
    assert calls == ["page", "list", "text"]  # once, and nothing after it
    assert levels(done)["image"] == "-"


def test_a_refused_connection_fails_the_endpoint_by_the_shared_words(tmp_path: Path) -> None:
    path = write_config(tmp_path, closed_url())
    done = harness("doctor", "--models", "m", "--config", path, "--json")
    assert done.code == 3
    assert "connection refused" in checks(done)["endpoint"]["text"]
    assert "base_url of [providers.lab]" in checks(done)["endpoint"]["advice"]
    assert levels(done)["text"] == "-"


def test_a_short_wait_is_kept_once_and_the_second_429_is_the_end(tmp_path: Path) -> None:  # F31
    done, calls = doctor(tmp_path, "--json", replies={"text": rate_limited(0.01)})
    assert (done.code, calls.count("text")) == (3, 2)
    assert "rate limited" in checks(done)["text"]["text"]
    assert levels(done)["limits"] == "warn"


def test_a_wait_beyond_the_time_is_not_waited_for(tmp_path: Path) -> None:  # F51
    done, calls = doctor(tmp_path, "--json", replies={"text": rate_limited(9000)})
    assert (done.code, calls.count("text")) == (3, 1)
    assert "9,000 s" in checks(done)["text"]["advice"]


def test_a_model_that_the_list_lacks_is_suspicious_even_where_it_answers(tmp_path: Path) -> None:
    done, _ = doctor(tmp_path, "--json", replies={"list": listed("m2", "other")})
    assert (done.code, levels(done)["model"]) == (0, "warn")
    told = checks(done)["model"]["text"]
    assert "'m2', 'other'" in told and "yet it answered" in told


def test_a_model_that_nobody_knows_fails_with_the_nearest_name(tmp_path: Path) -> None:
    gone = status_reply(404, "The model `m` does not exist", code="model_not_found")
    done, calls = doctor(tmp_path, "--json", replies={"page": gone, "list": listed("M2", "x"), "text": gone})
    assert "did you mean 'M2'" in checks(done)["model"]["text"]
    assert (done.code, levels(done)["model"], levels(done)["text"]) == (3, "fail", "-")
    assert calls == ["page", "list", "text"]


def test_a_smaller_context_than_the_settings_say_is_a_warning(tmp_path: Path) -> None:
    done, _ = doctor(tmp_path, "--json", context_tokens=32768)
    assert levels(done)["model"] == "warn"
    assert "4,096 tokens of context, and the settings say 32,768" in checks(done)["model"]["text"]


@pytest.mark.parametrize("said", ["Red.", "Green, then yellow", "I see no picture", "Blue and white, yellow"])
def test_a_wrong_answer_about_the_picture_is_a_warning(tmp_path: Path, said: str) -> None:  # F16
    done, _ = doctor(tmp_path, "--json", replies={"image": chat_reply(said, model="m")})
    assert (done.code, levels(done)["image"]) == (0, "warn")
    assert said in checks(done)["image"]["text"] and "may not see" in checks(done)["image"]["advice"]


@pytest.mark.parametrize(
    "said", ["yellow green", "Left: GOLD\n\nRight: lime", "<think>red?</think>Yellow, green"]
)
def test_a_right_answer_about_the_picture_is_known_in_other_words(tmp_path: Path, said: str) -> None:
    done, _ = doctor(tmp_path, "--json", replies={"image": chat_reply(said, model="m")})
    assert levels(done)["image"] == "ok"


def test_a_model_without_images_is_not_shown_one(tmp_path: Path) -> None:
    done, calls = doctor(tmp_path, "--json", inputs=["text"])
    assert levels(done)["image"] == "-" and "image" not in calls


def test_a_picture_that_is_refused_fails_and_names_the_setting(tmp_path: Path) -> None:
    done, _ = doctor(tmp_path, "--json", replies={"image": status_reply(400, "images are not supported")})
    assert (done.code, levels(done)["image"]) == (3, "fail")


@pytest.mark.parametrize(
    ("mode", "said"), [("schema", '{"word": "dog"}'), ("schema", "A dog barks."), ("json", "Grass is green.")]
)
def test_a_mode_that_is_ignored_is_a_warning(tmp_path: Path, mode: str, said: str) -> None:
    done, _ = doctor(tmp_path, "--json", replies={mode: chat_reply(said, model="m")})
    assert (done.code, levels(done)[mode]) == (0, "warn")
    assert checks(done)[mode]["text"].startswith("ignored") and mode in checks(done)[mode]["advice"]


def test_modes_that_no_setting_names_are_tried_only_with_all(tmp_path: Path) -> None:
    done, calls = plain(tmp_path)
    assert levels(done)["schema"] == "-" and calls == ["page", "list", "text", "image"]
    done, calls = plain(tmp_path, "--all")
    assert calls == ["page", "list", "text", "image", "schema", "json"]
    assert "add 'schema' to its `structured`" in checks(done)["schema"]["advice"]


def plain(folder: Path, *args: str) -> tuple[Done, list[str]]:
    with ScriptedServer(lambda arrival: GOOD[kind(arrival)]) as server:
        path = write_config(folder, server.url)
        text = path.read_text(encoding="utf-8").replace('structured = ["json", "schema"]', "structured = []")
        path.write_text(text, encoding="utf-8")
        done = harness("doctor", "--models", "m", "--config", path, "--json", *args)
        return done, [kind(arrival) for arrival in server.arrivals]


@pytest.mark.parametrize(
    ("served", "level"),
    [("m", "ok"), ("org/M", "ok"), ("m-2025-04-16", "ok"), ("m-mini", "warn"), ("n", "warn")],
)
def test_the_model_that_really_answered_is_compared(tmp_path: Path, served: str, level: str) -> None:
    answers = {
        "text": chat_reply("pelican", model=served),
        "image": chat_reply("yellow green", model=served),
        "schema": chat_reply('{"word": "tangerine"}', model=served),
        "json": chat_reply("{}", model=served),
    }
    done, _ = doctor(tmp_path, "--json", replies=answers)
    assert levels(done)["served"] == level


def test_another_word_is_a_warning_and_an_answer_cut_in_reasoning_too(tmp_path: Path) -> None:
    done, calls = doctor(tmp_path, "--json", replies={"text": chat_reply("Hello!", model="m")})
    assert (levels(done)["text"], "image" in calls) == ("warn", True)
    cut = chat_reply("", "length", (9, 2048), model="m", reasoning="hm")
    done, _ = doctor(tmp_path, "--json", replies={"text": cut})
    assert levels(done)["text"] == "warn" and "2,048 tokens" in checks(done)["text"]["text"]


def test_silence_ends_with_the_time_and_leaves_the_other_models_alone(tmp_path: Path) -> None:  # F33
    def script(arrival: Arrival) -> Behaviour:
        silent = kind(arrival) == "text" and arrival.json["model"] == "m"
        return SILENCE if silent else GOOD[kind(arrival)]

    with ScriptedServer(script) as server:
        path = write_config(tmp_path, server.url, ["m", "n"])
        done = harness("doctor", "--models", "m,n", "--config", path, "--json", "--timeout", "0.5")
    first, second = done.json
    assert done.code == 3 and (first["name"], second["name"]) == ("m", "n")
    found = {one["check"]: one for one in first["checks"]}
    assert found["text"]["level"] == "fail" and "0.5 s (--timeout)" in found["text"]["text"]
    assert found["endpoint"]["level"] == "ok" and found["image"]["level"] == "-"
    assert second["level"] in ("ok", "warn")


@pytest.mark.slow
def test_ctrl_c_tells_what_is_finished_and_ends_with_130(tmp_path: Path) -> None:  # F47
    def script(arrival: Arrival) -> Behaviour:
        slow = "/models" not in arrival.path and arrival.json["model"] == "n"
        return SILENCE if slow else GOOD[kind(arrival)]

    with ScriptedServer(script) as server:
        path = write_config(tmp_path, server.url, ["m", "n"])
        process = spawn("doctor", "--models", "m,n", "--config", path, cwd=tmp_path)
        assert process.stdout is not None
        assert process.stdout.readline() == "m  (lab, m)\n"  # told as soon as it is finished
        wait_until(lambda: server.in_flight == 1)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 130
    assert "1 ok, 0 with warnings, 0 failed, 1 not finished" in done.err
    assert "Traceback" not in done.err


def test_an_unknown_model_is_a_usage_error_before_anything_is_sent(tmp_path: Path) -> None:
    done, calls = doctor(tmp_path, "--models", "sim/stedy")
    assert (done.code, calls) == (2, []) and "sim/steady" in done.err


def test_a_dry_run_names_questions_and_usd_and_sends_nothing(tmp_path: Path) -> None:
    done, calls = doctor(tmp_path, "--dry-run", "--json")
    assert (done.code, calls) == (0, [])
    assert done.json[0]["questions"] == 4 and done.json[0]["high_usd"] is None


def test_an_end_that_is_near_or_past_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    near, _ = doctor(tmp_path, "--dry-run", retires_on="2020-01-01", note="m-2 stays")
    told = "its provider was to withdraw it on 2020-01-01 (m-2 stays; by harness.toml)"
    assert near.code == 0 and f"note: model 'm' may be gone: {told}" in near.err
    past, calls = doctor(tmp_path, "--dry-run", retired="gone since 2020; stand-in: m-2")
    assert past.code == 0 and calls == []
    assert "note: model 'm' is retired by its provider: gone since 2020; stand-in: m-2" in past.err


def test_simulated_models_are_found_sound() -> None:
    done = harness("doctor", "--models", "sim/steady,sim/careful", "--json")
    assert done.code == 0, done.err
    assert [model["level"] for model in done.json] == ["ok", "ok"]
    found = {one["check"]: one["text"] for one in done.json[0]["checks"]}
    assert found["image"].startswith("seen") and found["schema"] == found["json"] == "honoured"


def test_raw_shows_how_answers_began(tmp_path: Path) -> None:
    done, _ = doctor(tmp_path, "--raw")
    assert "/chat/completions: status 200, answered" in done.out and "chatcmpl-scripted" in done.out


def test_json_is_one_line_of_facts_a_call(tmp_path: Path) -> None:
    done, _ = doctor(tmp_path, "--json")
    calls = done.json[0]["calls"]
    assert [call["check"] for call in calls] == ["model", "model", "text", "image", "schema", "json"]
    assert calls[2]["usage"]["input_tokens"] == 11 and json.loads(calls[2]["body_start"])["model"] == "m"
