"""What two requests differ in, component by component of their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from harness.cache.key import media_in, read_document
from harness.cache.neighbours import StoredRequest
from harness.canonical import JSON, canonical_json
from harness.identity import Built
from harness.messages import Request
from harness.providers.base import get_adapter
from harness.settings import Model

Component: TypeAlias = Literal[
    "adapter", "wire revision", "endpoint", "model", "parameter", "schema", "system text", "message text",
    "messages", "medium", "recipe", "recipe version", "header", "headers unknown", "attempt", "repeat",
    "arrangement",
]

_TURNS: Final = frozenset({"messages", "contents", "input"})
_SYSTEM: Final = frozenset({"systemInstruction", "system", "instructions"})
_SCHEMA: Final = frozenset(
    {"response_format", "responseMimeType", "responseJsonSchema", "responseSchema", "schema", "text.format"}
)
_MIXED: Final = {"output_config": "format"}
"""Fields that hold parameters and, under this name, a schema (Anthropic)."""
_ABSENT: Final = "nothing"
_AROUND: Final = 24
"""Characters shown on both sides of the place where two texts part."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a key is made of. `body` holds media by digest; `headers` None: they were not kept."""

    adapter: str
    wire_revision: int
    endpoint: str
    model: str
    headers: Mapping[str, str] | None
    body: Mapping[str, Any]
    attempt: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One component that differs: where in the body (dots and numbers), and both sides, shortened.

    Values of headers are never shown: someone may have put a key into one.
    """

    component: Component
    path: str
    stored: str
    wanted: str

    def to_json(self) -> Mapping[str, JSON]:
        """Return it as `--json` prints it."""
        return asdict(self)

    @property
    def is_place(self) -> bool:
        """True for what says where a request went, not what it asked."""
        return self.component in {"endpoint", "wire revision"}


def stored_identity(stored: StoredRequest) -> Identity:
    """Return what a stored exchange was asked with. Raises ValueError for a damaged request."""
    body, headers = read_document(stored.request)
    return Identity(
        stored.adapter, stored.wire_revision, stored.endpoint, stored.model, headers, body,
        stored.attempt, stored.repeat,
    )  # fmt: skip


def wanted_identity(built: Built, request: Request, model: Model) -> Identity:
    """Return what a request that is built now would be asked with."""
    body, _ = read_document(built.document)
    kind = get_adapter(model.provider.adapter).kind
    return Identity(
        kind, built.wire_revision, built.endpoint, model.model, built.headers, body,
        request.attempt, request.repeat,
    )  # fmt: skip


def differences(stored: Identity, wanted: Identity) -> tuple[Difference, ...]:
    """Return every component in which two requests differ; empty exactly where they have one key.

    Headers that were not kept count as a difference only where nothing else tells the requests apart.
    """
    found = [*_plain(stored, wanted), *_headers(stored, wanted), *_bodies(stored, wanted)]
    if not found and stored.headers is None and wanted.headers:
        found.append(Difference("headers unknown", "", "not kept", ", ".join(sorted(wanted.headers))))
    if not found and canonical_json(stored.body) != canonical_json(wanted.body):
        found.append(Difference("arrangement", "", "the same parts", "the same parts in another order"))
    return tuple(found)


def _plain(stored: Identity, wanted: Identity) -> Iterator[Difference]:
    pairs: tuple[tuple[Component, object, object], ...] = (
        ("adapter", stored.adapter, wanted.adapter),
        ("wire revision", stored.wire_revision, wanted.wire_revision),
        ("endpoint", stored.endpoint, wanted.endpoint),
        ("model", stored.model, wanted.model),
        ("attempt", stored.attempt, wanted.attempt),
        ("repeat", stored.repeat, wanted.repeat),
    )
    for name, was, now in pairs:
        if was != now:
            yield Difference(name, "", str(was), str(now))


def _headers(stored: Identity, wanted: Identity) -> Iterator[Difference]:
    if stored.headers is None or wanted.headers is None:
        return
    for name in sorted({*stored.headers, *wanted.headers}):
        was, now = stored.headers.get(name), wanted.headers.get(name)
        if was != now:
            other = "a value" if was is None else "another value"
            yield Difference(
                "header", name, _ABSENT if was is None else "a value", _ABSENT if now is None else other
            )


def _bodies(stored: Identity, wanted: Identity) -> Iterator[Difference]:
    yield from _media(media_in(stored.body), media_in(wanted.body))
    was, now = (_with_schema_apart(_without_media(one.body)) for one in (stored, wanted))
    # The body's own name of the model says nothing that the identity does not.
    if was.get("model") == stored.model and now.get("model") == wanted.model:
        was, now = ({**one, "model": None} for one in (was, now))
    was, now = _opened(was, now), _opened(now, was)
    seen_schema = False
    for path, before, after in _walk((), was, now):
        component = _component(path, stored.body, wanted.body)
        if component == "schema":
            if not seen_schema:
                yield Difference("schema", str(path[0]), *_values(was, now, path))
            seen_schema = True
        elif isinstance(before, str) and isinstance(after, str):
            yield Difference(component, _dotted(path), *_where_texts_part(before, after))
        else:
            yield Difference(component, _dotted(path), _shown(before), _shown(after))


def _opened(body: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a body with an empty field where only the other has a mixed one, so that its parts are told."""
    return {**body, **{name: {} for name in _MIXED if name not in body and other.get(name)}}


def _values(was: Mapping[str, Any], now: Mapping[str, Any], path: tuple[str | int, ...]) -> tuple[str, str]:
    top = str(path[0])
    inner = str(path[1]) if top not in _SCHEMA and len(path) > 1 else None

    def value(body: Mapping[str, Any]) -> object:
        found = body.get(top, _MISSING)
        if inner is not None and isinstance(found, Mapping):
            found = found.get(inner, _MISSING)
        return found

    return _shown(value(was)), _shown(value(now))


class _Missing:
    """Stands for a field that is not there, which is not the same as null."""


_MISSING: Final = _Missing()
_Path: TypeAlias = tuple[str | int, ...]


def _walk(path: _Path, was: object, now: object) -> Iterator[tuple[_Path, object, object]]:
    """Yield the leaves at which two bodies differ, with their paths."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in sorted({*was, *now}):
            yield from _walk((*path, name), was.get(name, _MISSING), now.get(name, _MISSING))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, (before, after) in enumerate(zip(was, now, strict=True)):
            yield from _walk((*path, place), before, after)
    elif type(was) is not type(now) or was != now:
        yield path, was, now


def _component(path: _Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> Component:
    top = path[0]
    if any(name in _SCHEMA for name in path if isinstance(name, str)) and top not in _TURNS:
        return "schema"
    if len(path) > 1 and _MIXED.get(str(top)) == path[1]:
        return "schema"
    if top in _SYSTEM:
        return "system text"
    if top not in _TURNS:
        return "parameter"
    if len(path) < 3 or path[-1] == "role":
        return "messages"
    roles = {_role(body, top, path[1]) for body in (stored, wanted)}
    return "system text" if roles <= {"system", "developer"} else "message text"


def _role(body: Mapping[str, Any], top: str | int, place: str | int) -> object:
    turns = body.get(str(top))
    if isinstance(turns, list) and isinstance(place, int) and place < len(turns):
        return turns[place].get("role") if isinstance(turns[place], Mapping) else None
    return None


def _without_media(value: Any) -> Any:
    """Return a body without the parts that are media; text that is left alone stands as itself."""
    if isinstance(value, Mapping):
        return {name: _without_media(item) for name, item in value.items()}
    if isinstance(value, list):
        left = [_without_media(item) for item in value if not _is_medium(item)]
        match left:
            case [{"type": "text" | "input_text", "text": str(text)}]:
                return text
        return left
    return value


def _with_schema_apart(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a body whose `text.format` (OpenAI's responses) stands beside the other settings of its text."""
    match body.get("text"):
        case {"format": wanted, **others}:
            rest = {name: value for name, value in body.items() if name != "text"}
            return {**rest, **({"text": others} if others else {}), "text.format": wanted}
    return body


def _is_medium(item: object) -> bool:
    is_part = isinstance(item, Mapping) and "role" not in item
    return is_part and bool(media_in(item))


def _media(was: list[tuple[str, str, int]], now: list[tuple[str, str, int]]) -> Iterator[Difference]:
    if len(was) != len(now):
        yield Difference("medium", "", f"{len(was)} media", f"{len(now)} media")
        return
    if was != now and sorted(was) == sorted(now):
        yield Difference("medium", "", "the same media", "the same media in another order")
        return
    for place, (before, after) in enumerate(zip(was, now, strict=True)):
        names: tuple[Component, ...] = ("medium", "recipe", "recipe version")
        for name, one, other in zip(names, before, after, strict=True):
            if one != other:
                what = "sha256 " if name == "medium" else ""
                yield Difference(name, f"medium {place + 1}", f"{what}{_cut(one)}", f"{what}{_cut(other)}")
                break  # another recipe has its own versions, other bytes their own recipe


def _cut(value: object) -> str:
    text = str(value)
    return f"{text[:12]}..." if len(text) > 24 else text


def _where_texts_part(was: str, now: str) -> tuple[str, str]:
    """Return both texts around the first character in which they differ."""
    place = next(
        (place for place, (one, other) in enumerate(zip(was, now, strict=False)) if one != other),
        min(len(was), len(now)),
    )
    return _excerpt(was, place), _excerpt(now, place)


def _excerpt(text: str, place: int) -> str:
    start, end = max(0, place - _AROUND), place + _AROUND
    before, after = ("..." if start else ""), ("..." if end < len(text) else "")
    quoted = json.dumps(f"{before}{text[start:end]}{after}", ensure_ascii=True)
    return f"{quoted} from character {place + 1} of {len(text)}"


def _shown(value: object) -> str:
    if isinstance(value, _Missing):
        return _ABSENT
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _dotted(path: _Path) -> str:
    return "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in path).removeprefix(".")
