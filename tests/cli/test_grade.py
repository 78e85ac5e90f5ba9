"""`harness grade`: gradings made, listed, told of and served."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from grading_examples import Rater, graded_run, with_small_task
from sweep_kit import Done, harness

from harness.cache.store import Store
from harness.cli import grade_serving
from harness.grading.desk import Desk
from harness.grading.plan import VERSION

task = pytest.fixture(autouse=True)(with_small_task)
MADE = ("test-run", "--task", "small", "--raters", "alice,bob", "--status")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a run of twelve answers, called test-run."""

    async def make() -> None:
        async with graded_run(tmp_path):
            pass

    asyncio.run(make())
    return tmp_path / "store.sqlite3"


def grade(store: Path, *args: str, code: int = 0) -> Done:
    done = harness("grade", *args, "--store", store)
    assert done.code == code, done.err
    return done


def at_desk(store: Path, work: Callable[[Desk], Awaitable[Any]], name: str = "test-run-small") -> Any:
    async def run() -> Any:
        async with await Store.open(str(store), create=False) as opened:
            found = await opened.find_grading(name)
            assert found is not None
            return await work(await Desk.open(opened, found))

    return asyncio.run(run())


def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Let nothing be served; return where it would have been."""
    places: list[tuple[str, int]] = []

    async def serve(app: Any, listening: socket.socket) -> None:
        places.append(listening.getsockname()[:2])
        listening.close()

    monkeypatch.setattr("harness.web.serving.serve", serve)
    return places


def links(done: Done) -> dict[str, str]:
    """Return seat -> link, as they were printed."""
    return dict(line.split() for line in done.out.splitlines() if "/g/" in line)


def test_a_grading_is_made_once_and_goes_on_by_the_same_command_or_its_name(store: Path) -> None:
    made = grade(store, *MADE)
    assert "grading test-run-small: 12 answers of run test-run, by small, seed 20050" in made.err
    assert "test-run-small: 12 answers of run test-run, by alice, bob" in made.out
    before = at_desk(store, lambda desk: _value(desk.seats))
    for again in ("test-run-small", "test-run", "test-run --task small", "test-run --raters alice,bob"):
        assert "grading test-run-small:" not in grade(store, *again.split(), "--status").err
    grade(store, *MADE)
    assert at_desk(store, lambda desk: _value(desk.seats)) == before
    listed = grade(store)
    assert "test-run-small" in listed.out and "alice, bob" in listed.out
    [facts] = grade(store, "--json").json["gradings"]
    assert (facts["grading"], facts["run"]) == ("test-run-small", "test-run")
    assert (facts["items"], facts["open"]) == (12, False)


async def _value(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--raters", "alice,carol"), "raters is alice,bob, not alice,carol"),
        (("--calibration", "7"), "calibration is 4, not 7"),
        (("--threshold", "0.5", "--seed", "1"), "threshold is 0.75, not 0.5; seed is 20050, not 1"),
        (("--limit", "3"), "limit is not set, not 3"),
        (("--models", "alpha"), "models is alpha,beta, not alpha"),
    ],
)
def test_what_was_agreed_cannot_be_changed(store: Path, given: tuple[str, ...], told: str) -> None:
    grade(store, *MADE)
    for name in ("test-run", "test-run-small"):
        done = grade(store, name, *given, "--status", code=2)
        assert told in done.err and "another one with --name" in done.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("test-run", "--task", "smal", "--raters", "a"), "did you mean 'small'?"),
        (("test-run", "--task", "small"), "give --raters"),
        (("test-run",), "run 'test-run' is not graded yet"),
        (("tost-run",), "there is no grading and no run 'tost-run'; did you mean 'test-run'?"),
        (("test-run", "--raters", "a,a"), "a name is there twice"),
        (("test-run", "--raters", "alice,Alice"), "hard to tell apart"),
        (("test-run", "--raters", "Consensus,bob"), "no person's name"),
        (("test-run", "--raters", "lead"), "no person's name"),
        (("test-run", "--raters", "a", "--models", "alhpa"), "did you mean 'alpha'?"),
        (("test-run", "--raters", "a", "--conditions", "bth"), "no condition 'bth'"),
        (("--raters", "a"), "name the run"),
        (("test-run", "other", "--raters", "a"), "one run at a time"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(
    store: Path, given: tuple[str, ...], told: str
) -> None:
    assert told in grade(store, *given, "--status", code=2).err
    assert "no gradings yet" in grade(store).out


def test_links_are_printed_one_a_seat_and_stay_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grade(store, *MADE)
    places = served(monkeypatch)
    first = grade(store, "test-run-small")
    assert list(links(first)) == ["alice", "bob", "consensus", "lead"]
    assert len(set(links(first).values())) == 4
    [(host, port)] = places
    assert host == "127.0.0.1" and f"ssh -N -L {port}:127.0.0.1:{port} " in first.err
    assert all(one.startswith(f"http://127.0.0.1:{port}/g/") for one in links(first).values())
    assert all(len(one.split("/")[4]) == 32 for one in links(first).values())
    assert links(grade(store, "test-run")) == links(first)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        moved = grade(store, "test-run-small")
        assert f"warning: port {port}, at which this was served last, is in use" in moved.err
        assert places[-1][1] != port
        assert "cannot listen" in grade(store, "test-run-small", "--port", str(port), code=2).err
    before, after = ({one.split("/")[4] for one in links(done).values()} for done in (first, moved))
    assert before == after


def test_a_link_is_replaced_and_others_stay(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grade(store, *MADE)
    served(monkeypatch)
    before = links(grade(store, "test-run-small"))
    after = links(grade(store, "test-run-small", "--new-link", "alice"))
    assert before["alice"] != after["alice"] and before["bob"] == after["bob"]
    refused = grade(store, "test-run-small", "--new-link", "alise", code=2)
    assert "no seat 'alise'; did you mean 'alice'?" in refused.err


def test_several_gradings_are_served_together(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grade(store, *MADE)
    grade(store, "test-run", "--raters", "carol", "--name", "alone", "--status")
    served(monkeypatch)
    done = grade(store, "test-run")
    assert done.out.count("/g/") == 4 + 2 and "alone:\n" in done.out and "test-run-small:\n" in done.out
    assert set(links(grade(store, "alone"))) == {"carol", "lead"}


def test_the_gate_is_opened_by_hand_or_tried_again(store: Path) -> None:
    grade(store, *MADE)
    early = grade(store, "test-run-small", "--calibrate-again", "--status", code=2)
    assert "not finished the round" in early.err

    async def differ(desk: Desk) -> None:
        for name, value in (("alice", 0), ("bob", 1)):
            await Rater(desk, name).all_open(dict.fromkeys(range(12), value))

    at_desk(store, differ)
    told = grade(store, "test-run-small", "--status").out
    assert "kappa does not reach the threshold, and you decide" in told
    assert "kappa 0.000" in told and "below 0.75" in told
    again = grade(store, "test-run-small", "--calibrate-again", "--status")
    assert "round 2 of calibration, 4 other answers" in again.err
    assert "round 2: 4 sheets, goes on" in again.out
    opened = grade(store, "test-run-small", "--open", "they talked", "--status")
    assert "full grading was opened by hand" in opened.out and "they talked" in opened.out
    facts = grade(store, "test-run-small", "--json").json
    assert facts["opened"]["by"] == "lead" and facts["opened"]["reason"] == "they talked"
    assert "open already" in grade(store, "test-run-small", "--open", "again", code=2).err


def test_who_leads_stays_blind_and_no_link_is_told(store: Path) -> None:
    grade(store, *MADE)

    async def work(desk: Desk) -> list[str]:
        for name in ("alice", "bob"):
            await Rater(desk, name).all_open({number: number % 2 for number in range(12)})
        return [seat.token for seat in desk.seats]

    tokens = at_desk(store, work)
    for done in (grade(store, "test-run-small", "--json"), grade(store, "test-run-small", "--status")):
        for word in ("alpha", "beta", "c00", *tokens):
            assert word not in done.out + done.err


def test_a_sample_and_answers_that_are_not_graded_are_told(tmp_path: Path) -> None:
    from stored_run_builder import answer

    async def make() -> None:
        async with graded_run(tmp_path, cases=5) as built:
            from grading_examples import unit

            from harness.outcomes import UnitOutcome

            await built.valid(unit(0, "beta"), text=answer(reasoning="SKIP"))
            await built.answers(unit(1, "beta"), UnitOutcome.UNPARSABLE, "no json")

    asyncio.run(make())
    store = tmp_path / "store.sqlite3"
    made = grade(store, *MADE, "--limit", "3", "--seed", "4")
    assert "grading test-run-small: 3 answers" in made.err
    facts = grade(store, "test-run-small", "--json").json
    assert facts["items"] == 3 and facts["limit"] == 3 and facts["seed"] == 4
    assert sum(facts["not_graded"].values()) + 3 == 10 and facts["not_graded"]["not drawn"] >= 5


def test_a_plan_of_a_later_version_is_refused(store: Path) -> None:
    async def make() -> None:
        async with await Store.open(str(store), create=False) as opened:
            run = await opened.find_run("test-run")
            await opened.add_grading(run.id, "later", {"version": VERSION + 1, "task": "small"}, {})

    asyncio.run(make())
    assert "another version of harness" in grade(store, "later", "--status", code=1).err


def test_the_line_to_other_computers_is_said_not_to_be_encrypted(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(store, *MADE)
    served(monkeypatch)
    done = grade(store, "test-run-small", "--host", "0.0.0.0")
    assert "not encrypted" in done.err and "0.0.0.0" not in done.out
    assert grade_serving.tunnel(5).startswith("ssh -N -L 5:127.0.0.1:5 ")
