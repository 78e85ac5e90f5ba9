"""The bundled sample of RadM-Bench: synthetic, small, sound, varied, and redrawn to the same pictures."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from drawn_samples import check_same, files, load_tool
from numpy.typing import NDArray
from PIL import Image

from harness.benchmarks.base import CaseSet
from harness.benchmarks.radm.cases import SUBSPECIALTIES, check_cases, load_cases
from harness.benchmarks.radm.task import RadM

CHECKOUT = Path(__file__).resolve().parents[2]
SAMPLE = CHECKOUT / "harness" / "benchmarks" / "radm" / "sample"
HAN = re.compile("[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def cases() -> CaseSet:
    return load_cases(SAMPLE)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("draw_radm_sample")


def frames(data: bytes) -> list[NDArray[np.float64]]:
    av = pytest.importorskip("av", reason="PyAV is not there; install the extra video")
    with av.open(io.BytesIO(data)) as container:
        return [frame.to_ndarray(format="gray").astype(float) for frame in container.decode(video=0)]


def test_it_is_sound_small_and_says_that_it_is_synthetic(cases: CaseSet) -> None:
    assert check_cases(SAMPLE) == []
    assert cases.synthetic
    assert len(cases.cases) == 20
    assert sum(map(len, files(SAMPLE).values())) <= 1_000_000


def test_both_subsets_have_every_subspecialty_and_their_language(cases: CaseSet) -> None:
    of = {
        name: [case.reference for case in cases.cases if case.reference["subset"] == name]
        for name in ("RadEdu", "RealClin")
    }
    for subset, language in (("RadEdu", "en"), ("RealClin", "zh")):
        assert len(of[subset]) == 10
        assert {one["subspecialty"] for one in of[subset]} == set(SUBSPECIALTIES)
        assert {one["language"] for one in of[subset]} == {language}
        assert Counter(one["rare"] for one in of[subset])[True] == (4 if subset == "RadEdu" else 2)


def test_histories_and_diagnoses_are_in_the_language_of_the_case(cases: CaseSet) -> None:
    for case in cases.cases:
        chinese = case.reference["language"] == "zh"
        assert bool(HAN.search(case.fields["history"])) == chinese
        assert bool(HAN.search(str(case.reference["diagnosis"]))) == chinese
        assert not HAN.search(case.fields.get("history_en", ""))
    assert sum("history_en" in case.fields for case in cases.cases) == 6


def test_no_history_names_its_diagnosis(cases: CaseSet) -> None:
    for case in cases.cases:
        assert str(case.reference["diagnosis"]).lower() not in case.fields["history"].lower()


def test_every_condition_is_asked_of_some_cases_and_partial_ones_not_of_all(cases: CaseSet) -> None:
    radm = RadM()
    asked = {name: sum(radm.asks(case, name) for case in cases.cases) for name in radm.conditions}
    assert asked == {
        "text": 20, "text_images": 20, "text_volume_fps2": 9, "text_volume_fps10": 9, "text_translated": 6,
    }  # fmt: skip
    assert {len(case.media["image"]) for case in cases.cases} == {1, 2, 3, 4, 5, 6}
    assert {len(case.media["clip"]) for case in cases.cases if "clip" in case.media} == {1, 2}


def test_clips_are_as_the_paper_exported_them(cases: CaseSet) -> None:
    av = pytest.importorskip("av", reason="PyAV is not there; install the extra video")
    lengths = set()
    for medium in (one for case in cases.cases for one in case.media.get("clip", ())):
        assert medium.path is not None
        assert (medium.mime, medium.width, medium.height) == ("video/mp4", 160, 160)
        with av.open(str(medium.path)) as container:
            stream = container.streams.video[0]
            assert (stream.codec_context.name, stream.codec_context.profile) == ("h264", "High")
            assert stream.average_rate == 10
            lengths.add(stream.frames)
    assert lengths == {24, 27, 30}


def test_every_picture_differs_and_carries_its_mark(cases: CaseSet) -> None:
    images = [one for case in cases.cases for one in case.media["image"]]
    assert len({one.sha256 for one in images}) == len(images) == 51
    assert {one.mime for one in images} == {"image/jpeg", "image/png"}
    for one in images:
        assert one.path is not None
        corner = np.asarray(Image.open(one.path).convert("L"))[147:157, 7:63]
        assert (corner > 150).sum() > 80, one.path.name


def test_what_a_case_has_can_be_seen_in_the_middle_of_its_clip_and_not_at_the_ends(tool: ModuleType) -> None:
    for case in tool.read_cases():
        plain = {**case["draw"], "spots": []}
        for depth, seen in ((0.0, True), (0.25, True), (0.9, False)):
            with_it = tool.draw_slice(case["draw"], depth, seed=1).astype(float)
            without = tool.draw_slice(plain, depth, seed=1).astype(float)
            changed = int((np.abs(with_it - without) > 25).sum())
            assert (changed >= 8) if seen else (changed == 0), (case["id"], depth)


def test_it_is_redrawn_to_the_same_content(tool: ModuleType, tmp_path: Path) -> None:
    made = tool.read_cases()
    tool.write_texts(tmp_path, made)
    for number in (1, 10, 16):
        tool.write_media(tmp_path, made, number)
    old, new = files(SAMPLE), files(tmp_path)
    assert len(old) == 51 + 12 + 2
    clips = {name for name in new if name.endswith(".mp4")}
    assert len(clips) == 3
    check_same(old, {name: data for name, data in new.items() if name.endswith((".jpg", ".jsonl", ".json"))})
    for name in clips:
        first, second = frames(old[name]), frames(new[name])
        assert len(first) == len(second), name
        assert max(float(np.abs(a - b).mean()) for a, b in zip(first, second, strict=True)) < 1.0, name


def test_its_lines_are_readable_in_an_editor() -> None:
    text = (SAMPLE / "cases.jsonl").read_text(encoding="utf-8")
    assert "\\u" not in text
    assert [list(json.loads(line))[:2] for line in text.splitlines()] == [["id", "subset"]] * 20
