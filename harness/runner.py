"""Works through a run's open units: one window a model, every result stored, bounded in memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.attempts import UnitResult
from harness.benchmarks.base import Case
from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store
from harness.outcomes import UnitOutcome
from harness.plans import ConditionPlan, ModelPlan, Unit
from harness.pools.pool import Pool
from harness.unit_states import UnitStates
from harness.window import Window

if TYPE_CHECKING:
    from harness.units import UnitRunner

Order: TypeAlias = Literal["interleave", "model"]
OnUnit: TypeAlias = Callable[[UnitId, UnitOutcome], None]


@dataclass(frozen=True, slots=True)
class Work:
    """What a session has to do: the run's parts, and how far each unit has come."""

    run_id: int
    cases: Sequence[Case]
    conditions: Mapping[str, ConditionPlan]
    models: Mapping[str, ModelPlan]
    repeats: int
    states: UnitStates
    ask_again: frozenset[UnitOutcome]

    def open_units(self, model: str) -> Iterator[Unit]:
        """Give the units of a model that this session works on, made as they are needed.

        In the order in which they are asked: by condition, case, repeat.
        """
        last: tuple[int, Case] | None = None
        for condition in self.conditions.values():
            for index in self.states.open_indexes(model, condition.name, self.ask_again):
                position, repeat = divmod(index, self.repeats)
                if last is None or last[0] != position:
                    last = position, self.cases[position]
                case = last[1]
                after = self.states.again_after(model, condition.name, index)
                unit = UnitId(model, condition.name, case.id, repeat + 1)
                yield Unit(self.run_id, unit, case, condition, self.models[model], after)

    def count_open(self, model: str) -> int:
        """Return how many units of a model this session works on."""
        return self.states.count_open(model, self.ask_again)


@dataclass(slots=True)
class Tally:
    """How many units ended how, by model, in this session."""

    outcomes: dict[str, Counter[UnitOutcome]] = field(default_factory=dict)

    def add(self, unit: UnitId, outcome: UnitOutcome) -> None:
        """Count one unit."""
        self.outcomes.setdefault(unit.model, Counter())[outcome] += 1


class Runner:
    """Runs all open units. `stop` ends it early: what is in flight is finished and kept."""

    def __init__(
        self,
        store: Store,
        units: UnitRunner,
        pools: Mapping[str, Pool],
        *,
        order: Order = "interleave",
        on_unit: OnUnit = lambda unit, outcome: None,
    ) -> None:
        self._store = store
        self._units = units
        self._pools = pools
        self._order = order
        self._on_unit = on_unit
        self._stopping: str | None = None
        self.tally = Tally()

    def stop(self, why: str) -> None:
        """Send nothing more; sends in flight end by themselves, within their timeouts."""
        self._stopping = why
        for pool in self._pools.values():
            pool.close(why)

    def stop_now(self) -> None:
        """Wait for no other process any more either; whoever runs the units cancels them."""
        self._store.hurry()

    async def run(self, work: Work) -> Tally:
        """Work through all open units. Raises StoreError as soon as the store fails."""
        if self._order == "model":
            for model in work.models:
                await self._run_model(work, model)
            return self.tally
        async with asyncio.TaskGroup() as group:
            for model in work.models:
                group.create_task(self._run_model(work, model), name=f"model {model}")
        return self.tally

    async def _run_model(self, work: Work, model: str) -> None:
        pool = self._pools[model]
        async with Window(lambda: pool, lambda: self._units.waiting_elsewhere(model)) as window:
            for unit in work.open_units(model):
                if self._stopping is not None:
                    return
                await window.start(self._run_unit(unit))

    async def _run_unit(self, unit: Unit) -> None:
        result = await self._units.run(unit)
        self.tally.add(unit.id, result.outcome)
        if result.outcome is not UnitOutcome.NOT_ATTEMPTED or result.asks:
            await self._store.finish_unit(
                unit.run_id, _state(unit, result), _links(result), unless_answered=True
            )
        self._on_unit(unit.id, result.outcome)


def _state(unit: Unit, result: UnitResult) -> UnitState:
    error = None if result.error is None else f"{result.error.kind}: {result.error.message}"
    return UnitState(unit.id, result.outcome, again_after=unit.after, error=error)


def _links(result: UnitResult) -> list[Link]:
    used = set(result.used)
    return [Link(ref.exchange_id, ref.purpose, ref.attempt, used=ref in used) for ref in result.asks]
