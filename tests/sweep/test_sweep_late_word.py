"""A session that was suspended while another took its request over does not undo the other's answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from scripted_replies import Arrival, Reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    case_number,
    harness,
    outcomes,
    records,
    right_answer,
    run_args,
    write_cases,
    write_config,
)

from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store
from harness.outcomes import UnitOutcome


async def answer_elsewhere(store: Path, unit: UnitId) -> None:
    """Do what a second session does that takes the unit over: store an answer, and end the unit with it."""
    async with await Store.open(str(store), create=False) as other:
        run = await other.find_run()
        session = await other.start_session(run.id, {})
        found = await other.exchange(1)
        assert found is not None
        new = replace(found.data, key="b" * 64)
        id = await other.append(new, session=session, serve=True, link=(run.id, unit))
        state = UnitState(unit, UnitOutcome.VALID)
        await other.finish_unit(run.id, state, [Link(id, "answer", 1, used=True)])
        await other.end_session(session, 0, {})


def test_the_failure_of_a_session_that_overslept_leaves_the_others_answer(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)

    def script(arrival: Arrival) -> Reply:
        if case_number(arrival) != 2:
            return right_answer(arrival)
        with ThreadPoolExecutor(1) as thread:
            work = answer_elsewhere(tmp_path / "store.sqlite3", UnitId("m", "both", "c002"))
            thread.submit(asyncio.run, work).result()
        return status_reply(400, "too late")

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, max_in_flight=1)
        done = harness(*run_args(tmp_path))
        assert done.code == 0, done.err
        assert outcomes(tmp_path) == {"valid": 3}
        assert len(records(tmp_path)[2]["exchanges"]) == 2, "the failed send is kept too"
        assert harness(*run_args(tmp_path)).code == 0
        assert len(server.arrivals) == 3
