"""`harness explain` on sweeps against a scripted server."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scripted_replies import Arrival, Reply, chat_reply, html_reply, json_reply, rate_limited, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    Done,
    answer_text,
    finish,
    harness,
    right_answer,
    run_args,
    spawn,
    write_cases,
    write_config,
)

from harness import media_reading
from harness.media import Media, probe
from harness.moments import now_us
from harness.outcomes import UnitOutcome


def explain(folder: Path, *more: str | Path, case: str = "c000") -> Done:
    where = ("--config", folder / "harness.toml", "--store", folder / "store.sqlite3")
    return harness("explain", "--case", case, *where, "--data", folder / "data", *more)


def facts(folder: Path, *more: str | Path, case: str = "c000") -> Any:
    done = explain(folder, "--json", *more, case=case)
    assert done.code == 0, done.err
    return done.json


@pytest.fixture(scope="module")
def one_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep of one case, to be copied."""
    folder = tmp_path_factory.mktemp("one")
    assert swept(folder).code == 0
    return folder


@pytest.fixture
def one(one_sweep: Path, tmp_path: Path) -> Path:
    """A folder of its own that holds a finished sweep of one case."""
    shutil.copytree(one_sweep, tmp_path, dirs_exist_ok=True)
    return tmp_path


def swept(
    folder: Path, *more: str | Path, cases: int = 1, script: Any = right_answer, **settings: Any
) -> Done:
    """Run a sweep to its end on a server that is gone afterwards."""
    if not (folder / "data").exists():
        write_cases(folder / "data", cases)
    with ScriptedServer(script) as server:
        write_config(folder, server.url, **settings)
        return harness(*run_args(folder, *more))


def test_every_exchange_of_a_unit_is_told_in_order(tmp_path: Path) -> None:
    def script(arrival: Arrival) -> Reply:
        replies = {
            0: rate_limited(0.01, "slow down"),
            1: chat_reply("I think it should come out."),
        }
        return replies.get(arrival.number, right_answer(arrival))

    swept(tmp_path, script=script)
    found = facts(tmp_path)
    told = [
        (one["purpose"], one["attempt"], one["send"], one["status"], one["outcome"], one["used"])
        for one in found["exchanges"]
    ]
    assert told == [
        ("answer", 1, 1, 429, "rate_limited", False),
        ("answer", 1, 2, 200, "answered", False),
        ("answer", 2, 1, 200, "answered", True),
    ]
    first, second, third = found["exchanges"]
    assert "slow down" in first["message"] and first["text"] is None
    assert "JSON" in second["not_usable_because"]
    assert third["not_usable_because"] is None and json.loads(third["text"])
    assert found["state"] == "valid" and found["stage"] == "attempt-2"
    assert (third["endpoint"], third["provider"], third["model"]) == ("lab", "lab", "m")
    assert [one["cached"] for one in found["exchanges"]] == [False] * 3


def test_the_text_fits_80_columns_and_long_answers_are_cut_without_full(tmp_path: Path) -> None:
    answer = answer_text(reasoning="word " * 200 + "END")
    swept(tmp_path, script=lambda arrival: chat_reply(answer))
    short, full = explain(tmp_path).out, explain(tmp_path, "--full").out
    assert max(map(len, (short + full).splitlines())) <= 80
    assert "END" not in short and "--full shows all" in short
    assert "END" in full


def test_a_unit_that_was_never_begun_says_so(tmp_path: Path) -> None:
    swept(tmp_path, cases=2)
    with sqlite3.connect(tmp_path / "store.sqlite3") as database:
        database.execute("DELETE FROM unit_exchange WHERE case_id = 'c001'")
        database.execute("DELETE FROM unit WHERE case_id = 'c001'")
    database.close()
    found = facts(tmp_path, case="c001")
    assert (found["state"], found["exchanges"]) == ("never begun", [])
    # Its answer is stored all the same, so nothing would be sent.
    assert found["next"]["asks"] is False and "stored answers" in found["next"]["told"]


def test_an_open_unit_and_a_session_that_was_killed_are_told(one: Path) -> None:
    with sqlite3.connect(one / "store.sqlite3") as database:
        database.execute("UPDATE unit SET outcome = NULL")
        database.execute("UPDATE session SET ended_at_us = NULL")
    database.close()
    found = facts(one)
    assert found["state"] == "open" and "not finished" in found["why"][0]
    assert found["sessions_not_ended"][0]["session"] == 1
    assert len(found["exchanges"]) == 1
    assert "session 1 of this run began at " in explain(one).out


def test_sessions_that_were_killed_are_told_in_one_sentence(one: Path) -> None:
    with sqlite3.connect(one / "store.sqlite3") as database:
        database.execute("UPDATE session SET ended_at_us = NULL")
        for _ in range(2):
            database.execute(
                "INSERT INTO session (run_id, started_at_us, info) SELECT run_id, started_at_us, info "
                "FROM session WHERE id = 1"
            )
    database.close()
    assert [session["session"] for session in facts(one)["sessions_not_ended"]] == [1, 2, 3]
    told = " ".join(explain(one).out.split())
    assert "sessions 1, 2 and 3 of this run have not ended (the last began at " in told
    assert told.count("have not ended") == 1 and "has not ended" not in told


@pytest.mark.parametrize(
    ("reply", "outcome", "words"),
    [
        (status_reply(400, "the picture is odd"), "rejected", "the provider rejected the request"),
        (chat_reply("", finish="content_filter"), "filtered", "filter"),
        (chat_reply("it", finish="length"), "truncated", "cut off"),
        (chat_reply("It hurts."), "unparsable", "no attempt gave an answer"),
    ],
)
def test_the_end_is_told_in_words(tmp_path: Path, reply: Reply, outcome: str, words: str) -> None:
    swept(tmp_path, script=lambda arrival: reply)
    found = facts(tmp_path)
    assert found["state"] == outcome
    assert words in " ".join(found["why"])


@pytest.mark.parametrize(
    ("reply", "state", "told", "quoted"),
    [
        (status_reply(400, "the picture is odd"), "rejected", "the provider's words: the picture", True),
        (html_reply(413), "rejected", "why there is no answer: 413: the request is too large for", False),
        (html_reply(200), "provider_error", "why there is no answer: a web page in place of", False),
        (status_reply(418), "provider_error", "why there is no answer: status 418, never seen before", False),
    ],
)
def test_only_the_providers_words_are_called_so(
    tmp_path: Path, reply: Reply, state: str, told: str, quoted: bool
) -> None:
    swept(tmp_path, script=lambda arrival: reply, max_sends=1)
    shown = " ".join(explain(tmp_path).out.split())
    assert facts(tmp_path)["state"] == state
    assert told in shown and ("the provider's words" in shown) == quoted
    if state == "rejected":  # mended on either side, it is asked again
        assert swept(tmp_path).code == 0


def test_what_is_beyond_a_model_is_told_with_what_it_would_take(tmp_path: Path) -> None:
    swept(tmp_path, inputs=["text"])
    found = facts(tmp_path)
    assert (found["state"], found["exchanges"]) == ("not_applicable", [])
    assert "takes no images" in found["next"]["told"]


def test_a_case_without_its_image_is_told(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    (tmp_path / "data/images/000.png").unlink()
    swept(tmp_path)
    found = facts(tmp_path)
    assert found["state"] == "case_error"
    assert "000.png" in found["next"]["told"]


def test_every_unit_outcome_has_its_sentence() -> None:
    from harness.attempts import UnitResult
    from harness.cache.rows import UnitId, UnitState
    from harness.explaining.sentences import why

    for outcome in UnitOutcome:
        state = UnitState(UnitId("m", "c", "1"), outcome)
        (said,) = why(UnitResult(outcome), state)
        assert len(said) > 20


# Why would it be asked anew? (F50)


def edit_config(folder: Path, old: str, new: str) -> None:
    path = folder / "harness.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def missed(folder: Path, *more: str | Path) -> list[tuple[str, str]]:
    """Return what the nearest stored request differs in."""
    found = facts(folder, *more)["next"]
    assert found["asks"] is True, found
    return [(one["component"], one["path"]) for one in found["nearest"]["differences"]]


def test_nothing_would_be_asked_while_nothing_has_changed(one: Path) -> None:
    found = facts(one)["next"]
    assert (found["asks"], found["by"]) == (False, "now")


def test_a_changed_parameter_is_named(one: Path) -> None:  # F50
    edit_config(one, "[models.m]", "[models.m]\nparams = { temperature = 0.5 }")
    assert missed(one) == [("parameter", "temperature")]
    shown = explain(one).out
    assert "parameter temperature: stored nothing, wanted 0.5" in " ".join(shown.split())


def test_another_endpoint_comes_with_the_way_out(one: Path) -> None:  # F50
    edit_config(one, 'endpoint = "lab"\n', "")
    assert missed(one) == [("endpoint", "")]
    assert "set endpoint = 'lab' in [providers.lab]" in facts(one)["next"]["nearest"]["way_out"]
    edit_config(one, "[providers.lab]", "[providers.lab]\nendpoint = 'lab'")
    assert facts(one)["next"]["asks"] is False


def test_a_changed_header_is_named_and_its_value_is_not_shown(one: Path) -> None:  # F46 F50
    edit_config(one, "[providers.lab]", "[providers.lab]\nheaders = { x-team = 'hush-hush-4711' }")
    assert missed(one) == [("header", "x-team")]
    done = explain(one, "--full")
    assert "x-team" in done.out and "hush" not in done.out + done.err


def test_images_that_are_known_unchanged_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(path: Path, *, name: str | None = None) -> Media:
        read.append(path.name)
        return probe(path, name=name)

    monkeypatch.setattr(media_reading, "probe", noted)
    # As if the images had been made well before they were read.
    monkeypatch.setattr(media_reading, "now_us", lambda: now_us() + 10_000_000)
    swept(tmp_path, cases=3)
    assert len(read) == 3
    assert explain(tmp_path).code == 0
    assert len(read) == 3


def test_an_edited_case_and_an_edited_image_are_named(one: Path) -> None:  # F3 F4 F50
    path = one / "data/cases.jsonl"
    path.write_text(path.read_text().replace("my tooth hurts", "my tooth aches"))
    assert [name for name, _ in missed(one)] == ["message text"]
    Image.new("L", (16, 8), color=77).save(one / "data/images/000.png")
    assert [name for name, _ in missed(one)] == ["medium", "message text"]


def test_an_edited_prompt_is_named(tmp_path: Path) -> None:  # F3 F50
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Triage this please: {chief_complaint}")
    swept(tmp_path, "--prompt", prompt)
    prompt.write_text("Triage this carefully: {chief_complaint}")
    assert [name for name, _ in missed(tmp_path)] == ["message text"]


def test_a_new_wire_revision_is_named(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # F50
    from harness.providers.openai import adapter

    monkeypatch.setattr(adapter, "wire_revision", 2)
    assert missed(one) == [("wire revision", "")]
    assert "another version of the program" in facts(one)["next"]["nearest"]["way_out"]


def test_an_attempt_that_was_never_needed_is_no_miss(one: Path) -> None:  # F11 F50
    found = facts(one, "--attempt", "2")["next"]
    assert (found["asks"], found["outcome"], "nearest" in found) == (False, "valid", False)
    assert found["told"].startswith("attempt 2 was never made, and is not needed: attempt 1 gave the answer")
    assert "anew" not in found["told"]
    shown = explain(one, "--attempt", "2").out
    assert "no exchange of attempt 2 is linked to it" in shown and "nothing stored answers" not in shown
    assert facts(one, "--attempt", "1")["next"]["served_by"] == 1


def test_an_attempt_that_was_never_made_waits_for_the_one_before_it(one: Path) -> None:  # F50
    edit_config(one, "[models.m]", "[models.m]\nparams = { temperature = 0.5 }")
    assert missed(one, "--attempt", "2") == [("parameter", "temperature")]
    assert facts(one, "--attempt", "2")["next"]["attempt"] == 1


def test_an_attempt_that_was_made_is_compared_by_itself(tmp_path: Path) -> None:  # F11 F50
    swept(tmp_path, script=lambda arrival: right_answer(arrival) if arrival.number else chat_reply("Hm."))
    assert facts(tmp_path, "--attempt", "2")["next"]["served_by"] == 2
    edit_config(tmp_path, "[models.m]", "[models.m]\nparams = { temperature = 0.5 }")
    found = facts(tmp_path, "--attempt", "2")["next"]
    assert (found["attempt"], found["nearest"]["exchange"]) == (2, 2)


def test_the_units_own_exchange_is_nearer_than_another_runs(one: Path) -> None:  # F50
    edit_config(one, "[models.m]", "[models.m]\nparams = { temperature = 0.7 }")
    first = facts(one)["run"]
    assert swept_again(one, "--name", "warm").code == 0
    edit_config(one, "temperature = 0.7", "temperature = 0.9")
    near = facts(one, first)["next"]["nearest"]
    assert (near["exchange"], near["run"]) == (1, first)
    assert facts(one, "warm")["next"]["nearest"]["run"] == "warm"


def swept_again(folder: Path, *more: str) -> Done:
    """Run a sweep by the configuration as it stands, but for the address."""
    with ScriptedServer(right_answer) as server:
        path = folder / "harness.toml"
        lines = path.read_text(encoding="utf-8").splitlines()
        lines = [f'base_url = "{server.url}/v1"' if one.startswith("base_url") else one for one in lines]
        path.write_text("\n".join(lines), encoding="utf-8")
        return harness(*run_args(folder, *more))


def test_a_unit_that_was_never_asked_is_not_compared_with_another_case(tmp_path: Path) -> None:  # F50
    swept(tmp_path, cases=2)
    with sqlite3.connect(tmp_path / "store.sqlite3") as database:
        links = "SELECT exchange_id FROM unit_exchange WHERE case_id = 'c001'"
        ((asked,),) = database.execute(links).fetchall()
        for table in ("unit_exchange", "unit"):
            database.execute(f"DELETE FROM {table} WHERE case_id = 'c001'")
        database.execute("DELETE FROM served WHERE exchange_id = ?", (asked,))
        database.execute("DELETE FROM exchange WHERE id = ?", (asked,))
    database.close()
    found = facts(tmp_path, case="c001")
    assert (found["state"], found["next"]["asks"], found["next"]["nearest"]) == ("never begun", True, None)
    shown = explain(tmp_path, case="c001").out
    assert "it was never asked" in shown and "has changed" not in shown


def test_a_repeat_differs_in_repeat_only(one: Path) -> None:  # F10 F50
    swept_again = swept(one, "--repeats", "2", script=lambda arrival: status_reply(401, "no"))
    assert swept_again.code == 3
    assert missed(one, "--repeat", "2") == [("repeat", "")]


def test_another_models_answer_comes_without_advice_that_would_not_help(tmp_path: Path) -> None:
    """Setting a parameter back cannot make one model's answer another's."""
    write_cases(tmp_path / "data", 1)

    def script(arrival: Arrival) -> Reply:
        return right_answer(arrival) if arrival.json["model"] == "a" else status_reply(400, "odd")

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, models=("a", "b"))
        edit_config(tmp_path, "[models.b]", "[models.b]\nparams = { temperature = 0.5 }")
        harness(*run_args(tmp_path, models="a,b"))
    near = facts(tmp_path, "--model", "b")["next"]["nearest"]
    assert [one["component"] for one in near["differences"]] == ["model", "parameter"]
    assert near["told"][0].endswith("another model is asked") and "set it back" not in near["told"][1]


def test_a_failed_unit_is_asked_anew_and_not_compared_with_another_case(tmp_path: Path) -> None:  # F50
    def script(arrival: Arrival) -> Reply:
        return right_answer(arrival) if "CASE<000>" in arrival.text else status_reply(400, "odd")

    swept(tmp_path, cases=2, script=script)
    found = facts(tmp_path, case="c001")
    assert found["state"] == "rejected" and found["next"]["asks"] is True
    assert found["next"]["nearest"] is None
    shown = " ".join(explain(tmp_path, case="c001").out.split())
    assert "no answer to a request about this case is stored" in shown and "never asked" not in shown


def test_a_store_without_answers_has_no_neighbour(tmp_path: Path) -> None:
    swept(tmp_path, script=lambda arrival: status_reply(400, "odd"))
    assert facts(tmp_path)["next"]["nearest"] is None
    assert "nothing in this store comes near it" in explain(tmp_path).out


def test_rows_of_before_headers_were_kept_are_told_as_such(one: Path) -> None:

    with sqlite3.connect(one / "store.sqlite3") as database:
        (packed,) = database.execute("SELECT request FROM exchange").fetchone()
        body = json.loads(zlib.decompress(packed))
        assert body.pop("$headers") == {}
        document = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        database.execute("UPDATE exchange SET request = ?", (zlib.compress(document),))
    database.close()
    assert facts(one)["next"]["asks"] is False
    edit_config(one, "[providers.lab]", "[providers.lab]\nheaders = { x-team = 'one' }")
    assert missed(one) == [("headers unknown", "")]


def test_a_mark_of_again_hides_what_was_answered_before(one: Path) -> None:
    swept(one, "--again", "valid", script=lambda arrival: status_reply(401, "no"))
    found = facts(one)
    assert found["exchanges"][0]["earlier_round"] is True
    assert (found["next"]["asks"], found["next"]["not_counted"]) == (True, 1)


# Without configuration and case files: by the run's own snapshot.


def test_a_run_explains_itself_without_configuration_and_case_files(one: Path) -> None:  # F49
    (one / "harness.toml").unlink()
    (one / "data").rename(one / "gone")
    done = harness("explain", "--case", "c000", "--store", one / "store.sqlite3", "--json")
    found = done.json
    assert (found["state"], found["next"]["by"], found["next"]["asks"]) == ("valid", "snapshot", False)
    assert "m" in found["next"]["why_snapshot"]


def test_an_image_that_was_converted_is_known_by_its_stored_recipe(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    image = tmp_path / "data/images/000.png"
    Image.new("RGB", (16, 8)).save(image, format="BMP")
    swept(tmp_path, "--image-recipe", "convert")
    (tmp_path / "harness.toml").unlink()
    found = harness("explain", "--case", "c000", "--store", tmp_path / "store.sqlite3", "--json").json
    assert (found["next"]["by"], found["next"]["asks"]) == ("snapshot", False)


# Names, rights, and other processes.


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--model", "other"), "has no model 'other'"),
        (("--condition", "opg"), "has no condition 'opg'"),
        (("--repeat", "2"), "repeats 1 to 1, not 2"),
        (("--attempt", "4"), "attempts 1 to 3, not 4"),
    ],
)
def test_what_the_run_does_not_have_is_refused(one: Path, more: tuple[str, str], words: str) -> None:
    done = explain(one, *more)
    assert (done.code, words in done.err) == (2, True), done.err
    assert "did you mean 'c000'" in explain(one, case="c00").err


def test_with_several_models_one_must_be_chosen(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, models=("a", "b"))
        harness(*run_args(tmp_path, models="a,b"))
    assert "choose one with --model: a, b" in explain(tmp_path).err
    assert facts(tmp_path, "--model", "b")["model"] == "b"


def test_a_store_for_reading_only_is_enough(one: Path) -> None:
    store = one / "store.sqlite3"
    before = store.read_bytes()
    store.chmod(0o400)
    assert facts(one)["state"] == "valid"
    assert store.read_bytes() == before


def test_a_running_run_is_explained_and_its_claim_is_told(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        server.hold()
        write_config(tmp_path, server.url)
        process = spawn(*run_args(tmp_path), cwd=tmp_path)
        server.wait_for(1, 60)
        found = facts(tmp_path)
        server.release()
        done = finish(process)
    assert done.code == 0, done.err
    assert found["state"] == "never begun"
    assert found["next"]["claimed_by"]["pid"] == process.pid
    assert facts(tmp_path)["next"].get("claimed_by") is None


def test_an_answer_from_another_run_is_said_to_be_from_there(tmp_path: Path) -> None:
    swept(tmp_path, "--name", "first", cases=2)
    swept(tmp_path, "--name", "second", "--limit", "1", script=lambda arrival: json_reply({}))
    (only,) = facts(tmp_path, "second")["exchanges"]
    assert (only["cached"], only["paid_by_run"]) == (True, "first")


def test_a_key_that_someone_put_into_a_header_is_masked_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F46
    secret = "a-long-secret-key-4711"
    monkeypatch.setenv("LAB_KEY", secret)
    # Such a run is refused; what reaches the store all the same is masked there.
    monkeypatch.setattr("harness.cli.run_command.check_headers", lambda *_: None)
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        settings = f"headers = {{ x-a = '{secret}' }}\napi_key_env = 'LAB_KEY'"
        edit_config(tmp_path, "[providers.lab]", f"[providers.lab]\n{settings}")
        assert harness(*run_args(tmp_path)).code == 0
        assert server.arrivals[0].headers["x-a"] == secret
    with sqlite3.connect(tmp_path / "store.sqlite3") as database:
        ((packed, masked),) = database.execute("SELECT request, masked FROM exchange").fetchall()
    database.close()
    assert json.loads(zlib.decompress(packed))["$headers"] == {"x-a": "[masked key]"} and masked
    assert harness("store", "verify", "--store", tmp_path / "store.sqlite3").code == 0
    done = explain(tmp_path, "--full", "--json")
    assert secret not in done.out + done.err


# Answers that were imported: nobody was asked here, and nobody can be.


def imported(folder: Path, *rows: dict[str, Any], note: str = "") -> None:
    write_cases(folder / "data", 2)
    (folder / "harness.toml").write_text("", encoding="utf-8")
    (folder / "old.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    noted = ("--prompt-note", note) if note else ()
    where = ("--config", folder / "harness.toml", "--store", folder / "store.sqlite3")
    named = ("--benchmark", "triage", "--model", "old", "--data", folder / "data")
    done = harness("import", folder / "old.jsonl", *named, *where, *noted)
    assert done.code in {0, 3}, done.err


@pytest.mark.parametrize("note", ["", "a {lone brace and {chief_complaint}"])
def test_an_imported_unit_tells_its_file_and_asks_nobody(tmp_path: Path, note: str) -> None:
    imported(tmp_path, {"id": "c000", "answer": answer_text()}, note=note)
    found = facts(tmp_path)
    assert found["imported"] and found["state"] == "valid"
    (only,) = found["exchanges"]
    assert only["imported"] is True
    source = only["source"]
    assert (source["file"], source["row"], source["format"]) == ("old.jsonl", 1, "jsonl")
    assert (only["status"], only["latency_s"], only["at"]) == (None, None, None)
    told = found["next"]
    assert (told["by"], told["asks"]) == ("import", False) and "nobody is asked" in told["told"]
    shown = " ".join(explain(tmp_path).out.split())
    assert "imported from 'old.jsonl', row 1" in shown and "read as jsonl" in shown
    for invented in ("status", "0.00 s", "imported at", "lacks", "harness run", "be planned", "sent by"):
        assert invented not in shown, shown


def test_an_imported_units_stated_time_is_told(tmp_path: Path) -> None:
    imported(tmp_path, {"id": "c000", "answer": answer_text(), "total_s": 2.5})
    assert facts(tmp_path)["exchanges"][0]["latency_s"] == 2.5
    assert "2.50 s" in explain(tmp_path).out


def test_a_case_that_the_imported_files_lack_is_told(tmp_path: Path) -> None:
    imported(tmp_path, {"id": "c000", "answer": answer_text()})
    found = facts(tmp_path, case="c001")
    assert found["next"]["asks"] is False and found["exchanges"] == []
    assert found["why"] == ["the imported files hold no answer for this unit"]
    assert "hold no answer" in found["next"]["told"]
