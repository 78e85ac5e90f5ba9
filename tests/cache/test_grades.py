"""Grades in the store: what stands, what is kept, and that joining stores keeps both."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from store_examples import a_session

from harness.cache import grades
from harness.cache.grades import Grade, GradesAdded, GradeValue, NewGrade, standing
from harness.cache.rows import UnitId
from harness.cache.store import Store, bring_up_to_date
from harness.errors import ConfigError, StoreError

ONE, TWO = UnitId("m", "both", "1"), UnitId("\ud800", "opg", "\x00|", 2)
GRADE = grades.read_grade
NOW = 1_800_000_000_000_000


def new(
    value: GradeValue, at: int | None = None, *, unit: UnitId = ONE, rater: str = "ann", question: str = "q"
) -> NewGrade:
    return NewGrade(unit, rater, question, value, at)


def values(grades: Sequence[Grade]) -> list[tuple[GradeValue, int]]:
    return [(grade.value, grade.graded_at_us) for grade in grades]


@pytest.fixture
async def run(store: Store, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(store, "_clock", lambda: NOW)
    return (await a_session(store, "graded"))[0]


async def test_grades_come_back_as_they_were_given(store: Store, run: int) -> None:
    given: list[GradeValue] = [0, 1, True, False, "1", "", "\ud800\x00\u2028 =x", -0.5, 0.1, 2**70]
    grades = [new(value, 5, question=f"q{place:02}") for place, value in enumerate(given)]
    odd = new(1, 7, unit=TWO, rater="\udfff", question="é|")
    assert await store.add_grades(run, [*grades, odd]) == GradesAdded(len(given) + 1, 0, 0)
    found = await store.grades(run)
    assert [grade.value for grade in found[:-1]] == given
    assert [type(grade.value) for grade in found[:-1]] == [type(value) for value in given]
    assert found[-1] == Grade(TWO, "\udfff", "é|", 1, 7)
    assert await store.grades(run + 1) == () and await store.verify() == []


async def test_a_newer_grade_supersedes_and_the_older_one_stays(store: Store, run: int) -> None:
    assert await store.add_grades(run, [new(1, 5)]) == GradesAdded(1, 0, 0)
    assert await store.add_grades(run, [new(0, 9)]) == GradesAdded(1, 1, 0)
    assert await store.add_grades(run, [new(1, 7)]) == GradesAdded(1, 0, 0)  # older than what stands
    assert values(await store.grades(run)) == [(0, 9)]
    assert values(await store.grade_history(run)) == [(1, 5), (1, 7), (0, 9)]
    assert list(standing(await store.grade_history(run))) == list(await store.grades(run))


async def test_raters_questions_and_units_have_grades_of_their_own(store: Store, run: int) -> None:
    grades = [
        new(value, 5, rater=rater, question=question, unit=unit)
        for value, (rater, question, unit) in enumerate(
            (rater, question, unit)
            for rater in ("bob", "ann")
            for question in ("q", "p")
            for unit in (TWO, ONE, UnitId("m", "both", "1", 2), UnitId("m", "both", "10"))
        )
    ]
    await store.add_grades(run, grades)
    found = await store.grades(run)
    assert [grade.key for grade in found] == sorted(grade.key for grade in grades)
    assert {grade.key: grade.value for grade in found} == {grade.key: grade.value for grade in grades}


async def test_the_same_grades_again_change_nothing_dated_or_not(store: Store, run: int) -> None:
    grades = [new(1, 5), new(0, 9), new("fine", None, question="p")]
    assert await store.add_grades(run, grades) == GradesAdded(3, 1, 0)
    before = await store.grade_history(run)
    assert await store.add_grades(run, grades) == GradesAdded(0, 0, 3)
    assert await store.grade_history(run) == before


async def test_what_is_given_now_becomes_the_newest_whatever_the_clock_says(store: Store, run: int) -> None:
    await store.add_grades(run, [new(1, NOW + 50)])
    assert await store.add_grades(run, [new(0)]) == GradesAdded(1, 1, 0)
    assert values(await store.grades(run)) == [(0, NOW + 51)]
    assert await store.add_grades(run, [new(1, question="p")]) == GradesAdded(1, 0, 0)
    assert values(await store.grades(run))[0] == (1, NOW)


async def test_true_and_one_are_different_grades_and_one_and_its_float_are_not(
    store: Store, run: int
) -> None:
    await store.add_grades(run, [new(1)])
    assert (await store.add_grades(run, [new(1.0)])).new == 0
    assert (await store.add_grades(run, [new(True)])).new == 1
    assert (await store.grades(run))[0].value is True


async def test_two_grades_of_one_moment_are_refused_and_nothing_is_kept(store: Store, run: int) -> None:
    await store.add_grades(run, [new(1, 5)])
    wanted = [new(1, 6, question="p"), NewGrade(ONE, "ann", "q", 0, 5, "line 3")]
    with pytest.raises(ConfigError, match=r"^line 3: rater 'ann' has another grade of the same moment, 1"):
        await store.add_grades(run, wanted)
    assert values(await store.grade_history(run)) == [(1, 5)]


async def test_a_dry_run_counts_and_keeps_nothing(store: Store, run: int) -> None:
    await store.add_grades(run, [new(1, 5)])
    wanted = [new(1, 5), new(0, 9), new(0, 9, question="p")]
    assert await store.add_grades(run, wanted, dry_run=True) == GradesAdded(2, 1, 1)
    assert len(await store.grade_history(run)) == 1
    assert (await store.stats())["grades"] == 1


async def test_many_grades_are_kept_in_one_commit(store: Store, run: int) -> None:
    grades = [new(place % 2, 5, unit=UnitId("m", "both", f"{place:05}")) for place in range(3_000)]
    assert (await store.add_grades(run, grades)).new == 3_000
    assert [grade.value for grade in await store.grades(run)] == [place % 2 for place in range(3_000)]


async def test_merging_takes_grades_with_their_history_once(
    store: Store, run: int, tmp_path: Path, empty_store: Path
) -> None:
    other_path = Path(shutil.copy(empty_store, tmp_path / "other.sqlite3"))
    async with await Store.open(str(other_path)) as other:
        theirs, _ = await a_session(other, "graded")
        await other.add_grades(theirs, [new(1, 5), new(0, 9), new(1, 3, unit=TWO)])
    await store.add_grades(run, [new(1, 5), new(1, 7), new("x", 2, rater="bob")])
    report = await store.merge(other_path, bring_up_to_date)
    assert report.grades_new == 2
    assert values(await store.grade_history(run)) == [(1, 5), (1, 7), (0, 9), ("x", 2), (1, 3)]
    assert (await store.merge(other_path, bring_up_to_date)).is_nothing
    assert await store.verify() == []


async def test_joined_stores_that_disagree_about_one_moment_agree_on_what_stands(
    tmp_path: Path, empty_store: Path
) -> None:
    paths = [Path(shutil.copy(empty_store, tmp_path / f"{name}.sqlite3")) for name in "ab"]
    for path, value in zip(paths, (0, 1), strict=True):
        async with await Store.open(str(path)) as one:
            run, _ = await a_session(one, "graded")
            await one.add_grades(run, [new(value, 5)])
    copies = [Path(shutil.copy(path, tmp_path / f"copy-{path.name}")) for path in paths]
    for path, other in zip(paths, reversed(copies), strict=True):
        async with await Store.open(str(path)) as one:
            await one.merge(other, bring_up_to_date)
            assert values(await one.grades(run)) == [(1, 5)]


@pytest.mark.parametrize("empty_place", ["sqlite"], indirect=True)
async def test_a_damaged_grade_is_found_and_told(store: Store, run: int, store_path: Path) -> None:
    await store.add_grades(run, [new(1, 5)])
    database = sqlite3.connect(store_path)
    database.execute("UPDATE grade SET value = ?", (b"xx",))
    database.commit()
    database.close()
    assert await store.verify() == [f"grade 1 of run {run} has a damaged value"]
    with pytest.raises(StoreError, match="grade 1 in this store is damaged"):
        await store.grades(run)


@pytest.fixture
async def crowded(store: Store, run: int) -> list[NewGrade]:
    """20,000 grades of the run: 1,000 cases x 2 models x 2 raters x 5 questions."""
    grades = [
        new(1, 5, unit=UnitId(model, "both", f"c{n}"), rater=rater, question=f"q{question}")
        for n in range(1000)
        for model in ("m", "n")
        for rater in ("ann", "bob")
        for question in range(5)
    ]
    await store.add_grades(run, grades)
    return grades


async def test_a_grade_saved_alone_reads_what_its_rater_said_of_that_case_alone(
    store: Store, run: int, crowded: list[NewGrade], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(grades, "read_grade", lambda row: read.append(row.rater) or GRADE(row))
    unit = UnitId("n", "both", "c500")
    one = new(0, unit=unit, rater="bob", question="q3")
    assert await store.add_grades(run, [one], dry_run=True) == GradesAdded(1, 1, 0)
    assert await store.add_grades(run, [one]) == GradesAdded(1, 1, 0)
    assert await store.add_grades(run, [one]) == GradesAdded(0, 0, 1)
    assert read == ["bob"] * (5 + 5 + 6)
    with pytest.raises(ConfigError, match="another grade of the same moment"):
        await store.add_grades(run, [new(0, 5, unit=unit, rater="ann", question="q1")])
    del read[:]
    assert await store.add_grades(run, [replace(one, graded_at_us=1) for one in crowded]) == GradesAdded(
        20_000, 0, 0
    )
    assert len(read) == 20_001, "many grades at once are read in one go"


async def test_few_and_many_at_once_are_told_apart_by_what_they_are_about_alone(
    store: Store, run: int, crowded: list[NewGrade]
) -> None:
    """Both ways of looking say the same: 200 cases are looked up, 201 are read with the whole run."""
    for many in (200, 201):
        again = [one for one in crowded if one.rater == "ann" and one.unit.model == "m"][: 5 * many]
        changed = [replace(one, value=0, graded_at_us=9 + many) for one in again[::2]]
        assert await store.add_grades(run, [*again, *changed]) == GradesAdded(
            len(changed), len(changed), len(again)
        )
    odd = [new(1, 7, unit=replace(TWO, repeat=2), rater="\udfff", question="é|"), new(1, 7, unit=TWO)]
    assert await store.add_grades(run, odd) == GradesAdded(2, 0, 0)
    assert await store.add_grades(run, odd) == GradesAdded(0, 0, 2)
