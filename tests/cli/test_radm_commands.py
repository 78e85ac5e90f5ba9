"""RadM-Bench by the commands: asked in both languages, translated, and asked again in English."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import Done, harness, write_config

from harness.benchmarks.registry import get_benchmark

SAMPLE = get_benchmark("radm").sample_dir()
OPEN = ["syn-clin-06", "syn-clin-08", "syn-clin-09", "syn-clin-10"]
FIVE = ["A of the liver", "B", "C", "D", "E"]


def is_translation(arrival: Arrival) -> bool:
    return "medical translator" in arrival.text


def answering(arrival: Arrival) -> Reply:
    name = arrival.json["model"]
    if is_translation(arrival):
        return chat_reply("Male patient of 55. \u2028 No pain. ", model=name)
    return chat_reply(json.dumps({"diagnoses": FIVE}), model=name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLE, tmp_path / "data")
    return tmp_path


def options(folder: Path) -> list[str | Path]:
    return ["--config", folder / "harness.toml", "--store", folder / "store.sqlite3"]


def ask(folder: Path, data: str, conditions: str, *more: str | Path, models: str = "a,b") -> Done:
    wanted = ["--benchmark", "radm", "--data", folder / data, "--models", models, "--conditions", conditions]
    return harness("run", *wanted, *options(folder), *more)


def body_text(arrival: Arrival) -> str:
    return json.dumps(arrival.json["messages"], ensure_ascii=False)


def test_a_case_is_asked_in_its_language_and_each_condition_of_the_cases_that_have_it(folder: Path) -> None:
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, ["a"], inputs=["text", "image", "video"])
        done = ask(folder, "data", "text,text_images,text_translated", "--name", "r", models="a")
        assert done.code == 0, done.err
        texts = [body_text(one) for one in server.arrivals]
    assert len(texts) == 20 + 20 + 6
    chinese = [one for one in texts if "你是一名放射科医师" in one]
    assert len(chinese) == 10 + 10
    assert all("You are a radiologist" in one for one in texts if one not in chinese)
    assert all(one.json["temperature"] == 0 and one.json["top_k"] == one.json["top_p"] == 1
               for one in server.arrivals)  # fmt: skip
    shown = [one.count("data:image/") for one in texts]
    assert sorted(shown) == sorted([0] * 26 + [4, 2, 3, 5, 2, 1, 6, 3, 2, 1, 3, 2, 2, 2, 3, 2, 3, 2, 1, 2])
    status = harness("status", "r", *options(folder), "--json")
    assert status.code == 0


@pytest.mark.parametrize(
    ("conditions", "says"),
    [
        ([], "a: 0 of 20 can be sent"),
        (["--conditions", "text"], "a: 20 of 20 can be sent"),
        (["--conditions", "text_translated"], "a: 6 of 6 can be sent"),
        (["--conditions", "text_translated,text_images"], "a: 0 of 20 can be sent"),
        (["--conditions", "text_volume_fps2"], "a: 0 of 9 can be sent"),
    ],
)
def test_what_a_model_cannot_take_is_counted_in_the_conditions_that_are_named(
    folder: Path, conditions: list[str], says: str
) -> None:
    write_config(folder, "http://127.0.0.1:1", ["a"], inputs=["text"])
    words = ["--benchmark", "radm", "--data", folder / "data", "--models", "a"]
    done = harness("data", "check", *words, "--config", folder / "harness.toml", *conditions)
    assert (done.code, says in done.out.splitlines()) == (0, True), done.out + done.err


def test_a_condition_that_does_not_exist_is_refused_by_the_check() -> None:
    done = harness("data", "check", "--benchmark", "radm", "--conditions", "text_image")
    assert done.code == 2 and "did you mean 'text_images'?" in done.err


def test_a_translation_is_asked_once_a_case_and_comes_into_a_folder_of_its_own(folder: Path) -> None:
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, ["a", "b", "t"])
        assert ask(folder, "data", "text", "--name", "night").code == 0
        asked = len(server.arrivals)
        step = ["step", "translate", "night", "--model", "t", "--name", "english", *options(folder)]
        done = harness(*step)
        assert done.code == 0, done.err
        assert "the step looks at 4 cases of run 'night'" in done.err
        assert len(server.arrivals) == asked + len(OPEN)
        assert harness(*step).code == 0
        assert len(server.arrivals) == asked + len(OPEN)
        translated = ["data", "translated", "english", "--data", folder / "data"]
        done = harness(*translated, "--out", folder / "en", *options(folder))
        assert (done.code, done.out.splitlines()[0].split()) == (0, ["4", "translated"])
        made = lines(folder / "en")
        ours = "Male patient of 55. \u2028 No pain."
        assert [one["id"] for one in made if one.get("history_en") == ours] == OPEN
        assert [{**one, "history_en": None} for one in made] == [
            {**one, "history_en": None} for one in lines(folder / "data")
        ]
        facts = json.loads((folder / "en" / "dataset.json").read_text(encoding="utf-8"))
        assert facts["synthetic"] is True
        assert "history_en translated by t (run english, digest " in facts["note"]
        first = Path("images/syn-clin-06-1.jpg")
        assert (folder / "data" / first).samefile(folder / "en" / first)
        assert harness("data", "check", "--benchmark", "radm", "--data", folder / "en").code == 0
        before = len(server.arrivals)
        assert ask(folder, "en", "text_translated", models="a").code == 0
        # Of ten, four have the same translation here, and what is equal is asked once.
        assert len(server.arrivals) == before + 6 + 1
    again = harness(*translated, "--out", folder / "en", *options(folder))
    assert again.code == 2
    assert "is not empty; name a new or an empty one" in again.err


def lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "cases.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def test_cases_that_changed_or_have_no_translation_are_listed_and_get_none(folder: Path) -> None:
    def refusing(arrival: Arrival) -> Reply:
        if is_translation(arrival) and "超声发现" in arrival.text:
            return chat_reply("", model="t")
        return answering(arrival)

    with ScriptedServer(refusing) as server:
        write_config(folder, server.url, ["a", "t"])
        assert ask(folder, "data", "text", "--name", "night", models="a").code == 0
        step = ["step", "translate", "night", "--model", "t", "--name", "english", *options(folder)]
        harness(*step)
    path = folder / "data" / "cases.jsonl"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("活动后气短1年", "活动后气短2年"), encoding="utf-8")
    args = ["data", "translated", "english", "--data", folder / "data", "--out", folder / "en"]
    done = harness(*args, *options(folder), "--json")
    assert done.code == 3, done.err
    assert done.json["filled"] == ["syn-clin-06", "syn-clin-08"]
    assert done.json["missing"] == ["syn-clin-09"]
    assert done.json["changed"] == ["syn-clin-10"]
    assert len(done.json["kept"]) == 6
    told = {one["id"]: one.get("history_en") for one in lines(folder / "en")}
    assert told["syn-clin-09"] is told["syn-clin-10"] is None


def test_what_cannot_be_translated_is_refused(folder: Path) -> None:
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, ["a", "t"])
        assert ask(folder, "data", "text", "--name", "night", "--cases", "syn-edu-01", models="a").code == 0
        done = harness("step", "translate", "night", "--model", "t", *options(folder))
        assert done.code == 2
        assert "no case that the step 'translate' could look at (in English already 1)" in done.err
        done = harness("step", "translate", "night", "--model", "t", "--of", "a", *options(folder))
        assert "is about cases, whoever was asked about them; leave out --of" in done.err
        done = harness("step", "translate", "night", *options(folder))
        assert "deepseek-chat (its stand-in is deepseek-v4-flash); give --model NAME" in done.err
        done = harness("data", "translated", "night", "--out", folder / "en", *options(folder))
        assert done.code == 2
        assert "is of radm and translates nothing; name one of `harness step translate night" in done.err
    assert not (folder / "en").exists()


def test_a_translation_is_scored_by_what_may_be_lost(folder: Path) -> None:
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, ["a", "t"])
        assert ask(folder, "data", "text", "--name", "night", models="a").code == 0
        step = ["step", "translate", "night", "--model", "t", "--name", "english", *options(folder)]
        assert harness(*step).code == 0
        for words in (["resume"], ["status"], ["explain", "--case", OPEN[0]]):
            done = harness(words[0], "english", *words[1:], *options(folder))
            assert done.code == 0, done.err
        assert len(server.arrivals) == 20 + len(OPEN)
    done = harness("score", "english", *options(folder), "--json")
    assert done.code == 0, done.err
    assert '"digits_lost.share"' in json.dumps(done.json)
    exported = harness("export", "english", *options(folder))
    records = [json.loads(line) for line in exported.out.split("\n") if line]
    assert [one["case_id"] for one in records] == OPEN
    assert {one["benchmark"] for one in records} == {"radm.translate"}


def test_all_conditions_are_those_that_some_case_has(folder: Path) -> None:
    file = folder / "data" / "cases.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    kept = [{key: value for key, value in line.items() if key != "history_en"} for line in lines]
    file.write_text("".join(json.dumps(line | {"videos": []}) + "\n" for line in kept), encoding="utf-8")
    with ScriptedServer(answering) as server:
        write_config(folder, server.url, ["a"], inputs=["text", "image", "video"])
        done = ask(folder, "data", "all", "--name", "r", models="a")
        assert done.code == 0, done.err
        refused = ask(folder, "data", "text,text_volume_fps2", models="a")
        assert len(server.arrivals) == 20 + 20
    left = "text_volume_fps2, text_volume_fps10, text_translated"
    assert f"left out, since no case has what they show: {left}" in " ".join(done.err.split())
    assert refused.code == 2
    assert "none of the cases has what these conditions of radm show: text_volume_fps2" in refused.err


def test_a_clip_that_is_damaged_inside_is_found_by_decoding_before_anybody_is_paid(folder: Path) -> None:
    clip = next((folder / "data").rglob("*.mp4"))
    data = bytearray(clip.read_bytes())
    start = data.index(b"mdat") + 200
    data[start : start + 1500] = b"\xff" * 1500
    clip.write_bytes(data)
    check = ("data", "check", "--benchmark", "radm", "--data", folder / "data")
    assert harness(*check).code == 0  # its tables are sound
    done = harness(*check, "--decode")
    assert done.code == 2 and f"cannot use video '{clip}'" in done.err + done.out
    assert harness("data", "check", "--benchmark", "radm", "--decode").code == 0
