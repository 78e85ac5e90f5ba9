"""What counts of people's grades: nothing of a grading's answer until all its raters gave theirs, and how far
they are stands beside every number.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from grading_examples import desk_of, graded_run, unit, with_small_task
from stored_run_builder import Built

from harness.cache.grades import GradeValue, NewGrade
from harness.graded_words import graded_told, graded_warnings, people_told, row_told, rows_told
from harness.grading.ending import end_grading
from harness.offline.chosen_grades import chosen_grades
from harness.offline.grading_progress import grading_progress
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.score import score_run
from harness.offline.stored_run import load_run

small = pytest.fixture(with_small_task)


async def said(built: Built, number: int, model: str = "alpha", **raters: tuple[GradeValue, ...]) -> None:
    """Keep what raters say of an answer: whether it is right, how it reads, a comment."""
    names = ("right", "reads", "comment")
    await built.store.add_grades(
        built.run.id,
        [
            NewGrade(unit(number, model), rater, name, value)
            for rater, values in raters.items()
            for name, value in zip(names, values, strict=False)
        ],
    )


async def graded(built: Built) -> dict[str, Any]:
    """Return the scores as JSON."""
    score = await score_run(built.store, built.run)
    found: dict[str, Any] = json.loads(json.dumps(score.to_json()))
    return found


async def progress(built: Built, raters: Collection[str] | None = None) -> dict[str, Any]:
    """Return how far people are with the one task, as the scores have it."""
    stored = await load_run(built.store, built.run)
    found = await grading_progress(built.store, stored, raters)
    assert found is not None
    async with aclosing(replay_units(built.store, stored, Replayer(stored))) as units:
        async for one in units:
            found.note(one)
    (task,) = json.loads(json.dumps(found.to_json()))
    assert isinstance(task, dict)
    return task


async def standing(built: Built, grades: str | None = None) -> dict[int, dict[str, Any]]:
    """Return number of the answer of alpha -> question -> what counts, or why nothing does."""
    chosen = await chosen_grades(built.store, await load_run(built.store, built.run), grades)
    assert chosen is not None
    found: dict[int, dict[str, Any]] = {}
    for number in range(6):
        one = unit(number)
        whole = {**chosen.values.get(one, {}), **chosen.unsettled.get(one, {})}
        if whole:
            found[number] = whole
    return found


async def half_graded(built: Built) -> None:
    """Alice has graded all of alpha's, bob some of it."""
    await said(built, 0, alice=(1, 4), bob=(1, 2))  # both, alike and averaged
    await said(built, 1, alice=(1, 5, "well put"))  # waits for bob
    await said(built, 2, alice=(1, 3), bob=(0, 3))  # in dispute
    await said(built, 3, alice=(0, 5), bob=(1, 1), Consensus=(1,))  # settled, written in another way
    await said(built, 4, alice=(0,), bob=(0, 2))  # alice left a question open
    await said(built, 5, alice=(0, 1), bob=(0, 1))
    await said(built, 5, alice=(1,), bob=(1,))  # both changed their minds: the last counts


@pytest.mark.usefixtures("small")
async def test_a_gradings_grades_count_once_all_its_raters_gave_theirs(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        await desk_of(built, models=("alpha",), calibration=0)
        await said(built, 0, alice=(1, 4))
        assert await standing(built) == {0: {"right": "waiting", "reads": "waiting"}}, "bob said nothing yet"
        await half_graded(built)
        assert await standing(built) == {
            0: {"right": 1, "reads": 3},
            1: {"right": "waiting", "reads": "waiting"},
            2: {"right": "disputed", "reads": 3},
            3: {"right": 1, "reads": 3},
            4: {"right": 0, "reads": "waiting"},
            5: {"right": 1, "reads": 1},
        }
        # Whoever takes one rater's grades alone waits for nobody.
        assert (await standing(built, "imported:alice"))[1] == {"right": 1, "reads": 5}
        # Somebody beside the grading counts, and alone while its raters are not done.
        await said(built, 1, cyd=(0, 2))
        assert (await standing(built))[1] == {"right": 0, "reads": 2}
        await said(built, 1, bob=(1, 5))
        assert (await standing(built))[1] == {"right": "disputed", "reads": 4}


@pytest.mark.usefixtures("small")
async def test_who_left_is_not_waited_for_and_who_came_is(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built, models=("alpha",), calibration=0)
        await half_graded(built)
        await desk.add_rater("carol")
        found = await standing(built)
        assert [found[number]["right"] for number in (0, 1, 3, 5)] == ["waiting", "waiting", 1, "waiting"]
        assert (await progress(built))["by_raters"] == {"2 of 3": 4, "1 of 3": 2}
        await desk.retire("carol")
        assert (await standing(built))[1] == {"right": "waiting", "reads": "waiting"}
        # What bob left open has one grade fewer; what he said stays, and is in dispute where alice differs.
        await desk.retire("bob")
        found = await standing(built)
        assert found[1] == {"right": 1, "reads": 5} and found[2] == {"right": "disputed", "reads": 3}
        assert found[4] == {"right": 0, "reads": "waiting"}, "alice is to say how it reads"
        task = await progress(built)
        assert task["by_raters"] == {"2 of 2": 4, "1 of 1": 1, "1 of 2": 1}
        (grading,) = task["gradings"]
        assert (grading["raters"], grading["retired"]) == (["alice"], ["bob", "carol"])
        told = " ".join(graded_told(task))
        assert f"`harness grade {grading['name']}` goes on with this grading; its consensus link" in told
        assert "below the threshold" not in told
        by = {"by": "imported", "raters": ["alice", "bob", "consensus"]}
        assert people_told(by, [task]) == "people's (alice, bob, consensus)"
        assert people_told(by | {"raters": ["alice", "dan"]}, [task]) == "people's (alice); imported, of dan"
        assert people_told(by, [task | {"gradings": []}]) == "imported, of alice, bob, consensus"
        # Withdrawn, it asks for nobody: grades are those of any rater of the run.
        await end_grading(desk, withdraw=True)
        assert (await standing(built))[4] == {"right": 0, "reads": 2}
        assert (await progress(built))["gradings"] == []


@pytest.mark.usefixtures("small")
async def test_grades_that_no_grading_speaks_of_count_as_they_are(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        await half_graded(built)
        found = await standing(built)
        assert found[1] == {"right": 1, "reads": 5} and found[4] == {"right": 0, "reads": 2}
        task = await progress(built)
        assert (task["gradings"], task["usable"], task["to_grade"], task["waiting"]) == ([], 12, 6, 0)
        assert task["by_raters"] == {"2 of 2": 4, "1 of 2": 2}
        told = " ".join(graded_told(task))
        assert "imported grades of 6 of 12 usable answers; how these were chosen is not known here" in told
        assert list(graded_warnings([task])) == [
            "GRADES NOT SETTLED (small): 1 in dispute without a consensus",
            "A SAMPLE (small): 6 of 12 usable answers are graded by people",
        ]
        assert "2 answers count by what some raters say: no grading here says that the others" in told


@pytest.mark.usefixtures("small")
async def test_how_far_people_are_stands_beside_the_numbers(tmp_path: Path) -> None:  # F12
    async with graded_run(tmp_path) as built:
        await desk_of(built, models=("alpha",), calibration=0)
        assert (await progress(built))["by_raters"] == {"0 of 2": 6}
        await half_graded(built)
        score = await graded(built)
        (task,) = score["graded"]
        (row, other) = task.pop("rows")
        assert task | {"counts": ""} == {
            "task": "small", "raters": ["alice", "bob"], "counts": "",
            "gradings": [{
                "name": task["gradings"][0]["name"], "raters": ["alice", "bob"], "retired": [], "answers": 6,
                "drawn_from": None, "seed": 20_050, "models": ["alpha"], "conditions": ["both"],
            }],
            "usable": 12, "to_grade": 6, "by_raters": {"2 of 2": 4, "1 of 2": 2}, "waiting": 2,
            "disputed": 1, "disputed_grades": 1,
            "made": {"consensus": 1, "agreed": 5, "mean": 2},
        }  # fmt: skip
        assert row | {"usable": 12} == {"model": "alpha", "condition": "both"} | {
            key: value for key, value in task.items() if key not in ("task", "raters", "counts", "gradings")
        }
        assert (other["model"], other["usable"], other["to_grade"]) == ("beta", 6, 0)
        assert list(graded_warnings([task])) == [
            "GRADING NOT FINISHED (small): 2 of 6 answers not graded by all raters, 1 in dispute without a "
            "consensus",
            "A SAMPLE (small): 6 of 12 usable answers are graded by people",
        ]
        whole = task | {"rows": [row, other]}
        assert list(rows_told(whole)) == [
            "alpha (both): 4 of 6 by all raters, 2 wait for another rater, 1 in dispute"
        ]
        assert list(row_told(whole, "alpha", "both")) == [
            "4 of 6 usable answers graded by all raters (small), 1 of them in dispute"
        ]
        assert score["grading"]["waiting"] == 3 and score["grading"]["disputed"] == 1
        # Of one rater's grades, only that one is asked about.
        alone = await progress(built, {"alice"})
        assert alone["by_raters"] == {"1 of 1": 5, "0 of 1": 1} and alone["raters"] == ["alice"]


@pytest.mark.usefixtures("small")
async def test_a_new_grading_outdates_stored_scores(tmp_path: Path) -> None:
    from harness.offline.score_basis import evidence_of

    async with graded_run(tmp_path) as built:
        await half_graded(built)
        stored = await load_run(built.store, built.run)
        before = await evidence_of(built.store, stored)
        await desk_of(built, calibration=0)
        assert await evidence_of(built.store, stored) != before, "alice's grades alone count no longer"


@pytest.mark.usefixtures("small")
async def test_a_grading_that_was_opened_by_hand_says_why_beside_its_numbers(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built, models=("alpha",))
        await desk.open_by_hand("they talked it over")
        task = await progress(built)
        assert task["gradings"][0]["opened_by_hand"] == [{"rater": None, "reason": "they talked it over"}]
        told = " ".join(graded_told(task))
        assert "full grading was opened below the threshold: they talked it over" in told
