"""The bundled sample of MedLayXPlain: synthetic, small, sound, varied, and redrawn to the same pixels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from drawn_samples import check_same, files, load_tool
from numpy.typing import NDArray
from PIL import Image

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.medlay.cases import check_cases, load_cases
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.scoring.readability import readability

SAMPLE = Path(__file__).resolve().parents[2] / "harness" / "benchmarks" / "medlay" / "sample"
SIDE = 320


@pytest.fixture(scope="module")
def cases() -> CaseSet:
    return load_cases(SAMPLE)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("draw_medlay_sample")


def pixels(case: Case) -> NDArray[np.float64]:
    path = case.media["image"][0].path
    assert path is not None
    return np.asarray(Image.open(path), dtype=float)


def greens(case: Case) -> int:
    red, green, blue = np.moveaxis(pixels(case), -1, 0)
    return int(((green > 200) & (red < 90) & (blue < 90)).sum())


def test_it_is_sound_and_says_that_it_is_synthetic(cases: CaseSet) -> None:
    assert check_cases(SAMPLE) == []
    assert cases.synthetic
    assert len(cases.cases) == 24


def test_it_is_at_most_800_kilobytes() -> None:
    assert sum(map(len, files(SAMPLE).values())) <= 800_000


def test_every_modality_is_there_the_papers_three_large_ones_most(cases: CaseSet) -> None:
    counts = Counter(str(case.reference["modality"]) for case in cases.cases)
    assert set(counts) == set(MODALITIES)
    assert [name for name, _ in counts.most_common(3)] == ["Pathology", "MRI", "CT"]


def test_most_regions_are_coordinates_and_the_others_are_drawn(cases: CaseSet) -> None:
    drawn = [case for case in cases.cases if not case.fields["roi"]]
    assert 3 <= len(drawn) <= 6
    assert min(map(greens, drawn)) > 100
    assert max(greens(case) for case in cases.cases if case.fields["roi"]) < 20


def test_captions_differ_and_the_lay_ones_are_easier_to_read(cases: CaseSet) -> None:
    captions = [(case.fields["expert_caption"], str(case.reference["lay_caption"])) for case in cases.cases]
    assert len({text for pair in captions for text in pair}) == 48
    grades = np.array([[readability(text).grade for text in pair] for pair in captions], dtype=float)
    assert np.isfinite(grades).all()
    assert (grades[:, 0] - grades[:, 1]).mean() > 2
    for text in (text for pair in captions for text in pair):
        assert 20 <= len(text.split()) <= 110, text  # the paper leaves out captions of fewer
        assert "{" not in text


def test_every_image_differs_and_carries_its_mark(cases: CaseSet) -> None:
    media = [case.media["image"][0] for case in cases.cases]
    assert len({one.sha256 for one in media}) == 24
    assert {(one.mime, one.width, one.height) for one in media} == {("image/jpeg", SIDE, SIDE)}
    for case in cases.cases:
        strip = pixels(case)[SIDE - 20 :, :130]
        assert (strip > 180).all(axis=-1).sum() > 250


def test_what_a_region_marks_looks_unlike_the_same_picture_without_it(tool: ModuleType) -> None:
    for spec in {one["modality"]: one for one in tool.read_specs()}.values():
        here = tuple(spec["centre"])
        elsewhere = tuple((share + 0.5) % 1 for share in here)
        there, gone = (
            np.asarray(tool.draw_picture(spec["modality"], place, spec["radius"], seed=1), dtype=float)
            for place in (here, elsewhere)
        )
        left, top, right, bottom = tool.box_of(spec)
        changed = np.abs(there - gone).max(axis=-1) > 15
        assert changed[top:bottom, left:right].mean() > 0.2, spec["modality"]


def test_it_is_redrawn_to_the_same_content(tool: ModuleType, tmp_path: Path) -> None:
    made = tool.read_specs()
    tool.write_texts(tmp_path, made)
    for number in range(0, len(made), 7):
        tool.write_picture(tmp_path, made, number)
    old, new = files(SAMPLE), files(tmp_path)
    assert len(old) == 24 + 2
    assert len(new) == 4 + 2
    check_same(old, new)
