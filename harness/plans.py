"""What is planned for a run, unit by unit; nothing here reaches a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from harness.attempts import AttemptPolicy
from harness.benchmarks.base import Benchmark, Case, Prompt
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.frames.showing import with_clips
from harness.media import Media
from harness.media_limits import base64_bytes, check_request_bytes, check_video, choose_recipe, encoded_size
from harness.messages import ImagePart, Message, Part, Request, Schema, Structured, TextPart
from harness.recipes import ORIGINAL
from harness.settings import Model, limits_of


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
    """A model with the parameters that are sent, and who restates its unusable answers.

    `image_recipe` is how its images are to be made ready; what comes of it differs from image to image.
    """

    model: Model
    params: Mapping[str, JSON]
    dropped_params: tuple[str, ...] = ()
    reformatter: Model | None = None
    image_recipe: str = ORIGINAL


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
    return unit_request(unit, with_recipes(messages, unit.model), structured, attempt)


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


def with_recipes(messages: tuple[Message, ...], plan: ModelPlan) -> tuple[Message, ...]:
    """Return the messages with the recipe by which the model gets each medium; may read the files.

    A video that it does not take as such becomes images of its frames. Raises MediaLimitError for media that
    are beyond the model's limits, UnsupportedInputError for a frame rate that is none.
    """
    messages = with_clips(messages, plan.model)
    model, limits, sizes = plan.model, limits_of(plan.model), _Sizes()
    shown = f"model {model.name!r}"
    among = sum(isinstance(part, ImagePart) for message in messages for part in message.parts)

    def chosen(part: Part) -> Part:
        if isinstance(part, TextPart) or part.media.path is None:
            return part
        if not isinstance(part, ImagePart):
            if part.frames is None:
                check_video(part.media, limits.video, shown)
                sizes.known += base64_bytes(part.media.size)
            return part
        wish, base = plan.image_recipe, part.recipe
        found = choose_recipe(
            part.media, limits.image, part.media.path, wish, base=base, model=shown, among=among
        )
        if found.size is None:
            # Frames are not made for this alone: a body that they make too large is refused when it is made.
            sizes.unknown += [(part.media, found.recipe)] if part.frame is None else []
        else:
            sizes.known += base64_bytes(found.size)
        return replace(part, recipe=found.recipe)

    made = tuple(Message(one.role, tuple(chosen(part) for part in one.parts)) for one in messages)
    check_request_bytes(sizes.least(limits.max_request_bytes), limits.max_request_bytes, shown)
    return made


@dataclass(slots=True)
class _Sizes:
    """The media of a request in bytes of base64, as far as they are known without encoding them."""

    known: int = 0
    unknown: list[tuple[Media, str]] = field(default_factory=list)

    def least(self, limit: int | None) -> int:
        """Return how many bytes of base64 go out at least; exact where images might be beyond the limit."""
        most = self.known + sum(base64_bytes(4 * one.width * one.height + 65_536) for one, _ in self.unknown)
        if limit is None or most <= limit:
            return self.known
        sizes = (
            encoded_size(one.sha256, one.mime, recipe, one.path)[0]
            for one, recipe in self.unknown
            if one.path is not None
        )
        return self.known + sum(map(base64_bytes, sizes))
