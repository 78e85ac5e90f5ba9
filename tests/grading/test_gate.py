"""The gate to full grading: opened by agreement alone, as it stood when the last rater finished the round."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fake_clock import FakeClock
from grading_examples import Rater, desk_of, graded_run, with_small_task
from sklearn.metrics import cohen_kappa_score
from stored_run_builder import Built

from harness.cache.grades import NewGrade
from harness.cache.gradings import StoredGrading
from harness.canonical import JSON
from harness.errors import ConfigError, StoreError, UnknownNameError
from harness.grading.agreement import GradedByTwo, pair_agreement, read_pair
from harness.grading.desk import Desk
from harness.grading.state import read_state

task = pytest.fixture(autouse=True)(with_small_task)


async def graders(built: Built, **changes: object) -> tuple[Desk, Rater, Rater]:
    desk = await desk_of(built, **changes)
    return desk, Rater(desk, "alice"), Rater(desk, "bob")


def first(desk: Desk) -> tuple[int, ...]:
    assert desk.state.round is not None
    return desk.state.round.items


async def both(raters: Sequence[Rater], numbers: Sequence[int], said: Sequence[str]) -> None:
    """Grade items by both raters: "01" is 0 by the first and 1 by the second."""
    for place, rater in enumerate(raters):
        await rater.say_all(numbers, {n: int(text[place]) for n, text in zip(numbers, said, strict=True)})


async def test_agreement_opens_full_grading_by_itself_and_is_kept(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await graders(built)
        await both((alice, bob), first(desk), ["00", "11", "00", "11"])
        opened = desk.state.opened
        assert opened is not None and opened.by == "agreement"
        [pair] = desk.state.rounds[0].pairs
        assert (pair.raters, pair.pooled.kappa, pair.pooled.n) == (("alice", "bob"), 1.0, 4)
        assert len(desk.order(alice.seat)) == 12


async def test_below_the_threshold_the_lead_decides_and_no_later_change_opens_it(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await graders(built)
        numbers = first(desk)
        await both((alice, bob), numbers, ["00", "11", "01", "11"])
        [pair] = desk.state.rounds[0].pairs
        assert pair.pooled.kappa == pytest.approx(0.5) and desk.state.opened is None
        await alice.say_of(numbers[2], right=1)
        await alice.say_of(numbers[2], right=0)
        await bob.say_of(numbers[2], right=0)
        other = await Desk.open(built.store, desk._grading)
        for one in (desk, other):
            await one.refresh()
            assert one.state.opened is None and one.state.rounds[0].pairs[0] == pair
        assert (await desk.overview(alice.seat)).phase == "waiting"
        lead = next(seat for seat in desk.seats if seat.role == "lead")
        assert (await desk.overview(lead)).phase == "waiting"
        assert await desk.next_open(alice.seat) is None


async def test_what_a_rater_changes_before_the_other_finishes_counts_and_later_changes_do_not(
    tmp_path: Path,
) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await graders(built)
        one, two, three, four = first(desk)
        await alice.say_all(first(desk), {one: 0, two: 1, three: 0, four: 1})
        await bob.say_all((one, two, three), {one: 0, two: 1, three: 1})
        await alice.say_of(three, right=1)
        await bob.say_of(four, right=1)
        assert desk.state.round is not None and desk.state.round.ended_at_us is None
        await bob.say_of(four, right=0)
        await bob.say_of(four, reads=2)
        [pair] = desk.state.rounds[0].pairs
        assert pair.pooled.kappa == pytest.approx(cohen_kappa_score([0, 1, 1, 1], [0, 1, 1, 0]))
        assert pair.questions["reads"].n == 4


async def test_what_was_changed_before_anybody_looked_does_not_count_either(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, _, _ = await graders(built)
        numbers = first(desk)

        def said(rater: str, values: Sequence[int]) -> list[NewGrade]:
            return [
                NewGrade(desk.plan.items[number].unit, rater, question, value)
                for number, value in zip(numbers, values, strict=True)
                for question in ("right", "reads")
            ]

        for rater, values in [("alice", (1, 0, 1, 0)), ("bob", (1, 1, 0, 0)), ("bob", (1, 0, 1, 0))]:
            await built.store.add_grades(built.run.id, said(rater, values))
        await desk.refresh()
        assert desk.state.rounds[0].pairs[0].pooled.kappa == 0.0 and desk.state.opened is None
        [agreement] = await desk.agreement()
        assert agreement.pooled.kappa == 1.0


async def test_one_label_alone_has_no_kappa_and_the_lead_decides(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await graders(built)
        await both((alice, bob), first(desk), ["11", "11", "11", "11"])
        [pair] = desk.state.rounds[0].pairs
        assert pair.pooled.kappa is None and pair.pooled.share == 1.0
        assert pair.pooled.reason is not None and "0/0" in pair.pooled.reason
        assert desk.state.opened is None


async def test_another_round_has_other_answers_and_can_open_the_gate(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await graders(built)
        with pytest.raises(ConfigError, match="not finished the round"):
            await desk.calibrate_again()
        one = first(desk)
        await both((alice, bob), one, ["01", "10", "01", "10"])
        before = list(desk.order(alice.seat))
        await desk.calibrate_again()
        two = first(desk)
        assert len(two) == 4 and not set(one) & set(two)
        assert list(desk.order(alice.seat))[:4] == before and set(desk.order(alice.seat)[4:]) == set(two)
        assert (await desk.overview(bob.seat)).round == 2
        await both((alice, bob), two, ["00", "11", "00", "11"])
        assert desk.state.opened is not None and desk.state.opened.by == "agreement"
        assert [one.reaches(0.75) for one in desk.state.rounds] == [False, True]
        with pytest.raises(ConfigError, match="open already"):
            await desk.calibrate_again()


async def test_when_every_answer_was_in_a_round_there_is_no_other_one(tmp_path: Path) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk, alice, bob = await graders(built)
        await both((alice, bob), first(desk), ["01", "10", "01", "10"])
        with pytest.raises(ConfigError, match="every answer was in a round"):
            await desk.calibrate_again()


async def test_the_lead_opens_by_hand_with_a_reason_that_is_kept(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, _, _ = await graders(built)
        with pytest.raises(ConfigError, match="say why"):
            await desk.open_by_hand("  ")
        await desk.open_by_hand("they talked it over")
        opened = desk.state.opened
        assert opened is not None and (opened.by, opened.reason) == ("lead", "they talked it over")
        with pytest.raises(ConfigError, match="open already"):
            await desk.open_by_hand("again")
        (found,) = await built.store.gradings()
        assert json.loads(json.dumps(found.state))["opened"]["by"] == "lead"


@pytest.mark.parametrize("changes", [{"raters": ("alice",)}, {"calibration": 0}])
async def test_without_a_second_rater_or_a_round_there_is_no_gate(
    tmp_path: Path, changes: Mapping[str, object]
) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built, **changes)
        assert desk.state.opened is not None and desk.state.opened.by == "no gate"
        assert len(desk.order(Rater(desk, "alice").seat)) == 12 and desk.state.rounds == ()


async def test_of_three_raters_every_two_must_agree(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built, raters=("alice", "bob", "carol"))
        raters = [Rater(desk, name) for name in desk.plan.raters]
        await both(raters, first(desk), ["000", "111", "001", "111"])
        assert [pair.raters for pair in desk.state.rounds[0].pairs] == [
            ("alice", "bob"), ("alice", "carol"), ("bob", "carol")
        ]  # fmt: skip
        assert desk.state.opened is None
        await desk.calibrate_again()
        await both(raters, first(desk), ["000", "111", "000", "111"])
        assert desk.state.opened is not None


async def test_a_clock_that_goes_back_loses_nothing(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        clock = FakeClock(1_000.0)
        built.store._clock = lambda: int(clock.time() * 1_000_000)
        desk, alice, bob = await graders(built)
        await alice.say_all(first(desk), dict(zip(first(desk), (0, 1, 0, 1), strict=True)))
        clock.advance(-900.0)
        await alice.say_of(first(desk)[2], right=1)
        await bob.say_all(first(desk), dict(zip(first(desk), (0, 1, 1, 1), strict=True)))
        shown = await desk.sheet(alice.seat, list(desk.order(alice.seat)).index(first(desk)[2]) + 1)
        assert shown.grades["right"] == 1
        # What alice changed counts, since bob had not finished: by the clock it was long after he had.
        assert desk.state.rounds[0].pairs[0].pooled.kappa == 1.0 and desk.state.opened is not None


async def test_a_change_that_another_process_overtook_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, _ = await graders(built)
        old, change, tried = alice.seat, built.store.change_grading, []

        async def overtaken(grading: StoredGrading, state: Mapping[str, JSON]) -> bool:
            tried.append(state)
            if len(tried) == 1:
                now = await built.store.grading_now(grading)
                assert now is not None and await change(now, read_state(now.state).at_port(5).to_json())
            return await change(grading, state)

        monkeypatch.setattr(built.store, "change_grading", overtaken)
        new = await desk.replace_link("alice")
        assert len(tried) == 2 and new.token != old.token
        assert alice.seat == new and desk.state.port == 5


def test_kappa_of_real_size_is_that_of_sklearn_pooled_and_by_question() -> None:
    import random

    chance = random.Random(11)
    names = [f"tier_{rank}" for rank in range(1, 6)]
    graded = []
    for item in range(1_000):
        truth = {name: chance.randrange(4) for name in names}
        other = {
            name: value if chance.random() < 0.8 else chance.randrange(4) for name, value in truth.items()
        }
        graded.append(GradedByTwo(f"case-{item // 3}", truth, other))
    labels = {name: (0, 1, 2, 3) for name in names}
    found = pair_agreement(("a", "b"), graded, labels, names)
    pairs = [(one.first[name], one.second[name]) for one in graded for name in names]
    # Both compute whole numbers over whole numbers: equal but for rounding in the last place.
    assert found.pooled.kappa == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)), abs=1e-12)
    assert found.pooled.n == 5_000 and found.pooled.low is not None and found.pooled.high is not None
    assert 0 < found.pooled.high - found.pooled.low < 0.06
    assert found.pooled.low < found.pooled.kappa < found.pooled.high
    for name in names:
        wanted = cohen_kappa_score([one.first[name] for one in graded], [one.second[name] for one in graded])
        assert found.questions[name].kappa == pytest.approx(wanted, abs=1e-12)
    assert read_pair(json.loads(json.dumps(found.to_json()))) == found


def test_a_grade_that_no_sheet_offers_and_one_that_is_missing_are_compared_as_they_are() -> None:
    graded = [
        GradedByTwo("c1", {"right": 1}, {"right": 1}),
        GradedByTwo("c2", {"right": 0.5}, {"right": 0}),
        GradedByTwo("c3", {"right": 0}, {"right": 0}),
        GradedByTwo("c4", {"right": 1}, {}),
    ]
    found = pair_agreement(("a", "b"), graded, {"right": (0, 1)}, ["right"])
    assert found.pooled.n == 3
    assert found.pooled.kappa == pytest.approx(cohen_kappa_score(["1", "h", "0"], ["1", "0", "0"]))


async def test_the_threshold_itself_is_enough(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, bob = await graders(built, threshold=0.5)
        await both((alice, bob), first(desk), ["00", "11", "01", "11"])
        assert desk.state.rounds[0].pairs[0].pooled.kappa == 0.5
        assert desk.state.opened is not None


async def test_a_link_that_was_replaced_opens_nothing(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk, alice, _ = await graders(built)
        other = await Desk.open(built.store, desk._grading)
        old = alice.seat
        new = await other.replace_link("alice")
        assert desk.seat_of(old.token) is not None, "the other server has not looked yet"
        with pytest.raises(ConfigError, match="this link was replaced"):
            await desk.sheet(old, 1)
        assert desk.seat_of(old.token) is None and desk.seat_of(new.token) == new
        with pytest.raises(UnknownNameError, match="did you mean 'alice'"):
            await desk.replace_link("alce")
        assert replace(old, token=new.token) == new


async def test_a_damaged_state_is_told_and_never_guessed_at(tmp_path: Path) -> None:
    async with graded_run(tmp_path) as built:
        desk = await desk_of(built)
    whole = desk.state.to_json()
    assert read_state(whole) == desk.state
    with pytest.raises(StoreError, match="another version of harness"):
        read_state({**whole, "version": 3})
    for torn in ({"seats": None}, {"rounds": [{}]}, {"opened": "lead"}, {"seats": [{"role": "lead"}]}):
        with pytest.raises(StoreError, match="state of a grading is damaged"):
            read_state({**whole, **torn})
