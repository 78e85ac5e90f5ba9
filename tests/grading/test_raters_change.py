"""Raters who come and leave while a grading goes on: what they grade, what waits for them, what stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from grading_examples import Rater, desk_of, graded_run, with_small_task
from stored_run_builder import Built

from harness.benchmarks.steps import CONSENSUS
from harness.cache.grades import NewGrade
from harness.errors import ConfigError, GradeRefusedError, StoreError, UnknownNameError
from harness.grading.desk import Desk
from harness.grading.ending import end_grading
from harness.grading.state import read_state
from harness.grading.status import status_of

task = pytest.fixture(autouse=True)(with_small_task)


class Quick(Rater):
    """A rater whose grades of many sheets are kept in one commit, as those of a file are."""

    async def say_all(self, numbers: Iterable[int], right: Mapping[int, int], reads: int = 3) -> None:
        said = [
            NewGrade(self.desk.plan.items[number].unit, self.name, question, value)
            for number in numbers
            for question, value in (("right", right.get(number, 0)), ("reads", reads))
        ]
        await self.desk.store.add_grades(self.desk.stored.run.id, said)
        await self.desk.refresh()

    async def all_open(self, right: Mapping[int, int] | None = None, reads: int = 3) -> int:
        states = await self.desk.sheet_states(self.seat)
        order = self.desk.order(self.seat)
        todo = [number for number, state in zip(order, states, strict=True) if state != "done"]
        await self.say_all(todo, right or {}, reads)
        return len(todo)


def right(numbers: Sequence[int]) -> dict[int, int]:
    """Return an answer to each of these items, both by turns, so that there is a kappa."""
    return {number: place % 2 for place, number in enumerate(numbers)}


async def calibrated(built: Built, **changes: Any) -> tuple[Desk, Quick, Quick]:
    """Return a desk at which alice and bob agreed on four sheets, so that the other eight are open."""
    desk = await desk_of(built, **changes)
    alice, bob = Quick(desk, "alice"), Quick(desk, "bob")
    for one in (alice, bob):
        await one.say_all(desk.state.rounds[0].items, right(desk.state.rounds[0].items))
    assert desk.state.opened is not None
    return desk, alice, bob


async def joins(desk: Desk, name: str = "carol", **how: Any) -> Quick:
    await desk.add_rater(name, **how)
    return Quick(desk, name)


async def test_who_comes_later_calibrates_on_what_the_others_said_and_then_grades_all(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await calibrated(built)
        orders = [list(desk.order(one.seat)) for one in (alice, bob)]
        tokens, opened = [seat.token for seat in desk.seats], desk.state.opened
        carol = await joins(desk)
        first = desk.state.rounds[0].items
        assert set(desk.order(carol.seat)) == set(first)
        assert (await desk.overview(carol.seat)).phase == "calibration"
        await carol.say_all(first, right(first))
        record = desk.state.joined_as("carol")
        assert record is not None and record.opened is not None and record.opened.by == "agreement"
        assert [(one.raters, one.pooled.kappa, one.pooled.n) for one in record.rounds[0].pairs] == [
            (("alice", "carol"), 1.0, 4), (("bob", "carol"), 1.0, 4),
        ]  # fmt: skip
        assert sorted(desk.order(carol.seat)) == list(range(12))
        assert await carol.all_open() == 8
        # Nothing of the others has moved.
        assert [list(desk.order(one.seat)) for one in (alice, bob)] == orders
        assert [one.token for one in desk.seats if one.name != "carol"] == tokens
        assert desk.state.opened == opened and len(desk.state.rounds[0].pairs) == 1
        assert [seat.name for seat in desk.seats] == ["alice", "bob", "carol", "consensus", "lead"]
        again = await Desk.open(built.store, desk.grading)
        assert again.state == desk.state and again.order(carol.seat) == desk.order(carol.seat)


async def test_who_does_not_agree_waits_for_the_lead_and_holds_nobody_else_up(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await calibrated(built)
        carol = await joins(desk)
        first = desk.state.rounds[0].items
        other = {number: 1 - value for number, value in right(first).items()}
        await carol.say_all(first, other)
        assert (await desk.overview(carol.seat)).phase == "waiting"
        await carol.say_all(first, right(first))
        await desk.refresh()
        assert (await desk.overview(carol.seat)).phase == "waiting", "later changes cannot raise it"
        assert await alice.all_open() == 8, "alice goes on"
        with pytest.raises(ConfigError, match="the others have graded nothing yet that carol"):
            await desk.calibrate_again()
        await bob.all_open()
        assert not (await desk.overview(desk.lead)).graded, "carol's sheets are still to be opened"
        await desk.calibrate_again(3)
        second = desk.state.joined[0].rounds[1].items
        assert len(second) == 3 and not set(first) & set(second)
        assert list(desk.order(carol.seat))[4:] != [] and set(desk.order(carol.seat)[4:]) == set(second)
        assert (await desk.overview(carol.seat)).round == 2 and len(desk.state.rounds) == 1
        with pytest.raises(ConfigError, match="nothing to calibrate"):
            await desk.calibrate_again()
        with pytest.raises(ConfigError, match="say why"):
            await desk.open_by_hand(" ")
        await desk.open_by_hand("we talked")
        record = desk.state.joined[0]
        assert record.opened is not None and (record.opened.by, record.opened.reason) == ("lead", "we talked")
        assert desk.state.opened is not None and desk.state.opened.by == "agreement"
        assert len(desk.order(carol.seat)) == 12
        with pytest.raises(ConfigError, match="open already"):
            await desk.open_by_hand("again")


async def test_nobody_waits_for_who_retired_and_their_grades_count(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await calibrated(built)
        rest = [number for number in range(12) if number not in desk.state.rounds[0].items]
        await alice.all_open()
        await bob.say_of(rest[0], right=1, reads=3)
        await bob.say_of(rest[1], right=1)
        left = bob.seat
        await desk.retire("bob")
        assert desk.seat_of(left.token) is None
        with pytest.raises(GradeRefusedError):
            await desk.grade(left, 1, "right", 1)
        found = await desk.overview(desk.lead)
        assert [(one.rater, one.done, one.total) for one in found.raters] == [("alice", 12, 12)]
        assert [(one.rater, one.done, one.total) for one in found.retired] == [("bob", 5, 12)]
        # What he said differs from what alice said, on two answers, one of which he left half done.
        assert (found.phase, found.disputes) == ("full", 2)
        consensus = next(seat for seat in desk.seats if seat.role == "consensus")
        for one in await desk.disagreements():
            assert [dispute.grades for dispute in one.disputes] == [{"alice": 0, "bob": 1}]
            await desk.grade(consensus, one.position, "right", 1)
        assert (await desk.overview(desk.lead)).phase == "done"
        assert [one.raters for one in await desk.agreement()] == [("alice", "bob")]
        facts = await status_of(desk)
        assert [(one["rater"], one["done"]) for one in facts["retired"]] == [("bob", 5)]
        with pytest.raises(ConfigError, match="'alice' is the only rater left"):
            await desk.retire("alice")
        with pytest.raises(ConfigError, match="'bob' has retired already"):
            await desk.retire("bob")
        with pytest.raises(UnknownNameError, match="did you mean 'alice'"):
            await desk.retire("alcie")


async def test_who_takes_a_place_grades_what_was_left_open_there(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await calibrated(built)
        first = desk.state.rounds[0].items
        rest = [number for number in range(12) if number not in first]
        await bob.say_all(rest[:3], dict.fromkeys(rest, 1))
        await bob.say_of(rest[3], right=1)
        await alice.all_open(dict.fromkeys(rest, 1))
        carol = await joins(desk, in_place_of="bob")
        assert desk.roster.active == ("alice", "carol")
        await carol.say_all(first, right(first))
        assert sorted(desk.order(carol.seat)) == sorted([*first, *rest[3:]])
        assert [one.raters for one in desk.state.joined[0].rounds[0].pairs] == [("alice", "carol")]
        assert await carol.all_open(dict.fromkeys(rest, 1)) == 5
        assert (await desk.overview(carol.seat)).phase == "done"
        assert (await desk.overview(desk.lead)).phase == "done", "every answer has two grades, all alike"
        for name, of, told in [
            ("dave", "bbo", "did you mean 'bob'"), ("dave", "dave", "no rater 'dave'"),
            ("bob", "carol", "comes back to their own sheets"), ("carol", "bob", "grades here already"),
        ]:  # fmt: skip
            with pytest.raises((ConfigError, UnknownNameError), match=told):
                await desk.add_rater(name, of)


async def test_a_round_that_goes_on_waits_for_who_comes_and_not_for_who_leaves(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice, bob = Quick(desk, "alice"), Quick(desk, "bob")
        first = desk.state.rounds[0].items
        await alice.say_all(first, right(first))
        await bob.say_of(first[0], right=1)
        await desk.retire("bob")
        await desk.refresh()
        assert desk.state.rounds[0].ended_at_us is None, "one rater agrees with nobody"
        carol = await joins(desk)
        assert list(desk.order(alice.seat)) != list(desk.order(carol.seat))
        await carol.say_all(first, right(first))
        assert [one.raters for one in desk.state.rounds[0].pairs] == [("alice", "carol")]
        assert desk.state.opened is not None and desk.state.joined[0].rounds == ()
        assert len(desk.order(carol.seat)) == 12


async def test_the_last_one_who_leaves_ends_the_round_of_the_others(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built, raters=("alice", "bob", "carol"))
        first = desk.state.rounds[0].items
        for name in ("alice", "bob"):
            await Quick(desk, name).say_all(first, right(first))
        assert desk.state.opened is None
        await desk.retire("carol")
        assert desk.state.opened is not None and len(desk.state.rounds[0].pairs) == 1
        rest = [number for number in range(12) if number not in first]
        for name, value in (("alice", 0), ("bob", 1)):
            await Quick(desk, name).all_open({rest[0]: value})
        [one] = await desk.disagreements()
        assert one.disputes[0].grades == {"alice": 0, "bob": 1}, "nothing waits for carol"


async def test_another_round_of_all_takes_in_who_calibrated_alone(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
        alice, bob = Quick(desk, "alice"), Quick(desk, "bob")
        first = desk.state.rounds[0].items
        await alice.say_all(first, right(first))
        await bob.say_all(first, dict.fromkeys(first, 1))
        assert desk.state.opened is None and desk.state.rounds[0].ended_at_us is not None
        carol = await joins(desk)
        await carol.say_of(first[0], right=0, reads=3)
        await desk.calibrate_again()
        second = desk.state.rounds[1].items
        for one in (alice, bob, carol):
            assert set(desk.order(one.seat)) == {*first, *second}
            await one.say_all(second, right(second))
        assert desk.state.opened is not None and len(desk.state.rounds[1].pairs) == 3
        assert len(desk.order(carol.seat)) == 12


async def test_who_comes_back_finds_the_same_sheets_and_calibrates_only_for_what_was_missed(
    tmp_path: Path,
) -> None:
    async with graded_run(tmp_path) as built:
        desk, _, bob = await calibrated(built)
        before, token = list(desk.order(bob.seat)), bob.seat.token
        await desk.retire("bob")
        await desk.add_rater("bob")
        assert bob.seat.token != token and list(desk.order(bob.seat)) == before
        assert desk.state.retired == desk.state.joined == ()
        [back] = desk.state.returned
        await desk.retire("bob")
        [left] = desk.state.retired
        assert left.at_us > back.at_us and read_state(desk.state.to_json()) == desk.state
    async with graded_run(tmp_path / "missed") as built:
        desk = await desk_of(built, raters=("alice", "bob", "carol"))
        first = desk.state.rounds[0].items
        await desk.retire("bob")
        for name in ("alice", "carol"):
            await Quick(desk, name).say_all(first, right(first))
        assert desk.state.opened is not None
        await desk.add_rater("bob")
        bob = Quick(desk, "bob")
        assert set(desk.order(bob.seat)) == set(first)
        await bob.say_all(first, right(first))
        assert len(desk.order(bob.seat)) == 12


@pytest.mark.parametrize("name", ["Alice", "lead", "consensus", " x", "alice"])
async def test_a_name_that_cannot_be_a_raters_is_refused(tmp_path: Path, name: str) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built)
        before = desk.state
        with pytest.raises(ConfigError, match="--add-rater"):
            await desk.add_rater(name)
        assert desk.state == before


async def test_a_second_rater_brings_a_consensus_and_what_they_said_before(tmp_path: Path) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        earlier = await desk_of(built, raters=("carol",), name="earlier")
        await Quick(earlier, "carol").all_open({1: 1})
        desk = await desk_of(built, raters=("alice",))
        await Quick(desk, "alice").all_open()
        assert await desk.disagreements() == ()
        await desk.add_rater("carol")
        assert [seat.role for seat in desk.seats] == ["rater", "rater", "consensus", "lead"]
        assert await Quick(desk, "carol").all_open() == 0, "what carol said of the same answers counts"
        assert len(await desk.disagreements()) == 1


async def test_what_was_settled_stays_settled_while_somebody_new_grades_it(tmp_path: Path) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built, calibration=0)
        await Quick(desk, "alice").all_open({1: 1})
        await Quick(desk, "bob").all_open()
        consensus = next(seat for seat in desk.seats if seat.role == "consensus")
        [one] = await desk.disagreements()
        await desk.grade(consensus, one.position, "right", 1)
        carol = await joins(desk)
        found = await desk.overview(desk.lead)
        assert (found.phase, found.disputes, found.settled) == ("full", 1, 1)
        await carol.all_open({1: 1})
        assert (await desk.overview(desk.lead)).phase == "done"


async def test_a_state_from_before_is_read_and_one_of_now_comes_back_whole(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, _, _ = await calibrated(built)
        old = {**desk.state.to_json(), "version": 1}
        for name in ("server", "joined", "retired", "withdrawn_at_us"):
            old.pop(name)
        assert read_state(old) == desk.state
        await joins(desk, in_place_of="bob")
        assert read_state(desk.state.to_json()) == desk.state
        with pytest.raises(StoreError, match="damaged"):
            read_state({**desk.state.to_json(), "joined": [{"name": "carol"}]})


async def test_an_empty_grading_vanishes_and_its_links_with_it(tmp_path: Path) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built)
        elsewhere = await Desk.open(built.store, desk.grading)
        alice = Rater(elsewhere, "alice").seat
        # What was settled before it was made, of the same answer, is another grading's.
        earlier = NewGrade(desk.plan.items[0].unit, CONSENSUS, "right", 1, desk.grading.created_at_us - 1)
        await built.store.add_grades(built.run.id, [earlier])
        assert await end_grading(desk, withdraw=False) == {}
        assert await built.store.gradings() == ()
        with pytest.raises(StoreError, match="was deleted"):
            await elsewhere.grade(alice, 1, "right", 1)
        assert elsewhere.seat_of(alice.token) is None
        assert [one.rater for one in await built.store.grade_history(built.run.id)] == [CONSENSUS]


async def test_a_grading_with_grades_is_withdrawn_with_all_of_them_and_its_name_is_free(
    tmp_path: Path,
) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, _ = await calibrated(built)
        kept = await built.store.grade_history(built.run.id)
        with pytest.raises(ConfigError, match=r"has 16 grades \(alice 8, bob 8\).*--delete --yes"):
            await end_grading(desk, withdraw=False)
        elsewhere, old = await Desk.open(built.store, desk.grading), alice.seat
        assert await end_grading(desk, withdraw=True) == {"alice": 8, "bob": 8}
        assert await built.store.grade_history(built.run.id) == kept
        with pytest.raises(GradeRefusedError):
            await elsewhere.grade(old, 1, "right", 1)
        assert elsewhere.seats == () and await built.store.grading_named("test-run-small") is None
        (row,) = await built.store.gradings()
        assert row.name == "test-run-small (withdrawn)" and read_state(row.state).rounds == desk.state.rounds
        with pytest.raises(ConfigError, match="was withdrawn"):
            await Desk.open(built.store, row)
        # The same one made again goes on with what was said.
        again = await desk_of(built)
        assert again.state.opened is not None and again.order(Quick(again, "alice").seat)[4:] != []
        await end_grading(again, withdraw=True)
        assert [one.name for one in await built.store.gradings()] == [
            "test-run-small (withdrawn)", "test-run-small (withdrawn-2)",
        ]  # fmt: skip


async def test_a_grade_given_while_a_grading_is_deleted_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built)
        alice, remove = Quick(desk, "alice"), built.store.remove_grading

        async def late(*args: Any) -> bool:
            monkeypatch.setattr(built.store, "remove_grading", remove)
            await alice.say(1, right=1)
            return await remove(*args)

        monkeypatch.setattr(built.store, "remove_grading", late)
        with pytest.raises(ConfigError, match=r"has 1 grade \(alice 1\)"):
            await end_grading(desk, withdraw=False)
        assert len(await built.store.gradings()) == 1
