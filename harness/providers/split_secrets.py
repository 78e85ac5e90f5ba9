"""Keys that an answer spreads over several strings: the pieces of a stream, or the parts of a message.

No search of the bytes finds them there, and whoever joins the pieces has the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from harness.messages import Fault, Reply
from harness.providers.bodies import parse_json
from harness.providers.encoding import mask_secrets
from harness.providers.streams import is_event_stream

_Place: TypeAlias = tuple[dict[str, Any] | list[Any], str | int]
_Pieces: TypeAlias = dict[tuple[object, ...], list[_Place]]

_KINDS: Final = ("type", "thought", "phase")
"""Fields that say what the text beside them is: an answer's words are not joined with its thoughts."""


def may_be_split(meaning: Reply | Fault, body: bytes, secrets: Iterable[str], *, masked: bool) -> bool:
    """Tell whether an answer whose bytes were searched may still give a key away to who joins its pieces.

    One in which something was `masked` may, as streams say many things twice and a piece may have held most
    of a key; so may a stream that came to nothing, which nobody joins here.
    """
    if masked:
        return True
    if isinstance(meaning, Fault):
        return is_event_stream(body)
    said = "\n".join(filter(None, (meaning.text, meaning.reasoning, meaning.detail)))
    return mask_secrets(said.encode("utf-8", "surrogatepass"), secrets)[1]


def mask_pieces(body: bytes, secrets: Iterable[str]) -> tuple[bytes, bool]:
    """Return a body, one JSON document or a stream of them, with no key left in the texts that it adds up to.

    Pieces that add up to a key are joined in the place of the first of them. The others keep their bytes. To
    be used before the bytes are searched, which would leave the rest of a key that lost a piece.
    """
    known = tuple(secrets)
    lines = _lines(body)
    documents = {number: _document(line) for number, line in enumerate(lines)}
    pieces: _Pieces = {}
    for document in documents.values():
        _collect(document, pieces)
    changed = [places for places in pieces.values() if _join_masked(places, known)]
    if not changed:
        return body, False
    for number, document in documents.items():
        if document is not None and document != _document(lines[number]):
            text = json.dumps(document, separators=(",", ":"))
            lines[number] = _prefix(lines[number]) + text.encode("ascii")
    return b"\n".join(lines), True


def _lines(body: bytes) -> list[bytes]:
    """Return the lines of a stream; any other body is one."""
    if not is_event_stream(body):
        return [body]
    return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


def _prefix(line: bytes) -> bytes:
    return b"data: " if line.startswith(b"data:") else b""


def _document(line: bytes) -> Any:
    """Return the JSON of a line of data; None where it is none."""
    try:
        return parse_json(line.removeprefix(b"data:"))
    except ValueError:
        return None


def _collect(document: Any, pieces: _Pieces) -> None:
    """List every string by its path, places in lists apart, and by what the fields beside it say it is.

    In the order of the document; without recursion, since what servers nest has no end.
    """
    waiting: list[tuple[Any, tuple[object, ...]]] = [(document, ())]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, dict):
            path = (*path, *((name, str(value[name])[:40]) for name in _KINDS if name in value))
        inner = list(_items(value))
        for key, item in inner:
            if isinstance(item, str):
                pieces.setdefault((*path, key if isinstance(key, str) else "*"), []).append((value, key))
        waiting += [
            (item, (*path, key if isinstance(key, str) else "*"))
            for key, item in reversed(inner)
            if isinstance(item, dict | list)
        ]


def _items(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _join_masked(places: list[_Place], secrets: tuple[str, ...]) -> bool:
    """Put what pieces add up to, masked, where the first stands; False where that holds no key."""
    if len(places) < 2:
        return False
    texts: list[str] = [container[key] for container, key in places]  # type: ignore[index]
    data, found = mask_secrets("".join(texts).encode("utf-8", "surrogatepass"), secrets)
    if found:
        for number, (container, key) in enumerate(places):
            container[key] = "" if number else data.decode("utf-8", "surrogatepass")  # type: ignore[index]
    return found
