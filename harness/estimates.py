"""Token estimates made before sending: for pacing, for `--max-cost`, for `--dry-run`.

Estimates only pace and reserve; what is reported and priced afterwards is the provider's own count.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from harness.canonical import JSON
from harness.costs import output_limit
from harness.messages import ImagePart, Request, TextPart, VideoPart
from harness.settings import Model

CHARACTERS_PER_TOKEN = 4
"""English text. Of other scripts the high estimate counts every byte beyond the first of a character."""
TOKENS_PER_IMAGE = 1_300
"""A panoramic radiograph at the usual tilings (OpenAI high detail 765-1,445; Gemini 258 a tile)."""
TOKENS_PER_FRAME = 300
"""One frame of a video: Gemini 258 and 7 for its time stamp; Qwen2.5-VL 256 for two of 448 x 448."""
FRAMES_PER_SECOND = 2.0
"""What is sampled where a request does not say: Gemini 1, Qwen's processors 2."""
SECONDS_UNSTATED = 60.0
"""Length of a video that does not tell it."""
OUTPUT_TOKENS_UNSTATED = 1_024


class TokenRange(NamedTuple):
    """A low and a high estimate, in tokens."""

    low: int
    high: int


def input_tokens(request: Request) -> TokenRange:
    """Estimate what a request costs to read."""
    characters = others = images = frames = 0
    for message in request.messages:
        for part in message.parts:
            match part:
                case TextPart(text=text):
                    characters += len(text)
                    others += 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
                case ImagePart():
                    images += 1
                case VideoPart(frames=tuple(shown)):
                    frames += len(shown)
                case VideoPart(media=media, fps=fps):
                    seconds = SECONDS_UNSTATED if media.duration_s is None else media.duration_s
                    frames += ceil(seconds * (FRAMES_PER_SECOND if fps is None else fps)) + 1
    low = characters // CHARACTERS_PER_TOKEN + images * (TOKENS_PER_IMAGE // 5)
    low += frames * (TOKENS_PER_FRAME // 5)
    high = characters // 2 + others + images * TOKENS_PER_IMAGE + frames * TOKENS_PER_FRAME + 16
    return TokenRange(low, high)


def pacing_input_tokens(request: Request) -> int:
    """Return one middle figure to reserve from a tokens-per-minute limit until usage is known."""
    low, high = input_tokens(request)
    return (low + high) // 2


def pacing_output_tokens(model: Model, params: Mapping[str, JSON]) -> int:
    """Return the output tokens to reserve from a limit until usage is known."""
    limit = output_limit(model, params)
    return OUTPUT_TOKENS_UNSTATED if limit is None else min(limit, 4 * OUTPUT_TOKENS_UNSTATED)
