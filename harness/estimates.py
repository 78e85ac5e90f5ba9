"""Token estimates made before sending: for pacing, for `--max-cost`, for `--dry-run`.

Estimates only pace and reserve; what is reported and priced afterwards is the provider's own count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from harness.canonical import JSON
from harness.costs import output_limit
from harness.messages import ImagePart, Request, TextPart
from harness.settings import Model

CHARACTERS_PER_TOKEN = 4
"""English text; other scripts need more tokens, which the high estimate allows for."""
TOKENS_PER_IMAGE = 1_300
"""A panoramic radiograph at the usual tilings (OpenAI high detail 765-1,445; Gemini 258 a tile)."""
OUTPUT_TOKENS_UNSTATED = 1_024


class TokenRange(NamedTuple):
    """A low and a high estimate, in tokens."""

    low: int
    high: int


def input_tokens(request: Request) -> TokenRange:
    """Estimate what a request costs to read."""
    characters = images = 0
    for message in request.messages:
        for part in message.parts:
            match part:
                case TextPart(text=text):
                    characters += len(text)
                case ImagePart():
                    images += 1
    low = characters // CHARACTERS_PER_TOKEN + images * (TOKENS_PER_IMAGE // 5)
    return TokenRange(low, characters // 2 + images * TOKENS_PER_IMAGE + 16)


def pacing_input_tokens(request: Request) -> int:
    """Return one middle figure to reserve from a tokens-per-minute limit until usage is known."""
    low, high = input_tokens(request)
    return (low + high) // 2


def pacing_output_tokens(model: Model, params: Mapping[str, JSON]) -> int:
    """Return the output tokens to reserve from a limit until usage is known."""
    limit = output_limit(model, params)
    return OUTPUT_TOKENS_UNSTATED if limit is None else min(limit, 4 * OUTPUT_TOKENS_UNSTATED)
