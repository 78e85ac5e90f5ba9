"""RadM-Bench with clips: a case folder, three models that see them differently, and what records must say."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from step_examples import spawn_code
from sweep_kit import spawn, wait_until

from harness.canonical import sha256_hex

CONDITIONS = "text,text_images,text_volume_fps2,text_volume_fps10"
MODELS = "native,frames,blind"
IN_FLIGHT = 2
_INPUTS = {"native": ["text", "image", "video"], "frames": ["text", "image"], "blind": ["text"]}

Shown = list[tuple[str, int, float]]
"""Of each frame that is shown, in order: the clip's digest, its index, its time in seconds."""

spawn_bare = spawn_code("sys.modules['av'] = None\nfrom harness.cli.main import cli\ncli.main(sys.argv[1:])")
"""Start a command as a process of its own in which PyAV is not installed."""


def write_radm_cases(data: Path, clips: Sequence[str], images: Sequence[str]) -> None:
    """Write six cases with none to two of three clips and of the images, paths below `data`."""
    first, second, third = clips
    shown = {
        "clin-zh-1": ([first, second], images[:1]),
        "clin-zh-2": ([third], images[1:3]),
        "clin-en-1": ([third], []),
        "edu-en-1": ([second, third], images[:2]),
        "edu-en-2": ([], images[2:]),
        "edu-zh-1": ([second], images[-1:]),
    }
    lines = [
        {
            "id": name,
            "subset": "RealClin" if name.startswith("clin") else "RadEdu",
            "language": "zh" if "zh" in name else "en",
            "subspecialty": "neuroradiology",
            "rare": name == "clin-zh-1",
            "history": f"{'患者头痛3天。' if 'zh' in name else 'Headache for three days.'} CASE<{name}>",
            "images": list(shown[name][1]),
            "videos": shown[name][0],
            "diagnosis": "migraine",
        }
        for name in shown
    ]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (data / "cases.jsonl").write_text(text, encoding="utf-8")


def write_radm_config(folder: Path, url: str, served: str | None = None) -> None:
    """Write the models native, frames and blind; the server calls them `served`, else by these names."""
    lines = ["[providers.lab]", 'adapter = "openai"', f'base_url = "{url}/v1"', 'endpoint = "lab"',
             'video_format = "vllm"']  # fmt: skip
    for name, inputs in {**_INPUTS, "grader": ["text"]}.items():
        lines += [
            f"[models.{name}]", 'provider = "lab"', f'model = "{served or name}"',
            f"inputs = {json.dumps(inputs)}", 'structured = ["json", "schema"]',
            f"max_in_flight = {IN_FLIGHT}",
        ]  # fmt: skip
    (folder / "harness.toml").write_text("\n".join(lines), encoding="utf-8")


def options(folder: Path) -> list[str | Path]:
    """Return the options that name the configuration and the store of a folder."""
    return ["--config", folder / "harness.toml", "--store", folder / "store.sqlite3"]


def radm_args(folder: Path, *more: str | Path) -> list[str | Path]:
    """Return the arguments of the run "night"."""
    wanted = ["--models", MODELS, "--conditions", CONDITIONS, "--structured", "schema", "--name", "night"]
    return ["run", "--benchmark", "radm", "--data", folder / "data", *wanted, *options(folder), *more]


def kill_run(folder: Path, kill: int, more: int, *options_of_run: str) -> None:
    """Start the run, or resume it, and kill it -9: first as frames are made, else once so many are stored."""
    run, had = radm_args(folder, *options_of_run), stored(folder)
    process = spawn(*(["resume", "night", *options(folder)] if kill == 1 else run), cwd=folder)

    def ready() -> bool:
        return frames_on_disk(folder) > 0 if kill == 0 else stored(folder) >= had + more

    wait_until(lambda: ready() or process.poll() is not None, timeout=120)
    assert process.poll() is None
    process.kill()
    process.communicate()


def frames_on_disk(folder: Path) -> int:
    """Return how many frames were made."""
    return sum(1 for _ in (folder / "store.sqlite3-frames").rglob("*.jpg"))


def stored(folder: Path, what: str = "count(*)") -> int:
    """Return how many exchanges with an answer are stored, 0 before there is a store."""
    query = f"SELECT {what} FROM exchange WHERE status = 200"
    try:
        with closing(sqlite3.connect(f"file:{folder / 'store.sqlite3'}?mode=ro", uri=True)) as database:
            return int(database.execute(query).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def _at(path: Path, fps: int) -> list[tuple[int, float]]:
    """Return the frames on display at k / fps seconds, by the packets of the file alone."""
    with av.open(str(path)) as container:
        base = container.streams.video[0].time_base
        assert base is not None
        packets = [one for one in container.demux(video=0) if one.pts is not None]
        times = sorted(one.pts * base for one in packets if one.pts is not None)
        end = max((one.pts + (one.duration or 0)) * base for one in packets if one.pts is not None)
    found: dict[int, float] = {}
    moment = times[0]
    while moment < end:
        index = max(number for number, time in enumerate(times) if time <= moment)
        found[index] = float(times[index] - times[0])
        moment += Fraction(1, fps)
    return list(found.items())


def expected_frames(data: Path) -> dict[tuple[str, str], Shown]:
    """Return what volume conditions show: (case, condition) -> frames."""
    text = (data / "cases.jsonl").read_text(encoding="utf-8")
    return {
        (case["id"], f"text_volume_fps{fps}"): [
            (sha256_hex((data / clip).read_bytes()), *frame)
            for clip in case["videos"]
            for frame in _at(data / clip, fps)
        ]
        for case in map(json.loads, text.splitlines())
        for fps in (2, 10)
        if case["videos"]
    }


def frames_of(record: Mapping[str, Any]) -> Shown:
    """Return the frames that a record claims, of images and of videos alike."""
    found: Shown = []
    for one in record["media"]:
        frames: Iterable[Mapping[str, Any]] = one["clip"]["frames"] if "clip" in one else ()
        frames = [one["frame"]] if "frame" in one else frames
        found += [(one["sha256"], frame["index"], frame["time_s"]) for frame in frames]
    return found


def check_records(rows: Sequence[Mapping[str, Any]], expected: Mapping[tuple[str, str], Shown]) -> None:
    """Check that each model was shown what the files hold, or is `not_applicable`. Raises AssertionError."""
    assert len(rows) == 3 * (6 + 5 + 5 + 5)
    for row in rows:
        asked = row["model"] != "blind" or row["condition"] == "text"
        assert (row["outcome"] == "not_applicable") is not asked
        if not asked:
            assert row["media"] == [] and row["exchanges"] == []
        elif row["condition"].startswith("text_volume"):
            assert frames_of(row) == expected[row["case_id"], row["condition"]]
            assert all(("clip" in one) is (row["model"] == "native") for one in row["media"])
        else:
            assert not any("clip" in one or "frame" in one for one in row["media"])
