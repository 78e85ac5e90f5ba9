"""Two stores become one: what is taken, what stays, and that it may be done again."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from store_examples import a_key, a_session, an_exchange, dump
from sweep_kit import finish, spawn

from harness.cache import merge as merge_module
from harness.cache.grades import packed_value
from harness.cache.merge_report import MergeReport
from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store, bring_up_to_date
from harness.errors import NotAStoreError, StoreError, StoreVersionError
from harness.media import Media
from harness.media_reading import Note, Stamp
from harness.outcomes import ExchangeOutcome, UnitOutcome

STAMP = Stamp(3, 1, 1, 7)
ON_SQLITE = pytest.mark.parametrize("empty_place", ["sqlite"], indirect=True)
"""For tests that look into the file itself."""


@pytest.fixture
def other_path(tmp_path: Path, empty_store: Path) -> Path:
    return Path(shutil.copy(empty_store, tmp_path / "other.sqlite3"))


def content(path: Path) -> bytes:
    return path.read_bytes()


def make_read_only(path: Path) -> None:
    path.chmod(0o400)


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(path)) as store:
        yield store


async def merged(store: Store, other: Path, **more: Any) -> MergeReport:
    return await store.merge(other, bring_up_to_date, **more)


async def ask(
    store: Store,
    run: int,
    session: int,
    unit: UnitId,
    outcome: UnitOutcome | None = UnitOutcome.VALID,
    *,
    name: object = None,
    at: int = 1,
    again_after: int = 0,
    earlier: Sequence[int] = (),
    **changes: Any,
) -> int:
    """Ask a unit once, and end it so."""
    answered = outcome in {UnitOutcome.VALID, UnitOutcome.UNPARSABLE}
    kind = ExchangeOutcome.ANSWERED if answered else ExchangeOutcome.UNAVAILABLE
    exchange = an_exchange(name or unit.case_id, started_at_us=at, **({"outcome": kind} | changes))
    id = await store.append(exchange, session=session, serve=True, link=(run, unit))
    links = [*(Link(one, "answer", 1) for one in earlier), Link(id, "answer", 1, used=answered)]
    await store.finish_unit(run, UnitState(unit, outcome, again_after), links)
    return id


ONE, TWO = UnitId("m", "both", "1"), UnitId("m", "both", "2")


async def test_what_only_they_have_is_taken_over(store: Store, other_path: Path) -> None:
    run, session = await a_session(store, "mine")
    await ask(store, run, session, ONE)
    async with opened(other_path) as other:
        theirs, its = await a_session(other, "theirs", "b" * 64)
        await ask(other, theirs, its, ONE, name="x", at=5)
        await ask(other, theirs, its, TWO, name="y", at=6)
        await other.put_blobs([b"prompt"])
        await other.remember([Note(Media("c" * 64, "image/png", 3, 1, 1, Path("/x/y.png")), STAMP, 7)])
    before = content(other_path)
    report = await merged(store, other_path)
    assert (report.runs_new, report.sessions_new, report.exchanges_new, report.units_new) == (1, 1, 2, 2)
    assert (report.served_new, report.blobs_new, report.media_new) == (2, 1, 1)
    assert content(other_path) == before
    found = await store.find_run("theirs")
    units = [unit async for unit in store.linked_units(found.id)]
    assert [unit.links[0][1].data.started_at_us for unit in units] == [5, 6]
    assert [unit.links[0][1].session for unit in units] == [2, 2]
    assert (await store.served([a_key("y")]))[a_key("y")].id == 3
    assert await store.get_blob(next(iter(await blobs(store)))) == b"prompt"
    assert await store.verify() == []


async def blobs(store: Store) -> list[str]:
    async with store._database.reading() as connection:
        return [row[0] for row in await connection.exec_driver_sql("SELECT sha256 FROM blob")]


@ON_SQLITE
async def test_merging_twice_changes_nothing(store: Store, store_path: Path, other_path: Path) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        first = await ask(other, run, session, ONE, UnitOutcome.PROVIDER_ERROR)
        await ask(other, run, session, ONE, at=2, earlier=[first])
        await other.mark_again(run, [ONE])
        await other.end_session(session, 3, {"again": ["valid"], "again_after": 2})
    assert not (await merged(store, other_path)).is_nothing
    before = dump(store_path)
    report = await merged(store, other_path)
    assert report.is_nothing, report
    assert (report.exchanges_known, report.units_known, report.runs_known) == (2, 1, 1)
    assert dump(store_path) == before


@ON_SQLITE
async def test_a_dry_run_tells_the_same_and_writes_nothing(
    store: Store, store_path: Path, other_path: Path
) -> None:
    run, session = await a_session(store, "mine")
    await ask(store, run, session, ONE, UnitOutcome.PROVIDER_ERROR)
    async with opened(other_path) as other:
        for name, digest in (("mine", "a" * 64), ("more", "b" * 64)):
            theirs, its = await a_session(other, name, digest)
            await ask(other, theirs, its, ONE, name=name, at=5)
            await ask(other, theirs, its, TWO, name=f"{name} 2", at=6)
        await other.put_blobs([b"one", b"two"])
    before = dump(store_path)
    told = (await merged(store, other_path, dry_run=True)).to_json()
    assert dump(store_path) == before
    done = (await merged(store, other_path)).to_json()
    assert told == {**done, "dry_run": True}
    assert done["units_updated"] == 1


async def test_an_exchange_that_is_here_already_is_not_taken_twice(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        await ask(other, run, session, ONE)
    await merged(store, other_path)
    async with opened(other_path) as other:
        await ask(other, run, session, TWO, at=9)
    report = await merged(store, other_path)
    assert (report.exchanges_known, report.exchanges_new, report.units_new) == (1, 1, 1)
    assert await store.last_exchange_id() == 2


async def test_equal_exchanges_within_one_store_are_both_taken(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        _, session = await a_session(other, "theirs")
        for _ in range(3):
            await other.append(an_exchange(), session=session, serve=True)
    assert (await merged(store, other_path)).exchanges_new == 3
    assert (await merged(store, other_path)).exchanges_known == 3
    assert await store.last_exchange_id() == 3


async def test_equal_exchanges_stay_with_their_own_units(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        for unit in (ONE, TWO):
            await ask(other, run, session, unit, name="same")
    await merged(store, other_path)
    links = [unit.links[0][0].exchange_id async for unit in store.linked_units(1)]
    assert links == [1, 2]
    report = await merged(store, other_path)
    assert (report.is_nothing, report.units_known, report.units_twice) == (True, 2, 0)


async def test_what_is_added_to_the_other_store_meanwhile_waits_for_the_next_merge(
    store: Store, other_path: Path
) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        await ask(other, run, session, ONE)
        await ask(other, run, session, TWO, UnitOutcome.PROVIDER_ERROR)

        def meanwhile(done: int, total: int) -> None:
            with sqlite3.connect(other_path) as database:
                database.execute("UPDATE unit SET outcome = 'rejected' WHERE case_id = '1'")
                database.execute("DELETE FROM unit_exchange WHERE case_id = '2'")
            database.close()

        await merged(store, other_path, progress=meanwhile)
    outcomes = [(unit.state.outcome, len(unit.links)) async for unit in store.linked_units(1)]
    assert outcomes == [(UnitOutcome.VALID, 1), (UnitOutcome.PROVIDER_ERROR, 1)]


async def test_one_that_differs_only_in_its_answer_is_another(store: Store, other_path: Path) -> None:
    _, session = await a_session(store, "same")
    await store.append(an_exchange(), session=session, serve=True)
    async with opened(other_path) as other:
        _, its = await a_session(other, "same")
        raw = an_exchange("else").raw
        await other.append(an_exchange(raw=raw), session=its, serve=True)
    assert (await merged(store, other_path)).exchanges_new == 1


async def test_ours_goes_on_serving_a_key_that_both_answer(store: Store, other_path: Path) -> None:
    _, session = await a_session(store, "mine")
    mine = await store.append(an_exchange(), session=session, serve=True)
    async with opened(other_path) as other:
        _, its = await a_session(other, "theirs", "b" * 64)
        await other.append(an_exchange(started_at_us=9), session=its, serve=True)
    report = await merged(store, other_path)
    assert (report.exchanges_new, report.served_new) == (1, 0)
    assert (await store.served([a_key("one")]))[a_key("one")].id == mine


async def test_a_name_that_is_taken_is_changed_and_said(store: Store, other_path: Path) -> None:
    await a_session(store, "night")
    await a_session(store, "night-2", "c" * 64)
    async with opened(other_path) as other:
        await a_session(other, "night", "b" * 64)
    report = await merged(store, other_path)
    assert report.renamed == {"night": "night-3"}
    assert (await store.find_run("night")).digest == "a" * 64
    assert (await store.find_run("night-3")).digest == "b" * 64


OUTCOMES = (UnitOutcome.VALID, UnitOutcome.PROVIDER_ERROR, None)


@pytest.mark.parametrize(
    ("mine", "theirs", "stands"),
    [
        (UnitOutcome.VALID, UnitOutcome.PROVIDER_ERROR, UnitOutcome.VALID),
        (UnitOutcome.PROVIDER_ERROR, UnitOutcome.VALID, UnitOutcome.VALID),
        (UnitOutcome.PROVIDER_ERROR, UnitOutcome.REJECTED, UnitOutcome.PROVIDER_ERROR),
        (None, UnitOutcome.PROVIDER_ERROR, UnitOutcome.PROVIDER_ERROR),
        (UnitOutcome.PROVIDER_ERROR, None, UnitOutcome.PROVIDER_ERROR),
        (UnitOutcome.UNPARSABLE, UnitOutcome.VALID, UnitOutcome.UNPARSABLE),
        (UnitOutcome.NOT_ATTEMPTED, UnitOutcome.NOT_APPLICABLE, UnitOutcome.NOT_APPLICABLE),
    ],
)
async def test_answered_beats_failed_beats_absent_and_ours_stands_else(
    store: Store,
    other_path: Path,
    mine: UnitOutcome | None,
    theirs: UnitOutcome | None,
    stands: UnitOutcome,
) -> None:
    run, session = await a_session(store, "same")
    await ask(store, run, session, ONE, mine, name="mine")
    async with opened(other_path) as other:
        same, its = await a_session(other, "same")
        await ask(other, same, its, ONE, theirs, name="theirs")
    report = await merged(store, other_path)
    (unit,) = [unit async for unit in store.linked_units(run)]
    assert unit.state.outcome is stands
    # The evidence that stands is what is read; what only the loser had is no newer round.
    current = [exchange.data.key for _, exchange in unit.links if exchange.id > unit.state.again_after]
    assert current == [a_key("theirs" if stands is theirs and stands is not mine else "mine")]
    answered = {UnitOutcome.VALID, UnitOutcome.UNPARSABLE}
    assert report.conflicts == int({mine, theirs} <= answered and mine is not theirs)
    if report.conflicts:
        assert report.conflicts_named == ["1 / both / m / 1"]
    assert await store.verify() == []


async def test_a_history_that_went_on_is_taken_further(store: Store, other_path: Path) -> None:
    """Asked once more elsewhere: the copy there is the same unit, with more in it."""
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        first = await ask(other, run, session, ONE)
        await merged(store, other_path)
        after = await other.mark_again(run, [ONE])
        again = {"again_after": after, "at": 7, "earlier": [first]}
        await ask(other, run, session, ONE, UnitOutcome.UNPARSABLE, **again)
    report = await merged(store, other_path)
    assert (report.units_updated, report.units_twice) == (1, 0)
    (unit,) = [unit async for unit in store.linked_units(1)]
    assert (unit.state.outcome, unit.state.again_after) == (UnitOutcome.UNPARSABLE, 1)
    assert [link.exchange_id for link, _ in unit.links] == [1, 2]


async def test_a_unit_that_was_marked_here_stays_marked(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        await ask(other, run, session, ONE)
    await merged(store, other_path)
    await store.mark_again(1, [ONE])
    assert (await merged(store, other_path)).is_nothing
    assert (await store.unit_states(1))[ONE].outcome is None


async def test_lists_of_again_are_known_by_our_numbers(store: Store, other_path: Path) -> None:
    _, mine = await a_session(store, "mine", "b" * 64)
    for number in range(10):
        await store.append(an_exchange(number), session=mine, serve=True)
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        first = await ask(other, run, session, ONE)
        after = await other.mark_again(run, [ONE])
        await other.end_session(session, 0, {"again": ["valid"], "again_after": after})
    assert (first, after) == (1, 1)
    await merged(store, other_path)
    run_here = await store.find_run("theirs")
    (session_here,) = await store.sessions(run_here.id)
    (unit,) = [unit async for unit in store.linked_units(run_here.id)]
    assert session_here.info["again_after"] == unit.state.again_after == 11
    assert unit.links[0][1].id == 11
    assert (session_here.exit_code, session_here.info["again"]) == (0, ["valid"])


async def test_a_session_that_ended_meanwhile_is_brought_up_to_date(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        _, session = await a_session(other, "theirs")
        await merged(store, other_path)
        await other.end_session(session, 3, {"sends": 5})
    await merged(store, other_path)
    (found,) = await store.sessions(1)
    assert (found.exit_code, found.info["sends"]) == (3, 5)


async def test_rounds_that_cannot_be_told_apart_are_asked_again(store: Store, other_path: Path) -> None:
    """Their two rounds came here before, the other way round, by way of a third store."""
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        first = await ask(other, run, session, ONE, at=1)
        after = await other.mark_again(run, [ONE])
        await ask(other, run, session, ONE, at=2, again_after=after, earlier=[first])
        (there,) = await other.sessions(run)
    await merged(store, other_path)
    async with store._database.writing() as transaction:
        for statement in (
            "DELETE FROM unit_exchange",
            "DELETE FROM unit",
            "UPDATE exchange SET started_at_us = 3 - started_at_us",
        ):
            await transaction.connection.exec_driver_sql(statement)
    assert there.id == 1
    report = await merged(store, other_path)
    assert (report.exchanges_known, report.units_reopened) == (2, 1)
    assert (await store.unit_states(1))[ONE].outcome is None


async def test_what_was_derived_from_a_run_is_dropped_where_it_changes(
    store: Store, other_path: Path
) -> None:
    from harness.cache.derived import RecordRow, record_values

    run, _ = await a_session(store, "same")
    quiet = (await store.save_run("quiet", "d" * 64, "triage", {})).id
    for id in (run, quiet):
        await store.replace_records(
            id, [record_values(id, RecordRow(ONE, UnitOutcome.VALID, None, None, "", "p"))]
        )
    async with opened(other_path) as other:
        same, its = await a_session(other, "same")
        await ask(other, same, its, ONE)
    await merged(store, other_path)
    assert [row async for row in store.records(run)] == []
    assert len([row async for row in store.records(quiet)]) == 1


@ON_SQLITE
async def test_grades_and_kept_bytes_come_along_once(
    store: Store, store_path: Path, other_path: Path
) -> None:
    async with opened(other_path) as other:
        await a_session(other, "theirs")
    media = ("e" * 64, "image/png", 3, 1, 1)
    with sqlite3.connect(other_path) as database:
        grade = "INSERT INTO grade VALUES (?, 1, 'm', 'both', '1', 1, 'ann', 'good?', ?, 5)"
        database.executemany(grade, [(1, packed_value(1)), (2, packed_value(1))])
        database.execute("INSERT INTO media VALUES (?, ?, ?, ?, ?, x'00', NULL)", media)
    database.close()
    await store.remember([Note(Media(*media, path=Path("/here.png")), STAMP, 1)])
    report = await merged(store, other_path)
    assert (report.grades_new, report.media_new) == (2, 1)
    assert (await merged(store, other_path)).is_nothing
    found = dump(store_path)
    assert len(found["grade"]) == 2
    assert found["media"][0][5] == b"\x00"


async def test_claims_stay_where_they_are(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        await other.claim("k")
        await merged(store, other_path)
    assert await store.claim_holder("k") is None


@ON_SQLITE
async def test_a_store_is_not_merged_into_itself(store: Store, store_path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store_path)
    for path in (store_path, tmp_path / "link"):
        with pytest.raises(StoreError, match="is this very store"):
            await merged(store, path)


async def test_what_is_no_store_and_what_is_newer_is_refused(store: Store, tmp_path: Path) -> None:
    notes, newer = tmp_path / "notes.txt", tmp_path / "newer.sqlite3"
    notes.write_text("my notes" * 100)
    with pytest.raises(NotAStoreError):
        await merged(store, notes)
    with pytest.raises(StoreError, match="cannot read"):
        await merged(store, tmp_path / "nowhere")
    async with opened(newer):
        pass
    with sqlite3.connect(newer) as database:
        database.execute("UPDATE meta SET value = '99'")
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreVersionError, match="version 99"):
        await merged(store, newer)


async def test_an_older_store_is_read_from_a_migrated_copy(
    store: Store, other_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        await ask(other, run, session, ONE)
    with sqlite3.connect(other_path) as database:
        database.execute("UPDATE meta SET value = '0'")
        database.execute("PRAGMA user_version = 0")
    database.close()
    before = content(other_path)
    migrated: list[Path] = []

    async def migrate(path: Path) -> None:
        migrated.append(path)
        with sqlite3.connect(path) as database:
            assert database.execute("SELECT value FROM meta").fetchone() == ("0",)
            database.execute("UPDATE meta SET value = '1'")
        database.close()

    report = await store.merge(other_path, migrate)
    assert report.units_new == 1
    assert content(other_path) == before
    assert migrated and not migrated[0].exists()


async def test_two_merges_at_once_take_each_exchange_once(
    store: Store, other_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_module, "ROWS", 2)
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        for number in range(6):
            # Two by two they are equal: as many as there are stay.
            await ask(other, run, session, UnitId("m", "both", str(number)), name="x", at=number // 2)
    reports = await asyncio.gather(merged(store, other_path), merged(store, other_path))
    assert sum(report.exchanges_new for report in reports) == 6
    assert await store.last_exchange_id() == 6
    assert await store.verify() == []


async def test_a_merge_of_an_older_store_names_no_backup_that_is_gone(
    store: Store, other_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        await ask(other, run, session, ONE)
    with sqlite3.connect(other_path) as database:
        database.execute("ALTER TABLE media DROP COLUMN plain")
        for column in ("ctime_ns", "inode", "reader"):
            database.execute(f"ALTER TABLE media_place DROP COLUMN {column}")
        database.execute("UPDATE meta SET value = '1'")
        database.execute("PRAGMA user_version = 1")
    database.close()
    assert (await merged(store, other_path)).units_new == 1
    assert "is kept as" not in caplog.text


async def test_a_damaged_blob_is_not_taken_over(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        await other.put_blobs([b"prompt"])
    with sqlite3.connect(other_path) as database:
        database.execute("UPDATE blob SET data = x'00'")
    database.close()
    with pytest.raises(StoreError, match="of the other store is damaged"):
        await merged(store, other_path)


async def test_a_store_that_cannot_be_written_is_merged_all_the_same(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        await ask(other, run, session, ONE)
    make_read_only(other_path)
    assert (await merged(store, other_path)).units_new == 1


async def test_the_other_store_may_be_in_use(store: Store, other_path: Path) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other, "theirs")
        await ask(other, run, session, ONE)
        seen: list[tuple[int, int]] = []

        def progress(done: int, total: int) -> None:
            seen.append((done, total))

        report = await merged(store, other_path, progress=progress)
        # What stands in the write-ahead log only counts too.
        assert (report.units_new, seen) == (1, [(1, 1)])
        await ask(other, run, session, TWO)
    assert (await merged(store, other_path)).units_new == 1
    assert json.dumps(report.to_json())


INTERRUPTED = """
import os, signal, sys
from harness.cache import merge
merge.ROWS = 2
add, calls = merge.add_exchanges, []
async def interrupted(*given):
    calls.append(given)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return await add(*given)
merge.add_exchanges = interrupted
from harness.cli.main import main
main()
"""


@pytest.mark.slow
async def test_a_merge_that_is_interrupted_says_how_to_go_on_and_the_same_command_does(
    store_path: Path, other_path: Path, tmp_path: Path
) -> None:
    async with opened(other_path) as other:
        run, session = await a_session(other)
        for number in range(9):
            await ask(other, run, session, UnitId("m", "both", str(number)))
    words = ["store", "merge", other_path, "--store", store_path, "--json"]
    done = await asyncio.to_thread(lambda: finish(spawn(*words, cwd=tmp_path, code=INTERRUPTED)))
    assert done.code == 130 and "Traceback" not in done.err, done.err
    assert "interrupted; give the same command again" in done.err
    assert 0 < len(dump(store_path)["exchange"]) < 9
    again = await asyncio.to_thread(lambda: finish(spawn(*words, cwd=tmp_path)))
    assert again.code == 0 and again.json["exchanges_known"] > 0
    whole = tmp_path / "whole.sqlite3"
    async with opened(whole) as store:
        await merged(store, other_path)
    assert dump(store_path) == dump(whole)
