"""What a simulated model is asked: a chat request, read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ATTEMPT_HEADER = "X-Harness-Attempt"
REPEAT_HEADER = "X-Harness-Repeat"
PURPOSE_HEADER = "X-Harness-Purpose"

SMALL_PICTURE = 4096
"""Characters of a data URL that is kept with its question; larger ones would fill the memory of a sweep."""

_COMPLAINT = re.compile(r"complaint[^\n:]*:[ \t]*\n?(?P<words>.+?)(?:\n\s*\n|\Z)", re.IGNORECASE | re.DOTALL)


class BadQuestionError(ValueError):
    """A request that is no chat request; the message says why."""


@dataclass(frozen=True, slots=True)
class Question:
    """A chat request. `content` is the digest of all that is asked, images included; `images` their number.

    `text` holds every text part, `schema` the JSON Schema of the answer where one is wanted, `picture` the
    data URL of the last image if it is small.
    """

    model: str
    content: str
    text: str
    images: int
    schema: Mapping[str, Any] | None
    seed: int
    attempt: int
    repeat: int
    purpose: str
    max_tokens: int | None
    structured: bool
    stream: bool
    picture: str | None = None

    @property
    def case(self) -> tuple[object, ...]:
        """What a model's opinion depends on: not the attempt."""
        return (self.seed, self.model, self.content, self.repeat)

    @property
    def identity(self) -> tuple[object, ...]:
        """What the form of an answer depends on."""
        return (*self.case, self.attempt, self.purpose)

    @property
    def complaint(self) -> str | None:
        """What the text quotes as the patient's complaint, where it quotes one."""
        found = _COMPLAINT.findall(self.text)
        return found[-1].strip() if found else None


def read_question(body: object, headers: Mapping[str, str]) -> Question:
    """Return the question that a body and its headers ask. Raises BadQuestionError."""
    if not isinstance(body, dict):
        raise BadQuestionError("the body is no JSON object")
    model, messages = body.get("model"), body.get("messages")
    if not isinstance(model, str) or not isinstance(messages, list) or not messages:
        raise BadQuestionError("'model' and 'messages' are required")
    extra = body.get("simulator") or {}
    if not isinstance(extra, dict):
        raise BadQuestionError("'simulator' must be an object")
    texts: list[str] = []
    images = 0
    picture: str | None = None
    content = hashlib.sha256()
    for kind, value in _parts(messages):
        content.update(f"{kind}:{len(value)}:".encode() + value.encode("utf-8", "surrogatepass"))
        if kind == "image":
            images += 1
            picture = value if len(value) <= SMALL_PICTURE else None
        elif kind == "text":
            texts.append(value)
    schema = extra.get("schema")
    return Question(
        model=model,
        content=content.hexdigest(),
        text="\n".join(texts),
        images=images,
        schema=schema if isinstance(schema, dict) else None,
        seed=_number(extra.get("seed"), 0),
        attempt=_number(headers.get(ATTEMPT_HEADER), 1),
        repeat=_number(headers.get(REPEAT_HEADER), 1),
        purpose=str(headers.get(PURPOSE_HEADER) or "answer"),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        structured="response_format" in body,
        stream=body.get("stream") is True,
        picture=picture,
    )


def _parts(messages: list[object]) -> Iterator[tuple[str, str]]:
    for message in messages:
        if not isinstance(message, dict):
            raise BadQuestionError("a message is no object")
        yield "role", str(message.get("role"))
        content = message.get("content")
        if isinstance(content, str):
            yield "text", content
            continue
        for part in content if isinstance(content, list) else []:
            match part:
                case {"type": "text", "text": str(text)}:
                    yield "text", text
                case {"type": "image_url", "image_url": {"url": str(url)}}:
                    yield "image", url
                case _:
                    raise BadQuestionError("a content part is neither text nor an image_url")


def _number(value: object, default: int) -> int:
    try:
        return int(str(value))
    except ValueError:
        return default
