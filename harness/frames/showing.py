"""How a model gets the clips of its messages: as files, as frames in their place, or as images.

Which of these depends on model and frame rate alone, never on the clip, so that all cases of a condition are
shown alike. A clip that is beyond what a model takes of videos is not applicable; without "video" in the
model's `inputs`, clips go as images.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Final

from harness.errors import MediaLimitError, UnsupportedInputError
from harness.frames.clip_frames import clip_frames
from harness.frames.clips import timeline_of
from harness.frames.recipe import frames_recipe
from harness.frames.sampling import Timeline, sampled
from harness.messages import Frame, ImagePart, Message, Part, VideoPart, media_parts
from harness.providers.videos import carriage
from harness.settings import Model, limits_of

MOST_FRAMES: Final = 10_000
"""Of one clip that are ever shown: beyond any model, and beyond what is sent in one request."""


def with_clips(messages: tuple[Message, ...], model: Model) -> tuple[Message, ...]:
    """Return the messages with every clip as the model gets it. Reads tables of files, and decodes nothing.

    Clips whose file is not at hand are left as they are. Raises MediaLimitError for more images than the
    model takes, MediaError for a damaged clip, UnsupportedInputError for a frame rate that is none.
    """
    count = _Count()
    made = tuple(
        Message(one.role, tuple(shown for part in one.parts for shown in _shown(part, model, count)))
        for one in messages
    )
    if count.frames:
        _check_images(made, count, model)
    return made


@dataclass(slots=True)
class _Count:
    clips: int = 0
    frames: int = 0


def _shown(part: Part, model: Model, count: _Count) -> Iterator[Part]:
    if not isinstance(part, VideoPart) or part.media.path is None:
        yield part
        return
    way = carriage(part.fps, model)
    if way == "file" or (way is None and "image" not in model.inputs):
        yield part  # what the model does not take, its format refuses by name
        return
    times = timeline_of(part.media)
    frames = _frames(part, times)
    clip_frames().expect(part.media.sha256, (one.index for one in frames))
    if way == "frames":
        fps = float(times.rate if part.fps is None else min(_exact(part.fps), times.rate))
        yield replace(part, recipe=frames_recipe(one.index for one in frames), fps=fps, frames=frames)
        return
    count.clips += 1
    count.frames += len(frames)
    for one in frames:
        yield ImagePart(part.media, frames_recipe([one.index]), one)


def _frames(part: VideoPart, times: Timeline) -> tuple[Frame, ...]:
    """Return the frames that are shown. Raises MediaLimitError for far too many."""
    fps = None if part.fps is None else _exact(part.fps)
    if min(fps or times.rate, times.rate) * Fraction(times.duration_s) > MOST_FRAMES:
        raise MediaLimitError(
            f"video {str(part.media.path)!r} has more than {MOST_FRAMES:,} frames to show, which no request "
            "holds; cut it, or ask for fewer a second",
            limit="frames",
        )
    return tuple(Frame(index, times.time_s(index)) for index in sampled(times, fps))


def _exact(fps: float) -> Fraction:
    """Return a rate as the decimal number that it was written as."""
    if not isfinite(fps) or fps <= 0:
        raise UnsupportedInputError(f"{fps} frames per second cannot be asked for; give more than 0")
    return Fraction(repr(fps))


def _check_images(messages: Sequence[Message], count: _Count, model: Model) -> None:
    most = limits_of(model).max_images
    images = sum(isinstance(part, ImagePart) for part in media_parts(messages))
    if most is None or images <= most:
        return
    others = f" and {images - count.frames} other images" if images > count.frames else ""
    clips = "a clip" if count.clips == 1 else f"{count.clips} clips"
    raise MediaLimitError(
        f"needs {count.frames} frames of {clips}{others}; model {model.name!r} takes {most} images "
        "(max_images); leave it out of this condition, or correct its max_images",
        limit="max_images",
    )
