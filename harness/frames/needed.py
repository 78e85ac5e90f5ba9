"""Whether a run needs what takes clips apart: said before anything is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final

from harness.benchmarks.base import Benchmark, Case, Prompt
from harness.errors import ConfigError
from harness.frames.decoding import NOT_INSTALLED, is_installed
from harness.messages import Message, VideoPart, media_parts
from harness.providers.videos import carriage
from harness.settings import Model

LOOKED_AT: Final = 1_000
"""Cases that are looked at: each has to be decoded for it."""


def check_frames_can_be_made(
    benchmark: Benchmark, cases: Iterable[Case], prompts: Mapping[str, Prompt], models: Collection[Model]
) -> None:
    """Raise ConfigError where a model would be shown frames of a clip and PyAV is not installed.

    Clips that only later cases show fail when they are asked, with the same sentence.
    """
    if is_installed() or not models:
        return
    for case in islice(cases, LOOKED_AT):
        if not any(one.kind == "video" for many in case.media.values() for one in many):
            continue
        for condition, prompt in prompts.items():
            if benchmark.asks(case, condition):
                _check(benchmark.render(case, condition, prompt), condition, models)


def _check(messages: Iterable[Message], condition: str, models: Collection[Model]) -> None:
    clips = [part for part in media_parts(messages) if isinstance(part, VideoPart)]
    for model in models:
        ways = [carriage(clip.fps, model) for clip in clips]
        if "frames" in ways or (None in ways and "image" in model.inputs):
            raise ConfigError(
                f"model {model.name!r} is shown frames in condition {condition!r}: {NOT_INSTALLED}"
            )
