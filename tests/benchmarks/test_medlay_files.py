"""Case files of MedLayXPlain: what is read, what is refused, and regions that lie outside of their image."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from medlay_examples import EXPERT, LAY, line, write
from PIL import Image

from harness.benchmarks.medlay.cases import check_cases, load_cases, region_of
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.benchmarks.medlay.roi import image_part
from harness.errors import CaseFileError, MediaError
from harness.media import Media
from harness.media_reading import MediaReader


def problems(folder: Path, **changes: Any) -> list[str]:
    return check_cases(write(folder, line(**changes)))


def test_a_case_is_read_with_its_image_captions_and_region(tmp_path: Path) -> None:
    write(tmp_path, line(concepts=["C0023884"], group="p1", tags=["t"]), line("b", roi=None))
    first, second = load_cases(tmp_path).cases
    assert (first.id, first.group, first.tags, first.problem) == ("a", "p1", ("t",), None)
    assert dict(first.fields) == {"expert_caption": EXPERT, "roi": "2,3,12,9"}
    assert dict(first.reference) == {"lay_caption": LAY, "modality": "CT", "concepts": ["C0023884"]}
    assert [(one.mime, one.width, one.height) for one in first.media["image"]] == [("image/png", 40, 20)]
    assert second.fields["roi"] == ""
    assert second.reference["concepts"] == []


@pytest.mark.parametrize("modality", MODALITIES)
def test_each_of_the_eight_modalities_is_known(tmp_path: Path, modality: str) -> None:
    assert problems(tmp_path, modality=modality) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"modality": "mri"}, "unknown modality 'mri'; did you mean 'MRI'?"),
        ({"modality": "Fundus"}, "unknown modality 'Fundus'; known: 'Pathology', 'MRI', 'CT', 'X-Ray'"),
        ({"modality": ["CT"]}, "'modality' must be text"),
        ({"expert_caption": " \n"}, "'expert_caption' is blank"),
        ({"lay_caption": ""}, "'lay_caption' is blank"),
        ({"lay_caption": None}, "'lay_caption' must be text, got null"),
        ({"roi": ...}, "field 'roi' is missing"),
        ({"roi": []}, "'roi' must be [x0, y0, x1, y1] in whole pixels, or null"),
        ({"roi": [1, 2, 3]}, "'roi' must be [x0, y0, x1, y1]"),
        ({"roi": [1, 2, 3.5, 4]}, "'roi' must be [x0, y0, x1, y1]"),
        ({"roi": [0, 0, True, 4]}, "'roi' must be [x0, y0, x1, y1]"),
        ({"roi": "1,2,3,4"}, "'roi' must be [x0, y0, x1, y1]"),
        ({"roi": [-1, 0, 4, 4]}, "'roi' must have 0 <= x0 < x1 and 0 <= y0 < y1, got [-1, 0, 4, 4]"),
        ({"roi": [4, 0, 4, 4]}, "'roi' must have 0 <= x0 < x1"),
        ({"roi": [0, 9, 4, 5]}, "'roi' must have 0 <= x0 < x1"),
        ({"concepts": "C1"}, "'concepts' must be a list of texts"),
        ({"concepts": ["C1", "C1"]}, "'concepts' names 'C1' twice"),
        ({"group": ""}, "'group' is blank"),
        ({"image": "../a.png"}, "'image' must stay below the folder"),
        ({"report": "x"}, "unknown field 'report'"),
    ],
)
def test_a_bad_line_is_refused_with_its_number_and_what_is_wrong(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    write(tmp_path, line("first"), line("second", **changes))
    with pytest.raises(CaseFileError) as caught:
        load_cases(tmp_path)
    assert str(caught.value).startswith("cases.jsonl line 2: ")
    assert told in str(caught.value)


def test_a_region_outside_of_its_image_is_the_cases_problem(tmp_path: Path) -> None:  # F16
    regions = {"a": [0, 0, 40, 20], "b": [0, 0, 41, 20], "c": [5, 5, 45, 50]}
    write(tmp_path, *(line(name, roi=roi) for name, roi in regions.items()))
    whole, wide, far = load_cases(tmp_path).cases
    assert whole.problem is None
    for one, said in ((wide, "0,0,41,20"), (far, "5,5,45,50")):
        assert one.problem == (
            f"cannot draw on image 'images/{one.id}.png': the box {said} (x0,y0,x1,y1) leaves the image, "
            "which has 40 x 20 pixels; correct the box"
        )
    assert check_cases(tmp_path) == [f"case {one.id!r}: {one.problem}" for one in (wide, far)]


@pytest.mark.parametrize(("orientation", "fits"), [(1, [0, 0, 40, 20]), (6, [0, 0, 20, 40])])
def test_a_region_is_counted_on_the_upright_image(
    tmp_path: Path, orientation: int, fits: list[int]
) -> None:  # F16
    lines = [
        line(name, image="images/a.jpg", roi=roi) for name, roi in (("a", fits), ("b", [0, 0, *fits[:1:-1]]))
    ]
    write(tmp_path, *lines)
    exif = Image.Exif()
    exif[0x0112] = orientation
    (tmp_path / "images").mkdir(exist_ok=True)
    Image.new("RGB", (40, 20)).save(tmp_path / "images" / "a.jpg", exif=exif)
    sound, turned = load_cases(tmp_path).cases
    assert sound.problem is None
    assert turned.problem is not None and "leaves the image" in turned.problem
    assert check_cases(tmp_path) == [f"case 'b': {turned.problem}"]


def test_a_region_that_fits_only_the_image_as_it_lies_is_told_by_the_check(tmp_path: Path) -> None:  # F16
    write(tmp_path, line("a", image="images/a.jpg", roi=[0, 0, 40, 20]))
    exif = Image.Exif()
    exif[0x0112] = 6
    (tmp_path / "images").mkdir(exist_ok=True)
    Image.new("RGB", (40, 20)).save(tmp_path / "images" / "a.jpg", exif=exif)
    assert check_cases(tmp_path) == [
        "case 'a': cannot draw on image 'images/a.jpg': the box 0,0,40,20 (x0,y0,x1,y1) leaves the image, "
        "which has 20 x 40 pixels; correct the box"
    ]


def test_an_image_that_cannot_be_read_is_the_cases_problem(tmp_path: Path) -> None:  # F16
    write(tmp_path, line("a"))
    (tmp_path / "images" / "a.png").write_bytes(b"no image")
    [case] = load_cases(tmp_path).cases
    assert case.problem is not None and "images/a.png" in case.problem
    assert case.media == {}


class _AnyImage(MediaReader):
    """Says of every file that it is one image: nothing is read."""

    def read(self, wanted: Any) -> Any:
        for path, _ in wanted:
            yield Media("0" * 64, "image/png", 1, 40, 20, path)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_captions_of_many_cases(tmp_path: Path) -> None:  # F36
    # Twice, since a table of the interpreter may grow on the way: it holds the names of paths.
    peaks: dict[int, list[int]] = {500: [], 2_500: []}
    for count in (*peaks, *peaks):
        folder = tmp_path / str(count)
        folder.mkdir(exist_ok=True)
        long = EXPERT * 8
        lines = (
            json.dumps(line(f"c{number}", expert_caption=f"{number} {long}", lay_caption=long))
            for number in range(count)
        )
        (folder / "cases.jsonl").write_text("".join(f"{one}\n" for one in lines), encoding="utf-8")
        tracemalloc.start()
        cases = load_cases(folder, _AnyImage()).cases
        peaks[count].append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(cases) == count
        assert cases[count - 1].fields["expert_caption"].startswith(f"{count - 1} ")
    # A line has 1.6 KB; what is kept of a case are its id and where it stands, some 500 bytes.
    assert min(peaks[2_500]) - min(peaks[500]) < 2_000 * 700, peaks


@pytest.mark.parametrize("roi", ["1,2,3", "1,2,3,x", "-1,2,3,4", "\u0661,2,3,4", f"{'9' * 5_000},2,3,4"])
def test_a_stored_region_that_cannot_be_read_is_none_and_its_image_is_not_sent_without_a_box(
    tmp_path: Path, roi: str
) -> None:
    write(tmp_path, line())
    (case,) = load_cases(tmp_path).cases
    assert region_of(case) == (2, 3, 12, 9)
    torn = replace(case, fields={**case.fields, "roi": roi})
    assert region_of(torn) is None
    with pytest.raises(MediaError, match="the region of case 'a' is not four whole numbers"):
        image_part(torn)
