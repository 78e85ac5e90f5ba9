"""`harness grades`: files of human grades, in and out, and everything that is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from step_examples import QUESTION, install
from stored_run_builder import Plan, built_run, case
from sweep_kit import Done, harness

from harness.benchmarks.steps import Step
from harness.cache.grades import Grade, NewGrade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.grading.files import GradeFormat, read_rows, write_grades
from harness.grading.rows import shown_time

ODD_CASE, ODD_MODEL = "=1+1|\u2028 \\n", "a, \"b\"\ud800"
UNITS = [
    UnitId(model, "both", one, repeat)
    for model in ("alpha", ODD_MODEL)
    for one in ("c1", ODD_CASE)
    for repeat in (1, 2)
]
HEAD = "model,condition,case_id,repeat,rater,question,value,time"


@pytest.fixture(autouse=True)
def small_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with a run, "night", of odd names."""

    async def make() -> None:
        plan = Plan([case("c1"), case(ODD_CASE)], ("alpha", ODD_MODEL), repeats=2)
        async with built_run(tmp_path, plan, name="night"):
            pass

    asyncio.run(make())
    return tmp_path


def stored(folder: Path) -> tuple[Grade, ...]:
    async def read() -> tuple[Grade, ...]:
        async with await Store.open(str(folder / "store.sqlite3")) as store:
            return await store.grade_history((await store.find_run("night")).id)

    return asyncio.run(read())


def keep(folder: Path, grades: Sequence[NewGrade]) -> None:
    async def add() -> None:
        async with await Store.open(str(folder / "store.sqlite3")) as store:
            await store.add_grades((await store.find_run("night")).id, grades)

    asyncio.run(add())


def imported(folder: Path, *more: str | Path, text: str | None = None, name: str = "g.csv") -> Done:
    if text is not None:
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return harness("grades", "import", "night", folder / name, "--store", folder / "store.sqlite3", *more)


def exported(folder: Path, *more: str | Path) -> Done:
    return harness("grades", "export", "night", "--store", folder / "store.sqlite3", *more)


def line(**changes: JSON) -> str:
    fields: dict[str, JSON] = {
        "model": "alpha", "condition": "both", "case_id": "c1",
        "rater": "ann", "question": QUESTION, "value": 1,
    }  # fmt: skip
    return json.dumps({name: value for name, value in {**fields, **changes}.items() if value != "-"})


def row(**changes: str) -> str:
    fields = dict(zip(HEAD.split(","), ("alpha", "both", "c1", "", "ann", QUESTION, "1", ""), strict=True))
    return ",".join({**fields, **changes}.values())


VALUES = [1, 0, True, "fine", "0", "true", "a, \"b\"\n", "'=1", "\ud800\u2028\x00", -0.25, 2**70]


def many() -> list[NewGrade]:
    """Grades of all units by odd raters, with histories."""
    return [
        NewGrade(unit, rater, f"free {place}", value, at)
        for unit in UNITS
        for rater in ("ann", "-bob \u2029")
        for place, value in enumerate(VALUES)
        for at in (1_700_000_000_000_001, 1_700_000_000_000_002 + place)
    ]


@pytest.mark.parametrize("file_format", ["jsonl", "csv"])
def test_grades_go_out_and_come_back_without_loss(folder: Path, file_format: str) -> None:  # F45
    keep(folder, many())
    before = stored(folder)
    out = folder / f"out.{file_format}"
    done = exported(folder, "--format", file_format, "--out", out)
    assert done.code == 0 and f"grades written to {out}: {len(before)}" in done.err and done.out == ""
    assert out.stat().st_mode & 0o777 == 0o600
    again = imported(folder, name=out.name)
    told = f"grades that are here already: {len(before)}; nothing was changed\n"
    assert (again.code, again.out) == (0, told)
    other = folder / "other"
    other.mkdir()
    (folder / "store.sqlite3").rename(folder / "first.sqlite3")

    async def make() -> None:
        plan = Plan([case("c1"), case(ODD_CASE)], ("alpha", ODD_MODEL), repeats=2)
        async with built_run(folder, plan, name="night"):
            pass

    asyncio.run(make())
    done = imported(folder, "--json", name=out.name)
    assert done.code == 0, done.err
    assert (done.json["new"], done.json["known"]) == (len(before), 0)
    assert stored(folder) == before
    assert exported(folder, "--format", file_format).out.encode() == out.read_bytes()


def test_a_csv_file_holds_no_live_formula_and_one_line_a_grade(folder: Path) -> None:  # F45
    keep(folder, many())
    out = folder / "out.csv"
    assert exported(folder, "--format", "csv", "--out", out).code == 0
    lines = out.read_bytes().decode().splitlines()
    assert lines[0] == HEAD and len(lines) == 1 + len(many())
    assert not any(cell.startswith(("=", "+", "@")) for text in lines for cell in text.split(","))


def test_only_the_grades_that_stand_are_written_where_that_is_asked_for(folder: Path) -> None:
    keep(folder, [NewGrade(UNITS[0], "ann", "q", value, value + 1) for value in (0, 1, 2)])
    done = exported(folder, "--latest")
    assert [json.loads(text)["value"] for text in done.out.splitlines()] == [2]
    assert "grades written to stdout: 1, without 2 superseded ones" in done.err
    assert len(exported(folder).out.splitlines()) == 3


def test_a_small_file_needs_only_what_cannot_be_known(folder: Path) -> None:
    text = f"case_id,model,condition,question,value\nc1,alpha,both,{QUESTION},1\n\n"
    done = imported(folder, "--rater", "ann", text=text)
    assert (done.code, done.out) == (0, "grades of run night kept: 1\n"), done.err
    (grade,) = stored(folder)
    assert (grade.unit, grade.rater, grade.value) == (UnitId("alpha", "both", "c1", 1), "ann", 1)
    assert imported(folder, "--rater", "ann").out == "grades that are here already: 1; nothing was changed\n"
    done = imported(folder, "--rater", "ann", text=text.replace(",1\n", ",0\n"))
    assert done.out == "grades of run night kept: 1, 1 of them in place of older ones\n"
    assert [grade.value for grade in stored(folder)] == [1, 0]


def test_lines_may_end_as_on_windows_and_begin_with_a_byte_order_mark(folder: Path) -> None:
    done = imported(folder, text=f"\ufeff{HEAD}\r\n{row()}\r\n{row(value='0', question='free')}\r\n")
    assert done.code == 0, done.err
    assert [(grade.question, grade.value) for grade in stored(folder)] == [(QUESTION, 1), ("free", 0)]


def test_a_line_of_json_may_hold_any_separator_but_a_line_feed(folder: Path) -> None:
    said = "a\u2028b\u2029c\x85d"
    text = json.dumps(json.loads(line(question="free", value=said)), ensure_ascii=False)
    done = imported(folder, text=f"{text}\r\n", name="g.jsonl")
    assert done.code == 0, done.err
    assert [grade.value for grade in stored(folder)] == [said]


def test_words_are_text_and_json_is_what_it_says(folder: Path) -> None:
    cells = {"good": "good", '"""0"""': "0", "0.5": 0.5, "true": True, '"""a, b"""': "a, b", "so so": "so so"}
    text = "\n".join([HEAD, *(row(value=cell, question=f"free {n}") for n, cell in enumerate(cells))])
    done = imported(folder, text=text)
    assert done.code == 0, done.err
    assert [grade.value for grade in stored(folder)] == list(cells.values())
    assert "no step of triage reads the question 'free 0'; it is kept as it is" in done.err


WRONG_LINES: Mapping[str, tuple[str, str]] = {
    "model": (line(model="alhpa"), "run 'night' has no model 'alhpa'; did you mean 'alpha'?"),
    "condition": (line(condition="opg"), "run 'night' has no condition 'opg'"),
    "case": (line(case_id="c11"), "run 'night' has no case 'c11'; did you mean 'c1'?"),
    "repeat": (line(repeat=3), "run 'night' has repeats 1 to 2, not 3"),
    "repeat 0": (line(repeat=0), "'repeat' must be a whole number from 1, got 0"),
    "repeat true": (line(repeat=True), "'repeat' must be a whole number from 1, got True"),
    "no rater": (line(rater="-"), "'rater' is blank; fill it in, or give --rater NAME"),
    "blank rater": (line(rater=" "), "'rater' is blank"),
    "null": (line(value=None), "'value' is blank"),
    "blank": (line(value=" "), "'value' is blank"),
    "list": (line(value=[1]), "'value' must be one number, text, true or false"),
    "value": (line(value=2), f"a grade of '{QUESTION}' is 0 or 1, not 2"),
    "truth": (line(value=True), f"a grade of '{QUESTION}' is 0 or 1, not true"),
    "text": (line(value="1"), f"a grade of '{QUESTION}' is 0 or 1, not \"1\""),
    "question": (line(question="D1_neglect"), f"unknown question 'D1_neglect'; did you mean '{QUESTION}'?"),
    "question cut": (line(question="D1"), f"unknown question 'D1'; did you mean '{QUESTION}'?"),
    "no question": (line(question="-"), "there is no 'question'; add it"),
    "column": (line(modle="x"), "unknown column 'modle'; did you mean 'model'?"),
    "number as id": (line(case_id=1), "'case_id' must be text, got 1; put it in double quotes"),
    "naive time": (line(time="2026-01-31T12:00:00"), "is no moment with a zone"),
    "no time": (line(time="yesterday"), "'time' 'yesterday' is no moment with a zone"),
    "old": (line(time="1969-12-31T23:59:59Z"), "before 1970 or in the future"),
    "future": (line(time="2999-01-01T00:00:00Z"), "before 1970 or in the future"),
    "no object": ("[1]", "it is no JSON object"),
    "no json": ("{", "it is no JSON: "),
    "NaN": (line(question="free").replace(": 1}", ": NaN}"), "NaN is no JSON number"),
    "too large": (line(question="free").replace(": 1}", ": 1e999}"), "beyond all bounds"),
    "field twice": (line().replace("{", '{"value": 0, ', 1), "'value' stands twice in it"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same store for files that change nothing."""
    folder = tmp_path_factory.mktemp("grades")

    async def make() -> None:
        async with built_run(folder, Plan([case("c1")], ("alpha",), repeats=2), name="night"):
            pass

    asyncio.run(make())
    return folder


@pytest.mark.parametrize("name", WRONG_LINES)
def test_a_wrong_line_is_refused_by_its_number_and_nothing_is_kept(shared: Path, name: str) -> None:
    bad, told = WRONG_LINES[name]
    done = imported(shared, text=f"{line(question='free')}\n\n{bad}\n", name="g.jsonl")
    assert done.code == 2 and done.out == ""
    assert f"'g.jsonl': nothing was imported: line 3: {told}" in done.err or (
        "nothing was imported: line 3: " in done.err and told in done.err
    ), done.err
    assert stored(shared) == ()


QUOTE = '"'
WRONG_FILES: Mapping[str, tuple[str, str]] = {
    "duplicate": (f"{HEAD}\n{row()}\n{row()}\n", "line 3: it says the same as line 2; leave one out"),
    "contradiction": (f"{HEAD}\n{row()}\n{row(value='0')}\n", "line 3: it contradicts line 2"),
    "one dated": (
        f"{HEAD}\n{row(time='2026-01-01T00:00:00Z')}\n{row(value='0')}\n",
        "line 3: it grades the same as line 2, and one has no time",
    ),
    "same moment": (
        f"{HEAD}\n{row(time='2026-01-01T00:00:00Z')}\n{row(value='0', time='2026-01-01T01:00:00+01:00')}\n",
        "line 3: it contradicts line 2",
    ),
    "semicolons": (HEAD.replace(",", ";") + "\n", "line 1: unknown column"),
    "column twice": (f"{HEAD},value\n", "line 1: the column 'value' stands twice"),
    "missing": ("model,case_id,value\n", "line 1: there is no 'condition', 'question'; add it"),
    "empty": ("", "there is no 'model'"),
    "cells": (f"{HEAD}\n{row()},x\n", "line 2: 9 cells, and the head has 8"),
    "TRUE": (f"{HEAD}\n{row(value='TRUE')}\n", "line 2: 'value' 'TRUE' is no JSON scalar"),
    "comma": (f"{HEAD}\n{row(value=QUOTE + '1,5' + QUOTE)}\n", "line 2: 'value' '1,5' is no JSON scalar"),
    "blank value": (f"{HEAD}\n{row(value='')}\n", "line 2: 'value' is blank"),
    "escape": (f"{HEAD}\n{row(case_id='a' + chr(92) + 'b')}\n", "line 2: unknown escape"),
    "open quote": (f"{HEAD}\n{row(case_id=QUOTE + 'c1')}\n", "it is no CSV"),
    "line after a broken cell": (
        f"{HEAD}\n{row(rater=QUOTE + 'a' + chr(10) + 'b' + QUOTE)}\n{row(value='')}\n",
        "line 4: 'value' is blank",
    ),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_wrong_file_is_refused_by_its_lines_and_nothing_is_kept(shared: Path, name: str) -> None:
    text, told = WRONG_FILES[name]
    done = imported(shared, text=text)
    assert done.code == 2 and told in done.err, done.err
    assert stored(shared) == ()


def test_all_wrong_lines_are_counted_and_the_first_ones_named(shared: Path) -> None:
    text = "\n".join([HEAD, *(row(value="x", case_id=f"c{number}") for number in range(40))])
    done = imported(shared, text=text)
    assert done.code == 2 and "line 2:" in done.err and "line 41:" not in done.err
    assert "and 20 more" in done.err  # 39 unknown cases, of which 19 are named, and one value in 40 lines


def test_faults_of_every_kind_are_told_at_once(shared: Path) -> None:
    lines = [
        "model,modle,case_id,repeat,rater,question,value",
        f"alhpa,x,c1,0,ann,{QUESTION},7",
        f"alpha,x,c\\q,,,{QUESTION},TRUE",
        "alpha,x,c1,,ann",
        f"alpha,x,c9,,ann,{QUESTION},1",
        'alpha,x,c1,,ann,free,"1" or 2',
    ]
    done = imported(shared, text="\n".join(lines))
    told = [
        "line 1: unknown column 'modle'; did you mean 'model'?",
        "line 1: there is no 'condition'; add it",
        "line 2: 'repeat' must be a whole number from 1, got '0'",
        "line 2: run 'night' has no model 'alhpa'; did you mean 'alpha'?",
        f"line 2: a grade of '{QUESTION}' is 0 or 1, not 7",
        "line 3: unknown escape",
        "line 3: 'value' 'TRUE' is no JSON scalar",
        "line 3: 'rater' is blank; fill it in, or give --rater NAME",
        "line 4: 5 cells, and the head has 7",
        "line 5: run 'night' has no case 'c9'",
        "line 6: it is no CSV",
    ]
    places = [done.err.find(one) for one in told]
    assert done.code == 2 and -1 not in places and places == sorted(places), done.err
    assert done.err.count("; line ") == len(told) - 1 and "more" not in done.err
    double = "\n".join([line(), line(repeat=0), line(model="alhpa"), line(), line(question="-", value=2)])
    done = imported(shared, text=double, name="g.jsonl")
    assert "line 2: 'repeat' must" in done.err and "line 4: it says the same as line 1" in done.err
    assert "line 5: there is no 'question'; add it" in done.err and done.err.count("; line ") == 3


def test_what_is_wrong_with_every_line_is_said_once(shared: Path) -> None:
    nine = (row(model="o3", question=f"free {number}") for number in range(9))
    text = "\n".join([HEAD, *nine, row(case_id="c2", model="o3")])
    done = imported(shared, text=text)
    told = "nothing was imported: 10 lines (2, 3, 4 ...): run 'night' has no model 'o3'; known: 'alpha'; "
    assert done.code == 2 and f"{told}line 11: run 'night' has no case 'c2'" in done.err, done.err
    assert "more" not in done.err


def test_files_that_cannot_be_read_are_refused(shared: Path) -> None:
    (shared / "latin.csv").write_bytes(f"{HEAD}\n{row(rater='é')}\n".encode("latin-1"))
    wrong = {"latin.csv": "is not UTF-8 at byte", "g.txt": "--format", "none.csv": "cannot read"}
    for name, told in wrong.items():
        done = imported(shared, name=name)
        assert done.code == 2 and told in done.err, done.err
    done = imported(shared, "--rater", "bob", text=f"{HEAD}\n{row()}\n")
    assert done.code == 2 and "its rater is 'ann', not 'bob'" in done.err
    assert imported(shared, "--rater", " ", text=f"{HEAD}\n{row()}\n").code == 2


@pytest.mark.parametrize("name", ["ann ", " Ann", "a\u00a0nn", "a  nn"])
def test_raters_that_differ_by_case_or_blanks_alone_are_named(folder: Path, name: str) -> None:
    first = name.strip().lower().replace("a  nn", "a nn").replace("\u00a0", " ")
    done = imported(folder, text=line(rater=first), name="g.jsonl")
    assert "different raters" not in done.err
    done = imported(folder, "--dry-run", text=line(rater=name, value=0), name="g.jsonl")
    assert done.code == 0
    assert f"{name!r} and {first!r} are different raters" in done.err or (
        f"{first!r} and {name!r} are different raters" in done.err
    )


def test_a_correction_that_keeps_its_old_time_is_refused(folder: Path) -> None:
    text = f"{HEAD}\n{row(time='2026-01-01T00:00:00Z')}\n"
    assert imported(folder, text=text).code == 0
    done = imported(folder, text=text.replace(",1,", ",0,"))
    assert done.code == 2 and "line 2: rater 'ann' has another grade of the same moment, 1" in done.err
    assert [grade.value for grade in stored(folder)] == [1]


def test_a_dry_run_checks_everything_and_keeps_nothing(folder: Path) -> None:
    done = imported(folder, "--dry-run", text=f"{HEAD}\n{row()}\n")
    assert (done.code, done.out) == (0, "grades of run night would be kept: 1\n")
    assert stored(folder) == ()
    assert imported(folder, "--dry-run", text=f"{HEAD}\n{row(value='2')}\n").code == 2


@pytest.mark.parametrize("file_format", ["jsonl", "csv"])
def test_what_is_written_is_what_is_read(tmp_path: Path, file_format: GradeFormat) -> None:
    grades = [Grade(one.unit, one.rater, one.question, one.value, one.graded_at_us or 0) for one in many()]
    path = tmp_path / "grades"
    with path.open("wb") as stream:
        assert write_grades(grades, file_format, stream) == len(grades)
    rows, faults = read_rows(path, file_format)
    assert faults == []
    for read, grade in zip(rows, grades, strict=True):
        unit = UnitId(read.model, read.condition, read.case_id, read.repeat)
        assert Grade(unit, str(read.rater), read.question, read.value, read.graded_at_us or 0) == grade


def test_moments_are_written_to_the_microsecond() -> None:
    assert shown_time(0) == "1970-01-01T00:00:00.000000Z"
    assert shown_time(1_700_000_000_000_001) == "2023-11-14T22:13:20.000001Z"


def test_a_benchmark_without_questions_takes_any(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import harness.benchmarks.triage as triage

    steps: dict[str, Step] = triage.steps  # type: ignore[attr-defined, unused-ignore]
    monkeypatch.setattr(steps["judge"], "questions", {}, raising=False)
    done = imported(folder, text=f"{HEAD}\n{row(value='2')}\n")
    assert done.code == 0 and "no step" not in done.err


def test_the_store_counts_grades_and_looks_at_them(folder: Path) -> None:
    keep(folder, many())
    store = folder / "store.sqlite3"
    assert harness("store", "stats", "--json", "--store", store).json["grades"] == len(many())
    done = harness("store", "verify", "--store", store)
    assert done.code == 0 and f"{len(many())} grades" in done.err
    assert harness("store", "vacuum", "--derived", "--store", store).code == 0
    assert len(stored(folder)) == len(many())


