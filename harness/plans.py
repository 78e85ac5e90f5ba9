"""What is planned for a run, unit by unit; nothing here reaches a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.attempts import AttemptPolicy
from harness.benchmarks.base import Benchmark, Case, Prompt
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.media import choose_recipe
from harness.messages import ImagePart, Message, Part, Request, Schema, Structured
from harness.settings import Model


@dataclass(frozen=True, slots=True)
class ConditionPlan:
    """How one condition is asked: prompt, schema, and what decides whether an answer is usable."""

    name: str
    prompt: Prompt
    schema: Schema | None
    policy: AttemptPolicy
    reformat_prompt: Prompt | None
    reformat_schema: Schema | None


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """A model with the parameters that are sent, and who restates its unusable answers."""

    model: Model
    params: Mapping[str, JSON]
    dropped_params: tuple[str, ...] = ()
    reformatter: Model | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit with all that is needed to ask it; exchanges with ids up to `after` do not serve it."""

    run_id: int
    id: UnitId
    case: Case
    condition: ConditionPlan
    model: ModelPlan
    after: int = 0


def first_request(benchmark: Benchmark, unit: Unit, structured: Structured, attempt: int = 1) -> Request:
    """Return what a unit asks without feedback; may read images. Raises MediaError, UnsupportedInputError."""
    messages = benchmark.render(unit.case, unit.condition.name, unit.condition.prompt)
    return unit_request(unit, with_recipes(messages, unit.model.model), structured, attempt)


def unit_request(unit: Unit, messages: tuple[Message, ...], structured: Structured, attempt: int) -> Request:
    """Return the request of one attempt at a unit."""
    return Request(
        messages,
        params=unit.model.params,
        schema=unit.condition.schema,
        structured=structured,
        attempt=attempt,
        repeat=unit.id.repeat,
    )


def with_recipes(messages: tuple[Message, ...], model: Model) -> tuple[Message, ...]:
    """Return the messages with the recipe by which the model takes each image; may read the images."""

    def chosen(part: Part) -> Part:
        if not isinstance(part, ImagePart) or part.media.path is None:
            return part
        return replace(part, recipe=choose_recipe(part.media, model.image, part.media.path))

    return tuple(Message(one.role, tuple(chosen(part) for part in one.parts)) for one in messages)
