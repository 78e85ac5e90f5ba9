"""The tiny questions of an examination, made so that a right answer proves something."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.canonical import JSON, digest
from harness.costs import OUTPUT_LIMIT_PARAMS
from harness.media import Media, probe
from harness.messages import ImagePart, Message, Part, Request, Schema, Structured, TextPart
from harness.settings import Model

WORD: Final = "pelican"
COLOURS: Final = ("yellow", "green")
"""Left and right half of the picture: a pair that nobody who does not see it is likely to name."""

FORCED: Final = "tangerine"
"""The one value that the schema allows, which no model would give to its question by itself."""

OUTPUT_TOKENS: Final = 2048
"""Limit of an answer where the settings have none: a word takes a few tokens, but models that reason spend
hundreds before it, and an answer that is cut before it begins proves nothing."""

_SIDE = 128
_PIXELS = {"yellow": (255, 221, 0), "green": (0, 128, 0)}

_SCHEMA_BODY: Final[Mapping[str, JSON]] = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": [FORCED]}},
    "required": ["word"],
    "additionalProperties": False,
}
SCHEMA: Final = Schema(id="doctor-v1", sha256=digest(_SCHEMA_BODY), body=_SCHEMA_BODY)

_TEXT = f"Reply with this one word and nothing else: {WORD}"
_PICTURE = (
    "Which colour fills the left half of this picture, and which colour the right half? "
    "Answer with two words, the left one first."
)
_SCHEMA_TEXT = 'Which animal barks? Answer in JSON, as {"word": "..."}.'
_JSON_TEXT = (
    "Say in a short sentence of plain words, without any braces, what colour grass has. Only if nothing but "
    'JSON can be written, write it as {"colour": "..."}.'
)


def draw_picture(folder: Path) -> Media:
    """Write the picture into a folder as PNG, and return what it is."""
    from PIL import Image

    image = Image.new("RGB", (_SIDE, _SIDE), _PIXELS[COLOURS[0]])
    image.paste(_PIXELS[COLOURS[1]], (_SIDE // 2, 0, _SIDE, _SIDE))
    path = folder / "picture.png"
    image.save(path)
    return probe(path)


def params_for(model: Model) -> dict[str, JSON]:
    """Return the parameters that a run would send by the settings, with a limit of the answer on top.

    The limit is added only where the settings give none, leave room for it, and the model takes one.
    """
    params: dict[str, JSON] = {
        name: value for name, value in model.params.items() if name not in model.not_taken
    }
    limited = any(name in params for name in OUTPUT_LIMIT_PARAMS)
    if not limited and "max_tokens" not in model.not_taken:
        params["max_tokens"] = _limit(model, params.get("thinking_budget"))
    return params


def _limit(model: Model, thinking: JSON) -> int:
    wanted = OUTPUT_TOKENS
    if isinstance(thinking, int) and thinking > 0:
        wanted += thinking
    room = [wanted]
    if model.max_output_tokens is not None:
        room.append(model.max_output_tokens)
    if model.context_tokens is not None:
        room.append(max(1, model.context_tokens // 2))
    return min(room)


def text_request(model: Model) -> Request:
    """Return the question for one fixed word."""
    return _request(model, TextPart(_TEXT))


def picture_request(model: Model, picture: Media, recipe: str) -> Request:
    """Return the question for what a picture shows."""
    return _request(model, TextPart(_PICTURE), ImagePart(picture, recipe))


def schema_request(model: Model) -> Request:
    """Return a question whose schema forces an answer that is wrong."""
    return _request(model, TextPart(_SCHEMA_TEXT), structured="schema", schema=SCHEMA)


def json_request(model: Model) -> Request:
    """Return a question for plain words, asked in JSON mode."""
    return _request(model, TextPart(_JSON_TEXT), structured="json")


def _request(
    model: Model, *parts: Part, structured: Structured = "off", schema: Schema | None = None
) -> Request:
    return Request((Message("user", parts),), params_for(model), schema, structured)
