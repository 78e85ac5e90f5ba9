"""Released layouts by name, on small tables of their form that we made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_tables import image_bytes, imported, lines

from harness.case_import.column_map import Wish, lacking, read_wish, resolved
from harness.case_import.dentex import open_dentex
from harness.case_import.fields import CASE_FIELDS, case_table
from harness.case_import.layouts import LAYOUTS, get_layout, table_of
from harness.case_import.opening import open_source
from harness.case_import.text_file import TextFile
from harness.errors import ConfigError, ImportFileError

PNG = image_bytes(4)


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def dentex(**changes: Any) -> dict[str, Any]:
    """Return a file of three images: two boxes on one tooth, an impacted one, none at all."""
    kinds = ["Impacted", "Caries", "Periapical Lesion", "Deep Caries"]
    boxes = [(1, 2, 7, 1), (1, 2, 7, 3), (1, 0, 0, 2), (2, 3, 7, 0)]
    return {
        "images": [{"id": n, "file_name": f"train_{n}.png", "height": 30, "width": 40} for n in (1, 2, 3)],
        "annotations": [
            {"image_id": image, "category_id_1": quadrant, "category_id_2": tooth, "category_id_3": kind}
            for image, quadrant, tooth, kind in boxes
        ],
        "categories_1": [{"id": n, "name": str(n + 1)} for n in range(4)],
        "categories_2": [{"id": n, "name": str(n + 1)} for n in range(8)],
        "categories_3": [{"id": n, "name": name} for n, name in enumerate(kinds)],
        **changes,
    }


def test_dentex_tells_two_findings_and_leaves_the_others_open(tmp_path: Path) -> None:
    path = write(tmp_path / "in" / "validation_triple.json", dentex())
    for number in (1, 2, 3):
        put(tmp_path / "in" / f"train_{number}.png", image_bytes(number))
    layout = get_layout("dentex", "pandent")
    found = imported(open_dentex(TextFile(path)), tmp_path / "out", "pandent", layout.wish)
    assert found.bad == [] and found.written and found.unused == ["impacted"]
    made = {one["id"]: one for one in lines(tmp_path / "out")}
    assert list(made) == ["train_1.png", "train_2.png", "train_3.png"]
    told = {
        name: {key: value for key, value in one["findings"].items() if value is not None}
        for name, one in made.items()
    }
    assert told == {
        "train_1.png": {"caries": [38], "periapical_lesion": [11]},
        "train_2.png": {"caries": [], "periapical_lesion": []},
        "train_3.png": {"caries": [], "periapical_lesion": []},
    }
    assert all(len(one["findings"]) == 21 and one["report"] is None for one in made.values())


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], "it must be an object with images and annotations"),
        (dentex(annotations=None), "it has no list 'annotations'"),
        (
            {key: value for key, value in dentex().items() if key != "categories_3"},
            "it has no list 'categories_3'",
        ),
        (
            dentex(categories_3=[{"id": n, "name": "Crown"} for n in range(4)]),
            "the diagnosis 'crown' is not known",
        ),
        (dentex(categories_1=[{"id": n, "name": str(n)} for n in range(9)], categories_2=[]), "no FDI tooth"),
        (dentex(images=[{"id": 1, "file_name": "a"}]), "a box belongs to the image 2"),
        (dentex(images=[{"id": 1, "file_name": "a"}] * 2), "an id of its own, unlike 1"),
    ],
)
def test_a_file_that_is_not_dentexs_fully_labelled_one_is_refused(
    tmp_path: Path, value: Any, told: str
) -> None:
    with pytest.raises(ImportFileError) as error:
        open_dentex(TextFile(write(tmp_path / "t.json", value)))
    assert told in str(error.value)


def test_pr_reports_become_cases_with_a_report_alone(tmp_path: Path) -> None:
    rows = [
        {"image": {"bytes": image_bytes(n), "path": None}, "report": f"Teeth present: {n}\n"} for n in (1, 2)
    ]
    (tmp_path / "hub" / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "hub" / "data" / "train-00000-of-00001.parquet")
    layout = get_layout("pr-reports", "pandent")
    found = imported(open_source(tmp_path / "hub"), tmp_path / "out", "pandent", layout.wish)
    assert found.bad == [] and found.written
    assert [(one["id"], one["report"]) for one in lines(tmp_path / "out")] == [
        ("row-000001", "Teeth present: 1\n"),
        ("row-000002", "Teeth present: 2\n"),
    ]
    assert set(lines(tmp_path / "out")[0]["findings"].values()) == {None}


def test_a_layout_says_what_it_lacks_and_the_user_may_fill_it(tmp_path: Path) -> None:
    table = case_table("pandent")
    wish = read_wish(["id=key"], ["report=said"], table).over(LAYOUTS["pr-reports"].wish)
    assert wish.columns["id"] == ["key"] and wish.constants["report"] == "said"
    assert "report" not in wish.columns and wish.columns["image"] == ["image"]
    assert wish.constants["findings"] == LAYOUTS["pr-reports"].wish.constants["findings"]


def test_every_layout_fills_fields_of_its_benchmark_and_has_a_note() -> None:
    for name, layout in LAYOUTS.items():
        known = {field.name for field in CASE_FIELDS[layout.benchmark]}
        assert known >= {*layout.wish.columns, *layout.wish.constants}, name
        assert layout.notes and all(note.startswith(name) for note in layout.notes)


def test_a_layout_of_another_benchmark_or_an_unknown_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="is one of pandent; give --benchmark pandent"):
        get_layout("dentex", "triage")
    with pytest.raises(ConfigError, match="unknown layout 'dentx'; did you mean 'dentex'"):
        get_layout("dentx", "pandent")


def test_the_table_of_a_layout_is_found_in_its_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "data" / "samples.json", [])
    assert table_of(LAYOUTS["medlaybench-v"], tmp_path) == path
    assert table_of(LAYOUTS["medlaybench-v"], path) == path
    assert table_of(LAYOUTS["pr-reports"], tmp_path) == tmp_path


def test_a_field_that_nothing_fills_is_told_with_the_near_column() -> None:
    table = case_table("triage")
    columns = resolved(Wish(), ["id", "images", "complaint"], table)
    told = lacking(columns, ["id", "images", "complaint"], table)
    assert told == (
        "no column and no constant for chief_complaint (perhaps 'complaint'), image (perhaps 'images'), "
        "labels; give --map FIELD=COLUMN or --set FIELD=VALUE for each; columns: id, images, complaint"
    )
