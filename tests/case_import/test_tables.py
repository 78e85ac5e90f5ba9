"""What can be wrong with a table, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_tables import FORMS, write_delimited, write_parquet, write_saved, write_saved_splits

from harness.case_import.arrow_rows import ArrowSource
from harness.case_import.json_rows import JsonDocumentSource, JsonLinesSource
from harness.case_import.opening import open_source
from harness.case_import.row import Row
from harness.errors import ConfigError, HarnessError, ImportFileError


def csv_rows(path: Path, data: bytes, name: str = "t.csv", **options: str) -> list[Row]:
    (path / name).write_bytes(data)
    return list(open_source(path / name, **options).rows())


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("t.csv", b"a,b\n1,\xe9t\xe9\n", "byte 7 (0xe9, line 2) is not UTF-8"),
        ("t.csv", b"a,b\n1,x\0y\n", "line 2 holds a NUL character"),
        ("t.csv", b'a,b\n1,"never closed\n2,3\n', "a double quote that is never closed"),
        ("t.csv", b'a,b\n1,"x"y\n', "line 2: "),
        ("t.csv", b"", "its first line is empty"),
        ("t.csv", b"\n1,2\n", "its first line is empty"),
        ("t.csv", b"a,a\n1,2\n", "the column 'a' stands in its first line twice"),
        ("t.csv", b"a;b\n1;2\n", "separated by semicolons; give --delimiter ';'"),
        ("t.csv", b"a\tb\n1\t2\n", "separated by tabs; give --delimiter TAB"),
        ("t.csv", b"\xff\xfea\0,\0b\0", "it is UTF-16; give --encoding utf-16"),
        ("t.jsonl", b'{"a": "\xe9"}\n', "byte 8 (0xe9, line 1) is not UTF-8"),
        ("t.json", b'{"a": 1, "b": 2}', "it must be a list of objects"),
        ("t.json", b'{"a": [{"x": 1}], "b": [{"x": 1}]}', "it has 2 ('a', 'b')"),
        ("t.json", b"[{", "no JSON: "),
        ("t.json", b'[{"a": NaN}]', "NaN is no JSON number"),
        ("t.parquet", b"PAR1 and nothing more", "is damaged, or of another kind"),
        ("t.arrow", b"nothing", "is damaged, or of another kind"),
        ("t.xlsx", b"PK", "is a spreadsheet; save its sheet as CSV"),
        ("t.zip", b"PK", "is no table that is known (.csv, .tsv"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, data: bytes, told: str) -> None:
    with pytest.raises(ImportFileError) as error:
        csv_rows(tmp_path, data, name)
    assert told in str(error.value)


def test_the_bad_byte_is_told_wherever_it_stands(tmp_path: Path) -> None:
    rows = "".join(f"{number},{'é' * 999}\n" for number in range(3000)).encode()
    good = b"a,b\n" + rows
    with pytest.raises(ImportFileError, match=rf"byte {len(good) + 4:,} \(0xe9, line 3,002\)"):
        csv_rows(tmp_path, good + b"1,x\xe9y,\n")


def test_a_named_encoding_is_read_by_it(tmp_path: Path) -> None:
    [row] = csv_rows(tmp_path, "a,b\n1,été\n".encode("latin-1"), encoding="latin-1")
    assert row.cells == {"a": "1", "b": "été"}
    [row] = csv_rows(tmp_path, "a,b\n1,牙\n".encode("utf-16"), encoding="utf-16")
    assert row.cells == {"a": "1", "b": "牙"}
    [row] = csv_rows(tmp_path, "a,b\n1,牙\n".encode("gb18030"), encoding="gb18030")
    assert row.cells == {"a": "1", "b": "牙"}
    with pytest.raises(ConfigError, match="unknown encoding 'latin9000'; try utf-8"):
        csv_rows(tmp_path, b"", encoding="latin9000")


def test_lines_and_rows_are_counted_through_quoted_line_ends(tmp_path: Path) -> None:
    rows = csv_rows(tmp_path, b'a,b\r\n1,"x\r\ny"\r\n\r\n2,z\r\n3\r\n')
    assert [(row.place, row.cells) for row in rows[:2]] == [
        ("row 1 (line 2)", {"a": "1", "b": "x\r\ny"}),
        ("row 2 (line 5)", {"a": "2", "b": "z"}),
    ]
    assert rows[2].fault == "has 1 cells, and the first line has 2; quote cells with separators"


def test_an_empty_cell_is_none_and_other_delimiters_are_taken(tmp_path: Path) -> None:
    [row] = csv_rows(tmp_path, b'a;b;c\n"";;x\n', delimiter=";")
    assert row.cells == {"a": None, "b": None, "c": "x"}
    with pytest.raises(ConfigError, match="--delimiter must be one character"):
        csv_rows(tmp_path, b"a\n", delimiter="||")


def test_a_long_cell_is_whole(tmp_path: Path) -> None:
    [row] = csv_rows(tmp_path, b"a,b\n1," + b"x" * 3_000_000 + b"\n")
    assert len(str(row.cells["b"])) == 3_000_000


def test_only_a_line_feed_ends_a_line_of_json(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes('{"a": "x\u2028y"}\r\n\n{"a":\r 2}\n[1]\n{"a": 1, "a": 2}\n{'.encode())
    rows = list(open_source(tmp_path / "t.jsonl").rows())
    assert [(row.line, row.cells) for row in rows[:2]] == [(1, {"a": "x\u2028y"}), (3, {"a": 2})]
    assert [row.fault for row in rows[2:4]] == [
        "is no JSON object",
        "the name 'a' stands in one object twice",
    ]
    assert rows[4].place == "row 5 (line 6)" and "no JSON" in str(rows[4].fault)


def test_json_lines_and_wrapped_lists_are_known_by_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "lines.json").write_text('{"a": 1}\n{"a": 2}\n')
    (tmp_path / "list.json").write_text('[\n{"a": 1},\n{"a": 2}\n]')
    (tmp_path / "wrapped.json").write_text('{\n "version": 3, "data": [{"a": 1}, {"a": 2}]}')
    for name, kind in (
        ("lines", JsonLinesSource),
        ("list", JsonDocumentSource),
        ("wrapped", JsonDocumentSource),
    ):
        source = open_source(tmp_path / f"{name}.json")
        assert isinstance(source, kind)
        assert [row.cells for row in source.rows()] == [{"a": 1}, {"a": 2}]


def test_columns_that_come_late_are_found_when_all_are_wanted(tmp_path: Path) -> None:
    rows = ['{"a": 1}'] * 1500 + ['{"late": 2}']
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    source = open_source(tmp_path / "t.jsonl")
    assert [one.name for one in source.columns()] == ["a"]
    assert [one.name for one in source.columns(whole=True)] == ["a", "late"]


def test_splits_are_chosen_by_name(tmp_path: Path) -> None:
    rows = [{"a": number} for number in range(20)]
    saved = write_saved_splits(tmp_path / "dict", rows)
    assert len(list(open_source(saved, split="test").rows())) == 20
    assert len(list(open_source(saved, split="train").rows())) == 1
    for split, told in ((None, "has splits: train, test; choose one"), ("tset", "did you mean 'test'")):
        with pytest.raises(ImportFileError, match=told):
            open_source(saved, split=split)
    with pytest.raises(ImportFileError, match="is the split 'test' alone"):
        open_source(saved / "test", split="train")
    with pytest.raises(ImportFileError, match="has no splits"):
        open_source(write_delimited(tmp_path / "t.csv", rows), split="test")


def test_a_folder_of_parquet_shards_is_one_table_a_split(tmp_path: Path) -> None:
    (tmp_path / "hub" / "data").mkdir(parents=True)
    for shard, rows in enumerate([[{"a": 1}], [{"a": 2}]]):
        write_parquet(tmp_path / "hub" / "data" / f"test-{shard:05d}-of-00002.parquet", rows)
    write_parquet(tmp_path / "hub" / "data" / "train-00000-of-00001-0123456789abcdef.parquet", [{"a": 3}])
    rows = list(open_source(tmp_path / "hub", split="test").rows())
    assert [(row.number, row.cells) for row in rows] == [(1, {"a": 1}), (2, {"a": 2})]
    with pytest.raises(ImportFileError, match="has splits: test, train"):
        open_source(tmp_path / "hub")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportFileError, match="holds neither a saved dataset"):
        open_source(tmp_path / "empty")
    (tmp_path / "empty" / "cases.jsonl").write_text("")
    with pytest.raises(ImportFileError, match="is a case folder already"):
        open_source(tmp_path / "empty")
    with pytest.raises(ImportFileError, match="there is no file or folder"):
        open_source(tmp_path / "gone")


def test_shards_with_other_columns_are_refused(tmp_path: Path) -> None:
    files = [
        write_parquet(tmp_path / "a.parquet", [{"a": 1}]),
        write_parquet(tmp_path / "b.parquet", [{"b": 1}]),
    ]
    with pytest.raises(ImportFileError, match=r"has other columns than 'a\.parquet'"):
        list(ArrowSource(files, "parquet", tmp_path, "Parquet").rows())


def test_a_saved_dataset_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    folder = write_saved(tmp_path / "saved", [{"a": 1}, {"a": 2}])
    state = json.loads((folder / "state.json").read_text())
    for change, told in (
        ({"_indices_data_files": [{"filename": "indices.arrow"}]}, "in an order of their own"),
        ({"_data_files": [{"filename": "../secret.arrow"}]}, "does not name its Arrow files"),
        ({"_data_files": [{"filename": "gone.arrow"}]}, "lacks 'gone.arrow'"),
    ):
        (folder / "state.json").write_text(json.dumps(state | change))
        with pytest.raises(ImportFileError, match=told):
            open_source(folder)
    (folder / "state.json").write_text("{")
    with pytest.raises(ImportFileError, match="is no JSON"):
        open_source(folder)


def test_an_arrow_stream_that_was_cut_is_refused(tmp_path: Path) -> None:
    folder = write_saved(tmp_path / "saved", [{"a": "x" * 999} for _ in range(40)], shards=1)
    [file] = folder.glob("*.arrow")
    whole = file.read_bytes()
    for cut in (9000, 8, 1):  # 8: between two batches, where the library sees no fault
        file.write_bytes(whole[:-cut])
        with pytest.raises(ImportFileError, match="is damaged, or of another kind"):
            list(open_source(folder).rows())


def test_an_arrow_file_is_read_like_a_stream(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, 3]})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    assert [row.cells["a"] for row in open_source(tmp_path / "t.arrow").rows()] == [1, 2, 3]


def test_classes_have_their_names_and_never_their_numbers(tmp_path: Path) -> None:
    names = {"_type": "ClassLabel", "names": ["CT", "MRI"]}
    rows = [
        {"m": 1, "several": [0, 1], "inner": {"m": 0}, "n": 1, "seq": {"m": [0, -1]}},
        {"m": -1, "several": [], "inner": {"m": 1}, "n": 0, "seq": {"m": []}},
    ]
    number = {"_type": "Value", "dtype": "int64"}
    features = {
        "m": names,
        "several": {"_type": "Sequence", "feature": names},
        "inner": {"m": names},
        "n": number,
        "seq": {"_type": "Sequence", "feature": {"m": names}},
    }
    wanted = [
        {"m": "MRI", "several": ["CT", "MRI"], "inner": {"m": "CT"}, "n": 1, "seq": {"m": ["CT", None]}},
        {"m": None, "several": [], "inner": {"m": "MRI"}, "n": 0, "seq": {"m": []}},
    ]
    saved = write_saved(tmp_path / "saved", rows, features=features)
    assert [row.cells for row in open_source(saved).rows()] == wanted
    metadata = {b"huggingface": json.dumps({"info": {"features": features | {"several": [names]}}}).encode()}
    table = pa.Table.from_pylist(rows).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "t.parquet")
    assert [row.cells for row in open_source(tmp_path / "t.parquet").rows()] == wanted
    assert open_source(saved).columns()[0].type == "int64 (class names)"


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FORMS["parquet"](tmp_path, [{"a": 1}])
    for module in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(HarnessError, match=r"pip install 'mllm-harness\[parquet\]'"):
        open_source(path).columns()
    with pytest.raises(HarnessError, match=r"pip install 'mllm-harness\[parquet\]'"):
        list(open_source(path).rows())
