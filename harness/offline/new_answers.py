"""Which answers that a step was shown are others now, because `--again` asked for them once more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from harness.benchmarks.base import Case
from harness.benchmarks.steps import Answer, Step, StepCase, id_of_unit
from harness.cache.rows import Link, LinkedUnit, UnitId
from harness.cache.store import Store
from harness.messages import Reply
from harness.offline.replay import Replayer
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun, load_run
from harness.outcomes import USABLE


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """What stands of a unit that got another answer: since when, and what a step would be shown of it.

    `shown` None: nothing, for want of a usable answer. `seen`: the step was shown just that.
    """

    since_us: int
    shown: Mapping[str, str] | None
    seen: bool


async def new_answers(store: Store, stored: StoredRun) -> Mapping[UnitId, NewAnswer]:
    """Return the units that a step was shown and that were asked again since, and answered otherwise.

    Nothing for a run that is no step, and where the followed run is in another store.
    """
    wanted, step = stored.manifest.step, stored.benchmark
    source = None if wanted is None else await source_run(store, wanted.source)
    if source is None or not isinstance(step, Step):
        return {}
    again = [
        state.unit
        async for states in store.unit_state_pages(source.id)
        for state in states
        if state.again_after and step_case(stored, state.unit) is not None
    ]
    if not again:
        return {}
    followed = await load_run(store, source)
    replayer = Replayer(followed)
    found = {unit: await _new_answer(store, followed, replayer, step, unit) for unit in again}
    return {
        unit: NewAnswer(new[0], new[1], seen=_seen(step_case(stored, unit), new[1]))
        for unit, new in found.items()
        if new is not None
    }


def step_case(stored: StoredRun, unit: UnitId) -> Case | None:
    """Return the case that a step made of a unit; None where it made none."""
    place = stored.case_index.find(id_of_unit(unit))
    return None if place is None else stored.case_index.case(place)


def _seen(case: Case | None, shown: Mapping[str, str] | None) -> bool:
    return case is not None and shown is not None and dict(case.fields) == dict(shown)


async def answered_since(store: Store, stored: StoredRun, units: Collection[UnitId]) -> Mapping[UnitId, int]:
    """Return since when units have their answer that were asked again since and answered otherwise.

    Microseconds since 1970 UTC, of `units` alone.
    """
    again = [
        state.unit
        async for states in store.unit_state_pages(stored.run.id)
        for state in states
        if state.again_after and state.unit in units
    ]
    replayer, found = Replayer(stored), dict[UnitId, int]()
    for unit in again:
        linked = await store.linked_unit(stored.run.id, unit)
        assert linked is not None, "its state was read before"
        since = answer_since(replayer, unit, linked)
        if since is not None:
            found[unit] = since
    return found


def answer_since(replayer: Replayer, unit: UnitId, linked: LinkedUnit) -> int | None:
    """Return since when a unit has its answer, microseconds since 1970 UTC; None: all were alike."""
    replies = [(link, one, replayer.read(unit, one)) for link, one in linked.links]
    said = [_Said(link, one.id, read.text) for link, one, read in replies if isinstance(read, Reply)]
    if linked.state.outcome and _alike(said, linked.state.again_after):
        return None
    times = [one.data.started_at_us for _, one in linked.links if one.id > linked.state.again_after]
    return max(times, default=0)


@dataclass(frozen=True, slots=True)
class _Said:
    link: Link
    id: int
    text: str

    @property
    def ask(self) -> tuple[str, int]:
        return self.link.purpose, self.link.attempt


def _alike(said: Collection[_Said], again_after: int) -> bool:
    """Tell whether a unit was answered in the same words whenever it was asked.

    An answer can take several asks, each in its own words: then each must have got the same ones every time,
    and the same asks must have been made before and since.
    """
    if len({one.text for one in said}) == 1:
        return True
    before = {one.ask for one in said if one.id <= again_after}
    since = {one.ask for one in said if one.id > again_after}
    return before == since and len({(one.ask, one.text) for one in said}) == len(since)


async def _new_answer(
    store: Store, followed: StoredRun, replayer: Replayer, step: Step, unit: UnitId
) -> tuple[int, Mapping[str, str] | None] | None:
    """Return since when a unit has its answer, and what is shown of it; None: all were alike."""
    linked = await store.linked_unit(followed.run.id, unit)
    assert linked is not None, "its state was read before"
    since = answer_since(replayer, unit, linked)
    if since is None:
        return None
    result = replayer.replay(unit, linked).result
    place = followed.case_index.find(unit.case_id)
    if result.outcome not in USABLE or place is None:
        return since, None
    made = step.step_case(Answer(unit, followed.case_index.case(place), result.outcome, result.prediction))
    return since, made.fields if isinstance(made, StepCase) else None
