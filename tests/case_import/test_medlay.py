"""Tables of MedLayXPlain: boxes, captions in two registers, and the layouts that are near."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from case_tables import FORMS, image_bytes, imported, lines, write_delimited
from click.testing import CliRunner

from harness.benchmarks.registry import BENCHMARKS
from harness.case_import.column_map import Wish, lacking, resolved
from harness.case_import.fields import case_table
from harness.case_import.layouts import LAYOUTS
from harness.case_import.opening import open_source
from harness.cli.main import cli

pytestmark = pytest.mark.skipif("medlay" not in BENCHMARKS, reason="the benchmark medlay is not here")


def medlay(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"m{number}",
        "image": image_bytes(number),
        "roi": [1, 2, 30, 20],
        "modality": "CT",
        "expert_caption": " Axial CT\nof the chest, 肺.",
        "lay_caption": "A picture of the chest.",
        "concepts": ["C0040405", "nan"],
        **changes,
    }


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "saved"])
def test_medlay_cases_come_back(tmp_path: Path, form: str) -> None:
    rows = [medlay(1), medlay(2, roi=None, concepts=None), medlay(3, modality="X-Ray")]
    found = imported(open_source(FORMS[form](tmp_path, rows)), tmp_path / "out", "medlay")
    assert found.bad == [] and found.problems == [] and found.written
    made = lines(tmp_path / "out")
    assert [(tmp_path / "out" / one.pop("image")).read_bytes() for one in made] == [
        row.pop("image") for row in rows
    ]
    del rows[1]["concepts"]
    assert made == rows and list(made[1]) == ["id", "roi", "modality", "expert_caption", "lay_caption"]


def test_regions_are_whole_pixels_inside_of_the_image(tmp_path: Path) -> None:
    rows = [
        medlay(1, roi="1,2,3,4"),
        medlay(2, roi="[1, 2, 3]"),
        medlay(3, roi="[30, 2, 3, 4]"),
        medlay(4, roi="[1, 2, 4000, 5]"),
        medlay(5, roi="[1.0, 2, 3, 4.5]"),
        medlay(6, modality="Xray"),
        medlay(7, roi="[1, 2, 25, 35]"),
    ]
    found = imported(open_source(write_delimited(tmp_path / "t.csv", rows)), tmp_path / "out", "medlay")
    told = ["; ".join(bad.reasons) for bad in found.bad]
    assert (found.cases, len(told)) == (1, 6)
    assert "must be four whole numbers of pixels" in told[0]
    assert "'roi' must have 0 <= x0 < x1" in told[1] and "leaves the image" in told[2]
    assert (
        "must hold whole numbers, got 4.5" in told[3]
        and "unknown modality 'Xray'; did you mean 'X-Ray'" in told[4]
    )
    assert "leaves the image, which has 40 x 30 pixels" in told[5]  # it would fit, were the image turned


def test_medlaybench_v_lacks_only_the_modality(tmp_path: Path) -> None:
    release = tmp_path / "MedLayBench-V"
    (release / "data" / "images").mkdir(parents=True)
    rows = [
        {
            "image_id": f"made_up_{number}",
            "image": f"images/made_up_{number}.png",
            "cuis": "['C0040405', 'nan']",
            "expert_caption": f" Caption {number}.",
            "layman_caption": f"Words {number}.",
        }
        for number in range(3)
    ]
    for number in range(3):
        (release / "data" / "images" / f"made_up_{number}.png").write_bytes(image_bytes(number))
    (release / "data" / "samples.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    args = ["data", "import", "--benchmark", "medlay", "--layout", "medlaybench-v", "--from", str(release)]
    args += ["--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, args)
    assert (result.exit_code, "no column and no constant for modality;" in result.stderr) == (2, True)
    (tmp_path / "_shared_ids.json").write_text('["made_up_2", "made_up_0"]')
    result = CliRunner().invoke(
        cli, [*args, "--set", "modality=CT", "--ids", str(tmp_path / "_shared_ids.json")]
    )
    assert result.exit_code == 0, result.output
    assert [one["id"] for one in lines(tmp_path / "out")] == ["made_up_0", "made_up_2"]
    assert lines(tmp_path / "out")[0] | {"image": ""} == {
        "id": "made_up_0",
        "image": "",
        "roi": None,
        "modality": "CT",
        "expert_caption": " Caption 0.",
        "lay_caption": "Words 0.",
        "concepts": ["C0040405", "nan"],
    }
    assert "'roi' is null, no box is drawn" in result.stderr


def test_medtrinity_is_told_to_lack_lay_captions(tmp_path: Path) -> None:
    table = case_table("medlay")
    names = ["image", "caption", "id"]
    told = lacking(resolved(LAYOUTS["medtrinity"].wish, names, table), names, table)
    assert told is not None and told.startswith("no column and no constant for roi, modality, lay_caption")
    assert lacking(resolved(Wish(), names, table), names, table) is not None
