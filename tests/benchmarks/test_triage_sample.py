"""The bundled sample: synthetic, small, sound, varied, and redrawn to the same pixels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from drawn_samples import check_same, files, load_tool
from PIL import Image

from harness.benchmarks.base import CaseSet
from harness.benchmarks.triage.task import Triage
from harness.benchmarks.triage.taxonomy import DOMAIN_OF, LABELS
from harness.errors import ConfigError

TRIAGE = Triage()
SAMPLE = TRIAGE.sample_dir()


@pytest.fixture(scope="module")
def cases() -> CaseSet:
    return TRIAGE.load(SAMPLE)


def test_it_is_sound_and_says_that_it_is_synthetic(cases: CaseSet) -> None:
    assert TRIAGE.check(SAMPLE) == []
    assert cases.synthetic
    assert len(cases.cases) == 24


def test_it_is_at_most_a_megabyte() -> None:
    assert sum(map(len, files(SAMPLE).values())) <= 1_000_000


def test_it_covers_every_label_and_every_group_of_complexity(cases: CaseSet) -> None:
    labels = [cast("list[str]", case.reference["labels"]) for case in cases.cases]
    assert {label for one in labels for label in one} == set(LABELS)
    needed = Counter(min(5, len({DOMAIN_OF[label] for label in one})) for one in labels)
    assert min(needed[count] for count in range(1, 6)) >= 2


def test_three_raters_rate_every_case_and_none_is_perfect(cases: CaseSet) -> None:
    assert sorted(cases.raters) == ["rater-a", "rater-b", "rater-c"]
    assert all(set(ratings) == {case.id for case in cases.cases} for ratings in cases.raters.values())


def test_a_root_treated_molar_is_crowned_as_the_protocol_asks(cases: CaseSet) -> None:
    for case in cases.cases:
        if "Molar endodontics" in cast("list[str]", case.reference["labels"]):
            assert "Crowns (Posterior; incl. Onlays)" in cast("list[str]", case.reference["labels"]), case.id


def test_every_image_differs_and_carries_its_mark(cases: CaseSet) -> None:
    media = [case.media["opg"][0] for case in cases.cases]
    assert len({one.sha256 for one in media}) == 24
    assert {(one.mime, one.width, one.height) for one in media} == {("image/jpeg", 900, 450)}
    for one in media:
        assert one.path is not None
        corner = np.asarray(Image.open(one.path))[418:439, 14:176]
        assert (corner > 200).sum() > 700


def test_a_copy_is_the_same_and_still_synthetic(tmp_path: Path) -> None:
    TRIAGE.write_sample(tmp_path / "new" / "sample")
    assert files(tmp_path / "new" / "sample") == files(SAMPLE)
    assert TRIAGE.load(tmp_path / "new" / "sample").synthetic


def test_a_copy_never_touches_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    for out, says in ((tmp_path, "is not empty"), (tmp_path / "mine.txt", "is no folder")):
        with pytest.raises(ConfigError, match=f"{says}; name a new or an empty one"):
            TRIAGE.write_sample(out)
    assert files(tmp_path) == {"mine.txt": b"x"}


@pytest.mark.slow
def test_it_is_redrawn_to_the_same_content(tmp_path: Path) -> None:
    tool = load_tool("draw_triage_sample")
    specs = tool.read_specs()
    tool.write_texts(tmp_path, specs)
    for number in range(3, len(specs), 5):
        tool.write_picture(tmp_path, specs, number)
    old, new = files(SAMPLE), files(tmp_path)
    assert len(new) == 5 + 5
    check_same(old, new)
