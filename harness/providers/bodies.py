"""JSON bodies: what an answer holds, before anyone decides what it means."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.messages import Fault
from harness.outcomes import ExchangeOutcome
from harness.providers.error_words import own_words

Object = Mapping[str, object]

_BLANKS = b" \t\r\n\x00\xef\xbb\xbf"
_DEPTH = 4
_ENVELOPES = ("error", "errors", "detail", "base_resp")
_MESSAGES = ("message", "msg", "error_msg", "error_message", "status_msg", "detail", "title", "error")
_CODES = ("code", "type", "status", "reason", "error_type", "error_code", "http_status_code", "status_code")
_PAGE = (
    "a web page in place of an answer (status 2xx); look at base_url, or whether a proxy or a login stands "
    "before it"
)
_MESSAGE_LIMIT = 2000
"""Messages longer than this echo the request; their tail says nothing about the error."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """One error in the form that all dialects share.

    `status` is the HTTP status, or the one that the body itself names (0: neither says). `codes` are
    the body's code, type, status and reasons, lower case. `message` is what a person would read;
    `hint` adds what lies deeper (an upstream's own words, the names of parameters).
    """

    status: int
    code: str | None = None
    codes: frozenset[str] = frozenset()
    message: str = ""
    hint: str = ""
    content: Object = field(default_factory=dict)
    html: bool = False

    @property
    def words(self) -> str:
        """What the provider says itself, lower case, for the search of phrases; nothing for a web page."""
        if self.html:
            return ""
        return f"{own_words(self.message)[0]}\n{own_words(self.hint)[0]}"


def parse_json(body: bytes) -> object:
    """Return the JSON value of a body; leading blanks (keep-alive) and a byte order mark are skipped.

    Lone surrogates and bytes that are no UTF-8 survive as surrogates. Raises ValueError on anything
    that is not exactly one JSON value.
    """
    data = body.lstrip(_BLANKS)
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text, strict=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def reply_object(body: bytes, read: Callable[[bytes], object] = parse_json) -> Object | Fault:
    """Return the JSON object of a 2xx answer; a Fault where it is cut or no JSON.

    Google's gateways wrap error objects in a list, so a list of one stands for what is in it.
    """
    try:
        value = read(body)
    except ValueError as error:
        if looks_like_html(body):
            return Fault(ExchangeOutcome.MALFORMED_REPLY, _PAGE, maybe_billed=True)
        what = "a reply that is no complete JSON" if body.strip() else "a reply without content"
        return Fault(ExchangeOutcome.MALFORMED_REPLY, f"{what}: {error}", maybe_billed=True)
    return as_object(value[0] if isinstance(value, list) and len(value) == 1 else value)


def as_object(value: object) -> Object:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str:
    """Return the value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int | None:
    """Return the value if it is a whole number of zero or more, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == value // 1 and value < 1e15 else None


def looks_like_html(body: bytes) -> bool:
    """Return True for a page that a gateway or a login wall put in the provider's place."""
    start = body.lstrip(_BLANKS)[:200].lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<center"))


def error_body(status: int, body: bytes) -> ErrorBody:
    """Return the error that the body of an answer with a failure status holds, whatever its shape."""
    try:
        value = parse_json(body)
    except ValueError:
        text = body.lstrip(_BLANKS).decode("utf-8", "replace").strip()
        return ErrorBody(status, message=text[:_MESSAGE_LIMIT], html=looks_like_html(body))
    return error_in(status, value)


def error_in(status: int, value: object) -> ErrorBody:
    """Return the error of a parsed body: an object, a list of one, text, or an envelope of these."""
    while isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str):
        return ErrorBody(status, message=value[:_MESSAGE_LIMIT])
    envelope = as_object(value)
    inner = _inner(envelope)
    content = as_object(inner) or envelope
    message = (inner if isinstance(inner, str) else _message(content) or _message(envelope))[:_MESSAGE_LIMIT]
    hint = " ".join(_hints(content))[:_MESSAGE_LIMIT]
    codes = frozenset(_codes(content)) | frozenset(_codes(envelope) if inner is not None else ())
    return ErrorBody(
        status=status,
        code=_first_code(content) or _first_code(envelope),
        codes=codes | own_words(message)[1] | own_words(hint)[1],
        message=message,
        hint=hint,
        content=content,
    )


def _inner(envelope: Object) -> object:
    """Return what an envelope holds of an error; the first of several, Mistral's `message.detail` too."""
    inner = next((envelope[key] for key in _ENVELOPES if envelope.get(key)), None)
    if inner is None and not isinstance(envelope.get("message"), str):
        inner = as_object(envelope.get("message")).get("detail") or envelope.get("message")
    while isinstance(inner, list) and inner:
        inner = inner[0]
    return inner


def holds_error(envelope: Object) -> bool:
    """Return True if the body of an answer with a good status is an error all the same.

    MiniMax tells by `base_resp`, Zhipu and Cloudflare by `success`, Baidu by `error_code`.
    """
    if envelope.get("error") or envelope.get("error_code") or envelope.get("success") is False:
        return True
    if as_object(envelope.get("base_resp")).get("status_code") not in (None, 0):
        return True
    if envelope.get("choices") or envelope.get("candidates"):
        return False
    named = any(envelope.get(key) for key in ("detail", "errors", "message", "msg"))
    return named or envelope.get("object") == "error"


def _message(content: Object) -> str:
    for _ in range(_DEPTH):
        inner: Object = {}
        for key in _MESSAGES:
            value = content.get(key)
            if isinstance(value, str) and value:
                return value
            inner = inner or as_object(value)
        content = inner
    return ""


def _first_code(content: Object) -> str | None:
    for key in ("code", "type", "status"):
        value = content.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return None


def _codes(content: Object) -> Iterator[str]:
    for key in _CODES:
        value = content.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            yield str(value).lower()
    # OpenRouter's moderation has no code of its own: it shows what it took offence at.
    if "flagged_input" in as_object(content.get("metadata")):
        yield "flagged_input"
    nested = (content.get("innererror"), content.get("metadata"), content.get("details"), *details(content))
    for inner in nested:
        for key in ("code", "reason", "error_type", "error_code"):
            value = as_object(inner).get(key)
            if isinstance(value, str):
                yield value.lower()


def _hints(content: Object) -> Iterator[str]:
    metadata = as_object(content.get("metadata"))
    if isinstance(metadata.get("raw"), dict):
        yield json.dumps(metadata["raw"])
    for value in (metadata.get("raw"), metadata.get("reasons"), content.get("details"), content.get("param")):
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, str))
    place = content.get("loc")  # where FastAPI and pydantic found a field at fault
    if isinstance(place, list):
        yield ".".join(str(step) for step in place if isinstance(step, str | int))


def details(content: Object) -> Iterator[Object]:
    """Return the objects of a Google error's `details`."""
    value = content.get("details")
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
