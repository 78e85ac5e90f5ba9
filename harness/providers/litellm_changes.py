"""What LiteLLM makes of our arguments: which it sends as they are, under another name, or not at all.

Its rules are not repeated here; they are found by trial. The same arguments are translated once without each
parameter: where nothing of the request differs, the parameter is dropped, and the request is refused. What
differs is what became of it, and what stands in the request without any parameter is LiteLLM's own. Of each
request it is checked that every text and every image of ours is in it, unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from harness.canonical import canonical_json
from harness.errors import UnsupportedInputError
from harness.providers.litellm_call import Outgoing
from harness.providers.litellm_library import RefusedError

Arguments: TypeAlias = Mapping[str, Any]
Translate: TypeAlias = Callable[[Arguments], Outgoing]
Leaves: TypeAlias = Mapping[str, object]

QUESTION: Final = frozenset({"model", "messages", "litellm"})
"""Arguments that are no parameters."""

_ADDRESS: Final = frozenset(
    {"aws_region_name", "vertex_project", "vertex_location", "api_version", "project_id", "organization"}
)
"""Parameters that say where a request goes and how it is signed: with a `base_url` they may show nowhere."""

_DOT: Final = (  # a grey PNG of one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
_STRUCTURE: Final = frozenset({"type", "role", "model", "format", "mime_type", "mimeType", "media_type"})
_MOST_SHOWN: Final = 120
_MOST_LEAVES: Final = 4
_TELLING: Final = frozenset({"anthropic-beta", "anthropic-version", "api-version"})
_ABSENT: Final = object()


def find_changes(arguments: Arguments, translate: Translate) -> tuple[str, ...]:
    """Return what differs between parameters and request, one sentence each, sorted.

    Raises UnsupportedInputError where a parameter is dropped, and what `translate` raises.
    """
    shape = {**arguments, "messages": _shape(arguments["messages"])}
    request = translate(shape)
    whole = _leaves(request, shape)
    if not any("?" in str(value) for path, value in whole.items() if not path.startswith("$")):
        raise UnsupportedInputError(
            f"LiteLLM first sends {request.method} {whole['$url']} for {arguments['model']!r}, which does "
            "not hold the question: providers that need several requests for an answer cannot be asked"
        )
    names = sorted(arguments.keys() - QUESTION)
    found: list[str] = []
    own = dict(whole)
    for name in names:
        try:
            without = _leaves(translate(_but(shape, name)), shape)
        except RefusedError:
            continue  # it does not do without
        here = {path: value for path, value in whole.items() if without.get(path, _ABSENT) != value}
        gone = [path for path in sorted(without.keys() - whole.keys()) if not _is_filled(path, whole)]
        if not here and not gone and name not in _ADDRESS and _is_dropped(shape, name, whole, translate):
            raise UnsupportedInputError(
                f"LiteLLM drops the parameter {name!r} for {arguments['model']!r} without a word; leave it "
                "out, or name it in the model's unsupported_params"
            )
        own = {path: value for path, value in own.items() if path not in here}
        found += _became(name, arguments[name], here, gone)
    found += [f"added: {_pair(path, value)}" for path, value in own.items() if not _is_given(path, value)]
    return tuple(sorted(found))


def check_question(arguments: Arguments, request: Outgoing) -> tuple[str, ...]:
    """Return what was done to texts and images beyond carrying them along: moved, joined, reordered.

    Raises UnsupportedInputError where one is missing or changed: nothing may be asked without it.
    """
    leaves = _leaves(request, arguments)
    texts = [(path, value) for path, value in leaves.items() if isinstance(value, str)]
    found: set[str] = set()
    places: list[int] = []
    for number, (role, what, value) in enumerate(_given(arguments["messages"]), start=1):
        place = _place(value, texts, places)
        if place is None:
            raise UnsupportedInputError(
                f"LiteLLM would send the {what} that is part {number} of the question changed, or not at all"
            )
        path, text = texts[place]
        if what == "text" and text != value:
            found.add(f"text joined with other text: {path}")
        if role != "system":
            places.append(place)
        elif not path.startswith("messages[0]"):
            found.add(f"system text moved: {path}")
    if places != sorted(places):
        found.add("texts and images are not sent in the order of the question")
    return tuple(sorted(found))


def _place(value: str, texts: Sequence[tuple[str, str]], taken: Sequence[int]) -> int | None:
    """Return where a text or an image is in a request: alone, else with others, else where others are too."""
    alone = [at for at, (_, text) in enumerate(texts) if text == value and at not in taken]
    if alone:
        return alone[0]
    within = [at for at, (_, text) in enumerate(texts) if value in text and text != value]
    return next((at for at in within if at not in taken), within[0] if within else None)


def _given(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield role, kind and value of each part that is to be sent: a text, or an image's base64."""
    for message in messages:
        content = message["content"]
        parts: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                if part["text"].strip():
                    yield message["role"], "text", part["text"]
            else:
                yield message["role"], "image", part["image_url"]["url"].partition(",")[2]


def _shape(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return messages of the same form that ask nothing: parameters do not depend on what is asked."""

    def part(one: Mapping[str, Any]) -> dict[str, Any]:
        if one["type"] == "text":
            return {"type": "text", "text": "?"}
        head = one["image_url"]["url"].partition(",")[0]
        return {"type": "image_url", "image_url": {"url": f"{head},{_DOT}"}}

    return [
        {**message, "content": "?" if isinstance(content, str) else [part(one) for one in content]}
        for message in messages
        for content in (message["content"],)
    ]


def _is_dropped(shape: Arguments, name: str, whole: Leaves, translate: Translate) -> bool:
    """Tell whether another value changes nothing either: without it, a default may stand for the same."""
    match shape[name]:
        case bool() as value:
            other: object = not value
        case int() | float() as value:
            other = value + 1
        case str() as value:
            other = f"{value}0"
        case _:
            return True
    try:
        return _leaves(translate({**shape, name: other}), shape) == whole
    except RefusedError:
        return False


def _but(arguments: Arguments, name: str) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}


def _leaves(request: Outgoing, arguments: Arguments) -> dict[str, object]:
    """Return path -> value of a request: of its body, its method, and its address without the query.

    Raises UnsupportedInputError where the body is no JSON, and nobody can see what became of the arguments.
    """
    try:
        body = json.loads(request.body)
    except ValueError as error:
        raise UnsupportedInputError(
            f"LiteLLM sends {request.url.partition('?')[0]} a body that is no JSON for "
            f"{arguments['model']!r}; what it makes of the question cannot be seen, so it is not asked"
        ) from error
    found = dict(_walk("", body))
    address, _, query = request.url.partition("?")
    found["$url"] = address
    found["$query"] = "&".join(part for part in query.split("&") if not part.startswith("key="))
    found |= {f"$headers.{name}": value for name, value in request.headers.items() if name in _TELLING}
    return found


def _walk(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _walk(f"{path}.{name}" if path else name, item)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _walk(f"{path}[{index}]", item)
    else:
        yield path, value


def _became(name: str, value: object, here: Leaves, gone: Sequence[str]) -> Iterator[str]:
    """Yield what a parameter became, where that is not itself."""
    as_given = dict(_walk(name, value))
    new = {path: there for path, there in here.items() if as_given.get(path, _ABSENT) != there}
    if isinstance(value, str):
        new.pop("$url", None)  # the region or project in the address
    if len(new) > _MOST_LEAVES:
        tops = sorted({re.split(r"[.\[]", path)[0] if path[0] != "$" else path for path in new})
        yield f"{name} became {', '.join(tops)}"
    elif new:
        became = ", ".join(_pair(path, there) for path, there in sorted(new.items()))
        yield f"{name} = {_short(value)} became {became}"
    lost = sorted({_last(path) for path in as_given} - {_last(path) for path in here})
    if new and len(as_given) > 1 and lost:
        yield f"{name} was sent without its {', '.join(lost)}"
    for path in gone:
        yield f"{name} takes the place of {path}"


def _is_given(path: str, value: object) -> bool:
    """Tell whether a leaf of a request is of the question and its address, or of the format's structure."""
    if path == "$url" or (path == "$query" and not value) or path.startswith("$headers"):
        return True
    if isinstance(value, str) and (_DOT in value or (value and not value.strip("? \n"))):
        return True
    return _last(path) in _STRUCTURE


def _is_filled(path: str, whole: Leaves) -> bool:
    """Tell whether what was empty at a path holds something now."""
    return any(other.startswith((f"{path}.", f"{path}[")) for other in whole)


def _last(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def _pair(path: str, value: object) -> str:
    return f"{path} = {_short(value)}"


def _short(value: object) -> str:
    text = canonical_json(value).decode("ascii")
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
