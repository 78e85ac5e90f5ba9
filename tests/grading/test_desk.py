"""A grading at work: what each seat sees, what is kept, and what follows from others' work on one store."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from grading_examples import (
    Rater,
    answered,
    ask_again,
    desk_of,
    graded_run,
    wanted,
    with_small_task,
)
from postgres_server import PostgresServer
from stored_run_builder import Built, Plan, answer, build, built_run, case

from harness.benchmarks.sheets import COMMENT
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.errors import GradeRefusedError, UnknownNameError
from harness.grading.desk import Desk
from harness.grading.opening import make_grading
from harness.grading.seats import Seat
from harness.moments import now_us
from harness.outcomes import UnitOutcome

task = pytest.fixture(autouse=True)(with_small_task)


async def open_desk(built: Built, **changes: object) -> tuple[Desk, Rater, Rater]:
    """Return a desk at which everything is open."""
    desk = await desk_of(built, calibration=0, **changes)
    return desk, Rater(desk, "alice"), Rater(desk, "bob")


def seat(desk: Desk, role: str) -> Seat:
    return next(one for one in desk.seats if one.role == role)


def place_of(desk: Desk, whose: Seat, number: int) -> int:
    return list(desk.order(whose)).index(number) + 1


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
        for one in (alice.seat, seat(desk, "lead"), seat(desk, "consensus")):
            assert (await desk.overview(one)).phase == "done"
        assert len(await built.store.grades(built.run.id)) == 2 * 2 * 12
        assert desk.order(alice.seat) != desk.order(bob.seat)


async def test_a_position_that_is_not_open_and_a_grade_that_is_none_are_refused(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice = Rater(desk, "alice").seat
        for position in (0, -1, 5):
            with pytest.raises(UnknownNameError, match=f"there is no sheet {position} here; there are 4"):
                await desk.sheet(alice, position)
        wrong = [
            ("right", 2), ("right", True), ("right", "1"), ("wrong", 1), ("right", None), ("right", [1]),
            (COMMENT, 1), (COMMENT, "x" * 10_001),
        ]  # fmt: skip
        for question, value in wrong:
            with pytest.raises(GradeRefusedError):
                await desk.grade(alice, 1, question, value)
        assert await built.store.grades(built.run.id) == ()
        with pytest.raises(UnknownNameError):
            await desk.sheet(seat(desk, "lead"), 1)


async def test_a_rater_sees_nothing_of_others_and_nothing_of_whose_answer_it_is(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await open_desk(built)
        await bob.all_open({number: 1 for number in range(12)})
        for position in range(1, 13):
            shown = await desk.sheet(alice.seat, position)
            assert (shown.grades, shown.comment, shown.disputes, shown.comments) == ({}, "", (), {})
            assert shown.sheet is not None
            told = repr(dataclasses.replace(shown, unit=UnitId("", "", ""), seen=""))
            assert "both" not in told and "c0" not in told and "test-run" not in told
        found = await desk.overview(alice.seat)
        assert (found.raters, found.rounds, found.disputes, found.settled) == ((), (), 0, 0)
        assert found.own is not None and (found.own.done, found.own.total) == (0, 12)


async def test_grades_are_kept_at_once_and_changed_with_their_history(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, _ = await open_desk(built)
        shown = await desk.grade(alice.seat, 1, "right", 1)
        assert shown.grades == {"right": 1}
        assert await desk.next_open(alice.seat) == 1, "one question is left"
        assert (await desk.sheet_states(alice.seat))[:2] == ["partly", "open"]
        await desk.grade(alice.seat, 1, COMMENT, "a \u2028 b\n\u4e2d")
        await desk.grade(alice.seat, 1, "reads", 4)
        await desk.grade(alice.seat, 1, "right", 0)
        again = await Desk.open(built.store, desk._grading)
        shown = await again.sheet(alice.seat, 1)
        assert (shown.grades, shown.comment) == ({"right": 0, "reads": 4}, "a \u2028 b\n\u4e2d")
        assert await again.next_open(alice.seat) == 2 and await again.next_open(alice.seat, 11) == 12
        assert await again.next_open(alice.seat, 12) == 2 and await again.next_open(alice.seat, 99) == 2
        history = await built.store.grade_history(built.run.id)
        assert [one.value for one in history if one.question == "right"] == [1, 0]
        assert {one.rater for one in history} == {"alice"}
        await desk.grade(alice.seat, 1, "right", 0)
        assert len(await built.store.grade_history(built.run.id)) == len(history)


async def test_consensus_is_found_on_what_raters_differ_about_and_closes_the_answer(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await open_desk(built)
        consensus = seat(desk, "consensus")
        await alice.all_open({2: 1, 5: 1})
        assert await desk.disagreements() == (), "bob has said nothing yet"
        await bob.all_open({2: 1})
        await bob.say(place_of(desk, bob.seat, 5), comment="unsure")
        [one] = await desk.disagreements()
        assert one.position == place_of(desk, consensus, 5) and not one.is_settled
        [dispute] = one.disputes
        assert (dispute.question, dispute.grades) == ("right", {"alice": 1, "bob": 0})
        assert await desk.next_open(consensus) == one.position
        shown = await desk.sheet(consensus, one.position)
        assert shown.disputes == one.disputes and shown.comments == {"bob": "unsure"} and shown.grades == {}
        with pytest.raises(GradeRefusedError, match="do not differ about 'reads'"):
            await desk.grade(consensus, one.position, "reads", 1)
        with pytest.raises(GradeRefusedError, match="do not differ about this answer"):
            await desk.grade(consensus, place_of(desk, consensus, 2), "right", 1)
        await desk.grade(consensus, one.position, "right", 1)
        assert await desk.next_open(consensus) is None
        [one] = await desk.disagreements()
        assert one.is_settled and one.disputes[0].consensus == 1
        for rater in (alice, bob):
            shown = await desk.sheet(rater.seat, place_of(desk, rater.seat, 5))
            assert shown.closed is not None and shown.grades["right"] == (rater.name == "alice")
            for question, value in [("right", 1), ("reads", 5), (COMMENT, "no")]:
                with pytest.raises(GradeRefusedError, match="a consensus was found"):
                    await rater.say_of(5, **{question: value})
        await desk.grade(consensus, one.position, "right", 0)
        overview = await desk.overview(seat(desk, "lead"))
        assert (overview.phase, overview.disputes, overview.settled) == ("done", 1, 1)


async def test_a_consensus_locks_nobody_out_of_what_they_have_not_said_yet(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await open_desk(built)
        consensus = seat(desk, "consensus")
        await alice.all_open({5: 1})
        await bob.say_of(5, right=0)
        await desk.grade(consensus, place_of(desk, consensus, 5), "right", 1)
        shown = await desk.sheet(bob.seat, place_of(desk, bob.seat, 5))
        assert shown.closed is None and shown.grades == {"right": 0}
        with pytest.raises(GradeRefusedError, match="a consensus was found"):
            await bob.say_of(5, right=1)
        await bob.say_of(5, reads=3)
        assert await bob.all_open() == 11
        assert (await desk.overview(bob.seat)).phase == "done"
        assert (await desk.sheet(bob.seat, shown.position)).closed is not None
        # What was settled elsewhere does not keep another rater from grading the same answer.
        third = await desk_of(built, raters=("alice", "bob", "carol"), name="with carol", calibration=0)
        carol = Rater(third, "carol")
        assert await carol.all_open() == 12 and (await third.overview(carol.seat)).phase == "done"


async def check_a_consensus_meanwhile(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A consensus that another server saves between a rater's click and its commit closes the answer."""
    async with await Store.open(url) as store, await Store.open(url, create=False) as other:
        built = await build(store, Plan([case("c000")], models=("alpha",)))
        await answered(built, 1, ("alpha",))
        made = await make_grading(store, built.run, wanted(calibration=0))
        desk, elsewhere = await Desk.open(store, made), await Desk.open(other, made)
        alice, bob, consensus = Rater(desk, "alice"), Rater(desk, "bob"), seat(desk, "consensus")
        await alice.all_open({0: 1})
        await bob.all_open()
        plain = store._writer.submit

        async def late(*args: Any, **options: Any) -> Any:
            monkeypatch.setattr(store._writer, "submit", plain)
            await elsewhere.grade(consensus, 1, "right", 1)
            return await plain(*args, **options)

        monkeypatch.setattr(store._writer, "submit", late)
        with pytest.raises(GradeRefusedError, match="a consensus was found"):
            await bob.say_of(0, right=1)
        kept = [(one.rater, one.value) for one in await store.grades(built.run.id) if one.question == "right"]
        assert kept == [("alice", 1), ("bob", 0), ("consensus", 1)]


async def test_a_consensus_saved_meanwhile_closes_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_a_consensus_meanwhile(str(tmp_path / "store.sqlite3"), monkeypatch)


async def test_a_consensus_saved_meanwhile_on_postgres_closes_the_answer(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_a_consensus_meanwhile(postgres.new_store(), monkeypatch)


async def test_a_grade_of_another_answer_meanwhile_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with graded_run(tmp_path) as built:
        _, alice, bob = await open_desk(built)
        writes: list[object] = []
        plain = built.store._writer.submit

        async def noted(*args: Any, **options: Any) -> Any:
            writes.append(args)
            if len(writes) == 1:
                await bob.say_of(4, right=1)
            return await plain(*args, **options)

        monkeypatch.setattr(built.store._writer, "submit", noted)
        await alice.say_of(5, right=1)
        assert len(writes) == 2 and len(await built.store.grades(built.run.id)) == 2


async def test_of_an_averaged_question_only_far_apart_points_are_shown_and_none_is_needed(
    tmp_path: Path,
) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk, alice, bob = await open_desk(built)
        await alice.all_open(reads=2)
        await bob.all_open(reads=3)
        assert await desk.disagreements() == ()
        await bob.say_of(1, reads=4)
        [one] = await desk.disagreements()
        assert one.is_settled and not one.disputes[0].needed
        assert await desk.next_open(seat(desk, "consensus")) is None
        assert (await desk.overview(seat(desk, "lead"))).phase == "done"


async def test_raters_differ_once_all_of_them_have_answered(tmp_path: Path) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built, calibration=0, raters=("alice", "bob", "carol"))
        for name, value in (("alice", 0), ("bob", 1)):
            await Rater(desk, name).say_of(1, right=value)
        assert await desk.disagreements() == ()
        await Rater(desk, "carol").say_of(1, right=1)
        [one] = await desk.disagreements()
        assert one.disputes[0].grades == {"alice": 0, "bob": 1, "carol": 1}


async def test_there_is_no_consensus_before_full_grading(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice, bob = Rater(desk, "alice"), Rater(desk, "bob")
        await alice.all_open({number: 1 for number in range(12)})
        await bob.all_open()
        assert await desk.disagreements() == ()
        with pytest.raises(GradeRefusedError):
            await desk.grade(seat(desk, "consensus"), 1, "right", 1)
        await desk.open_by_hand("so")
        assert len(await desk.disagreements()) == 4


async def test_an_answer_that_was_asked_again_opens_its_sheet_and_takes_the_same_grade_anew(  # F12
    tmp_path: Path,
) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await open_desk(built)
        for rater in (alice, bob):
            await rater.all_open()
        await bob.say_of(3, right=1)
        consensus = seat(desk, "consensus")
        await desk.grade(consensus, place_of(desk, consensus, 3), "right", 1)
        before = await desk.sheet(alice.seat, place_of(desk, alice.seat, 3))
        # By a clock that is an hour ahead of ours: a grade given now is about the new answer all the same.
        at_us = now_us() + 3_600_000_000
        await ask_again(built, desk.plan.items[3].unit, answer(reasoning="otherwise"), at_us)
        assert await desk.next_open(alice.seat) == place_of(desk, alice.seat, 3)
        shown = await desk.sheet(alice.seat, place_of(desk, alice.seat, 3))
        assert shown.grades == {} and shown.closed is None and shown.seen != before.seen
        assert shown.sheet is not None and shown.sheet.parts[-1].text == "otherwise"
        assert await desk.disagreements() == ()
        with pytest.raises(GradeRefusedError, match="another answer on this sheet"):
            await desk.grade(alice.seat, shown.position, "right", 0, seen=before.seen)
        await desk.grade(alice.seat, shown.position, "right", 0, seen=shown.seen)
        await desk.grade(alice.seat, shown.position, "reads", 3)
        await desk.grade(alice.seat, shown.position, "right", 1)
        shown = await desk.grade(alice.seat, shown.position, "right", 0)
        assert shown.grades == {"right": 0, "reads": 3}
        assert await desk.next_open(alice.seat) is None
        survey = await desk.survey()
        assert survey.other_answers == 1


async def test_an_answer_asked_again_and_the_same_keeps_its_grades(tmp_path: Path) -> None:  # F12
    async with graded_run(tmp_path) as built:
        desk, alice, _ = await open_desk(built)
        await alice.all_open()
        one = desk.plan.items[3].unit
        number = int(one.case_id[1:])
        text = answer(reasoning=f"of {one.model} on {number}")
        await ask_again(built, one, text, now_us() + 3_600_000_000)
        assert await desk.next_open(alice.seat) is None and (await desk.survey()).other_answers == 0


async def asked(built: Built, one: UnitId, name: str, *texts: str) -> None:
    """Ask a unit, once more if it was asked before: the last of these attempts is usable."""
    state = await built.store.linked_unit(built.run.id, one)
    after = 0
    if state is not None:
        await built.store.mark_again(built.run.id, [one])
        after = max(exchange.id for _, exchange in state.links)
    ids = [
        await built.exchange(one, text, key=f"{name}-{place}", twin=f"{name}-{place}", started_at_us=now_us())
        for place, text in enumerate(texts)
    ]
    links = [(id, "answer", attempt) for attempt, id in enumerate(ids, start=1)]
    await built.finish(one, UnitOutcome.VALID, links, used=ids, again_after=after)


@pytest.mark.parametrize(
    ("again", "stays"),
    [
        (("no JSON", "first"), True),
        (("no JSON", "second"), False),
        (("second",), False),
        (("no JSON either", "first"), False),
    ],
)
async def test_an_answer_of_several_attempts_keeps_its_grades_if_all_are_the_same(  # F12
    tmp_path: Path, again: tuple[str, ...], stays: bool
) -> None:
    words = {name: answer(reasoning=name) for name in ("first", "second")}
    one = UnitId("alpha", "both", "c000")
    async with built_run(tmp_path, Plan([case("c000")], models=("alpha",))) as built:
        await asked(built, one, "once", "no JSON", words["first"])
        desk = await desk_of(built, raters=("alice",))
        alice = Rater(desk, "alice")
        await alice.all_open({0: 1})
        await asked(built, one, "again", *(words.get(text, text) for text in again))
        assert (await desk.next_open(alice.seat) is None) is stays
        if stays:
            await asked(built, one, "third", words["first"])
            assert await desk.next_open(alice.seat) == 1, "other asks than before are not held to be alike"


async def test_an_answer_that_is_being_asked_again_holds_the_gate_and_nobody_up(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice, bob = Rater(desk, "alice"), Rater(desk, "bob")
        assert desk.state.round is not None
        first, *rest = desk.state.round.items
        await ask_again(built, desk.plan.items[first].unit, None, 0)
        assert await desk.next_open(alice.seat) is not None
        shown = await desk.sheet(alice.seat, place_of(desk, alice.seat, first))
        assert shown.sheet is None and shown.told is not None
        with pytest.raises(GradeRefusedError, match="nothing to grade"):
            await desk.grade(alice.seat, shown.position, "right", 1)
        assert "gone" in await desk.sheet_states(alice.seat)
        for rater in (alice, bob):
            await rater.say_all(rest, dict(zip(rest, (0, 1, 1), strict=True)))
            assert (await desk.overview(rater.seat)).phase == "waiting"
        lead = seat(desk, "lead")
        overview = await desk.overview(lead)
        assert (overview.phase, overview.gone, overview.raters[0].total) == ("calibration", 1, 3)
        # Three answers are not the four by which the gate was to be judged.
        assert desk.state.opened is None and desk.state.rounds[0].pairs == ()
        await ask_again(built, desk.plan.items[first].unit, answer(reasoning="otherwise"), now_us())
        for rater in (alice, bob):
            await rater.say_of(first, right=0, reads=3)
        assert desk.state.opened is not None and desk.state.rounds[0].pairs[0].pooled.n == 4


async def test_an_answer_that_is_gone_for_good_does_not_hold_the_gate(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice, bob = Rater(desk, "alice"), Rater(desk, "bob")
        assert desk.state.round is not None
        first, *rest = desk.state.round.items
        gone = desk.plan.items[first].unit
        await built.store.mark_again(built.run.id, [gone])
        id = await built.exchange(gone, "no JSON", key="gone", twin="gone", started_at_us=now_us())
        await built.finish(
            gone, UnitOutcome.UNPARSABLE, [(id, "answer", 1)], used=[id], again_after=id - 1
        )
        for rater in (alice, bob):
            await rater.say_all(rest, dict(zip(rest, (0, 1, 1), strict=True)))
        assert desk.state.opened is not None and desk.state.rounds[0].pairs[0].pooled.n == 3


async def check_two_servers(url: str) -> None:
    """Two raters at two servers at once, one of them in two tabs: nothing is lost, one gate opens once."""
    async with await Store.open(url) as store, await Store.open(url, create=False) as other:
        built = await build(store, Plan([case(f"c{n:03}") for n in range(6)], models=("alpha", "beta")))
        await answered(built, 6, ("alpha", "beta"))
        made = await make_grading(store, built.run, wanted())
        one, two = await Desk.open(store, made), await Desk.open(other, made)
        right = {number: place % 2 for place, number in enumerate(one.order(Rater(one, "alice").seat))}
        half = list(right)
        await asyncio.gather(
            Rater(one, "alice").say_all(half[:2], right),
            Rater(two, "alice").say_all(half[2:], right),
            Rater(one, "bob").say_all(half[::2], right),
            Rater(two, "bob").say_all(half[1::2], right),
            *(desk.remember_port(port) for desk, port in [(one, 1), (two, 2), (one, 3), (two, 4)]),
        )
        await one.refresh()
        await two.refresh()
        assert one.state == two.state and one.state.opened is not None
        assert len(one.state.rounds) == 1 and one.state.rounds[0].pairs[0].pooled.kappa == 1.0
        assert len(await store.grade_history(built.run.id)) == 2 * 2 * 4


async def test_two_servers_on_one_file(tmp_path: Path) -> None:
    await check_two_servers(str(tmp_path / "store.sqlite3"))


@pytest.mark.slow
async def test_two_servers_on_postgres(postgres: PostgresServer) -> None:
    await check_two_servers(postgres.new_store())


async def test_one_rater_in_two_tabs_has_the_grade_that_was_given_last(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, _ = await open_desk(built)
        first = await desk.sheet(alice.seat, 1)
        await asyncio.gather(
            *(desk.grade(alice.seat, 1, "right", value, seen=first.seen) for value in (0, 1) * 5)
        )
        shown = await desk.sheet(alice.seat, 1)
        history = await built.store.grade_history(built.run.id)
        assert shown.grades["right"] == history[-1].value == (await built.store.grades(built.run.id))[0].value


async def test_a_store_that_can_only_be_read_tells_how_a_grading_stands(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice, bob = Rater(desk, "alice"), Rater(desk, "bob")
        numbers = desk.order(alice.seat)
        for rater in (alice, bob):
            await rater.say_all(numbers[:3], dict.fromkeys(numbers, 1))
        async with await Store.open(str(tmp_path / "store.sqlite3"), create=False, only_read=True) as reader:
            found = await Desk.open(reader, desk._grading)
            overview = await found.overview(seat(found, "lead"))
            assert [one.done for one in overview.raters] == [3, 3] and overview.phase == "calibration"
