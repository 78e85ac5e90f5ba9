"""How OpenAI's format carries a video: it has no part for one, but servers that speak it do.

All take a part of type `video_url` with a data URL. How many frames of each second the model is shown they
take in different ways, or not at all (read on 2026-11-30):

- vLLM: `media_io_kwargs` of the request, for all its videos alike; from the release of spring 2026 on, and
  only where the server was started with `--trust-request-mm-kwargs` (else it answers 400 and says so; read in
  the source of 0.32.0 and seen there). `num_frames` -1 lifts its usual cap of 32 frames.
- DashScope: `fps` beside `video_url`, as its users' clients send it; not seen on a live server.
- OpenRouter ("Video inputs") and SGLang document no such thing.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Final, Literal, TypeAlias

from harness.errors import UnsupportedInputError
from harness.frames.recipe import frames_of
from harness.messages import MediaSlot, Message, VideoPart, WireValue, media_parts
from harness.settings import Model

Carriage: TypeAlias = Literal["file", "frames"]

VLLM_FIELD: Final = "media_io_kwargs"
GEMINI_MOST_FPS: Final = 24.0
"""`VideoMetadata.fps` is in (0, 24]; 1 where it is not given (reference of the Gen AI SDKs)."""


def carriage(fps: float | None, model: Model) -> Carriage | None:
    """Return how a model takes a video of which it is shown so many frames a second.

    "file": as it is, sampled by its server; "frames": as a video all the same, of the frames that we chose;
    None: not at all, or not at that rate.
    """
    if "video" not in model.inputs:
        return None
    match model.provider.adapter, model.provider.video_format:
        case "gemini", _:
            return None if fps is not None and fps > GEMINI_MOST_FPS else "file"
        case "openai", "vllm":
            return "file" if fps is None else "frames"
        case "openai" | "simulator", "dashscope":
            return "file"
        case "openai", "video_url":
            return "file" if fps is None else None
        case _:
            return None


def frames_per_second(part: VideoPart, most: float | None = None) -> int | float:
    """Return the frames per second that a video asks for. Raises UnsupportedInputError for no such number."""
    fps = part.fps
    if fps is None or not isfinite(fps) or fps <= 0 or (most is not None and fps > most):
        bound = "" if most is None else f", at most {most:g}"
        raise UnsupportedInputError(f"{fps} frames per second cannot be asked for; give more than 0{bound}")
    return int(fps) if fps == int(fps) else fps


def video_part(part: VideoPart, model: Model) -> dict[str, WireValue]:
    """Return the part of a message that carries a video.

    Raises UnsupportedInputError where the provider is not known to take one, or takes no frames per second.
    """
    provider = model.provider
    if provider.video_format == "none":
        raise UnsupportedInputError(
            f"provider {provider.name!r} is not known to take videos in this format; leave model "
            f"{model.name!r} out of this condition, or set video_format of [providers.{provider.name}]",
            limit="video_format",
        )
    mime = part.media.mime if frames_of(part.recipe) is None else "video/jpeg"
    url = MediaSlot(part.media, part.recipe, prefix=f"data:{mime};base64,")
    found: dict[str, WireValue] = {"type": "video_url", "video_url": {"url": url}}
    if part.fps is not None and provider.video_format == "dashscope":
        found["fps"] = frames_per_second(part)
    elif part.fps is not None and provider.video_format != "vllm":
        raise UnsupportedInputError(
            f"provider {provider.name!r} takes no frames per second for a video (video_format "
            f"{provider.video_format!r}); leave model {model.name!r} out of this condition",
            limit="video_format",
        )
    return found


def video_fields(messages: Iterable[Message], model: Model) -> dict[str, WireValue]:
    """Return the fields of the request itself that its videos need.

    Raises UnsupportedInputError for videos at different frame rates where one must do for all.
    """
    videos = [part for part in media_parts(messages) if isinstance(part, VideoPart)]
    if model.provider.video_format != "vllm" or all(part.fps is None for part in videos):
        return {}
    if len({part.fps for part in videos}) > 1:
        raise UnsupportedInputError(
            f"provider {model.provider.name!r} takes one frame rate for all videos of a request; ask for the "
            "same one",
            limit="video_format",
        )
    return {VLLM_FIELD: {"video": {"fps": frames_per_second(videos[0]), "num_frames": -1}}}
