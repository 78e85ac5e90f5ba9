"""Which slices belong together, in which order, and what is told of those that are odd."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from dicom_examples import AXIAL, clip, convert, dicom, ramp, series
from numpy.typing import NDArray
from pydicom import Dataset


def order(out: Path, name: str) -> list[float]:
    """Return the grey level of each picture of a clip of `ramp`, which tells its slice."""
    return [float(picture[-2, -2, 0]) for picture in clip(out / name).astype(int)]


def near(found: list[float], wanted: list[float]) -> bool:
    return len(found) == len(wanted) and bool(np.abs(np.array(found) - wanted).max() <= 3)


STEPS = [10.0 * one for one in range(8)]


def test_a_folder_becomes_one_clip_in_the_order_of_positions(tmp_path: Path) -> None:
    paths = series(tmp_path / "in", ramp())
    for path in paths:  # InstanceNumber says the opposite of the positions
        made = pydicom.dcmread(path)
        made.InstanceNumber = 100 - made.InstanceNumber
        made.save_as(path)
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert (outcome.failed, outcome.warnings) == ([], [])
    assert near(order(tmp_path / "out", *outcome.made), STEPS)
    (line,) = (tmp_path / "out" / "conversion.jsonl").read_text(encoding="utf-8").splitlines()
    told = json.loads(line)
    assert [one["path"] for one in told["sources"]] == [path.name for path in paths]
    assert told["pictures"] == [[index, 0] for index in range(8)]
    assert told["orientation"] == "as stored (axial)" and told["frames"] == 8


@pytest.mark.parametrize(
    ("lies", "way", "wanted"),
    [
        ([1, 0, 0, 0, 1, 0], [0, 0, 1], STEPS),
        ([1, 0, 0, 0, 1, 0], [0, 0, -1], STEPS[::-1]),
        ([1, 0, 0, 0, 0, -1], [0, 1, 0], STEPS),  # coronal: anterior to posterior
        ([0, 1, 0, 0, 0, -1], [-1, 0, 0], STEPS),  # sagittal: left to right
        ([0, 1, 0, 0, 0, -1], [1, 0, 0], STEPS[::-1]),
        ([1, 0, 0, 0, 0.8, -0.6], [0, 0.6, 0.8], STEPS),
    ],
)
def test_order_is_along_the_normal(
    tmp_path: Path, lies: list[float], way: list[float], wanted: list[float]
) -> None:
    for index, pixels in enumerate(ramp()):
        place = [2.0 * index * one for one in way]
        tags = {"ImagePositionPatient": place, "ImageOrientationPatient": lies}
        dicom(tmp_path / "in" / f"{7 * index % 8}.dcm", pixels, **tags)
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert near(order(tmp_path / "out", *outcome.made), wanted)


def test_without_positions_instance_numbers_decide_and_it_is_told(tmp_path: Path) -> None:
    for index, pixels in enumerate(ramp()):
        dicom(tmp_path / "in" / f"{7 * index % 8}.dcm", pixels, InstanceNumber=index + 1 + (index > 5))
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert near(order(tmp_path / "out", *outcome.made), STEPS)
    assert any("order is that of InstanceNumber" in one for one in outcome.warnings)
    assert any("1 slices may be missing" in one for one in outcome.warnings)


def test_two_series_of_a_folder_are_two_clips(tmp_path: Path) -> None:
    series(tmp_path / "in" / "a", ramp(4), SeriesInstanceUID="1.1")
    series(tmp_path / "in" / "b", ramp(5), SeriesInstanceUID="1.2")
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert sorted(len(clip(tmp_path / "out" / name)) for name in outcome.made) == [4, 5]


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", ["TemporalPositionIdentifier", "AcquisitionNumber", "EchoTime", "TriggerTime"]
)
def test_phases_become_a_clip_each(tmp_path: Path, key: str) -> None:
    for phase in (2, 10, 1):
        series(tmp_path / f"in/{phase}", ramp(4) + phase, **{key: phase, "InstanceNumber": 1})
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert [name[12:] for name in outcome.made] == ["-t00.mp4", "-t01.mp4", "-t02.mp4"]
    for name, phase in zip(outcome.made, (1, 2, 10), strict=True):
        assert near(order(tmp_path / "out", name), [10.0 * one + phase for one in range(4)])
    assert all(f"3 phases, told apart by {key}" in one for one in outcome.warnings)
    one = convert(tmp_path / "one", tmp_path / "in", window="127.5/255", phase=1)
    assert [name[12:] for name in one.made] == ["-t01.mp4"]
    gone = convert(tmp_path / "gone", tmp_path / "in", window="127.5/255", phase=3)
    assert gone.made == [] and "--phase 3 is not there" in gone.failed[0]


def test_phases_that_no_tag_tells_apart_are_told(tmp_path: Path) -> None:
    for phase in range(2):
        series(tmp_path / f"in/{phase}", ramp(3))
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert len(outcome.made) == 2 and "no tag tells phases apart" in outcome.warnings[0]
    (tmp_path / "in" / "1" / "im0007.dcm").unlink()
    assert "of unlike length" in convert(tmp_path / "two", tmp_path / "in", window="127.5/255").warnings[0]


def test_pictures_of_one_place_are_a_sequence_in_time(tmp_path: Path) -> None:
    for index, pixels in enumerate(ramp()):
        dicom(tmp_path / "in" / f"{7 * index % 8}.dcm", pixels, ImagePositionPatient=[0, 0, 5],
              ImageOrientationPatient=AXIAL, TriggerTime=30 * index)  # fmt: skip
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert near(order(tmp_path / "out", *outcome.made), STEPS)
    assert "order is that of TriggerTime" in outcome.warnings[0]


def test_copies_of_an_instance_are_left_out_and_named(tmp_path: Path) -> None:
    paths = series(tmp_path / "in", ramp())
    shutil.copy(paths[3], tmp_path / "in" / "zz.dcm")
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert near(order(tmp_path / "out", *outcome.made), STEPS)
    assert "copies of an instance" in outcome.warnings[0] and "'zz.dcm'" in outcome.warnings[0]


def test_missing_slices_and_gaps_are_told(tmp_path: Path) -> None:
    paths = series(tmp_path / "in", ramp(), SliceThickness=1)
    paths[3].unlink()
    paths[4].unlink()
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert "slices are missing: 2 at 1 places" in outcome.warnings[0]
    assert "gaps between slices: 2 mm apart, 1 mm thick" in outcome.warnings[1]


def test_mixed_sizes_and_orientations_are_outputs_of_their_own(tmp_path: Path) -> None:
    series(tmp_path / "in" / "a", ramp(4, 16))
    series(tmp_path / "in" / "b", ramp(3, 32))
    series(tmp_path / "in" / "c", ramp(2, 16), ImageOrientationPatient=[1, 0, 0, 0, 0, -1])
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert sorted(len(clip(tmp_path / "out" / name)) for name in outcome.made) == [2, 3, 4]
    assert any("several sizes" in one for one in outcome.warnings)
    assert any("several orientations" in one for one in outcome.warnings)


def test_radiographs_of_a_folder_are_images_by_themselves(tmp_path: Path) -> None:
    for index in range(3):
        dicom(tmp_path / "in" / f"{index}.dcm", ramp()[index], Modality="PX", InstanceNumber=index)
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert [name[12:] for name in outcome.made] == [".png"] * 3


def test_each_file_of_several_frames_is_a_clip(tmp_path: Path) -> None:
    for index in range(2):
        dicom(tmp_path / "in" / f"{index}.dcm", ramp(4) + index, Modality="XA")
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255")
    assert near(order(tmp_path / "out", outcome.made[0]), STEPS[:4])
    assert near(order(tmp_path / "out", outcome.made[1]), [one + 1 for one in STEPS[:4]])


def enhanced(places: list[float], times: list[int] | None = None) -> dict[str, Any]:
    shared, lies, frames = Dataset(), Dataset(), []
    lies.ImageOrientationPatient = AXIAL
    shared.PlaneOrientationSequence = [lies]
    for index, place in enumerate(places):
        position, content, frame = Dataset(), Dataset(), Dataset()
        position.ImagePositionPatient = [0, 0, place]
        frame.PlanePositionSequence = [position]
        if times is not None:
            content.TemporalPositionIndex = times[index]
            frame.FrameContentSequence = [content]
        frames.append(frame)
    return {"SharedFunctionalGroupsSequence": [shared], "PerFrameFunctionalGroupsSequence": frames}


def test_frames_are_sorted_by_their_positions(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp(4), **enhanced([3, 1, 0, 2]))
    outcome = convert(tmp_path / "out", path, window="127.5/255")
    assert near(order(tmp_path / "out", *outcome.made), [20.0, 10.0, 30.0, 0.0])
    line = json.loads((tmp_path / "out" / "conversion.jsonl").read_text(encoding="utf-8"))
    assert line["pictures"] == [[0, 2], [0, 1], [0, 3], [0, 0]]


def test_a_file_that_mixes_phases_is_no_one_clip(tmp_path: Path) -> None:
    path = dicom(tmp_path / "a.dcm", ramp(6), **enhanced([0, 0, 1, 1, 2, 2], [2, 1, 2, 1, 2, 1]))
    outcome = convert(tmp_path / "out", path, window="127.5/255")
    assert near(order(tmp_path / "out", outcome.made[0]), [10.0, 30.0, 50.0])
    assert near(order(tmp_path / "out", outcome.made[1]), [0.0, 20.0, 40.0])
    assert "told apart by TemporalPositionIndex" in outcome.warnings[0]


@pytest.mark.parametrize(("picks", "wanted"), [("middle", [4]), (2, [2]), ("all", list(range(8)))])
def test_slices_become_images(tmp_path: Path, picks: Any, wanted: list[int]) -> None:
    from PIL import Image

    series(tmp_path / "in", ramp())
    wishes = {"kind": "image", "picks": picks, "size": None}
    outcome = convert(tmp_path / "out", tmp_path / "in", window="127.5/255", **wishes)
    assert [name[12:] for name in outcome.made] == [f"-s{one:04}.png" for one in wanted]
    pictures: list[NDArray[Any]] = [np.asarray(Image.open(tmp_path / "out" / name)) for name in outcome.made]
    assert [int(one[-1, -1]) for one in pictures] == [10 * one for one in wanted]


def test_a_clip_has_one_window_and_tells_of_others(tmp_path: Path) -> None:
    for index, pixels in enumerate(ramp()):
        series(tmp_path / f"in/{index}", pixels[None], ImagePositionPatient=[0, 0, index], WindowWidth=255,
               WindowCenter=127.5 if index > 1 else 20)  # fmt: skip
    outcome = convert(tmp_path / "out", tmp_path / "in")
    assert near(order(tmp_path / "out", *outcome.made), STEPS)
    assert "the window of the middle picture holds for all; 2 have another" in outcome.warnings[0]
