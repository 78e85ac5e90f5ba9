"""Case files of RadM-Bench: what is read, what is refused, and how it is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.benchmarks.radm.cases import SUBSPECIALTIES, check_cases, load_cases
from harness.benchmarks.registry import get_benchmark
from harness.errors import CaseFileError

CLIP = get_benchmark("radm").sample_dir() / "clips" / "syn-clin-01-1.mp4"
GOOD: dict[str, Any] = {
    "id": "a",
    "subset": "RealClin",
    "language": "zh",
    "subspecialty": "head and neck",
    "rare": False,
    "history": "患者，男，40岁。",  # noqa: RUF001
    "images": ["b.png", "a.png"],
    "videos": ["two.mp4", "one.mp4"],
    "diagnosis": "多形性腺瘤",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("L", (20, 10), 90).save(tmp_path / "a.png")
    Image.new("L", (30, 10), 90).save(tmp_path / "b.png")
    shutil.copyfile(CLIP, tmp_path / "one.mp4")
    shutil.copyfile(CLIP.with_name("syn-clin-02-1.mp4"), tmp_path / "two.mp4")
    return tmp_path


def write(folder: Path, *cases: object) -> Path:
    lines = [json.dumps(case, ensure_ascii=False) for case in cases]
    (folder / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8", newline="")
    return folder


def refusal(folder: Path, **changes: object) -> str:
    left_out = {name for name, value in changes.items() if value is ...}
    case = {name: value for name, value in {**GOOD, **changes}.items() if name not in left_out}
    with pytest.raises(CaseFileError) as caught:
        load_cases(write(folder, case))
    return str(caught.value)


def test_a_case_is_read_with_its_media_in_order_and_its_reference(folder: Path) -> None:
    case = load_cases(write(folder, {**GOOD, "group": "p1", "tags": ["CT"]})).cases[0]
    assert (case.id, case.group, case.tags, case.problem) == ("a", "p1", ("CT",), None)
    assert dict(case.fields) == {"history": GOOD["history"]}
    assert case.reference == {
        "diagnosis": GOOD["diagnosis"], "rare": False, "subset": "RealClin", "subspecialty": "head and neck",
        "language": "zh", "images": 2, "videos": 2,
    }  # fmt: skip
    assert [one.width for one in case.media["image"]] == [30, 20]
    assert [one.path.name for one in case.media["clip"] if one.path] == ["two.mp4", "one.mp4"]


def test_videos_may_be_left_out_and_a_translation_given(folder: Path) -> None:
    given = {name: value for name, value in GOOD.items() if name != "videos"}
    case = load_cases(write(folder, {**given, "history_en": "Man of 40."})).cases[0]
    assert case.fields["history_en"] == "Man of 40."
    assert case.media.keys() == {"image"}
    assert case.reference["videos"] == 0
    case = load_cases(write(folder, {**GOOD, "images": []})).cases[0]
    assert case.media.keys() == {"clip"}


def test_text_with_unicode_line_ends_is_kept(folder: Path) -> None:
    text = "一\u2028二\r\n三\u0085"
    assert load_cases(write(folder, {**GOOD, "history": text})).cases[0].fields["history"] == text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"subset": "RadClin"}, "unknown subset 'RadClin'; did you mean 'RealClin'?"),
        ({"subset": None}, "'subset' must be text, got null"),
        ({"language": "cn"}, "unknown language 'cn'"),
        ({"language": "EN"}, "unknown language 'EN'"),
        ({"subspecialty": "Chest"}, "unknown subspecialty 'Chest'; did you mean 'chest'?"),
        ({"subspecialty": "paediatric"}, "did you mean 'pediatric'?"),
        ({"subspecialty": ["chest"]}, "'subspecialty' must be text, got [\"chest\"]"),
        ({"rare": 1}, "'rare' must be true or false, got 1"),
        ({"rare": "no"}, "'rare' must be true or false, got \"no\""),
        ({"rare": ...}, "field 'rare' is missing"),
        ({"history": " \u3000\n"}, "'history' is blank"),
        ({"history": 5}, "'history' must be text, got 5"),
        ({"history_en": " "}, "'history_en' is blank"),
        ({"diagnosis": ""}, "'diagnosis' is blank"),
        ({"images": []}, None),
        ({"images": [], "videos": []}, "'images' and 'videos' are both empty; a case has one image or clip"),
        ({"images": ..., "videos": []}, "field 'images' is missing"),
        ({"images": "a.png"}, "'images' must be a list of texts, got \"a.png\""),
        ({"images": ["a.png", "a.png"]}, "'images' names 'a.png' twice"),
        ({"images": ["../a.png"]}, "'images' must stay below the folder of the cases"),
        ({"images": [""]}, "'images' is blank"),
        ({"videos": ["/x/one.mp4"]}, "'videos' must stay below the folder of the cases"),
        ({"videos": None}, "'videos' must be a list of texts, got null"),
        ({"tags": "CT"}, "'tags' must be a list of texts"),
        ({"group": ""}, "'group' is blank"),
        ({"video": ["one.mp4"]}, "unknown field 'video'; did you mean 'videos'?"),
        ({"language": "en", "history_en": "x"}, "'language' is 'en'; take it out"),
        ({"language": "zh", "history": "Man of 40."}, "'history' has no Chinese character"),
        ({"language": "en", "history": "男性胸痛三天 CT"}, "'history' is in Chinese, and 'language' is 'en'"),
        ({"language": "zh", "history_en": "男性胸痛三天"}, "'history_en' is in Chinese"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(
    folder: Path, changes: dict[str, object], told: str | None
) -> None:
    if told is None:
        assert check_cases(write(folder, {**GOOD, **changes})) == []
    else:
        assert refusal(folder, **changes).startswith("cases.jsonl line 1: ")
        assert told in refusal(folder, **changes)


def test_duplicate_ids_name_both_lines(folder: Path) -> None:  # F18
    with pytest.raises(CaseFileError, match="line 2: id 'a' is that of line 1"):
        load_cases(write(folder, GOOD, GOOD))


def test_a_broken_or_mistaken_medium_ends_its_case_alone(folder: Path) -> None:  # F40
    (folder / "cut.mp4").write_bytes(CLIP.read_bytes()[:900])
    write(
        folder,
        {**GOOD, "videos": ["one.mp4", "cut.mp4"]},
        {**GOOD, "id": "b", "images": ["a.png", "one.mp4"], "videos": []},
        {**GOOD, "id": "c", "videos": ["a.png"]},
        {**GOOD, "id": "d"},
    )
    cut, clip_as_image, image_as_clip, good = load_cases(folder).cases
    assert cut.problem is not None
    assert "cut.mp4" in cut.problem
    assert cut.media == {}
    assert (cut.reference["images"], cut.reference["videos"]) == (2, 2)
    assert clip_as_image.problem is not None
    assert "'one.mp4' is video/mp4, and the case wants an image here" in clip_as_image.problem
    assert image_as_clip.problem is not None
    assert "'a.png' is image/png, and the case wants a video here" in image_as_clip.problem
    assert good.problem is None
    assert len(check_cases(folder)) == 3


def test_the_subspecialties_are_the_papers_nine() -> None:
    assert len(SUBSPECIALTIES) == 9
    assert list(SUBSPECIALTIES) == sorted(SUBSPECIALTIES)


def test_more_images_than_the_paper_took_are_no_fault(folder: Path) -> None:
    names = [f"{number}.png" for number in range(20)]
    for number, name in enumerate(names):
        Image.new("L", (20 + number, 10), 90).save(folder / name)
    assert check_cases(write(folder, {**GOOD, "images": names})) == []
