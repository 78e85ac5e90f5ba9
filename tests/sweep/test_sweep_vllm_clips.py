"""Clips on a genuine vLLM: our frames as a video, as images, and all of them seen.

Skipped unless HARNESS_TEST_VLLM names a running one that takes videos, was started with
--trust-request-mm-kwargs and takes 50 images and 2 videos (CONTRIBUTING says how). Any model will do: what it
says is compared with itself alone.
"""

from __future__ import annotations

import json
import os
import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clip_examples import written_clip
from clip_triage import ask, install, media_of, write_clip_cases
from step_examples import spawn_code
from sweep_kit import harness, records, run_args, wait_until

from harness.identity import build
from harness.media import probe
from harness.messages import Message, Request, TextPart, VideoPart
from harness.plans import ModelPlan, with_recipes
from harness.request_bytes import encoded
from harness.settings import Model, Provider

URL = os.environ.get("HARNESS_TEST_VLLM", "").rstrip("/")  # read here: tests have an environment without it

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not URL, reason="HARNESS_TEST_VLLM names no vLLM server"),
]


def fetched(path: str, body: bytes | None = None) -> Any:
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(URL + path, body, headers), timeout=120) as reply:
        return json.load(reply)


def live(*, video: bool = True) -> Model:
    lab = Provider(name="lab", adapter="openai", base_url=f"{URL}/v1", video_format="vllm")
    inputs: Any = ("text", "image", "video") if video else ("text", "image")
    return Model(name="live", provider=lab, model=fetched("/v1/models")["data"][0]["id"], inputs=inputs)


async def told(*parts: VideoPart, video: bool = True) -> tuple[int, str]:
    """Return the tokens of a prompt that shows clips, and what the model says."""
    by = live(video=video)
    messages = with_recipes((Message("user", (TextPart("what moves?"), *parts)),), ModelPlan(by, {}))
    request = Request(messages, params={"temperature": 0, "seed": 1, "max_tokens": 12})
    body, _ = await encoded(request, build(request, by).wire)
    answer = fetched("/v1/chat/completions", body)
    return answer["usage"]["prompt_tokens"], answer["choices"][0]["message"]["content"]


async def test_the_server_sees_as_many_frames_as_we_say(tmp_path: Path) -> None:
    """A video's tokens grow with its frames: more than its usual 32 are seen, and none is dropped."""
    clips = {n: probe(written_clip(tmp_path, f"{n}.mp4", frames=n)) for n in (8, 16, 40, 80)}
    tokens = {n: (await told(VideoPart(clip, fps=10)))[0] for n, clip in clips.items()}
    step = tokens[16] - tokens[8]
    assert step > 0
    assert (tokens[40] - tokens[8], tokens[80] - tokens[8]) == (4 * step, 9 * step)
    # Every fifth of 40, 80: as many as a clip of 8, 16 at its full rate.
    for n, clip in ((40, clips[40]), (80, clips[80])):
        assert (await told(VideoPart(clip, fps=2)))[0] == tokens[n // 5]
    two = (await told(VideoPart(clips[40], fps=2), VideoPart(clips[80], fps=2)))[0]
    text = (await told())[0]
    assert two - text == (tokens[8] - text) + (tokens[16] - text)


async def test_the_same_frames_as_images_cost_the_same_each(tmp_path: Path) -> None:
    clips = {n: probe(written_clip(tmp_path, f"{n}.mp4", frames=n)) for n in (4, 8, 40)}
    tokens = {n: (await told(VideoPart(clip, fps=10), video=False))[0] for n, clip in clips.items()}
    assert tokens[40] - tokens[8] == 8 * (tokens[8] - tokens[4]) > 0
    assert (await told(VideoPart(clips[40], fps=2), video=False))[0] == tokens[8]


async def test_another_frame_is_another_answer(tmp_path: Path) -> None:
    """Greedy answers depend on the frames, and on nothing that changes from one request to the next."""
    whole = probe(written_clip(tmp_path, "whole.mp4", frames=40))
    assert await told(VideoPart(whole, fps=2)) == await told(VideoPart(whole, fps=2.0))
    assert (await told(VideoPart(whole, fps=2)))[1] != (await told(VideoPart(whole, fps=2.5)))[1]


def exchanges(folder: Path) -> int:
    """Return how many exchanges are stored, 0 before there is a store."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'store.sqlite3'}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM exchange").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_a_run_with_clips_by_both_ways_killed_resumed_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    write_clip_cases(tmp_path, 8, frames=45)
    lines = ["[providers.lab]", 'adapter = "openai"', f'base_url = "{URL}/v1"', 'video_format = "vllm"']
    for name, inputs in (("native", '"text", "image", "video"'), ("frames", '"text", "image"')):
        lines += [
            f"[models.{name}]", 'provider = "lab"', f'model = "{live().model}"', f"inputs = [{inputs}]",
            "params = { temperature = 0, seed = 1, max_tokens = 20 }", "max_in_flight = 2",
        ]  # fmt: skip
    (tmp_path / "harness.toml").write_text("\n".join(lines), encoding="utf-8")
    wanted = ("--conditions", "both,opg", "--attempts", "1", "--name", "night")
    start = spawn_code("import clip_triage; clip_triage.program(sys.argv[1:])")
    process = start(*run_args(tmp_path, *wanted, models="native,frames"), cwd=tmp_path)
    wait_until(lambda: exchanges(tmp_path) >= 4 or process.poll() is not None)
    process.kill()
    process.communicate()
    before = exchanges(tmp_path)
    assert 4 <= before < 18
    done = ask(tmp_path, *wanted, "--json", models="native,frames")
    assert done.code == 0, done.err
    # `opg` shows the clip alone, so that all its cases are one question.
    assert exchanges(tmp_path) == 2 * (8 + 1)
    for record in records(tmp_path):
        step = {"both": 5, "opg": 1}[record["condition"]]
        frames = [{"index": index, "time_s": index / 10} for index in range(0, 45, step)]
        media = media_of(record)
        if record["model"] == "native":
            assert [one["clip"]["frames"] for one in media] == [frames]
        else:
            assert [one["frame"] for one in media] == frames
        assert record["exchanges"][-1]["status"] == 200
    store = ("--store", tmp_path / "store.sqlite3")
    assert ask(tmp_path, *wanted, "--json", models="native,frames").out == done.out
    assert harness("score", "night", *store, "--json").out == done.out
    assert exchanges(tmp_path) == 18 and harness("store", "verify", *store).code == 0
