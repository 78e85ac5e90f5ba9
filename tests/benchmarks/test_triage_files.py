"""Case files of the triage benchmark: what is read, what is refused, and how it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.benchmarks.triage.cases import check_cases, load_cases
from harness.benchmarks.triage.taxonomy import answer_of
from harness.errors import CaseFileError

GOOD = {"id": "a", "chief_complaint": "It hurts", "image": "a.png", "labels": ["Exodontia"], "rationale": "r"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("L", (20, 10), 90).save(tmp_path / "a.png")
    return tmp_path


def write(folder: Path, *cases: object, name: str = "cases.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    lines = [case if isinstance(case, str) else json.dumps(case, ensure_ascii=False) for case in cases]
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass", newline="")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(CaseFileError) as caught:
        load_cases(folder)
    return str(caught.value)


def test_a_case_is_read_with_its_image_and_reference(folder: Path) -> None:
    case = load_cases(write(folder, {**GOOD, "group": "p1", "tags": ["t"]})).cases[0]
    assert (case.id, case.group, case.tags, case.problem) == ("a", "p1", ("t",), None)
    assert dict(case.fields) == {"chief_complaint": "It hurts"}
    assert case.reference == {"labels": ["Exodontia"], "rationale": "r"}
    assert [(m.mime, m.width, m.height) for m in case.media["opg"]] == [("image/png", 20, 10)]


def test_both_spellings_of_the_consult_label_are_one(folder: Path) -> None:
    cases = load_cases(
        write(
            folder,
            {**GOOD, "labels": ["Other OMFS Consult"]},
            {**GOOD, "id": "b", "labels": ["Other OMSF Consult"]},
        )
    ).cases
    assert cases[0].reference["labels"] == cases[1].reference["labels"] == ["Other OMSF Consult"]


def test_the_order_of_labels_in_the_file_means_nothing(folder: Path) -> None:
    cases = load_cases(
        write(
            folder,
            {**GOOD, "labels": ["Exodontia", "Molar endodontics"]},
            {**GOOD, "id": "b", "labels": ["Molar endodontics", "Exodontia"]},
        )
    ).cases
    assert cases[0].reference == cases[1].reference


def test_blank_lines_and_a_byte_order_mark_are_fine(folder: Path) -> None:
    write(folder, "\ufeff" + json.dumps(GOOD), "", "  \r", json.dumps({**GOOD, "id": "b"}) + "\r", "")
    assert [case.id for case in load_cases(folder).cases] == ["a", "b"]


def test_line_separators_of_unicode_do_not_end_a_line(folder: Path) -> None:
    text = "one\u2028two\u0085three"
    write(folder, {**GOOD, "chief_complaint": text})
    assert load_cases(folder).cases[0].fields["chief_complaint"] == text


def test_duplicate_ids_name_both_lines(folder: Path) -> None:  # F18
    write(folder, GOOD, "", GOOD)
    assert "cases.jsonl line 3: id 'a' is that of line 1" in refusal(folder)


def test_one_and_quoted_one_are_refused_with_both_named(folder: Path) -> None:  # F18
    write(folder, {**GOOD, "id": "1"}, {**GOOD, "id": 1})
    problems = check_cases(folder)
    assert "cases.jsonl line 2: 'id' must be text, got 1; write it in quotes" in problems
    assert any("line 2: id 1 is that of line 1 ('1')" in problem for problem in problems)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"labels": ["zzz"]}, "line 1: unknown label 'zzz'; nearest of 22: '"),
        ({"labels": ["Exodontias"]}, "line 1: unknown label 'Exodontias'; did you mean 'Exodontia'?"),
        ({"labels": "Exodontia"}, "'labels' must be a list of texts"),
        ({"labels": ["Exodontia", "Exodontia"]}, "names 'Exodontia' twice"),
        ({"labels": ["Other OMFS Consult", "Other OMSF Consult"]}, "one label in two spellings"),
        ({"lables": []}, "unknown field 'lables'; did you mean 'labels'?"),
        ({"chief_complaint": " "}, "'chief_complaint' is blank"),
        ({"chief_complaint": 3}, "'chief_complaint' must be text, got 3"),
        ({"image": "../a.png"}, "must stay below the folder"),
        ({"image": "/etc/passwd"}, "must stay below the folder"),
        ({"image": "C:/a.png"}, "must stay below the folder"),
        ({"image": "..\\a.png"}, "forward slashes"),
        ({"tags": "t"}, "'tags' must be a list of texts"),
        ({"group": 7}, "'group' must be text, got 7"),
        ({"rationale": 7}, "'rationale' must be text, got 7"),
        ({"id": ""}, "'id' must be visible text"),
        ({"id": "a "}, "'id' must be visible text"),
        ({"id": None}, "'id' must be text, got null"),
    ],
)
def test_a_bad_field_is_refused_by_line(folder: Path, change: dict[str, Any], says: str) -> None:
    message = refusal(write(folder, {**GOOD, **change}))
    assert message.startswith("cases.jsonl line 1: ")
    assert says in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[1]", "must be one JSON object, got [1]"),
        ("{", "no JSON object"),
        ('{"id": NaN}', "NaN is no JSON number"),
        ('{"id": "a", "id": "b"}', "field 'id' stands there twice"),
        ("{}", "field 'id' is missing"),
        ("[" * 100_000, "line 2"),
    ],
)
def test_a_bad_line_is_refused_by_its_number(folder: Path, line: Any, says: str) -> None:
    message = refusal(write(folder, GOOD, line))
    assert message.startswith("cases.jsonl line 2: ")
    assert says in message


def test_bytes_that_are_not_utf8_are_refused_by_line(folder: Path) -> None:
    (folder / "cases.jsonl").write_bytes(json.dumps(GOOD).encode() + b"\n" + b'{"id": "\xff"}')
    assert refusal(folder).startswith("cases.jsonl line 2: not UTF-8 at byte 9 of the line")


def test_check_lists_every_problem_and_load_counts_them(folder: Path) -> None:
    write(
        folder,
        {**GOOD, "id": 1},
        "{",
        {**GOOD, "labels": ["x"], "image": "/b"},
        {**GOOD, "id": "c", "image": "gone.png"},
    )
    problems = check_cases(folder)
    assert [problem.split(":")[0] for problem in problems] == [
        "cases.jsonl line 1",
        "cases.jsonl line 2",
        "cases.jsonl line 3",
        "cases.jsonl line 3",
        "case 'c'",
    ]
    assert "(and 3 more; `harness data check` lists all)" in refusal(folder)


def test_a_missing_folder_or_file_is_said(tmp_path: Path) -> None:
    assert "there is no folder" in refusal(tmp_path / "gone")
    assert "cases.jsonl does not exist" in refusal(tmp_path)
    (tmp_path / "cases.jsonl").write_text("\n", encoding="utf-8")
    assert "holds no cases" in refusal(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"no image", b"\x89PNG\r\n\x1a\n"])
def test_a_case_with_a_bad_image_is_kept_and_marked(folder: Path, content: bytes | None) -> None:  # F16
    if content is not None:
        (folder / "b.png").write_bytes(content)
    write(folder, GOOD, {**GOOD, "id": "b", "image": "b.png"})
    cases = load_cases(folder).cases
    assert [case.problem is None for case in cases] == [True, False]
    assert cases[1].media == {}
    assert "'b.png'" in (cases[1].problem or "")
    assert str(folder) not in (cases[1].problem or "")
    assert check_cases(folder) == [f"case 'b': {cases[1].problem}"]


def test_raters_are_read_in_the_form_of_the_schema(folder: Path) -> None:
    write(folder, GOOD)
    write(folder, {"id": "a", "labels": ["Other OMFS Consult"]}, name="raters/ann.jsonl")
    assert load_cases(folder).raters == {"ann": {"a": answer_of(["Other OMSF Consult"])}}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"id": "z", "labels": []}, "raters/ann.jsonl line 1: cases.jsonl has no case 'z'"),
        ({"id": "a", "labels": ["x"]}, "raters/ann.jsonl line 1: unknown label 'x'"),
        ({"id": "a", "labels": [], "note": ""}, "raters/ann.jsonl line 1: unknown field 'note'"),
    ],
)
def test_a_bad_rating_is_refused_by_file_and_line(folder: Path, line: Any, says: str) -> None:
    write(folder, GOOD)
    assert says in refusal(write(folder, line, name="raters/ann.jsonl"))


def test_a_folder_is_synthetic_only_when_it_says_so(folder: Path) -> None:
    write(folder, GOOD)
    assert load_cases(folder).synthetic is False
    (folder / "dataset.json").write_text('{"synthetic": true}', encoding="utf-8")
    assert load_cases(folder).synthetic is True


@pytest.mark.parametrize("text", ["{", "[]", '{"synthetic": "yes"}', '{"synthetic": true, "notes": ""}'])
def test_a_bad_mark_is_refused(folder: Path, text: str) -> None:
    write(folder, GOOD)
    (folder / "dataset.json").write_text(text, encoding="utf-8")
    assert "dataset.json" in refusal(folder)
    assert any("dataset.json" in problem for problem in check_cases(folder))
