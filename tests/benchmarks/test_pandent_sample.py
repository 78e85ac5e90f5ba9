"""The bundled sample of PanDent: synthetic, small, sound, varied, and redrawn to the same pixels."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from types import ModuleType
from typing import cast

import numpy as np
import pytest
from drawn_samples import check_same, files, load_tool
from PIL import Image

from harness.benchmarks.base import CaseSet
from harness.benchmarks.pandent.cases import check_cases, load_cases
from harness.benchmarks.pandent.finding_values import is_positive, teeth_in
from harness.benchmarks.pandent.findings import BY_ID, FINDINGS
from harness.canonical import JSON

CHECKOUT = Path(__file__).resolve().parents[2]
SAMPLE = CHECKOUT / "harness" / "benchmarks" / "pandent" / "sample"
TABLE4 = CHECKOUT.parent / "shared" / "spec" / "paper-tables" / "pandent-table4-prevalence.csv"
IN_TABLE4 = {
    "Root-Canal Tx": "root_canal_treatment", "Artificial Crown": "artificial_crown",
    "Mand. GCBL": "gcbl_mandible", "Missing Teeth": "missing_teeth", "Max. GCBL": "gcbl_maxilla",
    "Partially Erupted": "partially_erupted_or_impacted", "Periapical Lesion": "periapical_lesion",
    "Bridge Prosthesis": "bridge", "Non-metal Post/Core": "non_metal_post_core",
    "Furcation RL": "furcation_radiolucency", "Mand. ABL": "abl_mandible", "Max. ABL": "abl_maxilla",
    "Non-metal Rest.": "non_metal_restoration", "Caries": "caries", "Metallic Rest.": "metallic_restoration",
}  # fmt: skip


@pytest.fixture(scope="module")
def cases() -> CaseSet:
    return load_cases(SAMPLE)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("draw_pandent_sample")


def stated(cases: CaseSet) -> list[dict[str, JSON]]:
    return [cast("dict[str, JSON]", case.reference["findings"]) for case in cases.cases]


def test_it_is_sound_and_says_that_it_is_synthetic(cases: CaseSet) -> None:
    assert check_cases(SAMPLE) == []
    assert cases.synthetic
    assert len(cases.cases) == 24


def test_it_is_at_most_a_megabyte() -> None:
    assert sum(map(len, files(SAMPLE).values())) <= 1_000_000


def test_every_finding_is_there_and_not_in_every_case(cases: CaseSet) -> None:
    for finding in FINDINGS:
        count = sum(is_positive(finding, one[finding.id]) for one in stated(cases))
        assert 1 <= count < 24, finding.id


def test_findings_are_about_as_frequent_as_in_the_papers_test_split(cases: CaseSet) -> None:
    if not TABLE4.exists():
        pytest.skip("the paper's tables are not beside this checkout")
    with TABLE4.open(encoding="utf-8", newline="") as file:
        shares = {row["attribute"]: float(row["test_pct"]) for row in csv.DictReader(file)}
    for name, finding in IN_TABLE4.items():
        share = sum(is_positive(BY_ID[finding], one[finding]) for one in stated(cases)) / 24
        assert share == pytest.approx(shares[name] / 100, abs=1 / 24), name


def test_every_report_names_the_teeth_of_its_findings_and_no_others(cases: CaseSet) -> None:
    for case, findings in zip(cases.cases, stated(cases), strict=True):
        teeth = {tooth for one in FINDINGS for tooth in teeth_in(one, findings[one.id])}
        named = {int(number) for number in re.findall(r"#(\d\d)", str(case.reference["report"]))}
        assert named == teeth, case.id


def test_some_cases_give_erupted_teeth_instead_of_missing_ones_and_some_a_note(cases: CaseSet) -> None:
    lines = (SAMPLE / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum('"erupted"' in line and '"missing_teeth"' not in line for line in lines) == 4
    notes = [case.reference["auxiliary_note"] for case in cases.cases]
    assert sum(note is not None for note in notes) == 2


def test_every_image_differs_and_carries_its_mark(cases: CaseSet) -> None:
    media = [case.media["opg"][0] for case in cases.cases]
    assert len({one.sha256 for one in media}) == 24
    assert {(one.mime, one.width, one.height) for one in media} == {("image/jpeg", 900, 450)}
    for one in media:
        assert one.path is not None
        corner = np.asarray(Image.open(one.path))[418:439, 14:176]
        assert (corner > 200).sum() > 700


@pytest.mark.slow
def test_what_the_findings_say_can_be_seen(tool: ModuleType) -> None:
    """Each finding of teeth changes the picture where its tooth is, and nowhere else."""
    none = {one.id: [] if one.answer == "tooth_set" else False for one in FINDINGS}
    none |= {one.id: {"flag": False} for one in FINDINGS if one.type == "binary_with_description"}
    plain = np.asarray(tool.draw_case(none, seed=1), dtype=float)
    for finding in FINDINGS:
        tooth = 36 if finding.arch != "maxilla" else 26
        there = {
            "tooth_set": [tooth], "bridge_patterns": ["35-36-X"], "binary": True,
            "binary_with_description": {"flag": True},
        }[finding.type]  # fmt: skip
        seen = np.asarray(tool.draw_case({**none, finding.id: there}, seed=1), dtype=float)
        changed = np.abs(seen - plain) > 25
        assert changed.sum() >= 15, finding.id
        if finding.answer == "tooth_set":  # 36 is at the right of the picture, below the middle
            xs = np.nonzero(changed.any(axis=0))[0]
            assert 540 < xs.min() <= xs.max() < 740, finding.id


def test_it_is_redrawn_to_the_same_content(tool: ModuleType, tmp_path: Path) -> None:
    made = tool.made_cases()
    tool.write_texts(tmp_path, made)
    for number in range(1, len(made), 6):
        tool.write_picture(tmp_path, made, number)
    old, new = files(SAMPLE), files(tmp_path)
    assert len(old) == 24 + 2
    assert len(new) == 4 + 2
    check_same(old, new)
