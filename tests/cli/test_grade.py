"""`harness grade`: gradings made, listed, told of and served."""

from __future__ import annotations

import asyncio
import signal
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from grading_examples import Rater, SmallTask, graded_run, with_small_task
from stored_run_builder import Plan, answer, built_run, case
from sweep_kit import Done, finish, harness, spawn

from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.triage.judge import TriageJudge
from harness.benchmarks.triage.judge_check import JudgeCheck
from harness.benchmarks.triage.task import Triage
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.cli.grade_serving import links as links_of
from harness.grading.desk import Desk
from harness.grading.plan import VERSION
from harness.web.serving import tunnel

task = pytest.fixture(autouse=True)(with_small_task)
MADE = ("test-run", "--task", "small", "--raters", "alice,bob", "--links")


def run_in(folder: Path) -> Path:
    async def make() -> None:
        async with graded_run(folder):
            pass

    asyncio.run(make())
    return folder / "store.sqlite3"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a run of twelve answers, called test-run."""
    return run_in(tmp_path)


@pytest.fixture(scope="module")
def ungraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, for tests of what is refused: none makes a grading."""
    return run_in(tmp_path_factory.mktemp("ungraded"))


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with two gradings, which no test changes."""
    found = run_in(tmp_path_factory.mktemp("graded"))
    with pytest.MonkeyPatch.context() as patched:
        with_small_task(patched)
        grade(found, *MADE)
        grade(found, *MADE, "--name", "other")
    return found


def grade(store: Path, *args: str, code: int = 0) -> Done:
    done = harness("grade", *args, "--store", store)
    assert done.code == code, done.err
    return done


def at_desk(store: Path, work: Callable[[Desk], Awaitable[Any]], name: str = "test-run-small") -> Any:
    async def run() -> Any:
        async with await Store.open(str(store), create=False) as opened:
            found = next(one for one in await opened.gradings() if one.name == name)
            return await work(await Desk.open(opened, found))

    return asyncio.run(run())


def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Let nothing be served; return where it would have been."""
    places: list[tuple[str, int]] = []

    async def serve(app: Any, listening: socket.socket, *, ready: Callable[[], None], **_: Any) -> None:
        places.append(listening.getsockname()[:2])
        ready()
        listening.close()

    monkeypatch.setattr("harness.web.serving.serve", serve)
    return places


def links(done: Done) -> dict[str, str]:
    """Return seat -> link, as they were printed."""
    return dict(line.split() for line in done.out.splitlines() if "/g/" in line)


def test_a_grading_is_made_once_and_goes_on_by_the_same_command_or_its_name(store: Path) -> None:
    made = grade(store, *MADE)
    assert "grading test-run-small: 12 answers of run test-run, task small, seed 20050" in made.err
    told = grade(store, "test-run-small", "--status").out
    assert "test-run-small: 12 answers of run test-run, by alice, bob" in told
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
def test_what_was_agreed_cannot_be_changed(graded: Path, given: tuple[str, ...], told: str) -> None:
    for name in ("test-run", "test-run-small"):
        done = grade(graded, name, *given, "--status", code=2)
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
        (("test-run", "--raters", "Jos\u00e9,Jose\u0301"), "hard to tell apart"),
        (("test-run", "--raters", "Consensus,bob"), "no person's name"),
        (("test-run", "--raters", "lead"), "no person's name"),
        (("test-run", "--raters", "a", "--models", "alhpa"), "did you mean 'alpha'?"),
        (("test-run", "--raters", "a", "--conditions", "bth"), "no condition 'bth'"),
        (("--raters", "a"), "name the run"),
        (("test-run", "other", "--raters", "a"), "one run at a time"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(
    ungraded: Path, given: tuple[str, ...], told: str
) -> None:
    assert told in grade(ungraded, *given, "--links", code=2).err
    assert "no gradings yet" in grade(ungraded).out


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
    grade(store, "test-run", "--raters", "carol", "--name", "alone", "--links")
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


def test_when_all_is_graded_the_consensus_is_what_is_left(store: Path) -> None:
    grade(store, *MADE, "--calibration", "0")

    async def work(desk: Desk) -> None:
        await Rater(desk, "alice").all_open(dict.fromkeys(range(12), 0))
        await Rater(desk, "bob").all_open({number: int(number < 2) for number in range(12)})

    assert "full grading goes on" in grade(store, "test-run-small", "--status").out
    at_desk(store, work)
    told = grade(store, "test-run-small", "--status").out
    assert "everything is graded; the consensus has 2 questions to settle" in told
    assert "2 questions in dispute, 0 settled by consensus" in told


def test_whose_steps_are_graded_is_told_where_a_run_is_not(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Triage, "gradings", property(lambda _: {}))
    told = grade(store, *MADE, code=2).err
    assert "answers of triage are not graded by people here; import grades with `harness grades`" in told
    monkeypatch.setattr(TriageJudge, "gradings", {"small": SmallTask()})
    told = grade(store, *MADE, code=2).err
    assert "those of its step judge are (small): name the run of `harness step judge test-run`" in told


def test_a_sample_and_answers_that_are_not_graded_are_told(tmp_path: Path) -> None:
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


def test_a_grading_is_found_without_reading_any_other(store: Path) -> None:
    grade(store, *MADE)
    grade(store, *MADE, "--name", "torn")
    with closing(sqlite3.connect(store)) as database, database:
        assert database.execute("UPDATE grading SET settings = x'7878' WHERE name = 'torn'").rowcount == 1
    for wanted in (["test-run-small"], [*MADE[:-1]]):
        assert grade(store, *wanted, "--json").json["grading"] == "test-run-small"
    assert "did you mean 'torn'" in grade(store, "tron", "--status", code=2).err
    for wanted in (["torn"], ["test-run"], []):
        assert "damaged" in grade(store, *wanted, "--json", code=1).err


def test_the_line_to_other_computers_is_said_not_to_be_encrypted(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(store, *MADE)
    served(monkeypatch)
    done = grade(store, "test-run-small", "--host", "0.0.0.0")
    assert "not encrypted" in done.err and "0.0.0.0" not in done.out
    assert tunnel(5).startswith("ssh -N -L 5:127.0.0.1:5 ")


@pytest.fixture
def explained(tmp_path: Path) -> Path:
    """A store with an answer that people can judge against what an expert wrote."""

    async def make() -> None:
        one = replace(case("a"), reference={"labels": ["Exodontia"], "rationale": "It is broken."})
        async with built_run(tmp_path, Plan([one]), name="night") as built:
            await built.valid(UnitId("alpha", "both", "a"), text=answer("Minor O.S."))

    asyncio.run(make())
    return tmp_path / "store.sqlite3"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_it_ends_in_an_orderly_way_as_soon_as_a_link_is_told(explained: Path, number: int) -> None:
    wanted = ("night", "--task", "judge", "--raters", "alice", "--port", "0", "--store", explained)
    process = spawn("grade", *wanted, cwd=explained.parent)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        done = finish(process)
    finally:
        process.kill()
        process.wait()
    assert done.code == 0, done.err
    assert first.startswith("alice  http://127.0.0.1:")
    assert done.err.endswith("the pages are closed; every grade that was given is kept\n")


def test_no_link_is_broken_where_a_terminal_is_narrow(store: Path) -> None:
    grade(store, *MADE)
    base = "http://127.0.0.1:40000"
    told = {
        columns: at_desk(store, lambda desk, columns=columns: _value(links_of([desk], base, columns)))
        for columns in (None, 69, 68, 30)
    }
    assert [len(line) for line in told[69]] == [len("consensus  ") + len(base) + 3 + 32 + 1] * 4
    assert told[None] == told[69]
    assert told[68] == told[30] == [part for line in told[69] for part in line.split()]


def test_the_defaults_that_help_tells_are_those_of_the_tasks() -> None:
    tasks = [
        task
        for benchmark in map(get_benchmark, ("medlay", "pandent.normalise", "radm"))
        for task in benchmark.gradings.values()
    ]
    told = " ".join(harness("grade", "--help").out.split())
    assert {task.name: task.calibration for task in (*tasks, JudgeCheck())} == {
        "expert": 0, "reader": 0, "audit": 0, "tiers": 50, "judge": 0,
    }  # fmt: skip
    assert "Default: the task's (tiers: 50, others: 0)" in told
    assert {task.threshold for task in tasks} == {0.75} and "Default: 0.75" in told
    assert [task.name for task in (*tasks, JudgeCheck()) if task.items is None] == ["tiers"]
    assert "Default: the task's (tiers: all)" in told
