"""Clips in whole runs: what is sent, what records say of it, and that a clip is taken apart once."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clip_examples import clip_bytes, index_in
from clip_triage import ask, install, media_of, write_clip_cases
from scripted_replies import Arrival, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import answer_text, harness, outcomes, records, write_config

import harness.frames.clips as clips
from harness.cache.key import clips_sent
from harness.canonical import sha256_hex, unpack


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(monkeypatch)
    return tmp_path


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda _: chat_reply(answer_text())) as made:
        yield made


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many frames were made by each decoding of a clip."""
    real, counts = clips.decode_frames, []

    def counted(data: bytes, mime: str, frames: Any, wanted: Any, keep: Any) -> None:
        counts.append(len(wanted))
        real(data, mime, frames, wanted, keep)

    monkeypatch.setattr(clips, "decode_frames", counted)
    return counts


def configure(folder: Path, url: str, models: str = "m", *, video: bool = False, **settings: Any) -> None:
    inputs = ["text", "image", *(["video"] if video else [])]
    path = write_config(folder, url, models.split(","), inputs=inputs, **settings)
    if video:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("[providers.lab]", '[providers.lab]\nvideo_format = "vllm"'))


def sent_images(arrival: Arrival) -> list[bytes]:
    parts = arrival.json["messages"][0]["content"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def test_frames_arrive_in_order_and_the_records_say_which(
    folder: Path, server: ScriptedServer
) -> None:
    clip = write_clip_cases(folder, 2, frames=23)
    configure(folder, server.url)
    done = ask(folder, "--conditions", "both,opg")
    assert done.code == 0, done.err
    shown = [[index_in(one) for one in sent_images(arrival)] for arrival in server.arrivals]
    # Without a complaint, both cases are one question.
    assert sorted(shown) == [list(range(23)), list(range(0, 23, 5)), list(range(0, 23, 5))]
    digest, size = sha256_hex(clip.read_bytes()), clip.stat().st_size
    for record in records(folder):
        step = {"both": 5, "opg": 1}[record["condition"]]
        assert media_of(record) == [
            {"sha256": digest, "mime": "video/mp4", "bytes": size, "recipe": f"frame:index={index}",
             "frame": {"index": index, "time_s": index / 10}}
            for index in range(0, 23, step)
        ]  # fmt: skip
    # All of that is read from the store alone.
    clip.unlink()
    assert len(media_of(records(folder)[0])) in (5, 23)


def test_a_video_of_our_frames_arrives_as_vllm_takes_it(folder: Path, server: ScriptedServer) -> None:
    clip = write_clip_cases(folder, 1, frames=45)
    configure(folder, server.url, video=True)
    assert ask(folder, "--conditions", "both,opg").code == 0
    for arrival, step in zip(sorted(server.arrivals, key=lambda one: len(one.body)), (5, 1), strict=True):
        (part,) = (one for one in arrival.json["messages"][0]["content"] if one["type"] == "video_url")
        kept, _, texts = part["video_url"]["url"].partition(",")
        assert kept == "data:video/jpeg;base64"
        assert [index_in(base64.b64decode(one)) for one in texts.split(",")] == list(range(0, 45, step))
        assert arrival.json["media_io_kwargs"] == {"video": {"fps": 10 / step, "num_frames": -1}}
    for record in records(folder):
        step = {"both": 5, "opg": 1}[record["condition"]]
        (one,) = media_of(record)
        assert (one["sha256"], one["bytes"]) == (sha256_hex(clip.read_bytes()), clip.stat().st_size)
        assert one["clip"] == {
            "fps": 10 / step,
            "sampled_by": "harness",
            "frames": [{"index": index, "time_s": index / 10} for index in range(0, 45, step)],
        }


def test_of_a_file_that_its_provider_samples_no_frames_are_claimed(
    folder: Path, server: ScriptedServer
) -> None:
    clip = write_clip_cases(folder, 1, frames=45)
    configure(folder, server.url, video=True)
    path = folder / "harness.toml"
    path.write_text(path.read_text().replace('"vllm"', '"dashscope"'))
    assert ask(folder).code == 0
    (record,) = records(folder)
    assert media_of(record) == [
        {"sha256": sha256_hex(clip.read_bytes()), "mime": "video/mp4", "bytes": clip.stat().st_size,
         "recipe": "original", "clip": {"fps": 2, "sampled_by": "provider", "frames": None}}
    ]  # fmt: skip


def test_a_clip_is_taken_apart_once_however_many_ask(
    folder: Path, server: ScriptedServer, decodings: list[int]
) -> None:
    write_clip_cases(folder, 6, frames=23)
    configure(folder, server.url, "a,b,c,d")
    assert ask(folder, "--conditions", "both", models="a,b,c,d").code == 0
    assert len(server.arrivals) == 24 and decodings == [5]
    # A session later, and for another model, the frames are still there.
    configure(folder, server.url, "e")
    assert ask(folder, "--conditions", "both", models="e").code == 0
    assert len(server.arrivals) == 30 and decodings == [5]
    assert len(list((folder / "store.sqlite3-frames").rglob("*.jpg"))) == 5


def test_what_was_paid_for_is_found_again(folder: Path, server: ScriptedServer) -> None:  # F29
    write_clip_cases(folder, 2, frames=23)
    configure(folder, server.url)
    first = ask(folder, "--json")
    again = ask(folder, "--json")
    assert (again.code, again.out) == (0, first.out) and len(server.arrivals) == 2


@pytest.mark.parametrize("video", [False, True])
def test_explain_finds_what_was_asked_with_the_clip_and_without(
    folder: Path, server: ScriptedServer, *, video: bool
) -> None:  # F50
    clip = write_clip_cases(folder, 1, frames=23)
    configure(folder, server.url, video=video)
    assert ask(folder, "--conditions", "both,opg").code == 0
    for there in (True, False):
        if not there:
            (folder / "data" / "cases.jsonl").unlink()
            clip.unlink()
        for condition in ("both", "opg"):
            told = harness(
                "explain", "latest", "--case", "c000", "--model", "m", "--condition", condition, "--json",
                "--store", folder / "store.sqlite3", "--config", folder / "harness.toml",
            )  # fmt: skip
            assert told.code == 0, told.err
            found = told.json["next"]
            assert (found["by"], found["asks"], found.get("outcome")) == (
                "now" if there else "snapshot", False, "valid",
            )  # fmt: skip


def test_a_stored_request_is_small_however_many_frames_it_shows(folder: Path, server: ScriptedServer) -> None:
    write_clip_cases(folder, 1, frames=163)
    configure(folder, server.url)
    assert ask(folder, "--conditions", "opg").code == 0
    assert len(sent_images(server.arrivals[0])) == 163
    database = sqlite3.connect(folder / "store.sqlite3")
    request, media_sent = database.execute("SELECT request, media_sent FROM exchange").fetchone()
    database.close()
    assert len(request) < 4_000 and len(media_sent) < 200
    (clip,) = clips_sent(unpack(request))
    assert clip["frames"][162] == [162, 16.2]
    (digest,) = json.loads(unpack(media_sent)).values()
    each = "".join(sha256_hex(one) for one in sent_images(server.arrivals[0]))
    assert digest == sha256_hex(each.encode())


@pytest.mark.parametrize("sort", ["fewer", "cut", "noise"])
def test_a_damaged_clip_ends_as_case_error_with_its_name(
    folder: Path, server: ScriptedServer, sort: str
) -> None:  # F16, F40
    clip = write_clip_cases(folder, 1, frames=40, size=(256, 128))
    data = clip_bytes(40, size=(256, 128))
    middle = (data.index(b"mdat") + data.index(b"moov")) // 2
    at = data.index(b"stsz") + 16 + 4 * 30
    clip.write_bytes({
        "fewer": data[:at] + bytes(40) + data[at + 40 :],  # ten frames of no bytes
        "cut": data[: len(data) - 300],
        "noise": data[:middle] + bytes(300) + data[middle + 300 :],
    }[sort])  # fmt: skip
    configure(folder, server.url)
    assert ask(folder).code == 3
    assert outcomes(folder) == {"case_error": 1} and server.arrivals == []
    assert "clip.mp4" in records(folder)[0]["error"]["message"]


def test_more_frames_than_a_model_takes_is_told_before_and_in_the_record(
    folder: Path, server: ScriptedServer
) -> None:
    write_clip_cases(folder, 1, frames=23)
    configure(folder, server.url, max_images=4)
    told = ask(folder, "--dry-run")
    assert told.code == 0 and "max_images" in told.out + told.err
    checked = harness("data", "check", "--benchmark", "triage", "--data", folder / "data", "--models", "m",
                      "--config", folder / "harness.toml")  # fmt: skip
    assert "needs 5 frames of a clip" in " ".join(checked.out.split())
    assert ask(folder).code == 3
    (record,) = records(folder)
    assert record["outcome"] == "not_applicable" and server.arrivals == []
    assert record["error"]["message"].startswith("needs 5 frames of a clip; model 'm' takes 4 images")
    assert record["media"] == []


def test_frames_too_large_for_one_request_are_not_sent(folder: Path, server: ScriptedServer) -> None:
    write_clip_cases(folder, 1, frames=163)
    configure(folder, server.url, max_request_bytes=100_000)
    assert ask(folder, "--conditions", "both,opg").code == 0
    assert len(server.arrivals) == 1
    ends = {record["condition"]: record for record in records(folder)}
    assert ends["both"]["outcome"] == "valid" and ends["opg"]["outcome"] == "not_applicable"
    assert "in all, model 'm' takes 100,000 (max_request_bytes)" in ends["opg"]["error"]["message"]


def test_without_pyav_nothing_is_asked_where_frames_are_needed(
    folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_clip_cases(folder, 2, frames=23)
    monkeypatch.setattr("harness.frames.needed.is_installed", lambda: False)
    monkeypatch.setattr("harness.frames.decoding.is_installed", lambda: False)
    configure(folder, server.url)
    told = (
        "model 'm' is shown frames in condition 'both': frames of clips are made with PyAV, which is not "
        "installed; pip install 'mllm-harness[video]'"
    )
    checking = ("data", "check", "--benchmark", "triage", "--data", folder / "data", "--models", "m")
    checked = harness(*checking, "--config", folder / "harness.toml")
    for done in (ask(folder), ask(folder, "--dry-run"), checked):
        assert done.code == 2 and told in done.err
    assert server.arrivals == []
    # Whoever needs none is asked.
    assert ask(folder, "--conditions", "complaint").code == 0 and len(server.arrivals) == 2


def test_without_pyav_what_was_asked_already_is_as_before(  # F29
    folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_clip_cases(folder, 2, frames=23)
    configure(folder, server.url)
    assert ask(folder).code == 0 and len(server.arrivals) == 2
    monkeypatch.setattr("harness.frames.needed.is_installed", lambda: False)
    monkeypatch.setattr("harness.frames.decoding.is_installed", lambda: False)
    again, asked_again = ask(folder), ask(folder, "--again", "valid")
    assert again.code == 0, again.err
    assert asked_again.code == 2 and "PyAV" in asked_again.err
    assert len(server.arrivals) == 2
