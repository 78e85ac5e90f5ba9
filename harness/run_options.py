"""What the user asked of `run`, as it is kept with each session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from pydantic import JsonValue, TypeAdapter, ValidationError

from harness.canonical import JSON
from harness.errors import StoreError
from harness.messages import Structured
from harness.outcomes import UnitOutcome
from harness.shards import Shard


@dataclass(frozen=True, slots=True)
class StepOptions:
    """What a step follows: the run with the digest `source`, all its models and conditions or some."""

    source: str
    models: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything that decides what a run wants; how it is done stands in `SessionOptions`.

    `data` and `prompt` are absolute paths. `reformatter` "none": nobody restates unusable answers; None:
    the configured one, else the benchmark's own. `image_recipe` None: that of each model's settings, else of
    the benchmark's. `step`: whose answers are looked at; `limit` and `cases` are then about that run's cases.
    """

    benchmark: str
    models: tuple[str, ...]
    data: str | None = None
    conditions: tuple[str, ...] = ()
    limit: int | None = None
    cases: tuple[str, ...] = ()
    repeats: int = 1
    attempts: int = 3
    reformatter: str | None = None
    reask: Literal["same", "feedback"] = "same"
    structured: Structured = "off"
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    prompt: str | None = None
    drop_unsupported: bool = False
    image_recipe: str | None = None
    step: StepOptions | None = None

    def to_json(self) -> Mapping[str, JSON]:
        """Return the options as a session keeps them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How this session goes about it: nothing here changes what the run wants.

    `max_wait_s` in seconds, `max_cost` in USD by model (None as key: in all). `shard` None: all units.
    """

    again: tuple[UnitOutcome, ...] = ()
    max_cost: Mapping[str | None, float] = field(default_factory=dict)
    max_wait_s: float = 600.0
    max_in_flight: int | None = None
    order: Literal["interleave", "model"] = "interleave"
    keep_media: bool = False
    shard: Shard | None = None


def read_run_options(data: JSON) -> RunOptions:
    """Undo `RunOptions.to_json`. Raises StoreError."""
    try:
        return _READER.validate_python(data)
    except ValidationError as error:
        raise StoreError(
            "the options of this run's last session cannot be read; start it with `harness run` instead"
        ) from error


_READER = TypeAdapter(RunOptions)
