"""What an exchange holds, as a page shows it: the request in readable turns, headers, the body, its texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.benchmarks.base import Case
from harness.cache.key import media_in, read_document
from harness.cache.rows import NewExchange
from harness.web.media.shown import file_link
from harness.web.viewing.beginnings import Beginning, beginning, decoded

MOST: Final = 20_000
"""Characters of a body, or of a whole request, that are shown; the rest is to be had as a file."""
PRETTY_BYTES: Final = 2_000_000
"""Bodies up to this size are also shown as indented JSON: a larger one takes longer than anyone waits."""
_MOST_TURNS: Final = 40
_SYSTEM: Final = ("system", "instructions", "systemInstruction")
_TURNS: Final = ("messages", "input", "contents")
"""Where the formats keep system text and turns: chat completions, Messages, Responses, Gemini, LiteLLM."""


@dataclass(frozen=True, slots=True)
class TurnPart:
    """A text, or a medium by its digest; `href`: where it is shown, None where it is not the case's."""

    text: Beginning | None = None
    sha256: str = ""
    recipe: str = ""
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a request, as it was sent."""

    role: str
    parts: Sequence[TurnPart]


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as it is stored: turns, all else that it says, and the document itself.

    `omitted` turns are not shown. `headers`: those that change the answer; None: it is older than their
    keeping. `problem`: why it cannot be read as a request.
    """

    turns: Sequence[Turn]
    omitted: int
    settings: Beginning
    headers: Mapping[str, str] | None
    document: Beginning
    size: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BodyView:
    """A raw answer: as it came, and as indented JSON where it is JSON of a readable size."""

    raw: Beginning
    pretty: Beginning | None
    size: int
    is_utf8: bool
    masked: bool


@dataclass(frozen=True, slots=True)
class HeaderView:
    """One header of an answer."""

    name: str
    value: Beginning


def request_view(data: NewExchange, run: str | None = None, case: Case | None = None) -> RequestView:
    """Return a stored request for reading; media of `case` are linked to where they are shown."""
    document, _ = decoded(data.request)
    try:
        body, headers = read_document(data.request)
        pretty = json.dumps(json.loads(data.request), indent=2, ensure_ascii=False)
    except ValueError as error:
        problem = f"the stored request cannot be read: {error}"
        raw = beginning(document, MOST)
        return RequestView((), 0, Beginning("", 0), None, raw, len(data.request), problem)
    places = _places(run, case)
    turns = list(_turns(body, places))
    rest = {name: value for name, value in body.items() if name not in (*_SYSTEM, *_TURNS)}
    return RequestView(
        turns[:_MOST_TURNS], max(0, len(turns) - _MOST_TURNS),
        beginning(json.dumps(rest, indent=2, ensure_ascii=False) if rest else ""),
        headers, beginning(pretty, MOST), len(data.request),
    )  # fmt: skip


def body_view(data: NewExchange) -> BodyView:
    """Return the raw answer of an exchange for reading."""
    size = len(data.raw.body)
    text, is_utf8 = decoded(data.raw.body)
    return BodyView(beginning(text, MOST), _pretty(data.raw.body), size, is_utf8, data.masked)


def header_views(data: NewExchange) -> Sequence[HeaderView]:
    """Return the headers of an answer, in their order, long ones cut."""
    most = max(200, min(4_000, MOST // max(1, len(data.raw.headers))))
    return [HeaderView(name, beginning(value, most)) for name, value in data.raw.headers.items()]


def sent_media(document: bytes) -> set[str]:
    """Return the digests of the media that a stored request holds; none of one that cannot be read."""
    try:
        return {sha256 for sha256, _, _ in media_in(read_document(document)[0])}
    except ValueError:
        return set()


def _pretty(body: bytes) -> Beginning | None:
    if len(body) > PRETTY_BYTES:
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return beginning(json.dumps(value, indent=2, ensure_ascii=False), MOST)


def _places(run: str | None, case: Case | None) -> Mapping[str, str]:
    """Return sha256 -> where a medium of the case is shown whole."""
    if run is None or case is None:
        return {}
    return {
        one.sha256: file_link(run, case.id, role, number, **{"as": "whole"})
        for role, media in case.media.items()
        for number, one in enumerate(media)
    }


def _turns(body: Mapping[str, Any], places: Mapping[str, str]) -> Iterator[Turn]:
    for name in _SYSTEM:
        if body.get(name):
            yield Turn("system", list(_parts(body[name], places)))
    for name in _TURNS:
        turns = body.get(name)
        for turn in turns if isinstance(turns, list) else [] if turns is None else [turns]:
            if isinstance(turn, Mapping):
                content = [turn[key] for key in ("content", "parts") if key in turn]
                yield Turn(str(turn.get("role", name)), list(_parts(content or turn, places)))
            else:
                yield Turn("user", list(_parts(turn, places)))


def _parts(value: object, places: Mapping[str, str]) -> Iterator[TurnPart]:
    match value:
        case str():
            yield TurnPart(beginning(value))
        case list():
            for item in value:
                yield from _parts(item, places)
        case {"$media": [str(sha256), str(recipe), *_]}:
            yield TurnPart(sha256=sha256, recipe=recipe, href=places.get(sha256))
        case Mapping():
            text = value.get("text")
            if isinstance(text, str):
                yield TurnPart(beginning(text))
            for item in value.values():
                if isinstance(item, list | Mapping):
                    yield from _parts(item, places)
