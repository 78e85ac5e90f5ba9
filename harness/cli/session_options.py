"""What `run` and `resume` share: how a session goes about it, as options."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import click

from harness.errors import ConfigError
from harness.outcomes import UnitOutcome

F = TypeVar("F", bound=Callable[..., Any])


def comma_list(text: str | None) -> tuple[str, ...]:
    """Return the names of a comma-separated list, in order, each once."""
    return tuple(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def read_outcomes(text: str | None) -> tuple[UnitOutcome, ...]:
    """Return the unit outcomes of `--again`. Raises ConfigError for one that does not exist."""
    known = {outcome.value: outcome for outcome in UnitOutcome}
    for name in comma_list(text):
        if name not in known:
            raise ConfigError(f"unknown outcome {name!r} for --again; known: {', '.join(known)}")
    return tuple(known[name] for name in comma_list(text))


def read_wait(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Check `--max-wait`. Raises ConfigError for what is no number of seconds."""
    if not math.isfinite(value):
        raise ConfigError(f"--max-wait {value} is no number of seconds, as in --max-wait 3600")
    return value


def read_max_cost(texts: tuple[str, ...]) -> Mapping[str | None, float]:
    """Return USD by model (None: in all) of `--max-cost USD` and `--max-cost MODEL=USD`."""
    limits: dict[str | None, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = -1.0
        if not 0 <= limit < float("inf"):
            raise ConfigError(f"--max-cost {text!r} is no amount in USD, as in --max-cost 20 or o3=5")
        if equals and not name.strip():
            raise ConfigError(f"--max-cost {text!r} names no model, as in --max-cost o3=5")
        limits[name if equals else None] = limit
    return limits


def session_options(function: F) -> F:
    """Add the options of a session, and hand them over together as `session`."""

    @wraps(function)
    def with_session(
        *,
        again: str | None,
        max_cost: tuple[str, ...],
        max_wait: float,
        max_in_flight: int | None,
        order: Any,
        keep_media: bool,
        shard: str | None,
        **others: Any,
    ) -> Any:
        from harness.run_options import SessionOptions
        from harness.shards import read_shard

        session = SessionOptions(
            again=read_outcomes(again),
            max_cost=read_max_cost(max_cost),
            max_wait_s=max_wait,
            max_in_flight=max_in_flight,
            order=order,
            keep_media=keep_media,
            shard=None if shard is None else read_shard(shard),
        )
        return function(session=session, **others)

    decorated: Callable[..., Any] = with_session
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return cast(F, decorated)


_OPTIONS = (
    click.option("--again", metavar="OUTCOME,..", help="Ask units that ended so once more."),
    click.option("--max-cost", multiple=True, metavar="USD|MODEL=USD", help="Spend no more in this session."),
    click.option(
        "--max-wait",
        type=click.FloatRange(min=0),
        callback=read_wait,
        default=600.0,
        show_default=True,
        metavar="S",
        help="Longest wait for a rate limit, in seconds.",
    ),
    click.option(
        "--max-in-flight", type=click.IntRange(min=1), metavar="N", help="Requests at once, per model."
    ),
    click.option(
        "--order",
        type=click.Choice(["interleave", "model"]),
        default="interleave",
        show_default=True,
        help="All models at once, or one after the other.",
    ),
    click.option(
        "--shard", metavar="I/N", help="Only the I-th of N shares of the cases; the run stays the same."
    ),
    click.option("--keep-media", is_flag=True, help="Keep the bytes of images in the store."),
    click.option(
        "--dry-run", is_flag=True, help="Show what would be sent and what it may cost; send nothing."
    ),
)
