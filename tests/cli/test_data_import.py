"""`harness data import`: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from case_tables import image_bytes, lines, write_delimited, write_json_lines, write_saved_splits
from click.testing import CliRunner, Result

from harness.benchmarks.triage.taxonomy import LABELS
from harness.cli.main import cli


def data_import(*args: str | Path, benchmark: str = "triage") -> Result:
    return CliRunner().invoke(cli, ["data", "import", "--benchmark", benchmark, *map(str, args)])


def rows(count: int = 2, **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "case": f"c{number}",
            "complaint": f"The patient says that it hurts since {number} days, and worse at night.",
            "opg": image_bytes(number),
            "labels": [LABELS[0]],
            **changes,
        }
        for number in range(count)
    ]


MAPS = ("--map", "id=case", "--map", "chief_complaint=complaint", "--map", "image=opg")


def test_a_table_becomes_a_folder_that_a_check_accepts(tmp_path: Path) -> None:
    path = write_delimited(tmp_path / "t.csv", rows(3, why="x"))
    result = data_import("--from", path, "--out", tmp_path / "out", *MAPS, "--set", "tags=odd")
    assert result.exit_code == 0, result.output
    assert result.stdout == "      3  cases\n      3  media: opg\n      3  tag: odd\n"
    assert "  id               case\n" in result.stderr and '  tags             = "odd"\n' in result.stderr
    assert "note: columns that fill nothing: why\n" in result.stderr
    out = tmp_path / "out"
    assert f"next: harness run --benchmark triage --data {out} --models MODEL --dry-run\n" in result.stderr
    checked = CliRunner().invoke(cli, ["data", "check", "--benchmark", "triage", "--data", str(out)])
    assert (checked.exit_code, checked.stdout) == (0, result.stdout)


def test_facts_are_json(tmp_path: Path) -> None:
    path = write_delimited(tmp_path / "t.tsv", [*rows(2), *rows(1)], "\t")
    args = ("--from", path, "--out", tmp_path / "out", *MAPS, "--json")
    result = data_import(*args)
    facts = json.loads(result.stdout)
    assert (result.exit_code, result.stderr, facts["written"], facts["counts"]) == (2, "", False, {})
    assert facts["bad"] == [
        {
            "row": "row 3 (line 4)",
            "id": "c0",
            "reasons": ["id 'c0' is that of row 1 (line 2); give each case its own"],
        }
    ]
    facts = json.loads(data_import(*args, "--skip-bad").stdout)
    assert (facts["written"], facts["cases"], facts["rows"], facts["bad_rows"]) == (True, 2, 3, 1)
    assert facts["filled_by"] == {
        "id": "case",
        "chief_complaint": "complaint",
        "image": "opg",
        "labels": "labels",
    }


def test_bad_rows_are_listed_up_to_twenty(tmp_path: Path) -> None:
    path = write_delimited(tmp_path / "t.csv", rows(25, labels="not a list"))
    result = data_import("--from", path, "--out", tmp_path / "out", *MAPS)
    assert result.exit_code == 2 and not (tmp_path / "out").exists()
    assert result.stdout.count("'labels' must be a list as") == 20
    assert "and 5 more rows (--json lists the first thousand)" in result.stdout
    assert (
        "error: nothing was written: none of 25 rows is a sound case; mend them, or correct --map"
        in result.stderr
    )
    assert len(result.stdout.splitlines()) == 21  # one a row, for a pipe


def test_some_bad_rows_name_the_way_out(tmp_path: Path) -> None:
    path = write_delimited(tmp_path / "t.csv", [*rows(2), *rows(1)])
    result = data_import("--from", path, "--out", tmp_path / "out", *MAPS)
    assert "nothing was written: rows that are no sound cases: 1 of 3; mend them, or go" in result.stderr
    result = data_import("--from", path, "--out", tmp_path / "out", *MAPS, "--skip-bad")
    assert result.exit_code == 0
    assert "warning: rows left out: 1 of 3; skipped.jsonl in the new folder lists them" in result.stderr


def test_a_later_row_in_the_place_of_one_that_is_left_out_is_told(tmp_path: Path) -> None:
    path = write_delimited(tmp_path / "t.csv", [*rows(1, labels="no list"), *rows(2)])
    result = data_import("--from", path, "--out", tmp_path / "out", *MAPS, "--skip-bad")
    assert result.exit_code == 0 and "rows left out: 1 of 3" in result.stderr
    told = "warning: ids of rows left out that a later row has too, which is the case now: 1 ('c0')\n"
    assert told in result.stderr


def test_a_dry_run_shows_columns_and_what_is_lacking(tmp_path: Path) -> None:
    path = write_json_lines(
        tmp_path / "t.jsonl", [{**rows(1)[0], "meta": {"age": 5, "sex": "f"}, "n": 1, "none": None}]
    )
    result = data_import("--from", path, "--dry-run", "--map", "id=case")
    assert result.exit_code == 0, result.output
    assert "complaint  text" in result.stdout and "'The patient says that it'..." in result.stdout
    assert "worse at night" not in result.output
    assert "image/png in base64" in result.stdout and "object: age, sex" in result.stdout
    assert "none       null    -\n" in result.stdout
    assert "image            nothing (needed)" in result.stdout and "id               case" in result.stdout
    assert (
        "note: no column and no constant for chief_complaint (perhaps 'complaint'), image;" in result.stderr
    )
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    facts = json.loads(data_import("--from", path, "--show", "--json").stdout)
    assert facts["columns"][0] == {"name": "case", "type": "text", "first": "2 characters: 'c0'"}
    assert facts["unused"] == ["case", "complaint", "opg", "meta", "n", "none"]
    assert {"name": "labels", "kind": "texts", "required": True, "filled_by": "labels"} in facts["fields"]


def test_lacking_fields_and_unknown_columns_are_errors(tmp_path: Path) -> None:
    path = write_delimited(tmp_path / "t.csv", rows())
    result = data_import("--from", path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert (
        "error: no column and no constant for id, chief_complaint (perhaps 'complaint'), image;"
        in result.stderr
    )
    result = data_import("--from", path, "--out", tmp_path / "out", "--map", "id=cases")
    assert (
        result.exit_code,
        "there is no column 'cases' for 'id'; did you mean 'case'?" in result.stderr,
    ) == (2, True)
    result = data_import("--from", path, *MAPS)
    assert (result.exit_code, "--out is missing" in result.stderr) == (2, True)
    result = data_import("--from", path, *MAPS, "--out", tmp_path / "out", "--media-dir", tmp_path / "gone")
    assert (result.exit_code, "there is no folder" in result.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_column_that_only_a_late_row_has_can_be_mapped(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [*rows(1001), {**rows(1002)[-1], "why": "because"}])
    result = data_import(
        "--from", path, "--out", tmp_path / "out", *MAPS, "--map", "rationale=why", "--no-check"
    )
    assert result.exit_code == 0, result.output
    assert [one.get("rationale") for one in lines(tmp_path / "out")][-2:] == [None, "because"]


@pytest.mark.parametrize("text", ['["c1", "zz"]', "c1\nzz\n", "\ufeffc1\r\nzz"])
def test_a_list_of_ids_may_be_json_or_lines(tmp_path: Path, text: str) -> None:
    path = write_delimited(tmp_path / "t.csv", rows(3))
    (tmp_path / "_shared_ids.json").write_text(text, encoding="utf-8")
    args = ("--from", path, "--out", tmp_path / "out", *MAPS, "--ids", tmp_path / "_shared_ids.json")
    result = data_import(*args)
    assert (result.exit_code, result.stdout) == (2, "id 'zz' of --ids: no row has it\n")
    assert "ids of --ids that no row has: 1; mend them, or go without them by --skip-bad" in result.stderr
    result = data_import(*args, "--skip-bad")
    told = "id 'zz' of --ids: no row has it\n      1  case\n      1  media: opg\n"
    assert (result.exit_code, result.stdout) == (0, told)
    assert "warning: ids of --ids that no row has: 1" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "holds no ids"),
        ('{"a": 1}', "must be a JSON list of ids"),
        ("[1.5]", "it holds 1.5"),
        ("[", "is no JSON"),
    ],
)
def test_a_list_of_ids_that_is_none_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = write_delimited(tmp_path / "t.csv", rows())
    (tmp_path / "ids.json").write_text(text)
    result = data_import("--from", path, "--out", tmp_path / "out", *MAPS, "--ids", tmp_path / "ids.json")
    assert (result.exit_code, told in result.stderr) == (2, True)


def test_a_saved_data_set_with_splits_is_read_by_its_split(tmp_path: Path) -> None:
    saved = write_saved_splits(tmp_path / "saved", rows(5))
    result = data_import("--from", saved, "--out", tmp_path / "out", *MAPS)
    assert (result.exit_code, "has splits: train, test; choose one with --split" in result.stderr) == (
        2,
        True,
    )
    result = data_import("--from", saved, "--out", tmp_path / "out", *MAPS, "--split", "test", "--synthetic")
    assert result.exit_code == 0 and len(lines(tmp_path / "out")) == 5
    assert json.loads((tmp_path / "out" / "dataset.json").read_bytes()) == {"synthetic": True}


def test_layouts_print_their_notes(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [{"image": image_bytes(1), "report": "r"}])
    result = data_import(
        "--from", path, "--layout", "pr-reports", "--out", tmp_path / "out", benchmark="pandent"
    )
    assert result.exit_code == 0, result.output
    assert "note: pr-reports has reports and no findings: all 21 are null" in result.stderr
    result = data_import(
        "--from", tmp_path, "--layout", "dentex", "--out", tmp_path / "out2", benchmark="pandent"
    )
    assert (result.exit_code, "is one JSON file; name it with --from" in result.stderr) == (2, True)


def test_control_characters_of_a_table_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "t.jsonl", [{**rows(1)[0], "\x1b[31mred": 1, "labels": ["\x1b[2J"]}])
    for args in (("--dry-run",), ("--out", tmp_path / "out", *MAPS)):
        assert "\x1b" not in data_import("--from", path, *args).output


def test_a_file_in_place_of_a_folder_points_to_import(tmp_path: Path) -> None:
    path = write_delimited(tmp_path / "t.csv", rows())
    result = CliRunner().invoke(cli, ["data", "check", "--benchmark", "triage", "--data", str(path)])
    assert result.exit_code == 2 and "`harness data import --from" in result.stdout
    result = CliRunner().invoke(cli, ["data", "check", "--benchmark", "triage", "--data", str(tmp_path)])
    assert "`harness data import` makes one from a table" in result.stdout
