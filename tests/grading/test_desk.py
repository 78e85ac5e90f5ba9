"""A grading at work: what raters see, what is kept, and when the gate opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from grading_examples import Rater, desk_of, graded_run, with_small_task

from harness.errors import GradeRefusedError, UnknownNameError

task = pytest.fixture(autouse=True)(with_small_task)


async def test_two_raters_calibrate_then_grade_everything(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice, bob = Rater(desk, "alice"), Rater(desk, "bob")
        first = desk.order(alice.seat)
        assert len(first) == 4 and set(first) == set(desk.order(bob.seat))
        right = {number: place % 2 for place, number in enumerate(first)}
        await alice.say_all(first, right)
        assert (await desk.overview(alice.seat)).phase == "waiting"
        assert (await desk.overview(bob.seat)).phase == "calibration"
        await bob.say_all(first, right)
        assert (await desk.overview(alice.seat)).phase == "full"
        assert await alice.all_open() == await bob.all_open() == 8
        assert (await desk.overview(alice.seat)).phase == "done"


async def test_a_position_that_is_not_open_and_a_grade_that_is_none_are_refused(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        seat = Rater(desk, "alice").seat
        with pytest.raises(UnknownNameError, match="there is no sheet 5 here; there are 4"):
            await desk.sheet(seat, 5)
        for question, value in [("right", 2), ("right", True), ("wrong", 1), ("right", None)]:
            with pytest.raises(GradeRefusedError):
                await desk.grade(seat, 1, question, value)
        assert await built.store.grades(built.run.id) == ()
