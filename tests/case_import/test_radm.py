"""Tables of RadM-Bench: several images and clips a case, yes and no, two languages, and MedPix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from case_tables import FORMS, image_bytes, imported, in_base64, lines, write_json_lines
from video_examples import mp4

from harness.benchmarks.registry import BENCHMARKS
from harness.case_import.column_map import read_wish
from harness.case_import.fields import case_table
from harness.case_import.layouts import LAYOUTS
from harness.case_import.opening import open_source

pytestmark = pytest.mark.skipif("radm" not in BENCHMARKS, reason="the benchmark radm is not here")


def radm(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "subset": "RealClin",
        "language": "zh",
        "subspecialty": "chest",
        "rare": True,
        "history": "咳嗽三天。",
        "history_en": "Cough for three days.",
        "images": [in_base64(image_bytes(number)), in_base64(image_bytes(number + 100))],
        "videos": ["clips/a.mp4"],
        "diagnosis": "肺炎",
        **changes,
    }


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "saved"])
def test_radm_cases_come_back_with_their_clips(tmp_path: Path, form: str) -> None:
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "a.mp4").write_bytes(mp4())
    rows = [
        radm(1),
        radm(2, videos=[], language="en", history="Chest pain.", history_en=None, rare=False),
        radm(3, videos=None),
    ]
    source = open_source(FORMS[form](tmp_path, rows))
    found = imported(source, tmp_path / "out", "radm", media_dir=tmp_path)
    assert found.bad == [] and found.problems == [] and found.written
    made = lines(tmp_path / "out")
    assert [len(one["images"]) for one in made] == [2, 2, 2] and [len(one["videos"]) for one in made] == [
        1,
        0,
        0,
    ]
    assert made[0]["videos"][0].endswith(".mp4") and "history_en" not in made[1]
    assert [(tmp_path / "out" / one).read_bytes() for one in made[0]["images"]] == [
        image_bytes(1),
        image_bytes(101),
    ]
    kept = ("id", "subset", "language", "subspecialty", "rare", "history", "diagnosis")
    assert [[one[name] for name in kept] for one in made] == [[row[name] for name in kept] for row in rows]


def test_media_of_the_wrong_kind_and_media_twice_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(mp4())
    (tmp_path / "a.png").write_bytes(image_bytes(1))
    rows = [
        radm(1, images=["a.mp4"], videos=[]),
        radm(2, videos=["a.png"]),
        radm(3, images=["a.png", "a.png"], videos=[]),
        radm(4, images=[], videos=[]),
        radm(5, rare="perhaps", videos=[]),
    ]
    found = imported(open_source(write_json_lines(tmp_path / "t.jsonl", rows)), tmp_path / "out", "radm")
    told = ["; ".join(bad.reasons) for bad in found.bad]
    assert told[0] == "'images' holds video/mp4, and it takes images"
    assert told[1] == "'videos' holds image/png, and it takes videos"
    assert told[2] == "'images' holds one image twice, as numbers 1 and 2"
    assert "are both empty" in told[3] and "'rare' must be true, yes, 1" in told[4]


def test_medpix_has_images_of_two_lists_without_suffixes(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number, name in enumerate(("MPX1_synpic1", "MPX1_synpic2")):
        (tmp_path / "images" / f"{name}.png").write_bytes(image_bytes(number))
    case = {"Title": "t", "History": "A made-up history.\n", "Case Diagnosis": "Nothing"}
    row = {"U_id": "MPX1", "TAC": ["MPX1_synpic2"], "MRI": ["MPX1_synpic1"], "Case": case, "Topic": {}}
    table = case_table("radm")
    sets = ["subset=RadEdu", "subspecialty=neuroradiology", "rare=false"]
    wish = read_wish([], sets, table).over(LAYOUTS["medpix-2.0"].wish)
    source = open_source(write_json_lines(tmp_path / "t.jsonl", [row]))
    found = imported(source, tmp_path / "out", "radm", wish, media_dir=tmp_path / "images")
    assert found.bad == [] and found.written and found.unused == ["Topic"]
    [made] = lines(tmp_path / "out")
    assert (made["history"], made["diagnosis"], made["language"]) == ("A made-up history.\n", "Nothing", "en")
    assert [(tmp_path / "out" / one).read_bytes() for one in made["images"]] == [
        image_bytes(1),
        image_bytes(0),
    ]
    assert made["videos"] == []
