"""The record beside the outputs, and what a second run makes of what is there."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dicom_examples import clip, convert, dicom, nifti, ramp, series

from harness.conversion import making
from harness.errors import ConfigError, HarnessError


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in (out / "conversion.jsonl").read_bytes().split(b"\n") if one]


def state(out: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.iterdir()}


def test_a_line_says_how_an_output_was_made(tmp_path: Path) -> None:
    paths = series(tmp_path / "in" / "sub", ramp(4), PixelSpacing=[2, 1])
    (name,) = convert(tmp_path / "out", tmp_path / "in", window="40/400").made
    (line,) = lines(tmp_path / "out")
    data = (tmp_path / "out" / name).read_bytes()
    assert (line["output"], line["sha256"]) == (name, hashlib.sha256(data).hexdigest())
    assert line["bytes"] == len(data)
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    assert [one["path"] for one in line["sources"]] == [f"sub/{path.name}" for path in paths]
    assert [one["sha256"] for one in line["sources"]] == digests
    assert line["window"] == {"from": "given", "centre": 40.0, "width": 400.0, "function": "LINEAR"}
    assert (line["size"], line["fps"], line["frames"], line["kind"]) == ([512, 512], 10, 4, "clip")
    assert (line["pixel_ratio"], line["orientation"], line["warnings"]) == (2.0, "as stored (axial)", [])
    assert line["recipe"]["version"] == 1 and line["recipe"]["crf"] == 4
    assert {"av", "pydicom", "numpy", "pillow"} <= set(line["libraries"])
    assert str(tmp_path) not in json.dumps(line)


def test_a_second_run_makes_nothing_and_touches_nothing(tmp_path: Path) -> None:
    series(tmp_path / "in", ramp(4))
    nifti(tmp_path / "in" / "a.nii", np.zeros((4, 4, 4, 2), np.int16))
    first = convert(tmp_path / "out", tmp_path / "in")
    before = state(tmp_path / "out")
    again = convert(tmp_path / "out", tmp_path / "in")
    assert (again.made, again.kept, again.failed) == ([], first.made, [])
    assert again.warnings == first.warnings
    assert state(tmp_path / "out") == before


def test_another_recipe_needs_overwrite(tmp_path: Path) -> None:
    series(tmp_path / "in", ramp(4))
    first = convert(tmp_path / "out", tmp_path / "in", window="100/200")
    before = state(tmp_path / "out")
    again = convert(tmp_path / "out", tmp_path / "in", window="50/100")
    assert again.made == [] and "--overwrite" in again.failed[0]
    assert state(tmp_path / "out") == before
    forced = convert(tmp_path / "out", tmp_path / "in", window="50/100", overwrite=True)
    assert forced.made == first.made and forced.failed == []
    (line,) = lines(tmp_path / "out")
    assert line["window"]["centre"] == 50.0
    assert sorted(state(tmp_path / "out")) == sorted(before)


def test_a_file_of_somebody_else_is_never_lost(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp()[3], WindowCenter=1, WindowWidth=2)
    (name,) = convert(tmp_path / "out", path, keep_names=True).made
    assert name == "a.png"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.png").write_bytes(b"mine")
    outcome = convert(tmp_path / "new", path, keep_names=True)
    assert "is another file" in outcome.failed[0]
    assert (tmp_path / "new" / "a.png").read_bytes() == b"mine"
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["a.png"]


def test_an_output_that_was_altered_is_not_taken_for_ours(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp()[3], WindowCenter=1, WindowWidth=2)
    (name,) = convert(tmp_path / "out", path).made
    good = (tmp_path / "out" / name).read_bytes()
    (tmp_path / "out" / name).write_bytes(good[:-4])
    assert "is another file" in convert(tmp_path / "out", path).failed[0]
    assert convert(tmp_path / "out", path, overwrite=True).made == [name]
    assert (tmp_path / "out" / name).read_bytes() == good
    (tmp_path / "out" / name).unlink()
    assert convert(tmp_path / "out", path).made == [name]
    assert len(lines(tmp_path / "out")) == 1


def test_a_lost_or_torn_record_is_made_good(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp()[3], WindowCenter=1, WindowWidth=2)
    other = dicom(tmp_path / "b.dcm", ramp()[4], WindowCenter=1, WindowWidth=2)
    convert(tmp_path / "out", path, other)
    record = tmp_path / "out" / "conversion.jsonl"
    whole = record.read_bytes()
    record.write_bytes(whole[:-20])
    assert convert(tmp_path / "out", path, other).failed == []
    assert record.read_bytes() == whole
    record.unlink()
    assert convert(tmp_path / "out", path, other).failed == []
    assert record.read_bytes() == whole


def test_a_record_that_is_none_of_ours_stops_everything(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp()[3])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "conversion.jsonl").write_text("[1]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1 of"):
        convert(tmp_path / "out", path)
    assert (tmp_path / "out" / "conversion.jsonl").read_text(encoding="utf-8") == "[1]\n"


def test_inputs_of_one_name_keep_theirs_apart(tmp_path: Path) -> None:
    for number in range(3):
        dicom(tmp_path / "in" / f"{number}" / "a.dcm", ramp()[number], SeriesInstanceUID=f"1.{number + 1}")
    outcome = convert(tmp_path / "out", tmp_path / "in", keep_names=True)
    assert outcome.made[0] == "a.png" and len(set(outcome.made)) == 3
    again = convert(tmp_path / "out", tmp_path / "in", keep_names=True)
    assert (again.made, again.kept) == ([], outcome.made)


def test_the_same_bytes_under_two_names_are_converted_once(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii", np.zeros((4, 4, 4), np.int16))
    (tmp_path / "b.nii").write_bytes(path.read_bytes())
    outcome = convert(tmp_path / "out", path, tmp_path / "b.nii", window="full")
    assert len(outcome.made) == 1
    assert any("the same bytes as another input" in one for one in outcome.warnings)


def test_what_lies_in_the_output_folder_is_no_input(tmp_path: Path) -> None:
    dicom(tmp_path / "a.dcm", ramp()[3])
    dicom(tmp_path / "out" / "b.dcm", ramp()[4])
    assert len(convert(tmp_path / "out", tmp_path).made) == 1


def test_a_full_disk_leaves_nothing_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *args: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    series(tmp_path / "in", ramp(4))
    monkeypatch.setattr(making, "write_clip", full)
    with pytest.raises(HarnessError, match="No space left on device"):
        convert(tmp_path / "out", tmp_path / "in")
    assert list((tmp_path / "out").iterdir()) == []


KILLED_IN_THE_SECOND = """
import os, signal, sys
from harness.conversion import making
whole, calls = making.write_clip, []
def halfway(path, pictures, fps):
    calls.append(path)
    if len(calls) == 2:
        path.write_bytes(b"half")
        os.kill(os.getpid(), signal.{how})
    return whole(path, pictures, fps)
making.write_clip = halfway
from harness.cli.main import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [("SIGKILL", -signal.SIGKILL), ("SIGINT", 130)])
def test_an_interrupted_run_leaves_no_half_file_and_is_finished_by_the_next(
    tmp_path: Path, how: str, code: int
) -> None:
    for number in range(3):
        series(tmp_path / "in" / str(number), ramp(4) + number, SeriesInstanceUID=f"1.{number + 1}")
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED_IN_THE_SECOND.format(how=how), "data", "convert"]
    done = subprocess.run([*command, str(tmp_path / "in"), "--out", str(out)], capture_output=True)
    assert done.returncode == code
    (first,) = [path.name for path in out.iterdir() if path.suffix == ".mp4"]
    assert len(clip(out / first)) == 4 and [line["output"] for line in lines(out)] == [first]
    if how == "SIGINT":
        assert not [path for path in out.iterdir() if path.name.endswith(".part")]
    outcome = convert(out, tmp_path / "in")
    assert (outcome.kept, len(outcome.made), outcome.failed) == ([first], 2, [])
    assert len(lines(out)) == 3


@pytest.mark.slow
def test_a_long_series_is_streamed(tmp_path: Path) -> None:
    slice_of = np.zeros((512, 512), np.uint16)
    slice_of[:, ::2] = 900
    for index in range(40):
        dicom(tmp_path / "in" / f"{index}.dcm", slice_of + index, ImagePositionPatient=[0, 0, index],
              ImageOrientationPatient=[1, 0, 0, 0, 1, 0])  # fmt: skip
    convert(tmp_path / "warm", tmp_path / "in" / "0.dcm", window="500/1000", kind="clip")
    tracemalloc.start()
    convert(tmp_path / "out", tmp_path / "in", window="500/1000", size=64)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15_000_000  # all slices: 21 million bytes as stored; one in float64: 2 million
