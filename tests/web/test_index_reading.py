"""The index of a run while a sweep works on it: what is read, when, and how much of it."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from bulk_run import bulk_plan, fill
from scripted_replies import chat_reply
from scripted_server import Arrival, Reply, ScriptedServer
from sqlalchemy import event
from stored_run_builder import FILLING, SCALING, Built, Plan, build, built_run, case
from sweep_kit import harness, write_config
from viewed_runs import Rests, ids, index_of

from harness.benchmarks.radm.task import RadM
from harness.benchmarks.triage.task import Triage
from harness.cache.grades import NewGrade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.offline.replay import Replayer
from harness.offline.score import score_run
from harness.offline.stored_run import load_run
from harness.outcomes import UnitOutcome
from harness.web.viewing.filters import Filters
from harness.web.viewing.index_reading import BATCH, IndexReader
from harness.web.viewing.index_scores import current_score
from harness.web.viewing.library import Library
from harness.web.viewing.shelf import Shelf
from harness.web.viewing.unit_index import UnitIndex

CASES = [case(f"c{number}", SCALING) for number in range(6)]
PLAN = Plan(CASES, models=("alpha", "beta"))


def unit(case_id: str, model: str = "alpha") -> UnitId:
    return UnitId(model, "both", case_id)


@pytest.fixture
async def built(tmp_path: Path) -> AsyncIterator[Built]:
    async with built_run(tmp_path, PLAN) as built:
        await built.valid(unit("c0"), SCALING)
        await built.valid(unit("c1"), FILLING)
        yield built


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """Give the statements that a store carries out meanwhile, reading ones."""
    found: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        found.append(statement)

    engine = store._database._reader.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    yield found
    event.remove(engine, "before_cursor_execute", note)


async def test_a_look_sees_what_a_sweep_answered_since(built: Built) -> None:
    index, reader = await index_of(built)
    await reader.fill(scores=True)
    assert await ids(index, right=("yes",)) == ["a:c0"]

    await built.valid(unit("c2"), SCALING)
    await built.answers(unit("c3"), UnitOutcome.TRUNCATED, "cut")
    await reader.look()

    assert await ids(index, outcome=("truncated",)) == ["a:c3"]
    assert await ids(index, outcome=("open",)) == ["a:c4", "a:c5", *(f"b:c{number}" for number in range(6))]
    assert index.reading == (2, 4)
    await reader.fill(scores=False)
    assert index.reading == (4, 4)
    assert await ids(index, right=("yes",)) == ["a:c0", "a:c2"]


async def test_a_look_sees_a_unit_that_is_to_be_asked_again_and_its_new_answer(built: Built) -> None:
    index, reader = await index_of(built)
    await reader.fill(scores=True)
    last = await built.store.mark_again(built.run.id, [unit("c1")])
    await reader.look()
    assert "a:c1" in await ids(index, outcome=("open",))
    assert await ids(index, right=("no",)) == []

    again = await built.exchange(unit("c1"), json.dumps({}), key="again")
    await built.finish(
        unit("c1"), UnitOutcome.UNPARSABLE, [(again, "answer", 1)], used=[again], again_after=last
    )
    await reader.look()
    await reader.fill(scores=False)

    assert "a:c1" not in await ids(index, outcome=("open",))
    assert (await ids(index, sort="latest"))[0] == "a:c1"


async def test_units_that_were_served_from_the_store_are_seen_too(built: Built) -> None:
    """They make no exchange: how many have ended tells."""
    other = await build(built.store, Plan([*CASES, case("c9")]), name="other")
    of_other, reads_other = await index_of(other)
    await other.finish(unit("c0"), UnitOutcome.VALID, [(1, "answer", 1)], used=[1])
    await reads_other.look()

    assert await ids(of_other, outcome=("valid",)) == ["a:c0"]


async def test_a_look_at_a_run_in_which_nothing_happened_asks_for_two_numbers(built: Built) -> None:
    index, reader = await index_of(built)
    with statements(built.store) as asked:
        await reader.look()
    assert len(asked) == 2
    assert not any("exchange.body" in one or "unit_exchange" in one for one in asked)
    assert index.reading == (0, 2)


async def test_a_look_asks_as_much_for_few_new_answers_in_a_large_run_as_in_a_small_one(
    tmp_path: Path,
) -> None:
    counts = []
    for cases in (3, 150):
        (tmp_path / str(cases)).mkdir()
        async with built_run(tmp_path / str(cases), bulk_plan(cases, ("alpha", "beta"))) as built:
            await fill(built)
            _, reader = await index_of(built)
            await built.store.mark_again(built.run.id, [UnitId("beta", "both", "case-000001")])
            await built.exchange(UnitId("beta", "both", "case-000001"), "{}", key=f"k{cases}")
            with statements(built.store) as asked:
                await reader.look()
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 5


async def test_the_first_page_of_a_list_reads_the_answers_that_it_shows_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[UnitId] = []
    replay = Replayer.replay

    def noted(self: Replayer, one: UnitId, linked: Any) -> Any:
        decoded.append(one)
        return replay(self, one, linked)

    monkeypatch.setattr(Replayer, "replay", noted)
    async with built_run(tmp_path, bulk_plan(150)) as built:
        await fill(built)
        index, reader = await index_of(built)
        assert not decoded
        rows = (await index.look(Filters(sort="latest"))).rows[:50].tolist()
        with statements(built.store) as asked:
            await reader.read(rows)
        assert len(decoded) == 50 == index.reading[0]
        assert len(asked) <= 4 * len(built.plan.models) + 2
        with statements(built.store) as asked:
            await reader.read(rows)
            for filters in (
                Filters(text="upper"),
                Filters(model=("beta",)),
                Filters(outcome=("empty",), sort="worst"),
            ):
                await index.look(filters)
        assert not asked and len(decoded) == 50


async def test_answers_are_read_in_small_batches_that_leave_the_machine_to_others(tmp_path: Path) -> None:
    rests, now, seconds = Rests(), [1_000.0], count(0.0, 0.01)
    async with built_run(tmp_path, bulk_plan(120, ("alpha", "beta"))) as built:
        await fill(built)
        index, reader = await index_of(built, sleep=rests, clock=lambda: now[0], worked=lambda: next(seconds))
        await reader.fill(scores=True)
        assert len(rests.seconds) == -(-240 // BATCH)
        # The session has not ended: a sweep may be at work, so that four fifths of a core are left to it.
        assert rests.seconds == pytest.approx([0.04] * 3)

        index.columns.read[:] = False
        index.columns = index.columns.copy()
        rests.seconds.clear()
        now[0] += 3600.0
        await reader.fill(scores=False)
        assert rests.seconds == pytest.approx([0.01] * 3)


async def test_scores_that_are_not_current_are_not_shown(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Triage, "intervals", lambda *_: {})
    assert await current_score(built.store, await load_run(built.store, built.run)) is None
    await score_run(built.store, built.run)
    assert await current_score(built.store, await load_run(built.store, built.run)) is not None

    await built.valid(unit("c2"), SCALING)

    assert await current_score(built.store, await load_run(built.store, built.run)) is None
    index, reader = await index_of(built)
    await reader.fill(scores=True)
    assert await ids(index, right=("yes",)) == ["a:c0", "a:c2"]


async def test_another_session_brings_its_models_and_new_scores_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Triage, "intervals", lambda *_: {})
    monkeypatch.setattr("harness.web.viewing.shelf._LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("harness.web.viewing.shelf._SHARE", 1e9)
    monkeypatch.setattr("harness.web.viewing.shelf._PATIENCE_S", 60.0)
    async with built_run(tmp_path, PLAN) as built:
        library = Library(built.store)
        async with library.opened():
            index = await library.index("test-run")
            assert (await library.stored("test-run")).sessions[-1].ended_at_us is None
            assert await library._ask(lambda shelf: shelf.scores("test-run")) is None
            await built.valid(unit("c5"), SCALING)
            await score_run(built.store, built.run)
            await built.store.end_session(built.session, 0)

            assert await library.index("test") is index
            assert await ids(index, outcome=("valid",)) == ["a:c5"]
            assert index.stored.sessions[-1].exit_code == 0
            scores = await library._ask(lambda shelf: shelf.scores("test-run"))
            assert scores is not None
            assert [row.name for row in scores.tables[0].rows] == ["alpha", "beta"]
            assert scores.tables[0].path == "fine.macro_f1"


async def test_what_came_too_late_for_a_page_is_no_answer_to_one_of_much_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.web.viewing.library.PATIENCE_S", 0.0)
    async with built_run(tmp_path, PLAN) as built:
        library = Library(built.store, kept_s=0.0)
        async with library.opened():
            assert await library.summaries() is None
            (late,) = library._asked.values()
            await asyncio.wait([late], timeout=20)
            for _ in range(9):  # turns of the loop
                await asyncio.sleep(0)
            await built.store.save_run("another", "d" * 64, "triage", dict(built.run.manifest))
            monkeypatch.setattr("harness.web.viewing.library.PATIENCE_S", 60.0)
            found = await library.summaries()
            assert found is not None
            assert {one.run.name for one in found} == {"test-run", "another"}


def answering(arrival: Arrival) -> Reply:
    dice = random.Random(arrival.text)
    return chat_reply(json.dumps({"diagnoses": [f"D{dice.randrange(99)}" for _ in range(5)]}), model="a")


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    """The sample of RadM, answered: made without an event loop, as the command has its own."""
    shutil.copytree(RadM().sample_dir(), tmp_path / "data")
    with ScriptedServer(answering) as server:
        write_config(tmp_path, server.url, ["a"], inputs=["text", "image"])
        done = harness(
            *("run", "--benchmark", "radm", "--data", tmp_path / "data", "--models", "a", "--attempts", "1"),
            *("--conditions", "text", "--name", "night", "--config", tmp_path / "harness.toml"),
            *("--store", tmp_path / "store.sqlite3"),
        )
    assert done.code == 0, done.err
    return tmp_path / "store.sqlite3"


async def test_units_are_right_or_wrong_by_the_grades_that_stand(answered: Path) -> None:
    async with await Store.open(str(answered)) as store:
        index = UnitIndex(await load_run(store, await store.find_run("night")))
        reader = IndexReader(store, index, sleep=Rests())
        await reader.load()
        await reader.fill(scores=True)
        assert index.has_right and not await ids(index, right=("yes", "no"))
        assert {"subset: RadEdu", "language: en"} <= {*index.strata.names}

        def graded(row: int, *tiers: int) -> list[NewGrade]:
            one = index.layout.unit(row)
            return [NewGrade(one, "alice", f"tier_{rank}", tier) for rank, tier in enumerate(tiers, 1)]

        run_id = index.stored.run.id
        await store.add_grades(run_id, [*graded(0, 0, 3, 0, 0, 0), *graded(1, 1, 0, 0, 0, 0)])
        await reader.regrade()
        assert index.reading == (len(index) - 2, len(index))
        await reader.fill(scores=False)
        assert [index.glance_at(row).right for row in (0, 1, 2)] == [False, True, None]

        await store.add_grades(run_id, graded(0, 2, 3, 0, 0, 0))
        await reader.regrade()
        assert index.reading == (len(index) - 1, len(index))
        await reader.fill(scores=False)
        assert index.glance_at(0).right is True


@pytest.mark.parametrize("place", ["look", "fill"])
async def test_an_unforeseen_fault_of_a_look_is_told_without_its_text(
    built: Built, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    unheard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, told: unheard.append(told))
    broken = asyncio.Event()

    async def fault(*_given: Any, **_options: Any) -> None:
        broken.set()
        raise KeyError("words of a case")

    shelf = Shelf(built.store)
    with monkeypatch.context() as patched:
        patched.setattr(IndexReader, place, fault)
        if place == "look":
            await shelf.index("latest")
            await built.valid(unit("c2"), SCALING)
            await built.store.end_session(built.session, 1)
            (held,) = [task.result() for task in shelf._held.values()]
            held.next_look = 0.0
        await shelf.index("latest")
        await asyncio.wait_for(broken.wait(), 10)
        await asyncio.sleep(0)
    gc.collect()
    assert unheard == [] and "words" not in caplog.text
    (told,) = [one.getMessage() for one in caplog.records if "KeyError" in one.getMessage()]
    assert told.startswith("error: ") and f"run {built.run.id}" in told and "(shelf.py:" in told
    if place == "look":
        held.next_look = 0.0
        await shelf.index("latest")
        await asyncio.wait([one for one in [held.looking] if one is not None] or [held.filling])
        assert "a:c2" in await ids(held.index, outcome=("valid",)), "the next look takes what this one left"
    shelf.stop()
