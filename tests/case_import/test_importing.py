"""A whole table: all rows or none, and what is told of those that are no cases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from case_tables import FORMS, image_bytes, imported, in_base64, lines, write_delimited, write_json_lines

from harness.benchmarks.triage.taxonomy import LABELS
from harness.case_import.column_map import ColumnPath, Wish, read_wish, resolved
from harness.case_import.fields import CASE_FIELDS, case_table
from harness.case_import.opening import open_source
from harness.case_import.row import CellError, Row
from harness.errors import ConfigError, ImportFileError, SpoolError, UnknownNameError
from harness.new_folder import new_folder

PNG = image_bytes(5)


def row(one: object, **changes: Any) -> dict[str, Any]:
    return {"id": one, "chief_complaint": "it hurts", "image": PNG, "labels": [LABELS[0]], **changes}


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_rows_that_are_no_cases_are_all_told_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = [
        row("a"),
        row("b", labels=["Molar endodonticss"]),
        row("c", chief_complaint=" ", image="gone.png"),
        row("a"),
        row("", labels=[]),
        row("e ", rationale="ok"),
    ]
    path = write_json_lines(tmp_path / "in" / "t.jsonl", rows)
    found = imported(open_source(path), tmp_path / "out")
    assert not found.written and (found.rows, found.cases, found.n_bad) == (6, 1, 5)
    told = {bad.place: "; ".join(bad.reasons) for bad in found.bad}
    assert "unknown label 'Molar endodonticss'; did you mean" in told["row 2 (line 2)"]
    assert told["row 3 (line 3)"].startswith("'image' does not exist: 'gone.png' below")
    assert told["row 4 (line 4)"] == "id 'a' is that of row 1 (line 1); give each case its own"  # F18
    assert "'id' must be visible text" in told["row 5 (line 5)"]
    assert "'id' must be visible text without spaces around it" in told["row 6 (line 6)"]
    assert left(tmp_path) == ["in"]


def test_1_and_the_text_1_are_one_id(tmp_path: Path) -> None:  # F18
    path = write_json_lines(tmp_path / "t.jsonl", [row(1), row("1")])
    [bad] = imported(open_source(path), tmp_path / "out").bad
    assert bad.reasons == ("id '1' is that of row 1 (line 1); give each case its own",)


def test_skipped_rows_stand_in_a_file_of_the_folder(tmp_path: Path) -> None:
    rows = [row("a"), row("b", image=b"no image"), row("c", image=image_bytes(6)), row("d", group=True)]
    path = write_json_lines(tmp_path / "t.jsonl", rows)
    found = imported(open_source(path), tmp_path / "out", skip_bad=True)
    assert found.written and [one["id"] for one in lines(tmp_path / "out")] == ["a", "c"]
    skipped = [json.loads(line) for line in (tmp_path / "out" / "skipped.jsonl").read_bytes().splitlines()]
    assert [(one["row"], one["line"], one["id"]) for one in skipped] == [(2, 2, "b"), (4, 4, "d")]
    assert skipped[1]["reasons"] == ["'group' must be text or a whole number, got true"]
    media = [one for one in (tmp_path / "out" / "media").rglob("*") if one.is_file()]
    assert len(media) == 2  # none of the rows that were left out, and no file half written


def test_a_row_that_is_left_out_takes_no_id_along(tmp_path: Path) -> None:
    rows = [row("a", image=b"no image"), row("a"), row("a"), row("b"), row("b", group=True), row("c", tags=1)]
    path = write_json_lines(tmp_path / "t.jsonl", rows)
    found = imported(open_source(path), tmp_path / "out", skip_bad=True, ids=dict.fromkeys("abcd"))
    assert [one["id"] for one in lines(tmp_path / "out")] == ["a", "b"]
    assert (found.cases, found.n_bad, found.second_ids, found.missing_ids) == (2, 4, ["a"], ["d"])
    assert [bad.place.split()[1] for bad in found.bad] == ["1", "3", "5", "6"]
    assert found.bad[1].reasons == ("id 'a' is that of row 2 (line 2); give each case its own",)
    strict = imported(open_source(path), tmp_path / "strict")  # where none is left out, both are told
    assert [bad.place.split()[1] for bad in strict.bad] == ["1", "2", "3", "5", "6"] and not strict.second_ids


def test_a_table_without_bad_rows_leaves_no_list_of_them(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [row("a")])
    assert imported(open_source(path), tmp_path / "out", skip_bad=True, synthetic=True).written
    assert left(tmp_path / "out") == ["cases.jsonl", "dataset.json", "media"]
    assert json.loads((tmp_path / "out" / "dataset.json").read_bytes()) == {"synthetic": True}


def test_no_row_at_all_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,chief_complaint,image,labels\n")
    with pytest.raises(ImportFileError, match="the table has no rows"):
        imported(open_source(tmp_path / "t.csv"), tmp_path / "out")
    assert left(tmp_path) == ["t.csv"]


def test_ids_choose_rows_and_missing_ones_are_told(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [row("a"), row("b", image="bad"), row(3)])
    found = imported(open_source(path), tmp_path / "out", ids=dict.fromkeys(["3", "a"]))
    assert found.written and [one["id"] for one in lines(tmp_path / "out")] == ["a", "3"]
    found = imported(open_source(path), tmp_path / "out2", ids=dict.fromkeys(["a", "zz"]))
    assert (found.written, found.missing_ids, found.n_bad) == (False, ["zz"], 0)
    found = imported(open_source(path), tmp_path / "out2", ids=dict.fromkeys(["a", "zz"]), skip_bad=True)
    assert (found.written, found.missing_ids) == (True, ["zz"])
    with pytest.raises(ImportFileError, match="no row has one of the ids"):
        imported(open_source(path), tmp_path / "out3", ids=dict.fromkeys(["zz"]))


def test_a_limit_reads_no_further(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [row("a"), row("b"), row("b")])
    found = imported(open_source(path), tmp_path / "out", limit=2)
    assert found.written and found.cases == 2


def test_an_existing_folder_is_refused_and_an_empty_one_taken(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [row("a")])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    for name, told in (("full", "is not empty"), ("t.jsonl", "is no folder")):
        with pytest.raises(ConfigError, match=told):
            imported(open_source(path), tmp_path / name)
    (tmp_path / "empty").mkdir()
    assert imported(open_source(path), tmp_path / "empty").written
    assert imported(open_source(path), tmp_path / "new" / "deep" / "out").written
    assert left(tmp_path / "full") == ["mine"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ImportFileError])
def test_an_interrupted_import_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [row("a"), row("b")])

    def noted(case: Any) -> None:
        assert list(tmp_path.glob(".out.*.part/media"))
        raise error

    source = open_source(path)
    table = case_table("triage")
    from harness.case_import.importing import ImportOptions, import_cases

    columns = resolved(Wish(), [one.name for one in source.columns()], table)
    with pytest.raises(error):
        import_cases(source, table, columns, ImportOptions(tmp_path / "out"), noted=noted)
    assert left(tmp_path) == ["t.jsonl"]


def test_a_folder_that_appears_meanwhile_is_not_touched(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not empty"), new_folder(tmp_path / "out") as draft:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_text("x")
        draft.keep()
    assert left(tmp_path) == ["out"] and left(tmp_path / "out") == ["theirs"]


def test_the_folder_one_stands_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    with pytest.raises(ConfigError, match="leave it first"), new_folder(Path()) as draft:
        draft.keep()
    assert left(tmp_path) == ["out"] and Path.cwd() == tmp_path / "out"


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    told = "No space left on device; make room, or change --out"
    with pytest.raises(SpoolError, match=told), new_folder(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    assert left(tmp_path) == []


def test_a_check_that_finds_problems_keeps_the_folder_away(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [row("a")])
    found = imported(open_source(path), tmp_path / "out", check=lambda folder: [f"{len(lines(folder))} odd"])
    assert (found.written, found.problems) == (False, ["1 odd"]) and left(tmp_path) == ["t.jsonl"]


def test_columns_that_fill_nothing_are_known_even_late_ones(tmp_path: Path) -> None:
    path = write_json_lines(
        tmp_path / "t.jsonl", [row("a", more=1), *(row(f"b{n}") for n in range(3)), row("c", late=2)]
    )
    assert imported(open_source(path), tmp_path / "out").unused == ["more", "late"]


def test_maps_and_constants_and_paths_fill_fields(tmp_path: Path) -> None:
    rows = [
        {
            "n": 1,
            "meta": {"who": {"id": 9}, "a.b": 1},
            "a.b": "dotted",
            "a": {"b": "no"},
            "pic": [in_base64(PNG)],
            "t1": "x",
            "t2": None,
        }
    ]
    path = write_json_lines(tmp_path / "t.jsonl", rows)
    table = case_table("triage")
    wish = read_wish(
        ["id=@row", "chief_complaint=a.b", "image=pic.0", "group=meta.who.id", "tags=t1", "tags=t2"],
        [f"labels={json.dumps([LABELS[3]])}", "rationale=because of it"],
        table,
    )
    assert imported(open_source(path), tmp_path / "out", wish=wish).written
    [line] = lines(tmp_path / "out")
    assert line | {"image": ""} == {
        "id": "row-000001",
        "chief_complaint": "dotted",
        "image": "",
        "labels": [LABELS[3]],
        "rationale": "because of it",
        "group": "9",
        "tags": ["x"],
    }


def test_paths_lead_into_json_text_and_say_where_they_end() -> None:
    found = Row(1, {"c": '{"x": [{"y": "z"}]}', "d": "5"})
    assert ColumnPath("c", ("x", "0", "y")).cell(found) == "z"
    assert ColumnPath("c", ("x", "7", "y")).cell(found) is None
    assert ColumnPath("gone", ("x",)).cell(found) is None
    with pytest.raises(CellError, match="has no 'x': 'd' holds int there"):
        ColumnPath("d", ("x",)).cell(found)


@pytest.mark.parametrize(
    ("maps", "sets", "told"),
    [
        (["image"], [], "--map 'image' is not FIELD=COLUMN"),
        (["image="], [], "is not FIELD=COLUMN"),
        (["imag=x"], [], "triage has no field 'imag'; did you mean 'image'?"),
        (["zzz=x"], [], "known: 'id', 'chief_complaint'"),
        (["image=a", "image=b"], [], "--map image= is given twice"),
        (["image=a"], ["image=b"], "'image' is given twice"),
        ([], ["image=b", "image=c"], "'image' is given twice"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(maps: list[str], sets: list[str], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_wish(maps, sets, case_table("triage"))
    assert told in str(error.value)


def test_an_unknown_column_is_told_with_the_near_one() -> None:
    wish = Wish({"image": ["picturs"]})
    with pytest.raises(ConfigError, match="no column 'picturs' for 'image'; did you mean 'pictures'"):
        resolved(wish, ["id", "pictures"], case_table("triage"))


def test_unknown_benchmarks_are_told() -> None:
    with pytest.raises(UnknownNameError, match="unknown benchmark 'triag'; known: "):
        case_table("triag")


def test_the_fields_are_those_of_each_benchmarks_own_case_files() -> None:
    for name in CASE_FIELDS:
        try:
            table = case_table(name)
        except UnknownNameError:
            continue  # its package is not there
        own = table.form.fields
        assert {one.name for one in table.fields if one.part_of is None} == set(own.known), name
        assert set(own.required) == {one.name for one in table.fields if one.part_of is None} - set(
            own.optional
        )


def test_findings_may_stand_in_columns_of_their_own(tmp_path: Path) -> None:
    nobody: dict[str, Any] = {
        one.name.partition(".")[2]: None for one in CASE_FIELDS["pandent"] if one.part_of
    }
    rows = [
        {
            "id": "a",
            "image": PNG,
            "report": "r",
            "caries": "18, 28",
            "tmj": "yes",
            "sinus": '{"flag": true, "description": "thick"}',
            "bridge": "['14-X-16']",
            "gcbl": "",
        }
    ]
    path = write_delimited(tmp_path / "t.csv", rows)
    maps = [
        f"findings.{one}" for one in ("caries=caries", "tmj_left=tmj", "sinus_left=sinus", "bridge=bridge")
    ]
    wish = read_wish(
        [*maps, "findings.gcbl_maxilla=gcbl"], [f"findings={json.dumps(nobody)}"], case_table("pandent")
    )
    found = imported(open_source(path), tmp_path / "out", "pandent", wish)
    assert found.bad == [] and found.written
    assert lines(tmp_path / "out")[0]["findings"] == nobody | {
        "caries": [18, 28],
        "tmj_left": True,
        "sinus_left": {"flag": True, "description": "thick"},
        "bridge": ["14-X-16"],
        "gcbl_maxilla": None,
    }
    del wish.constants["findings"]  # type: ignore[attr-defined]
    [bad] = imported(open_source(path), tmp_path / "out2", "pandent", wish).bad
    assert "'findings' leaves out 'missing_teeth'" in bad.reasons[0]


GROWTH = """
import sys
from pathlib import Path
from harness.case_import.column_map import Wish, resolved
from harness.case_import.fields import case_table
from harness.case_import.importing import ImportOptions, import_cases
from harness.case_import.opening import open_source

source, table = open_source(Path(sys.argv[1])), case_table("triage")
columns = resolved(Wish(), [one.name for one in source.columns()], table)
found = import_cases(source, table, columns, ImportOptions(Path(sys.argv[2])))
assert found.written, found.bad[:3]
[peak] = [line.split()[1] for line in Path('/proc/self/status').read_text().split('\\n') if 'VmHWM' in line]
print(found.cases, int(peak) // 1024)
"""


@pytest.mark.parametrize(
    "form", ["csv", *(pytest.param(form, marks=pytest.mark.slow) for form in ("jsonl", "parquet", "saved"))]
)
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, form: str) -> None:  # F36
    peaks = []
    for count in (10, 90):
        folder = tmp_path / str(count)
        folder.mkdir()
        rows = [row(f"c{n}", image=image_bytes(n % 256, "BMP", (500, 500 + n % 3))) for n in range(count)]
        path = FORMS[form](folder, rows)
        done = subprocess.run(
            [sys.executable, "-c", GROWTH, str(path), str(folder / "out")], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        cases, peak = map(int, done.stdout.split())
        assert cases == count
        peaks.append(peak)
    # 80 more images are 20 MB, in base64 27 MB; of Arrow's, what is mapped or kept for reuse counts too.
    assert peaks[1] - peaks[0] < (12 if form in ("csv", "jsonl") else 40), peaks
