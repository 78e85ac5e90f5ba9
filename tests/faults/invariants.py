"""What must hold after every scenario, whatever happened in it: one checker for all of them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.disturbances import Aftermath
from faults.misbehaviours import MAX_SENDS
from faults.scene import KEY, Scene, leaked_in
from sweep_kit import Done, labels_of

from harness.cache.rows import Exchange
from harness.cache.store import Store

Case = tuple[str, int]
"""Model and number of a case."""

DERIVED = ("run", "exchanges", "evidence_cost_usd", "spent_usd")
"""Fields of a record that say how its answer was come by, and so may differ."""

ONE_SEND = {"bad_request", "unsupported_input", "unknown", "context_length"}
COUNTED = {"unavailable", "malformed_reply", "timeout"}


@dataclass(frozen=True)
class Stored:
    """What a store holds when a scenario is over."""

    exchanges: Mapping[Case, tuple[Exchange, ...]]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Undisturbed:
    """The end of the same run with a good server and nothing in its way: scores, and records by case."""

    score: str
    records: Mapping[Case, Mapping[str, Any]]


def read_store(path: Path) -> Stored:
    """Return every exchange by case, oldest first, and what `store verify` finds."""
    return asyncio.run(_read_store(path))


async def _read_store(path: Path) -> Stored:
    found: dict[Case, dict[int, Exchange]] = defaultdict(dict)
    async with await Store.open(str(path), create=False) as store:
        for run in await store.runs():
            async for unit in store.linked_units(run.id):
                case = unit.state.unit.model, int(unit.state.unit.case_id[1:])
                found[case].update((exchange.id, exchange) for _, exchange in unit.links)
        problems = tuple(await store.verify())
    ordered = {case: tuple(exchanges[id] for id in sorted(exchanges)) for case, exchanges in found.items()}
    return Stored(ordered, problems)


def records_by_case(exported: Done) -> dict[Case, dict[str, Any]]:
    """Return the records of an export by case, without what may differ."""
    assert exported.code == 0, exported.err
    found: dict[Case, dict[str, Any]] = {}
    for line in exported.out.splitlines():
        record = json.loads(line)
        case = record["model"], int(record["case_id"][1:])
        assert case not in found, f"two records of {case}"
        found[case] = {name: value for name, value in record.items() if name not in DERIVED}
    return found


def check_all(
    scene: Scene, undisturbed: Undisturbed, last: Done, exported: Done, aftermath: Aftermath
) -> None:
    """Check a scenario that was mended and brought to its end by `last`, a run with --json."""
    stored = read_store(scene.store)
    assert stored.problems == (), stored.problems
    check_nothing_lost(scene, stored, aftermath.may_lose)
    check_nothing_paid_twice(stored, aftermath.may_pay_twice)
    check_faults_are_told(scene, stored)
    check_words(scene)
    check_keys(scene, stored, exported)
    assert last.code == 0, last.err
    assert last.out == undisturbed.score, "the scores are not those of an undisturbed run"
    records = records_by_case(exported)
    assert records == undisturbed.records, "the records are not those of an undisturbed run"


def check_half_way(status: Done, score: Done, scene: Scene) -> None:
    """A disturbed run can be looked at as it is; a model with missing units is incomplete."""  # F14
    for looked in (status, score):
        assert looked.code in {0, 2} and "Traceback" not in looked.err, looked.err
        assert KEY not in looked.out + looked.err
        assert looked.code == 0 or "run" in looked.err  # none was begun yet
    rows = json.loads(score.out)["rows"] if score.code == 0 else []
    for row in (row for row in rows if row["kind"] == "model"):
        answered = sum(row["outcomes"].get(name, 0) for name in ("valid", "recovered", "not_applicable"))
        assert row["incomplete"] == (answered < row["n_units"]), row
        assert row["outcomes"].get("valid", 0) <= len(scene.arrivals)


def check_nothing_lost(scene: Scene, stored: Stored, may_lose: int) -> None:
    """Every request that arrived is in the store, save those in flight at a hard stop."""  # F23
    arrived = Counter(scene.case_of(arrival) for arrival in scene.arrivals)
    lost = {
        case: count - kept
        for case, count in arrived.items()
        if (kept := sum(map(_reached, stored.exchanges.get(case, ())))) < count
    }
    assert sum(lost.values()) <= may_lose, f"{lost} arrived and are not in the store; at most {may_lose} may"


def _reached(exchange: Exchange) -> bool:
    return exchange.data.outcome != "connection" or exchange.data.maybe_billed


def check_nothing_paid_twice(stored: Stored, may_pay_twice: int = 0) -> None:
    """An answer in the store is the end of its request; before it, only the sends of DESIGN 5."""  # F20
    twice = 0
    for case, exchanges in stored.exchanges.items():
        first = next((at for at, one in enumerate(exchanges) if one.data.outcome.serves), len(exchanges))
        twice += len(exchanges[first + 1 :])
        by_session: dict[int, Counter[str]] = defaultdict(Counter)
        for exchange in exchanges:
            by_session[exchange.session][str(exchange.data.outcome)] += 1
        for outcomes in by_session.values():
            assert outcomes["timeout"] <= 2, f"{case}: {outcomes}"
            assert sum(outcomes[name] for name in COUNTED) <= MAX_SENDS, f"{case}: {outcomes}"
            assert all(outcomes[name] <= 1 for name in ONE_SEND), f"{case}: {outcomes}"  # F21
    assert twice <= may_pay_twice, f"{twice} were sent again after their answer"


def check_faults_are_told(scene: Scene, stored: Stored) -> None:
    """Each exchange is one that what was done to its case explains, with an error that names it."""  # F7
    for case, exchanges in stored.exchanges.items():
        met = [
            scene.treated[arrival.number]
            for arrival in scene.arrivals
            if arrival.number in scene.treated and scene.case_of(arrival) == case
        ]
        arrived = sum(scene.case_of(arrival) == case for arrival in scene.arrivals)
        dropped = {"timeout", "connection"} & {str(one.data.outcome) for one in exchanges}
        cut_short = arrived > len(exchanges) or dropped  # by the disturbance, before all of it came
        for misbehaviour in set(met):
            explained = [one for one in exchanges if one.data.outcome in misbehaviour.outcomes]
            said = [one.data.error or "" for one in explained]
            assert cut_short or any(misbehaviour.says in one for one in said), (misbehaviour.name, said)


def check_words(scene: Scene) -> None:
    """No process ended in a traceback, and every error is one line that says what to do."""
    for done in scene.done:
        assert "Traceback" not in done.err, done.err
        errors = [line for line in done.err.splitlines() if line.startswith("error:")]
        assert len(errors) <= 1, done.err
        assert done.code not in {1, 2} or errors, f"exit {done.code} without a word: {done.err}"
        assert not any("the program failed" in line for line in errors), done.err


def check_keys(scene: Scene, stored: Stored, exported: Done) -> None:
    """The key is in no file, no output and no stored exchange, even where the server sends it back."""  # F46
    assert any(KEY in arrival.headers["authorization"] for arrival in scene.arrivals), "no key was ever sent"
    assert leaked_in(scene.folder) == []
    for done in (*scene.done, exported):
        assert KEY not in done.out + done.err
    for exchanges in stored.exchanges.values():
        for exchange in exchanges:
            data = exchange.data
            texts = (str(dict(data.raw.headers)), data.error or "", data.endpoint)
            assert not any(KEY in text for text in texts)
            assert KEY.encode("ascii") not in data.raw.body + data.request


def check_right(records: Mapping[Case, Mapping[str, Any]]) -> None:
    """Every record of an undisturbed run holds its own case's labels: what the others are compared with."""
    for (_, case), record in records.items():
        assert record["outcome"] == "valid", record
        assert record["media"] and record["case_id"] == f"c{case:03}"
        chosen = {label for label, value in _flat(record["prediction"]) if value == 1}
        assert chosen == set(labels_of(case)), record


def _flat(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [pair for name, inner in value.items() for pair in ((name, inner), *_flat(inner))]
