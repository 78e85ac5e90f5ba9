"""Servers that send keys back: in every form and in every place of an answer; and where to look for them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from contract.dialects import Dialect
from scripted_replies import Behaviour, Reply, half, json_reply, redirect_reply
from sweep_kit import answer_text

Echo: TypeAlias = Callable[[str], str]
"""A key -> how a server shows it."""

FORMS: Mapping[str, Echo] = {
    "plain": lambda key: f"Bearer {key}",
    "percent": lambda key: "".join(f"%{ord(one):02X}" for one in key),
    "json": lambda key: "".join(f"\\u{ord(one):04x}" for one in key),
    "html": lambda key: "".join(f"&#{ord(one)};" for one in key),
    "base64": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "base64 of a request": lambda key: base64.b64encode(f"x-api-key: {key}\r\nhost: a".encode()).decode(),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(f'{{"key":"{key}"}}'.encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "without its end": lambda key: f"{key[: len(key) * 3 // 4]}****",
    "without its start": lambda key: f"****{key[len(key) // 4 :]}",
}


def _in_words(dialect: Dialect, kind: str, said: str, status: int | None = None, **headers: str) -> Reply:
    words = replace(dialect.errors[kind], words=f"no good: {said}")
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return json_reply(dialect.error(words), words.status if status is None else status, told)


def _in_code(dialect: Dialect, said: str) -> Reply:
    words = replace(dialect.errors["unavailable"], code=said)
    return json_reply(dialect.error(words), 418)


def _everywhere(dialect: Dialect, said: str) -> Reply:
    """Return an answer in which every value that is a word of the server's own is the key."""
    whole = dialect.answer(answer_text(reasoning=said)).body.decode()
    for word in ('"scripted"', '"served-1"', '"stop"', '"STOP"', '"end_turn"', '"completed"'):
        whole = whole.replace(word, json.dumps(said))
    return Reply(200, {"content-type": "application/json"}, (whole.encode(),))


def _cut_within(dialect: Dialect, key: str) -> Reply:
    """Return an answer that ends before the key in it does."""
    reply = dialect.answer(f"you sent {key} to me")
    end = reply.body.index(key.encode()) + len(key) - 2
    return half(reply, (end + 0.5) / len(reply.body))


Place: TypeAlias = Callable[[Dialect, str, str], Behaviour]
"""What a server does, given a key and how it shows it."""

PLACES: Mapping[str, Place] = {
    "an answer": lambda d, key, said: d.answer(answer_text(reasoning=said)),
    "an answer that is no JSON": lambda d, key, said: d.answer(f"I was asked with {said}"),
    "every word of an answer": lambda d, key, said: _everywhere(d, said),
    "the words of a 500": lambda d, key, said: _in_words(d, "internal", said),
    "the words of a 422": lambda d, key, said: _in_words(d, "unprocessable", said, 422),
    "the words of a 429": lambda d, key, said: _in_words(d, "rate_limited", said, 429, retry_after_ms="1"),
    "the words of a block": lambda d, key, said: _in_words(d, "bad_request", f"{said} content_filter"),
    "the words in a 200": lambda d, key, said: _in_words(d, "overloaded", said, 200),
    "the code of an error": lambda d, key, said: _in_code(d, said),
    "a challenge": lambda d, key, said: _in_words(
        d, "unavailable", "no", www_authenticate=f'Bearer realm="{said}"', x_request=said
    ),
    "a header's name": lambda d, key, said: d.fails("unavailable", **{f"x-{key}": "1"}),
    "a location": lambda d, key, said: redirect_reply(307, f"/v1/{said}?key={said}#{said}"),
    "a cookie": lambda d, key, said: _in_words(d, "unavailable", "no", set_cookie=f"session={said}; Path=/"),
    "a page": lambda d, key, said: Reply(
        502, {"content-type": "text/html"}, (f"<html><body>{said}</body></html>".encode(),)
    ),
    "bytes that are no text": lambda d, key, said: Reply(418, {}, (b"\xff\xfe" + said.encode() + b"\xff",)),
    "an answer that is cut": lambda d, key, said: _cut_within(d, key),
}

STREAMED: Mapping[str, Place] = {
    "a stream": lambda d, key, said: d.streamed(d.events(answer_text(reasoning=said))),
    "a stream that stops": lambda d, key, said: d.streamed(d.events(f"{said} and {said}")[:-2]),
    "a stream that is cut": lambda d, key, said: half(d.streamed(d.events(f"{key} {said}")), 0.6),
    "an error in a stream": lambda d, key, said: d.streamed(
        [d.error_event(replace(d.errors["overloaded"], words=f"bad key {said}"))]
    ),
    "a comment in a stream": lambda d, key, said: d.streamed([f": {said}\n\n".encode(), *d.events("x")]),
    "a 503": lambda d, key, said: _in_words(d, "unavailable", said),
}


def spelled(key: str) -> Iterator[bytes]:
    """Yield what may be found of a key: its forms, whole and most of it, apart from the program."""
    raw = key.encode()
    yield from (raw, raw.lower(), raw[: len(raw) * 3 // 4], raw[len(raw) // 4 :])
    yield from ("".join(code.format(ord(one)) for one in key).encode() for code in ("%{:02x}", "%{:02X}"))
    yield "".join(f"\\u{ord(one):04x}" for one in key).encode()
    yield "".join(f"&#{ord(one)};" for one in key).encode()
    for before in range(3):
        coded = base64.b64encode(b"x" * before + raw + b"xxx")
        core = coded[4 if before else 0 : len(coded) // 2 + 8]
        yield from (core, core.replace(b"+", b"-").replace(b"/", b"_"))
    yield from (raw.hex().encode(), raw.hex().upper().encode())


def found_in(data: bytes, keys: Iterator[str] | list[str]) -> list[bytes]:
    """Return every form of the keys that stands in data, or in anything that was packed into it."""
    everything = b"\n".join({data, *_unpacked(data)})
    return [form for key in keys for form in dict.fromkeys(spelled(key)) if form in everything]


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield whatever zlib can unpack from any place of data: rows, free pages, a log of writes."""
    place = data.find(b"\x78")
    while place >= 0:
        if data[place + 1 : place + 2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
            try:
                yield zlib.decompressobj().decompress(data[place : place + (1 << 20)])
            except zlib.error:
                yield from _start_of(data[place : place + 8192])
        place = data.find(b"\x78", place + 1)


def _start_of(packed: bytes) -> Iterator[bytes]:
    """Yield what comes of a packed value up to where its page ends."""
    unpacker, pieces = zlib.decompressobj(), []
    try:
        for at in range(0, len(packed), 16):
            pieces.append(unpacker.decompress(packed[at : at + 16]))
    except zlib.error:
        pass
    if any(pieces):
        yield b"".join(pieces)


def leaking_files(folder: Path, keys: list[str]) -> dict[str, list[bytes]]:
    """Return file -> what stands of the keys in it, for every file below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {path.name: found_in(path.read_bytes(), keys) for path in files}
    return {name: forms for name, forms in found.items() if forms}
