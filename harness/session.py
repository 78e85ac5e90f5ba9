"""One invocation that works on a run: what is open, with which keys, under which limits, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness import __version__, exit_codes
from harness.again import AgainList
from harness.budget import Budget, MaxCost
from harness.cache.store import Store
from harness.canonical import JSON
from harness.collecting import standing_objects_left_alone
from harness.errors import ConfigError, MissingKeyError, UnknownNameError
from harness.frames.needed import check_frames_can_be_made
from harness.nearest import nearest
from harness.open_files import file_limit, most_in_flight
from harness.outcomes import SHOWN_AS_FAILED, UNUSABLE, USABLE, UnitOutcome
from harness.planning import Plan
from harness.plans import ModelPlan
from harness.pools.limits import PoolLimits, pool_name
from harness.pools.pool import Pool
from harness.providers.encoding import MIN_SECRET_LENGTH, mask_headers, mask_secrets
from harness.run_opening import Opening
from harness.run_options import RunOptions, SessionOptions
from harness.runner import OnUnit, Runner, Work
from harness.settings import Model
from harness.unit_states import Totals

if TYPE_CHECKING:
    from harness.client import Client

INTERRUPTED = "interrupted"
GRACE_S = 60.0
"""How long requests in flight may take to end after the first Ctrl-C; then they are cut off."""
GATHER_S = 0.01
"""How long a commit waits for others to join it while units are asked: answers take far longer."""


@dataclass(frozen=True, slots=True)
class Live:
    """The parts of a session at work, for progress lines and signals."""

    runner: Runner
    pools: Mapping[str, Pool]
    budget: Budget
    client: Client


def open_plans(plan: Plan, opening: Opening) -> list[ModelPlan]:
    """Return the models that this session will ask, with their reformatters."""
    return [one for name, one in plan.models.items() if opening.open_by_model[name]]


def check_frames(plan: Plan, opening: Opening) -> None:
    """Raise ConfigError where this session would show a model frames of clips, and nothing can make them."""
    prompts = {name: condition.prompt for name, condition in plan.conditions.items()}
    asked = [one.model for one in open_plans(plan, opening)]
    check_frames_can_be_made(plan.benchmark, plan.cases.cases, prompts, asked)


def needed_keys(plan: Plan, opening: Opening, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the API keys of all models that will be asked. Raises MissingKeyError with the ways out."""
    keys: dict[str, str] = {}
    ways = "give it, or leave the model out"
    if len(plan.models) == 1:
        ways = f"give it, or choose another with {'--models' if plan.manifest.step is None else '--model'}"
    for model_plan in open_plans(plan, opening):
        if not model_plan.model.retired:
            _need(keys, model_plan.model, environment, ways)
        if model_plan.reformatter is not None:
            others = "give it, or choose --reformatter MODEL, or --reformatter none"
            _need(keys, model_plan.reformatter, environment, others, role="the reformatter")
    return keys


def _need(
    keys: dict[str, str], model: Model, environment: Mapping[str, str], ways: str, role: str = "model"
) -> None:
    variable = model.provider.api_key_env
    if variable is None:
        return
    value = environment.get(variable, "").strip()
    if not value:
        raise MissingKeyError(
            f"{role} {model.name!r} needs an API key in {variable}, which is not set; {ways}"
        )
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(
            f"the API key in {variable} holds a line end or a character beyond ASCII, which no header may "
            "carry; set it again"
        )
    keys[variable] = value


def check_headers(plan: Plan, keys: Iterable[str]) -> None:
    """Raise ConfigError where a header or an address that the user configured holds one of these API keys.

    They tell what was asked, so they are kept with the run, of all its models: a key must not be.
    """
    secrets = [key for key in map(str.strip, keys) if len(key) >= MIN_SECRET_LENGTH]
    for provider in {model.provider.name: model.provider for model in plan.all_models().values()}.values():
        for name, value in (("base_url", provider.base_url), ("endpoint", provider.endpoint or "")):
            if mask_secrets(value.encode("utf-8", "surrogatepass"), secrets)[1]:
                raise ConfigError(
                    f"{name} of provider {provider.name!r} holds an API key, and addresses are kept in the "
                    "store: take it out, and name its environment variable in api_key_env"
                )
        for name, value in provider.headers.items():
            if any(key in value for key in secrets) or mask_headers({name: value}, secrets)[1]:
                raise ConfigError(
                    f"header {name!r} of provider {provider.name!r} holds an API key, and headers are kept "
                    "in the store: take it out of `headers` and name its environment variable in api_key_env"
                )


def check_budget(plan: Plan, opening: Opening, options: SessionOptions) -> None:
    """Raise ConfigError where `--max-cost` limits a model whose requests have no price to reserve."""
    known = plan.all_models()
    for name in options.max_cost:
        if name is not None and name not in known:
            raise UnknownNameError(f"--max-cost: no model {name!r} in this run{nearest(name, known)}")
    budget = _budget(options)
    for model_plan in open_plans(plan, opening):
        if not model_plan.model.retired:
            budget.check(model_plan.model, 1, model_plan.params)
        if model_plan.reformatter is not None:
            budget.check(model_plan.reformatter, 1, model_plan.reformatter.params)


def _budget(options: SessionOptions) -> Budget:
    by_model = {name: limit for name, limit in options.max_cost.items() if name is not None}
    return Budget(MaxCost(options.max_cost.get(None), by_model))


def session_info(
    plan: Plan, options: RunOptions, session: SessionOptions, again: AgainList
) -> Mapping[str, JSON]:
    """Return what is kept of a session: version, models with prices, options.

    No key: addresses with one are refused by the settings, headers with one by `check_headers`.
    """
    return {
        "version": __version__,
        "models": {name: model.model_dump(mode="json") for name, model in plan.all_models().items()},
        "options": options.to_json(),
        "limits": {"max_wait_s": session.max_wait_s, "max_in_flight": session.max_in_flight},
        "shard": None if session.shard is None else str(session.shard),
        **again.info(),
    }


def make_pools(plan: Plan, options: SessionOptions) -> dict[str, Pool]:
    """Return each model's pool; models that share a rate limit share one, with the tightest limits.

    That of a retired model takes no request: what is stored of it still answers.
    """
    limits: dict[str, PoolLimits] = {}
    for model in plan.all_models().values():
        own = PoolLimits.of(model, options.max_wait_s, options.max_in_flight)
        limits[pool_name(model)] = own.tightened(limits.get(pool_name(model), own))
    files = 2 if any(model.simulated for model in plan.all_models().values()) else 1  # either end is ours
    most = most_in_flight(file_limit(), len(limits), files)
    pools = {name: Pool(name, replace(one, most_in_flight=most)) for name, one in limits.items()}
    served = {pool_name(model) for model in plan.all_models().values() if not model.retired}
    for model in plan.all_models().values():
        if pool_name(model) not in served:
            pools[pool_name(model)].close(f"retired: {model.retired}")
    return {name: pools[pool_name(model)] for name, model in plan.all_models().items()}


@asynccontextmanager
async def live_session(
    store: Store,
    plan: Plan,
    opening: Opening,
    options: SessionOptions,
    *,
    session_id: int,
    keys: Mapping[str, str],
    on_unit: OnUnit,
) -> AsyncIterator[Live]:
    """Open connections, pools and budget; close them at the end."""
    from harness.client import Client
    from harness.providers.transport import Transport
    from harness.sending import Sender
    from harness.units import UnitRunner

    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(Transport())
        simulator = await _simulator(stack, plan)
        budget = _budget(options)
        pools = make_pools(plan, options)
        sender = Sender(transport, keys, lambda model: model.provider.base_url or simulator)
        proven = [name for name, counts in opening.totals().items() if counts.keys() & (USABLE | UNUSABLE)]
        client = Client(store, sender, pools, session=session_id, budget=budget, proven=proven)
        stack.enter_context(standing_objects_left_alone())
        store.gather(GATHER_S)
        stack.callback(store.gather, 0.0)
        units = UnitRunner(plan.benchmark, client, plan.manifest.structured, store.forget)
        runner = Runner(store, units, pools, order=options.order, on_unit=on_unit)
        yield Live(runner, pools, budget, client)


async def _simulator(stack: AsyncExitStack, plan: Plan) -> str:
    """Start the simulator where a model needs it, and return its address."""
    if not any(model.simulated and not model.provider.base_url for model in plan.all_models().values()):
        return ""
    from harness.simulator.server import ensure_simulator, stop_simulator

    stack.push_async_callback(stop_simulator)
    return await ensure_simulator()


@dataclass(frozen=True, slots=True)
class Stop:
    """How the user ends a session early: `soon` finishes what is in flight, `now` does not."""

    soon: asyncio.Event = field(default_factory=asyncio.Event)
    now: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self) -> bool:
        """Ask to stop soon, the second time now; True the second time."""
        again = self.soon.is_set()
        (self.now if again else self.soon).set()
        return again


async def run_units(live: Live, work: Work, stop: Stop) -> bool:
    """Work through the open units; True if `stop` ended it early. Cut off after `GRACE_S` once stopped."""
    async with asyncio.TaskGroup() as group:
        units = group.create_task(live.runner.run(work), name="units")
        soon = group.create_task(stop.soon.wait(), name="stop soon")
        now = group.create_task(stop.now.wait(), name="stop now")
        await asyncio.wait({units, soon}, return_when=asyncio.FIRST_COMPLETED)
        if not units.done():
            live.runner.stop(INTERRUPTED)
            await asyncio.wait({units, now}, timeout=GRACE_S, return_when=asyncio.FIRST_COMPLETED)
            if not units.done():
                live.runner.stop_now()
        for task in (units, soon, now):
            task.cancel()
    return stop.soon.is_set()


def exit_code(totals: Totals, *, interrupted: bool, budget_reached: bool) -> int:
    """Return what `run` ends with, by how this session's units stand now."""
    if interrupted:
        return exit_codes.INTERRUPTED
    if budget_reached:
        return exit_codes.BUDGET
    for outcomes in totals.values():
        if any(outcomes[outcome] for outcome in SHOWN_AS_FAILED):
            return exit_codes.INCOMPLETE
        if outcomes and outcomes[UnitOutcome.NOT_APPLICABLE] == outcomes.total():
            return exit_codes.INCOMPLETE
    return 0
