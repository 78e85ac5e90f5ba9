"""Server-sent events: what a streamed answer of any format is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its name (empty where it has none) and its data."""

    name: str
    data: bytes


def is_event_stream(body: bytes) -> bool:
    """Return True if a body is server-sent events; comments (keep-alive) may come first."""
    return body.removeprefix(_BOM).lstrip().startswith(_FIELDS)


def events(body: bytes) -> Iterator[Event]:
    """Return the events of a stream that hold data, in order; a last one that was cut is among them.

    Line ends of all three kinds, comments and fields without data are taken as the WHATWG HTML standard
    says (section 9.2.6, "Interpreting an event stream").
    """
    for block in _with_newlines(body).split(b"\n\n"):
        lines = block.split(b"\n")
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        if data:
            names = [line[6:].strip() for line in lines if line.startswith(b"event:")]
            yield Event(names[-1].decode("utf-8", "replace") if names else "", b"\n".join(data))


def beside_events(body: bytes) -> bytes:
    """Return what stands in a stream without being of an event: empty in one that is as it should be."""
    lines = _with_newlines(body).split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith(_FIELDS)).strip()


def _with_newlines(body: bytes) -> bytes:
    return body.removeprefix(_BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
