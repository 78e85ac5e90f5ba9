"""RadM-Bench with clips, as a video, as frames and not at all: killed, resumed, graded and replayed."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from clip_examples import index_in, written_clip
from radm_clips import (
    CONDITIONS,
    IN_FLIGHT,
    MODELS,
    check_records,
    expected_frames,
    frames_of,
    kill_run,
    options,
    radm_args,
    spawn_bare,
    stored,
    write_radm_cases,
    write_radm_config,
)
from scripted_replies import Arrival, Behaviour, chat_reply, delayed
from scripted_server import ScriptedServer
from sweep_kit import finish, harness, records, write_image

from harness.canonical import sha256_hex


def is_grading(arrival: Arrival) -> bool:
    return "grades differential diagnoses" in arrival.text


def answering(arrival: Arrival) -> Behaviour:
    """Name diagnoses that depend on all that is shown, and end in the tier that the grader gives them."""
    if is_grading(arrival):
        found = re.findall(r"D[0-9a-f]{6}-(\d)", arrival.text)
        return chat_reply(json.dumps({"tiers": [{"tier": int(tier), "reason": "so"} for tier in found]}))
    digest = sha256_hex(arrival.body)
    named = [f"D{digest[at : at + 6]}-{int(digest[at], 16) % 4}" for at in range(5)]
    return delayed(chat_reply(json.dumps({"diagnoses": named}), model=arrival.json["model"]), 0.02)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(answering) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer) -> Path:
    data = tmp_path / "data"
    for number in range(4):
        write_image(data / f"{number}.png", number)
    size = (384, 256)
    written_clip(data, "first.mp4", frames=41, size=size, b_frames=3)
    written_clip(data, "second.mp4", frames=24, size=size)
    written_clip(data, "third.mp4", frames=30, rate=25, size=size)
    write_radm_cases(data, ("first.mp4", "second.mp4", "third.mp4"), [f"{one}.png" for one in range(4)])
    write_radm_config(tmp_path, server.url)
    return tmp_path


def sent_frames(arrival: Arrival) -> list[bytes]:
    """Return the JPEG frames of a request, of images and of videos alike."""
    found: list[str] = []
    content = arrival.json["messages"][-1]["content"]
    for part in [] if isinstance(content, str) else content:
        if part["type"] != "text":
            kind, _, data = part[part["type"]]["url"].partition(";base64,")
            found += data.split(",") if kind in ("data:image/jpeg", "data:video/jpeg") else []
    return [base64.b64decode(one) for one in found]


def bodies(arrivals: list[Arrival]) -> Counter[str]:
    return Counter(sha256_hex(arrival.body) for arrival in arrivals)


def killed(folder: Path, server: ScriptedServer) -> None:
    """Kill the run as frames are made and twice in flight: only what was not stored is asked again."""
    for kill in range(3):
        before, had = len(server.arrivals), stored(folder)
        known = bodies(server.arrivals)
        kill_run(folder, kill, 5)
        server.wait_until_closed()
        again = bodies(server.arrivals[before:]) & known
        assert again.total() <= before - had


@pytest.mark.slow
def test_a_run_with_clips_by_all_ways_killed_resumed_graded_and_replayed(
    folder: Path, server: ScriptedServer
) -> None:  # F29
    expected = expected_frames(folder / "data")
    killed(folder, server)
    assert 10 <= stored(folder) < 48
    done = harness(*radm_args(folder, "--json"))
    assert done.code == 0, done.err
    asked = len(server.arrivals)
    assert stored(folder) == stored(folder, "count(DISTINCT key)") == 3 * 6 + 2 * 15
    assert asked - 48 <= 3 * 3 * IN_FLIGHT

    rows = records(folder, "night")
    check_records(rows, expected)
    assert {row["outcome"] for row in rows} == {"valid", "not_applicable"}
    claimed = {
        (row["model"], row["case_id"], tuple(index for _, index, _ in frames_of(row)))
        for row in rows
        if row["condition"].startswith("text_volume") and row["media"]
    }
    sent: dict[tuple[str, str, tuple[int, ...]], list[bytes]] = {}
    for arrival in server.arrivals:
        if frames := sent_frames(arrival):
            case = arrival.text.split("CASE<")[1].split(">")[0]
            sent[arrival.json["model"], case, tuple(map(index_in, frames))] = frames
    assert sent.keys() == claimed and len(claimed) == 20
    for (model, case, indices), frames in sent.items():
        assert sent["native" if model == "frames" else "frames", case, indices] == frames

    again = [harness("score", "night", "--json", *options(folder)).out for _ in range(2)]
    assert again == [done.out, done.out]
    step = harness("step", "grade", "night", "--model", "grader", "--name", "graded", *options(folder))
    assert step.code == 0, step.err
    graded = harness("score", "night", "--grades", "graded", "--json", *options(folder))
    check_scores(graded.json, rows)
    check_replay(folder)
    assert harness(*radm_args(folder)).code == 0
    assert len([one for one in server.arrivals if not is_grading(one)]) == asked


def check_scores(scores: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Check each mean score with the tiers that stand in the diagnoses themselves."""
    means = {(row["model"], row["condition"]): row["as_answered"].get("score") for row in scores["rows"]}
    for model, condition in product(MODELS.split(","), CONDITIONS.split(",")):
        worth = [
            max(weight * int(named[-1]) for weight, named in zip((5, 4, 3, 2, 1), five, strict=True))
            for row in rows
            if (row["model"], row["condition"]) == (model, condition) and row["prediction"]
            for five in [row["prediction"]["diagnoses"]]
        ]
        found = means[model, condition]
        assert len(worth) == (6 if condition == "text" else 0 if model == "blind" else 5) == found["n"]
        assert found["value"] == (pytest.approx(sum(worth) / 5 / len(worth), abs=1e-12) if worth else None)


def check_replay(folder: Path) -> None:
    """Score and export by a copy of the store alone, without media and PyAV: the same bytes."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(folder / "store.sqlite3", elsewhere)
    commands = [("score", "night", "--json", "--grades", by) for by in ("none", "graded")]
    here = {words: harness(*words, *options(folder)).out for words in (*commands, ("export", "night"))}
    (folder / "data").rename(folder / "away")
    (folder / "store.sqlite3-frames").rename(folder / "frames-away")
    for words, wanted in here.items():
        there = finish(spawn_bare(*words, "--store", elsewhere / "store.sqlite3", cwd=elsewhere))
        assert (there.code, there.out) == (0, wanted), there.err
    (folder / "away").rename(folder / "data")
