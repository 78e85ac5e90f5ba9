"""RadM-Bench on a genuine vLLM with clips and images made of real DICOM and NIfTI files.

Skipped unless HARNESS_TEST_VLLM names a server as test_sweep_vllm_clips.py wants it, that nobody else uses,
and the folder of real files is at hand. Any model will do: what it says is not looked at, only what it was
shown.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from radm_clips import (
    IN_FLIGHT,
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
from sweep_kit import finish, harness, records, wait_until

URL = os.environ.get("HARNESS_TEST_VLLM", "").rstrip("/")  # read here: tests have an environment without it
DATA = Path(__file__).parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not URL, reason="HARNESS_TEST_VLLM names no vLLM server"),
    pytest.mark.skipif(not DATA.is_dir(), reason="no folder of real files"),
]


def fetched(path: str) -> str:
    with urllib.request.urlopen(URL + path, timeout=10) as reply:
        return str(reply.read().decode())


def metric(name: str) -> int:
    lines = re.findall(rf"^vllm:{name}(?:{{[^}}]*}})? (\S+)$", fetched("/metrics"), re.MULTILINE)
    assert lines, f"the server counts no {name}"
    return int(sum(map(float, lines)))


def served() -> int:
    """Return how many requests the server has ended, once it has none at work."""
    wait_until(lambda: metric("num_requests_running") + metric("num_requests_waiting") == 0)
    return metric("request_success_total")


def converted(out: Path, *names: str) -> Iterator[str]:
    """Convert real files, small enough for any context, and return the outputs' paths below the data."""
    files = [DATA / name for name in names]
    done = harness("data", "convert", *files, "--out", out, "--size", "128", "--json")
    assert done.code == 0, done.err
    lines = (out / "conversion.jsonl").read_text(encoding="utf-8").splitlines()
    return (f"{out.name}/{json.loads(line)['output']}" for line in lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of cases that show two phases, ten frames of a head, and four kinds of pictures."""
    data = tmp_path / "data"
    clips = list(converted(data / "clips", "mr-example4d.nii.gz", "mr-emri_small-10frames.dcm"))
    images = list(converted(data / "images", "ct-CT_small.dcm", "mr-MR_small.dcm", "cr-RG3_J2KI.dcm"))
    shutil.copy(DATA / "cxr-nih-00000001_000.png", data / "images")
    write_radm_cases(data, clips, [*images, "images/cxr-nih-00000001_000.png"])
    write_radm_config(tmp_path, URL, json.loads(fetched("/v1/models"))["data"][0]["id"])
    return tmp_path


def test_real_clips_by_all_ways_killed_resumed_and_replayed(folder: Path) -> None:
    expected = expected_frames(folder / "data")
    assert sorted({len(one) for one in expected.values()}) == [2, 5, 7, 10, 24, 34, 48]
    checked = harness("data", "check", "--benchmark", "radm", "--data", folder / "data")
    assert checked.code == 0, checked.err
    params = ("--param", "max_tokens=300", "--attempts", "1")
    run = radm_args(folder, *params)
    before = served()
    for kill in range(3):
        kill_run(folder, kill, 4, *params)
    done = harness(*run, "--json")
    assert done.code == 0, done.err
    # All three are one model to the server: what they are shown alike is asked once.
    asked = stored(folder)
    assert asked == stored(folder, "count(DISTINCT key)") == 6 + 5 + 2 * 5 + 2 * 5
    total = served()
    assert 0 <= total - before - asked <= 3 * 3 * IN_FLIGHT

    rows = records(folder, "night")
    check_records(rows, expected)
    ends = {row["outcome"] for row in rows}
    assert ends <= {"valid", "recovered", "truncated", "unparsable", "not_applicable"}
    shown = {(row["model"], row["case_id"], row["condition"]): frames_of(row) for row in rows}
    for case, condition in expected:
        assert shown["native", case, condition] == shown["frames", case, condition]
    told = harness("export", "night", *options(folder)).out
    assert harness(*run, "--json").out == done.out
    assert harness("score", "night", "--json", *options(folder)).out == done.out
    (folder / "data").rename(folder / "away")
    (folder / "store.sqlite3-frames").rename(folder / "frames-away")
    for words, wanted in ((("score", "night", "--json"), done.out), (("export", "night"), told)):
        bare = finish(spawn_bare(*words, "--store", folder / "store.sqlite3", cwd=folder))
        assert (bare.code, bare.out) == (0, wanted), bare.err
    assert harness("store", "verify", "--store", folder / "store.sqlite3").code == 0
    assert served() == total
