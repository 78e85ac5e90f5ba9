"""What the next `run` would ask for a unit: found by the attempts themselves, without asking anyone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from harness.attempts import Asked, Feedback, attempt_policy, run_attempts
from harness.benchmarks.base import Benchmark, CaseSet, Prompt
from harness.cache.key import clips_sent, media_in, read_document
from harness.cache.rows import LinkedUnit, UnitId
from harness.cache.store import Store
from harness.config import Config
from harness.errors import HarnessError, StoreError
from harness.identity import Built, build
from harness.manifest import BlobRef, ConditionWanted
from harness.messages import (
    Fault,
    ImagePart,
    MediaPart,
    Message,
    Part,
    Purpose,
    Request,
    Schema,
    Structured,
    TextPart,
    VideoPart,
)
from harness.offline.step_cases import Followed
from harness.offline.stored_run import StoredRun
from harness.outcomes import UnitOutcome
from harness.planning_thread import plan_in_thread
from harness.plans import ConditionPlan, ModelPlan, Unit, unit_request, with_recipes
from harness.providers.reading import read_exchange
from harness.providers.videos import carriage
from harness.reformatter import feedback_messages, reformat_request
from harness.run_options import read_run_options
from harness.settings import Model

Kept: TypeAlias = tuple[Sequence[str], float | None]
"""The recipes by which a medium is sent, in order, and the frames a second at which a video is shown."""

Basis: TypeAlias = Literal["now", "snapshot"]


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """A unit as it would be asked.

    `basis` "now": by today's configuration and case files; "snapshot": by what the run keeps of them, because
    of `why_snapshot`. `kept`: source sha256 -> what its stored requests show of it, where media are not at
    hand.
    """

    unit: Unit
    benchmark: Benchmark
    structured: Structured
    basis: Basis
    why_snapshot: str | None = None
    kept: Mapping[str, Kept] | None = None


@dataclass(frozen=True, slots=True)
class NextAsk:
    """The first ask that no stored answer serves. `hidden`: an answer of an earlier round of `--again`."""

    purpose: Purpose
    request: Request
    built: Built
    model: Model
    hidden: int | None = None
    served_by: int | None = None
    """Set only where one attempt was asked about and it is stored."""


@dataclass(frozen=True, slots=True)
class AllServed:
    """Nothing would be sent: stored answers make the unit end so, with the attempt `last` (0: none)."""

    outcome: UnitOutcome
    last: int = 0


@dataclass(frozen=True, slots=True)
class CannotAsk:
    """Nothing can be sent for this unit, and why."""

    reason: str


async def planned_unit(
    store: Store,
    stored: StoredRun,
    unit: UnitId,
    linked: LinkedUnit | None,
    config: Config,
    data: str | None,
) -> PlannedUnit:
    """Return a unit as `run` would ask it now, by its last session's options; else by the run's snapshot.

    Raises StoreError where the run cannot be rebuilt from its snapshot either.
    """
    after = 0 if linked is None else linked.state.again_after
    try:
        sessions = await store.sessions(stored.run.id)
        if not sessions:
            raise StoreError("the run has no session to take its options from")
        options = read_run_options(sessions[-1].info.get("options"))
        chosen = replace(options, models=(unit.model,), cases=(unit.case_id,), limit=None)
        wanted = chosen if data is None else replace(chosen, data=data)
        plan = await plan_in_thread(wanted, config, store.remembered, followed=_followed(stored, unit))
        model, condition = plan.models[unit.model], plan.conditions[unit.condition]
        made = Unit(stored.run.id, unit, plan.cases.cases[0], condition, model, after)
        return PlannedUnit(made, plan.benchmark, plan.manifest.structured, "now")
    except (HarnessError, KeyError) as error:
        made = snapshot_unit(stored, unit, after)
        kept = _kept(linked)
        why = str(error) if isinstance(error, HarnessError) else "the run's options name it otherwise"
        return PlannedUnit(made, stored.benchmark, stored.manifest.structured, "snapshot", why, kept)


def _followed(stored: StoredRun, unit: UnitId) -> Followed | None:
    """Return the one case of a step, as its run keeps it; None for a run that is none."""
    if stored.manifest.step is None:
        return None
    case = stored.case_index.case(stored.case_index.place(unit.case_id))
    return Followed(stored.run, stored.manifest.step, CaseSet((case,), synthetic=stored.cases.synthetic))


def snapshot_unit(stored: StoredRun, unit: UnitId, after: int) -> Unit:
    """Return a unit as the run wanted it, from its store. Raises StoreError where settings are missing."""
    manifest = stored.manifest
    wanted = manifest.models[unit.model]
    reformatter = None if wanted.reformatter is None else _model(stored, wanted.reformatter)
    restated = None if manifest.reformat is None else manifest.reformat.conditions.get(unit.condition)
    condition = _condition(stored, unit.condition, manifest.conditions[unit.condition], restated)
    model = ModelPlan(
        _model(stored, unit.model), wanted.params, wanted.dropped_params, reformatter, wanted.image_recipe
    )
    case = stored.case_index.case(stored.case_index.place(unit.case_id))
    return Unit(stored.run.id, unit, case, condition, model, after)


def _condition(
    stored: StoredRun, name: str, wanted: ConditionWanted, restated: ConditionWanted | None
) -> ConditionPlan:
    prompt, schema = _prompt(stored, wanted.prompt), _schema(stored, wanted.schema)
    reformat_schema = None if restated is None else _schema(stored, restated.schema)
    policy = attempt_policy(
        stored.benchmark,
        name,
        None if schema is None else schema.body,
        None if reformat_schema is None else reformat_schema.body,
        max_attempts=stored.manifest.attempts,
        reask=stored.manifest.reask,
        reformat=True,
        prompt=prompt,
    )
    reformat_prompt = None if restated is None else _prompt(stored, restated.prompt)
    return ConditionPlan(name, prompt, schema, policy, reformat_prompt, reformat_schema)


def _prompt(stored: StoredRun, ref: BlobRef) -> Prompt:
    if stored.manifest.imported:
        return Prompt(ref.id, ref.sha256, "")  # a note about a prompt has no placeholders
    return Prompt(ref.id, ref.sha256, stored.blobs[ref.sha256].decode("utf-8"))


def _schema(stored: StoredRun, ref: BlobRef | None) -> Schema | None:
    return None if ref is None else Schema(ref.id, ref.sha256, json.loads(stored.blobs[ref.sha256]))


def _model(stored: StoredRun, name: str) -> Model:
    known = stored.models.get(name)
    if known is None:
        raise StoreError(
            f"no session of run {stored.run.name!r} keeps the settings of model {name!r}; give its --config"
        )
    return known


def _kept(linked: LinkedUnit | None) -> Mapping[str, Kept]:
    found: dict[str, Kept] = {}
    for _, exchange in () if linked is None else linked.links:
        body, _ = read_document(exchange.data.request)
        fps = {clip["sha256"]: clip["fps"] for clip in clips_sent(exchange.data.request)}
        recipes: dict[str, list[str]] = {}
        for sha256, recipe, _ in media_in(body):
            recipes.setdefault(sha256, []).append(recipe)
        found |= {sha256: (shown, fps.get(sha256)) for sha256, shown in recipes.items()}
    return found


async def next_ask(
    store: Store, planned: PlannedUnit, attempt: int | None = None, *, made: bool = True
) -> NextAsk | AllServed | CannotAsk:
    """Return the first ask of a unit that nothing stored serves; with `attempt`, that attempt's ask.

    An attempt that the run never `made` is asked only where the attempts before it lead there: until then
    theirs is the first ask. Reads images where a recipe depends on them, asks nobody.
    """
    problem = planned.unit.case.problem
    if problem is not None:
        return CannotAsk(problem)
    policy = planned.unit.condition.policy
    if planned.unit.model.reformatter is None:
        policy = replace(policy, reformat=False)
    try:
        asker = _Looking(store, planned, _messages(planned), attempt, jumps=made)
        result = await run_attempts(asker, policy)
    except _Found as found:
        return found.ask
    except HarnessError as error:
        if isinstance(error, StoreError):
            raise
        return CannotAsk(str(error))
    return AllServed(result.outcome, max((ask.attempt for ask in result.asks), default=0))


def _messages(planned: PlannedUnit) -> tuple[Message, ...]:
    unit = planned.unit
    messages = planned.benchmark.render(unit.case, unit.condition.name, unit.condition.prompt)
    messages = with_recipes(messages, unit.model)
    kept = planned.kept or {}

    def chosen(part: Part) -> Sequence[Part]:
        if not isinstance(part, TextPart) and part.media.path is None:
            return _as_stored(part, kept, unit.model.model)
        return [part]

    return tuple(
        Message(one.role, tuple(made for part in one.parts for made in chosen(part))) for one in messages
    )


def _as_stored(part: MediaPart, kept: Mapping[str, Kept], model: Model) -> Sequence[MediaPart]:
    """Return a medium that is not at hand as the unit's stored requests show it."""
    if part.media.sha256 not in kept:
        return [part]
    recipes, fps = kept[part.media.sha256]
    if isinstance(part, VideoPart) and carriage(part.fps, model) is None:
        return [ImagePart(part.media, recipe) for recipe in recipes]
    found = replace(part, recipe=recipes[-1])
    return [replace(found, fps=fps) if isinstance(found, VideoPart) and fps is not None else found]


class _Found(Exception):
    """Carries the ask that was looked for out of the attempts."""

    def __init__(self, ask: NextAsk) -> None:
        self.ask = ask


@dataclass(frozen=True, slots=True)
class _Looking:
    """Answers asks from the store, as the client would, until one is not there."""

    store: Store
    planned: PlannedUnit
    messages: tuple[Message, ...]
    attempt: int | None
    jumps: bool
    """Straight to `attempt`, whatever the attempts before it came to."""

    async def answer(self, attempt: int, feedback: Feedback | None) -> Asked:
        unit, structured = self.planned.unit, self.planned.structured
        messages = self.messages if feedback is None else feedback_messages(self.messages, feedback)
        wanted = self.attempt
        if self.jumps and wanted is not None and wanted != attempt and unit.condition.policy.reask == "same":
            attempt = wanted  # what it asks depends on no earlier answer
        request = unit_request(unit, messages, structured, attempt)
        return await self._look(request, unit.model.model, stop=attempt == wanted)

    async def reformat(self, answer: str) -> Asked:
        reformatter = self.planned.unit.model.reformatter
        assert reformatter is not None
        return await self._look(reformat_request(self.planned.unit, answer), reformatter)

    async def _look(self, request: Request, model: Model, *, stop: bool = False) -> Asked:
        built = build(request, model)
        found = (await self.store.served([built.key])).get(built.key)
        ask = NextAsk(request.purpose, request, built, model)
        if found is None:
            raise _Found(ask)
        meaning = read_exchange(found.data, model.provider)
        if found.id <= self.planned.unit.after or isinstance(meaning, Fault):
            raise _Found(replace(ask, hidden=found.id))
        if stop:
            raise _Found(replace(ask, served_by=found.id))
        return Asked(reply=meaning, exchange_id=found.id)
