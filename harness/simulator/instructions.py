"""What a simulated model does when it is plainly told what to say: no opinion is needed for that.

A word to reply with, the colours of a small picture's two halves, any JSON object in JSON mode: so that
`harness doctor` finds in simulated models what it finds in sound ones.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from typing import Final

from harness.simulator.questions import Question

_WORD: Final = re.compile(r"reply with this one word[^:\n]*: (\S+)", re.IGNORECASE)
_HALVES: Final = re.compile(r"colour fills the left half of this picture", re.IGNORECASE)
_COLOURS: Final = {
    "red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "yellow": (255, 221, 0),
    "black": (0, 0, 0), "white": (255, 255, 255), "grey": (128, 128, 128), "orange": (255, 140, 0),
}  # fmt: skip


def obeyed(question: Question) -> str | None:
    """Return what a question plainly asks to be said; None where it wants an opinion."""
    if question.purpose != "answer" or question.schema is not None:
        return None
    if (word := _WORD.search(question.text)) is not None:
        return word[1]
    if _HALVES.search(question.text) and question.picture is not None:
        return _halves(question.picture)
    return '{"colour": "green"}' if question.structured else None


def _halves(url: str) -> str | None:
    """Return the colours in the middle of a picture's left and right half; None where it cannot be read."""
    from PIL import Image

    try:
        data = base64.b64decode(url.partition(",")[2], validate=True)
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP")) as image:
            pixels = image.convert("RGB")
            places = ((pixels.width * part // 4, pixels.height // 2) for part in (1, 3))
            found = [pixels.getpixel(place) for place in places]
    except (OSError, ValueError, binascii.Error):
        return None
    return " ".join(min(_COLOURS, key=lambda name: _distance(_COLOURS[name], pixel)) for pixel in found)


def _distance(one: tuple[int, int, int], other: object) -> int:
    assert isinstance(other, tuple)
    return sum((left - right) ** 2 for left, right in zip(one, other, strict=True))
