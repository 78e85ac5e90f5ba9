"""Raters who come and leave at the wrong moment: no gate is passed by it, no grading is taken for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from grading.test_raters_change import Quick, calibrated, joins, right
from grading_examples import Rater, desk_of, graded_run, with_small_task

from harness.cli.grade_told import print_status
from harness.errors import ConfigError, GradeRefusedError, HarnessError, StoreError
from harness.grading.desk import Desk
from harness.grading.ending import end_grading
from harness.grading.status import status_of

task = pytest.fixture(autouse=True)(with_small_task)


async def test_who_left_during_a_round_and_comes_back_after_it_calibrates(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        first = desk.state.rounds[0].items
        carol = await joins(desk)
        await desk.retire("carol")
        for name in ("alice", "bob"):
            await Quick(desk, name).say_all(first, right(first))
        assert desk.state.opened is not None
        await desk.add_rater("carol")
        assert set(desk.order(carol.seat)) == set(first), "no other sheet is open before a kappa"
        await carol.say_all(first, right(first))
        assert len(desk.order(carol.seat)) == 12
        before = list(desk.order(carol.seat))
        await desk.retire("carol")
        await desk.add_rater("carol")
        assert list(desk.order(carol.seat)) == before, "a round that was passed is not asked for again"


async def test_another_round_of_all_takes_in_nobody_who_left(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        first = desk.state.rounds[0].items
        await Quick(desk, "alice").say_all(first, right(first))
        await Quick(desk, "bob").say_all(first, dict.fromkeys(first, 1))
        carol = await joins(desk)
        await desk.retire("carol")
        await desk.calibrate_again()
        second = desk.state.rounds[1].items
        for name in ("alice", "bob"):
            await Quick(desk, name).say_all(second, right(second))
        assert desk.state.opened is not None
        await desk.add_rater("carol")
        assert set(desk.order(carol.seat)) == {*first, *second}
        assert [one.name for one in desk.roster.pending] == ["carol"]


async def test_who_joins_while_a_kappa_is_computed_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        elsewhere, change = await Desk.open(built.store, desk.grading), desk.change
        first = desk.state.rounds[0].items
        await Quick(desk, "alice").say_all(first, right(first))

        async def nothing() -> None:
            pass

        async def late(new: Any) -> Any:
            monkeypatch.setattr(desk, "change", change)
            await elsewhere.add_rater("carol")
            return await change(new)

        monkeypatch.setattr(elsewhere, "_advance", nothing)
        monkeypatch.setattr(desk, "change", late)
        await Quick(desk, "bob").say_all(first, right(first))
        assert desk.state.opened is None and desk.state.rounds[0].ended_at_us is None
        await Quick(desk, "carol").say_all(first, right(first))
        assert desk.state.opened is not None and len(desk.state.rounds[0].pairs) == 3


async def test_those_who_came_later_agree_with_each_other_where_all_others_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with graded_run(tmp_path) as built:
        desk, _, _ = await calibrated(built)
        first, carol = desk.state.rounds[0].items, await joins(desk)
        await desk.retire("alice")
        await desk.retire("bob")
        await carol.say_all(first, right(first))
        print_status(await status_of(desk))
        assert "calibration wants two raters, and carol is the only one left" in capsys.readouterr().out
        dave = await joins(desk, "dave")
        await dave.say_all(first, right(first))
        assert [one.rounds[0].pairs[0].raters for one in desk.state.joined] == [
            ("dave", "carol"), ("carol", "dave"),
        ]  # fmt: skip
        assert all(one.opened is not None and one.opened.by == "agreement" for one in desk.state.joined)


async def test_nothing_is_asked_about_who_left_below_the_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await calibrated(built)
        first, carol = desk.state.rounds[0].items, await joins(desk)
        await carol.say_all(first, {number: 1 - value for number, value in right(first).items()})
        await desk.retire("carol")
        await alice.all_open()
        await bob.all_open({desk.order(bob.seat)[-1]: 1})
        print_status(await status_of(desk))
        told = capsys.readouterr().out
        assert "you decide" not in told and "everything is graded; the consensus has 5 questions" in told


async def test_a_place_is_taken_once_and_a_name_is_one_name(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, _, _ = await calibrated(built)
        await joins(desk, in_place_of="bob")
        with pytest.raises(ConfigError, match="'carol' has taken the place of 'bob' already"):
            await joins(desk, "dave", in_place_of="bob")
        with pytest.raises(ConfigError, match="'dave,erin' is several names"):
            await desk.add_rater("dave,erin")
        await joins(desk, "dave", in_place_of="carol")
        assert desk.roster.active == ("alice", "dave")
        with pytest.raises(ConfigError, match=r"'a\\nb' is no name"):
            await desk_of(built, name="a\nb")


async def test_a_grading_made_anew_is_not_served_as_the_one_that_was_deleted(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        old = await desk_of(built, calibration=0, models=("alpha",))
        await end_grading(await Desk.open(built.store, old.grading), withdraw=False)
        new = await desk_of(built, calibration=0, models=("beta",))
        assert new.grading.id == old.grading.id
        with pytest.raises(StoreError, match="was deleted"):
            await old.reload()
        assert old.seat_of(Rater(new, "alice").seat.token) is None


async def test_a_withdrawn_grading_takes_no_change_and_ends_once(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, _, _ = await calibrated(built)
        await end_grading(await Desk.open(built.store, desk.grading), withdraw=True)
        for deed in (
            desk.add_rater("carol"), desk.retire("bob"), end_grading(desk, withdraw=True), status_of(desk),
        ):  # fmt: skip
            with pytest.raises(HarnessError, match=r"withdrawn|is over"):
                await deed
        assert desk.seats == ()
        assert [one.name for one in await built.store.gradings()] == ["test-run-small (withdrawn)"]


async def test_a_grade_that_meets_a_withdrawal_is_kept_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, _ = await calibrated(built)
        elsewhere, keep, seat = await Desk.open(built.store, desk.grading), desk._keep, alice.seat

        async def kept(*what: Any) -> bool:
            done = await keep(*what)
            await end_grading(elsewhere, withdraw=True)
            return done

        monkeypatch.setattr(desk, "_keep", kept)
        with pytest.raises(GradeRefusedError, match="this grading is over"):
            await desk.grade(seat, 5, "right", 1)
        assert len(await built.store.grade_history(built.run.id)) == 17
