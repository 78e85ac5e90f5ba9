"""What is asked and what came back, in no provider's format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.canonical import JSON
from harness.media import Media
from harness.outcomes import ExchangeOutcome

Role: TypeAlias = Literal["system", "user", "assistant"]
Structured: TypeAlias = Literal["off", "json", "schema"]
Purpose: TypeAlias = Literal["answer", "reformat"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text within a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a video: its place in the order of display, from 0, and its time in seconds."""

    index: int
    time_s: float


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A still image within a message, sent by `recipe` (see `harness.recipes`).

    By a recipe `frame:...` it is one frame of a video: `media` is the video then, and `frame` says which.
    """

    media: Media
    recipe: str = "original"
    frame: Frame | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class VideoPart:
    """A video within a message: what a benchmark renders, whoever is asked.

    `fps`: how many frames of each second the model is shown; None: as its server has it, and every frame
    where we take them. `plans.with_recipes` makes it images for a model that takes no video so, or says by
    `recipe` and `frames` which frames are sent in its place; by the recipe `original` the file is, and the
    server samples it.
    """

    media: Media
    recipe: str = "original"
    fps: float | None = None
    frames: tuple[Frame, ...] | None = field(default=None, compare=False)


MediaPart: TypeAlias = ImagePart | VideoPart
Part: TypeAlias = TextPart | MediaPart


@dataclass(frozen=True, slots=True)
class Message:
    """One turn; parts keep their order."""

    role: Role
    parts: tuple[Part, ...]


def media_parts(messages: Iterable[Message]) -> Iterator[MediaPart]:
    """Give the images and videos of messages, in order."""
    for message in messages:
        for part in message.parts:
            if not isinstance(part, TextPart):
                yield part


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema by its versioned id (the file's stem) and the digest of its file."""

    id: str
    sha256: str
    body: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked, complete but for the provider's format.

    `params` are provider-neutral (temperature, top_p, max_tokens, seed, stop, reasoning_effort ...);
    a name that an adapter does not know is passed through under that name, never dropped.
    `attempt` and `repeat` count from 1 and enter the request key.
    """

    messages: tuple[Message, ...]
    params: Mapping[str, JSON] = field(default_factory=dict)
    schema: Schema | None = None
    structured: Structured = "off"
    purpose: Purpose = "answer"
    attempt: int = 1
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class MediaSlot:
    """Stands in a provider-ready body where a medium's base64 text goes, after `prefix`."""

    media: Media
    recipe: str
    prefix: str = ""


WireValue: TypeAlias = (
    "Mapping[str, WireValue] | list[WireValue] | MediaSlot | str | int | float | bool | None"
)


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A provider-ready call: what goes on the wire, with media still by reference.

    `path` is appended to the provider's base URL. `body` and `headers` change the answer and
    enter the key. `transport` (body fields) and `transport_headers` are added when sending and
    do not enter it. `thinks_silently`: a stream that has begun may be silent for as long as the model
    thinks, so that no shorter limit than that of a whole answer holds between two of its chunks.
    """

    path: str
    body: Mapping[str, WireValue]
    headers: Mapping[str, str] = field(default_factory=dict)
    transport: Mapping[str, WireValue] = field(default_factory=dict)
    transport_headers: Mapping[str, str] = field(default_factory=dict)
    thinks_silently: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    """Alias -> name of the properties that `body` calls otherwise than the schema; kept, and not sent."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the provider gave them; None where it did not say.

    `output_tokens` includes `reasoning_tokens`; `input_tokens` includes `cached_tokens`, which were read
    from a cache, and `cache_write_tokens`, which were put into one: `long_write_tokens` of them for longer
    than the usual time, at another price. The last two are read from an answer and not stored beside it.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    long_write_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RawReply:
    """The bytes of one HTTP answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What an exchange means: a pure function of the raw answer. `outcome.serves` is True."""

    outcome: ExchangeOutcome
    text: str = ""
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    served_model: str | None = None
    detail: str | None = None
    """The provider's own words on a refusal or block."""
    names: Mapping[str, str] | None = None
    """Alias -> name of the keys that `text` was asked to use instead of the schema's own."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an exchange answered nothing. `outcome.serves` is False.

    `wait_s` is how long the provider said to wait, in seconds (None: it did not say).
    `maybe_billed`: the request may have been worked on, and paid, all the same.
    `quoted`: `message` is what the provider said, and no sentence of ours.
    """

    outcome: ExchangeOutcome
    message: str
    code: str | None = None
    wait_s: float | None = None
    maybe_billed: bool = False
    usage: Usage = Usage()
    quoted: bool = field(default=False, compare=False)
