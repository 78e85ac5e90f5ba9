"""Broken and hostile files end in a sentence that names the row: no crash, no hang, nothing written."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError, ImportFileError
from harness.imports import source as source_module
from harness.imports.documents import BadRowError, parse
from harness.imports.format import Row
from harness.imports.hints import HEADER, Hints
from harness.imports.imported_run import PROVIDER
from harness.imports.matching import CaseFinder
from harness.imports.reader import Answer, AnswerReader, ImportFile
from harness.imports.registry import FORMATS, detect
from harness.imports.source import SourceFile
from harness.messages import Fault, RawReply, Reply
from harness.providers.base import read

GOOD = b'{"id": "a", "answer": "x"}'


def answers(path: Path, **options: bool) -> tuple[list[Answer], AnswerReader]:
    source = SourceFile(path)
    form = detect(source)
    file = ImportFile(source, form, Hints(form.name))
    reader = AnswerReader([file], ["a", "b"], CaseFinder(["a", "b"]), PROVIDER, **options)  # type: ignore[arg-type]
    return list(reader.answers()), reader


BAD_LINES = {
    "cut": (b'{"id": "b", "answ', "it is no JSON"),
    "no object": (b'["b"]', "it is a list, and not an object"),
    "raw NUL": (b'{"id": "b", "answer": "x\0y"}', "it is no JSON: invalid control character"),
    "not UTF-8": (b'{"id": "b", "answer": "\xff"}', "not UTF-8 at byte 24"),
    "twice": (b'{"id": "b", "answer": "x", "answer": "y"}', "the key 'answer' twice"),
    "deep": (b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    "rather deep": (b'{"id": "b", "answer": ' + b"[" * 200 + b"]" * 200 + b"}", "nested too deeply"),
    "long number": (b'{"id": ' + b"1" * 5_000 + b', "answer": "x"}', "a number that is too long"),
    "NaN as id": (b'{"id": NaN, "answer": "x"}', "its 'id' is null"),
}


@pytest.mark.parametrize(("line", "told"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_line_that_cannot_be_read_is_named(line: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD + b"\n\n" + line + b"\n")
    with pytest.raises(ImportFileError, match=rf"'a.jsonl' line 3: .*{told}"):
        answers(path)
    found, reader = answers(path, skip_bad=True)
    assert len(found) == 1
    assert (reader.tally.bad.count, reader.tally.bad.first) == (1, ["'a.jsonl' line 3"])


def test_a_line_too_long_is_skipped_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_LINE_BYTES", 100)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "b", "answer": "' + b"x" * 950 + b'"}\n' + GOOD)
    with pytest.raises(ImportFileError, match="line 1: it is longer than"):
        answers(path)
    found, reader = answers(path, skip_bad=True)
    assert [(one.number, one.stated.text) for one in found] == [(2, "x")]
    assert reader.tally.bad.count == 1


def test_texts_with_nul_surrogates_and_emoji_come_through(tmp_path: Path) -> None:  # F45
    text = "\0 \ud800 \U0001f9b7 \u2028 end"
    path = tmp_path / "a.jsonl"
    path.write_text("\ufeff" + json.dumps({"id": "a", "answer": text}), encoding="utf-8")
    [found], _ = answers(path)
    assert found.stated.text == text
    reading = read(found.raw, PROVIDER)
    assert isinstance(reading, Reply)
    assert reading.text == text


def test_numbers_that_are_none_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"id": "a", "answer": "x", "cost_usd": NaN, "total_s": -1, "usage": {"input_tokens": Infinity, '
        b'"output_tokens": 1e999}, "score": -Infinity}'
    )
    [found], _ = answers(path)
    assert (found.stated.cost_usd, found.stated.total_s) == (None, None)
    assert (found.stated.usage.input_tokens, found.stated.usage.output_tokens) == (None, None)


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members.items():
            opened.writestr(name, data)
    return path


SAMPLE = b'{"id": "a", "epoch": 1, "output": {"choices": [{"message": {"content": "x"}}]}}'


@pytest.mark.parametrize("name", ["samples/../../evil.json", "samples/a/../../b.json"])
def test_a_name_that_leads_out_of_its_archive_is_refused(name: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", {"samples/a_epoch_1.json": SAMPLE, name: SAMPLE})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ImportFileError, match="holds the name 'samples/"):
        answers(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_other_names_in_an_archive_are_never_opened(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a.eval",
        {
            "samples/a/b_epoch_1.json": SAMPLE,
            "../evil.json": b"{",
            "/etc/passwd": b"{",
            "samples/x.txt": b"{",
        },
    )
    found, _ = answers(path)
    assert [one.stated.text for one in found] == ["x"]


def test_an_archive_that_unpacks_to_too_much_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "a.eval", {"samples/a_epoch_1.json": b" " * 2_000_000 + SAMPLE})
    assert path.stat().st_size < 5_000
    monkeypatch.setattr(source_module, "MAX_UNPACKED", 1_000_000)
    with pytest.raises(ImportFileError, match="would unpack to 2000079 bytes"):
        answers(path)


def test_a_member_that_is_larger_than_it_says_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "a.eval", {"samples/a_epoch_1.json": b" " * 2_000_000 + SAMPLE})
    monkeypatch.setattr(source_module, "MAX_MEMBER_BYTES", 1_000_000)
    with pytest.raises(ImportFileError, match="unpacks to more than 1000000 bytes"):
        answers(path)


def test_a_member_packed_in_an_unknown_way_says_so(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", {"samples/a_epoch_1.json": SAMPLE})
    data = bytearray(path.read_bytes())
    for start, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = data.index(start) + offset
        data[place : place + 2] = struct.pack("<H", 93)
    path.write_bytes(data)
    with pytest.raises(ImportFileError, match="packed or locked in a way that is not known here"):
        answers(path)


@pytest.mark.parametrize("cut", [10, 60, -30])
def test_a_cut_archive_is_refused(cut: int, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", {"samples/a_epoch_1.json": SAMPLE})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ImportFileError, match="damaged archive"):
        answers(path)


def test_a_damaged_member_is_a_bad_row(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", {"samples/a_epoch_1.json": SAMPLE, "samples/b_epoch_1.json": SAMPLE})
    data = bytearray(path.read_bytes())
    place = data.index(b"samples/b_epoch_1.json") + len("samples/b_epoch_1.json") + 12
    data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ImportFileError, match="sample 2: "):
        answers(path)
    found, reader = answers(path, skip_bad=True)
    assert (len(found), reader.tally.bad.count) == (1, 1)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.tsv", b'index\tprediction\na\t"open', "after row 0"),
        ("a.tsv", b"index\tprediction\na\tx\ty\n", "row 1: it has 3 cells, and there are 2 columns"),
        ("a.csv", b"index,prediction\na\n", "row 1: it has 1 cells"),
        ("a.csv", b"index,prediction\na,\xff\n", "not UTF-8"),
        ("a.csv", b"prediction\nx\n", "row 1: it has no 'index'"),
        ("a.csv", b"index\na\n", "row 1: it has no 'prediction'; --map answer=NAME"),
        ("a.xlsx", b"PK\x03\x04 no archive", "damaged archive"),
        ("a.json", b'[{"index": 0, "prediction": ', "it is no JSON"),
        ("a.json", b'["x"]', "row 1: it is a text"),
        ("a.json", b'{"eval": {}, "results": {}}', "no list 'samples'"),
        ("a.eval", b"PK\x03\x04", "damaged archive"),
        ("a.eval", b"not an archive", "it is no JSON"),
    ],
)
def test_every_kind_of_broken_file_ends_in_a_sentence(
    name: str, content: bytes, told: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportFileError, match=told):
        answers(path)


def test_a_workbook_that_is_none_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = archive(tmp_path / "a.xlsx", {"xl/workbook.xml": b"<oops"})
    with pytest.raises(ImportFileError, match="no spreadsheet that can be read"):
        answers(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path, told in ((tmp_path / "gone.jsonl", "no such file"), (tmp_path, "it is no file")):
        with pytest.raises(ImportFileError, match=told):
            answers(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["id", "doc_id", "index", "answer", "text", "resps", "filtered_resps", "prediction", "output", "error",
     "usage", "token_counts", "epoch", "repeat", "limit", "attachments", "thinking", "model_usage"]
)  # fmt: skip
CHOICES = st.fixed_dictionaries({"choices": st.lists(st.dictionaries(st.just("message"), JSON), max_size=2)})


@settings(deadline=None)
@given(
    document=st.dictionaries(NAMES, JSON | CHOICES, max_size=8),
    name=st.sampled_from(sorted(FORMATS)),
    choice=st.integers(0, 3),
)
def test_no_row_makes_a_reader_crash(document: dict[str, object], name: str, choice: int) -> None:
    body = json.dumps(document).encode()
    reading = read(RawReply(200, Hints(name, {}, choice).header(), body), PROVIDER)
    assert isinstance(reading, Reply | Fault)
    _no_crash(lambda: FORMATS[name].places(parse(body), Hints(name)))


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(max_size=60))
def test_no_bytes_and_no_header_make_the_adapter_crash(body: bytes, header: str) -> None:
    for known in ({HEADER: header}, {}, Hints("jsonl").header()):
        assert isinstance(read(RawReply(200, known, body), PROVIDER), Reply | Fault)


@settings(deadline=None)
@given(
    suffix=st.sampled_from([".jsonl", ".json", ".csv", ".tsv", ".eval", ".xlsx", ".txt"]),
    content=st.binary(max_size=300),
)
def test_no_file_makes_a_format_crash(
    suffix: str, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzzed{suffix}"
    path.write_bytes(content)

    def rows() -> list[Row]:
        source = SourceFile(path)
        form = detect(source)
        form.head(source)
        return list(form.rows(source))

    _no_crash(rows)


def _no_crash(work: Callable[[], object]) -> None:
    try:
        work()
    except (BadRowError, HarnessError) as error:
        assert str(error)
