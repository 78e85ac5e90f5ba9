"""Answers belong to cases by exact ids: nothing by position, nothing merged, whatever the order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ConfigError, ImportFileError
from harness.imports.documents import BadRowError
from harness.imports.hints import Hints
from harness.imports.imported_run import PROVIDER
from harness.imports.matching import CaseFinder, IdFile, SeenAnswers, SeenBefore, read_id_file
from harness.imports.reader import Answer, AnswerReader, ImportFile
from harness.imports.registry import get_format
from harness.imports.source import SourceFile

JSONL, LM_EVAL, INSPECT = get_format("jsonl"), get_format("lm-eval"), get_format("inspect")
IDS = st.text(min_size=1, max_size=6) | st.integers(-3, 30).map(str)


def reader_of(path: Path, cases: list[str], lines: list[object], **options: object) -> AnswerReader:
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    path.write_text(text, encoding="utf-8")
    file = ImportFile(SourceFile(path), JSONL, Hints("jsonl"))
    return AnswerReader([file], cases, CaseFinder(cases), PROVIDER, **options)  # type: ignore[arg-type]


def texts(answers: list[Answer], cases: list[str]) -> dict[str, str]:
    return {cases[one.case]: one.stated.text or "" for one in answers}


@settings(deadline=None)
@given(data=st.data(), cases=st.lists(IDS, min_size=1, max_size=12, unique=True))
def test_every_answer_reaches_the_case_of_its_id_and_no_other(
    data: st.DataObject, cases: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:  # F8
    named = data.draw(st.lists(st.sampled_from(cases) | IDS, max_size=15, unique=True))
    path = tmp_path_factory.getbasetemp() / "matching.jsonl"
    reader = reader_of(path, cases, [{"id": name, "answer": f"to {name}"} for name in named])
    found = list(reader.answers())
    assert texts(found, cases) == {name: f"to {name}" for name in named if name in cases}
    assert reader.tally.unmatched.count == sum(name not in cases for name in named)
    missing = [cases[case] for case, _ in reader.seen.missing(1)]
    assert missing == [name for name in cases if name not in named]


def test_a_number_is_the_case_with_its_digits_and_no_other_spelling() -> None:
    finder = CaseFinder(["1", "01", "1.0", "x"])
    assert [finder.find(id, JSONL) for id in (1, "1", "01", "1.0", 2, "X", " x")] == [
        0, 0, 1, 2, None, None, None
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [(1, "1"), ("1", 1)])
def test_an_id_as_number_and_as_text_is_refused(first: object, second: object, tmp_path: Path) -> None:  # F18
    lines: list[object] = [{"id": first, "answer": "a"}, {"id": "2", "answer": "b"}]
    reader = reader_of(tmp_path / "a.jsonl", ["1", "2"], [*lines, {"id": second, "answer": "a"}])
    with pytest.raises(ImportFileError, match=r"line 3: the case '1' is called .* write them alike"):
        list(reader.answers())


def test_two_answers_to_one_ask_are_refused_with_both_places(tmp_path: Path) -> None:  # F18
    lines: list[object] = [{"id": "a", "answer": "one"}, "", {"id": "a", "answer": "two"}]
    reader = reader_of(tmp_path / "a.jsonl", ["a"], lines, skip_bad=True)
    with pytest.raises(
        ImportFileError, match=r"'a.jsonl' line 3: another answer for case 'a'.*'a.jsonl' line 1"
    ):
        list(reader.answers())


def test_the_same_answer_twice_counts_once(tmp_path: Path) -> None:
    lines: list[object] = [{"id": "a", "answer": "one"}, {"answer": "one", "id": "a", "more": 1}]
    reader = reader_of(tmp_path / "a.jsonl", ["a"], lines)
    assert len(list(reader.answers())) == 1
    assert (reader.tally.repeated.count, reader.tally.repeated.first) == (1, ["a"])


def test_repeats_and_attempts_are_asks_of_their_own(tmp_path: Path) -> None:  # F10 F11
    lines: list[object] = [
        {"id": "a", "answer": "one", "repeat": 1},
        {"id": "a", "answer": "one", "repeat": 2},
        {"id": "a", "answer": "one", "repeat": 2, "attempt": 2},
    ]
    reader = reader_of(tmp_path / "a.jsonl", ["a", "b"], lines)
    assert [(one.repeat, one.attempt) for one in reader.answers()] == [(1, 1), (2, 1), (2, 2)]
    assert reader.seen.repeats == 2
    assert list(reader.seen.missing(3)) == [(1, 1), (1, 2), (0, 3), (1, 3)]


def test_positions_need_a_list_of_ids() -> None:  # F24
    with pytest.raises(ConfigError, match="only by their position"):
        CaseFinder(["a"]).check(LM_EVAL, Hints("lm-eval"))
    CaseFinder(["a"]).check(LM_EVAL, Hints("lm-eval", {"id": "doc.case"}))
    listed = IdFile(by_position=("b", "gone", "a"))
    CaseFinder(["a"], listed).check(LM_EVAL, Hints("lm-eval"))
    finder = CaseFinder(["a", "b"], listed)
    assert [finder.find(position, LM_EVAL) for position in (0, 1, 2, 3, -1)] == [1, None, 0, None, None]
    # Inspect numbers samples without an id from 1.
    assert [finder.find(position, INSPECT) for position in (1, 3, 0)] == [1, 0, None]
    with pytest.raises(BadRowError, match="no position"):
        finder.find("a", INSPECT)


@pytest.mark.parametrize(("form", "paths"), [(JSONL, {}), (LM_EVAL, {"id": "doc.case"})])
def test_a_list_of_positions_is_refused_where_rows_have_ids(form: object, paths: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="make it a JSON object"):
        CaseFinder(["a"], IdFile(by_position=("a",))).check(form, Hints("x", paths))  # type: ignore[arg-type]


def test_a_field_that_a_format_has_in_one_place_cannot_be_mapped() -> None:
    with pytest.raises(ConfigError, match="--map answer= cannot be used with lm-eval files"):
        CaseFinder(["a"]).check(LM_EVAL, Hints("lm-eval", {"id": "doc.case", "answer": "x"}))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb c\n\n", IdFile(by_position=("a", "b c"))),
        ('["a", "b"]', IdFile(by_position=("a", "b"))),
        ('{"17": "a"}', IdFile(by_name={"17": "a"})),
    ],
)
def test_files_of_ids(content: str, expected: IdFile, tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text(content, encoding="utf-8")
    assert read_id_file(path) == expected


def test_an_object_of_ids_translates_each_name() -> None:
    finder = CaseFinder(["a", "b"], IdFile(by_name={"17": "b", "x": "gone"}))
    finder.check(JSONL, Hints("jsonl"))
    assert [finder.find(id, JSONL) for id in (17, "17", "x", "a")] == [1, 1, None, None]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a\nb\na\n", "'a' twice"),
        ('["a", 1]', "no list of case ids"),
        ('{"a": 1}', "no list of case ids"),
        ('{"a": "x", "a": "y"}', "the key 'a' twice"),
        ("[", "no JSON"),
        ("\n", "no list of case ids"),
    ],
)
def test_a_file_of_ids_that_is_none_is_refused(content: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=told):
        read_id_file(path)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(1, 2), st.binary(min_size=8, max_size=8))
    )
)
def test_what_was_seen_is_remembered_as_it_was(notes: list[tuple[int, int, int, bytes]]) -> None:
    seen = SeenAnswers(4)
    known: dict[tuple[int, int, int], tuple[int, bytes]] = {}
    for row, (case, repeat, attempt, digest) in enumerate(notes, start=1):
        before = seen.note(case, repeat, attempt, digest=digest, file=row % 3, row=row)
        if (case, repeat, attempt) not in known:
            known[case, repeat, attempt] = row, digest
            assert before is None
        else:
            first, other = known[case, repeat, attempt]
            same = int.from_bytes(other, "big") | 1 == int.from_bytes(digest, "big") | 1
            assert before == SeenBefore(first % 3, first, same)
    answered = {(case, repeat) for case, repeat, _ in known}
    assert set(seen.missing(3)) == {(case, repeat) for case in range(4) for repeat in (1, 2, 3)} - answered


def test_a_repeat_of_the_user_and_one_of_the_file_must_agree(tmp_path: Path) -> None:
    reader = reader_of(tmp_path / "a.jsonl", ["a"], [{"id": "a", "answer": "x"}], repeat=3)
    assert [one.repeat for one in reader.answers()] == [3]
    reader = reader_of(tmp_path / "a.jsonl", ["a"], [{"id": "a", "answer": "x", "repeat": 2}], repeat=3)
    with pytest.raises(ImportFileError, match="it is repeat 2, and --repeat 3 is given"):
        list(reader.answers())
