"""One send through LiteLLM: our arguments translated, sent by our transport, the answer translated back."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from harness.canonical import JSON, canonical_json
from harness.errors import ConfigError, UnsupportedInputError
from harness.media_threads import in_media_thread
from harness.messages import Fault, MediaSlot, Message, RawReply, Request, TextPart, WireRequest
from harness.outcomes import ExchangeOutcome
from harness.providers.base import get_adapter
from harness.providers.encoding import encode_body, mask_secrets
from harness.providers.litellm_call import Outgoing
from harness.providers.litellm_changes import check_question, find_changes
from harness.providers.litellm_format import MARK, REPLY, SENT, UNREAD
from harness.providers.litellm_library import RefusedError, incoming, outgoing
from harness.providers.transport import Sent, Transport
from harness.settings import Model

KEPT_HEADERS: Final = frozenset(
    {"accept", "content-type", "anthropic-version", "anthropic-beta", "x-goog-user-project"}
)
"""Headers of a translated request that are kept with it; of all others only the name is."""

_OPENAI: Final = frozenset({"openai", "text-completion-openai", "custom_openai"})
_SECRET_QUERY: Final = frozenset({"key", "api_key", "access_token", "token", "sig", "code"})
_SECRET_HEADERS: Final = ("auth", "key", "token", "secret", "cookie")
_AWS_SIGNED: Final = re.compile(r"^AWS4-HMAC-SHA256 Credential=([^/]+)/.*Signature=([0-9a-f]+)")
_NO_ANSWER: Final = RawReply(0, {}, b"")


@dataclass(frozen=True, slots=True)
class TranslatedSend:
    """What came of a send, and the secrets that went with it, for masking."""

    sent: Sent
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Account:
    """How LiteLLM reaches a provider."""

    api_key: str | None = field(repr=False)
    api_base: str

    def translate(self, arguments: Mapping[str, Any]) -> Outgoing:
        return outgoing(arguments, api_key=self.api_key, api_base=self.api_base)


@dataclass(frozen=True, slots=True)
class _Prepared:
    arguments: Mapping[str, Any]
    request: Outgoing
    shown: str


async def send(
    transport: Transport, wire: WireRequest, model: Model, body: bytes, *, api_key: str | None
) -> TranslatedSend:
    """Send a request once, as LiteLLM translates it, and return the answer with its translation.

    The answer's headers hold what was sent (`SENT`: media by digest, no secrets) and, of a 2xx answer, what
    LiteLLM reads in it (`REPLY`), or why it cannot (`UNREAD`). Raises UnsupportedInputError where LiteLLM
    refuses, drops or changes what was asked: nothing is sent then. Raises ConfigError where it is missing.
    """
    account = _Account(api_key, model.provider.base_url)
    try:
        prepared = await in_media_thread(_prepare, wire, body, account)
    except RefusedError as error:
        message = _masked(str(error), api_key)
        if error.about_key:
            return TranslatedSend(Sent(_NO_ANSWER, 0.0, None, Fault(ExchangeOutcome.AUTH, message)), ())
        raise UnsupportedInputError(message) from error
    request = prepared.request
    parts = urlsplit(request.url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    sent = await transport.send(
        WireRequest(path, {}),
        model,
        request.body,
        auth_headers=request.headers,
        base_url=f"{parts.scheme}://{parts.netloc}",
    )
    secrets = tuple(_secrets(request))
    headers = {name: value for name, value in sent.raw.headers.items() if not name.startswith(MARK)}
    headers[SENT] = prepared.shown
    if sent.fault is None and 200 <= sent.raw.status < 300:
        name, text = await asyncio.to_thread(_translated, prepared, sent.raw, account)
        headers[name] = text
    return TranslatedSend(replace(sent, raw=replace(sent.raw, headers=headers)), secrets)


def check(model: Model, params: Mapping[str, JSON], api_key: str | None) -> tuple[str, ...]:
    """Return what LiteLLM changes of a question to this model, found without sending anything.

    Raises ConfigError where LiteLLM is missing, or refuses the model, a parameter or the credentials.
    """
    question = Request((Message("user", (TextPart("?"),)),), params=params)
    account = _Account(api_key, model.provider.base_url)
    try:
        wire = get_adapter(model.provider.adapter).build(question, model)
        arguments = _arguments(encode_body(wire, {}))
        _check_address(arguments["model"], account.translate(arguments))
        return _changes(arguments, account)
    except (RefusedError, UnsupportedInputError) as error:
        raise ConfigError(f"model {model.name!r}: {_masked(str(error), api_key)}") from error


def _prepare(wire: WireRequest, body: bytes, account: _Account) -> _Prepared:
    arguments = _arguments(body)
    request = account.translate(arguments)
    _check_address(arguments["model"], request)
    changes = (*_changes(arguments, account), *check_question(arguments, request))
    shown = _shown(request, wire, arguments, changes)
    text, _ = mask_secrets(shown.encode("utf-8", "surrogatepass"), _secrets(request))
    return _Prepared(arguments, request, text.decode("utf-8", "surrogatepass"))


def _check_address(model: str, request: Outgoing) -> None:
    """Raise UnsupportedInputError where another vendor's key would go to OpenAI.

    LiteLLM sends what it takes for OpenAI-compatible there where it knows no address (AI21's models, say).
    """
    vendor = model.partition("/")[0]
    if urlsplit(request.url).hostname == "api.openai.com" and vendor not in _OPENAI:
        raise UnsupportedInputError(
            f"LiteLLM knows no address of {vendor!r} and would send its key to api.openai.com; set base_url"
        )


def _translated(prepared: _Prepared, raw: RawReply, account: _Account) -> tuple[str, str]:
    """Return the header that says what LiteLLM reads in an answer, or why it reads nothing."""
    try:
        reply = incoming(prepared.arguments, raw, api_key=account.api_key, api_base=account.api_base)
    except ValueError as error:
        return UNREAD, str(error)
    return REPLY, canonical_json(reply).decode("ascii")


def _arguments(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)
    return found


def _changes(arguments: Mapping[str, Any], account: _Account) -> tuple[str, ...]:
    """Return what becomes of the parameters: the same for every question of the same form."""
    params = {name: value for name, value in arguments.items() if name != "messages"}
    form = [
        [message["role"], *([""] if isinstance(content, str) else [_form(part) for part in content])]
        for message in arguments["messages"]
        for content in (message["content"],)
    ]
    return _changes_of(json.dumps([params, form], sort_keys=True), account)


def _form(part: Mapping[str, Any]) -> str:
    return "text" if part["type"] == "text" else str(part["image_url"]["url"].partition(",")[0])


@lru_cache(maxsize=256)
def _changes_of(form: str, account: _Account) -> tuple[str, ...]:
    params, turns = json.loads(form)
    messages = [{"role": role, "content": _content(parts)} for role, *parts in turns]
    return find_changes({**params, "messages": messages}, account.translate)


def _content(parts: list[str]) -> Any:
    if parts == [""]:
        return "?"
    return [
        {"type": "text", "text": "?"}
        if part == "text"
        else {"type": "image_url", "image_url": {"url": f"{part},"}}
        for part in parts
    ]


def _shown(
    request: Outgoing, wire: WireRequest, arguments: Mapping[str, Any], changes: tuple[str, ...]
) -> str:
    """Return what is kept of a translated request: media by digest, secrets by name alone."""
    text = request.body.decode("utf-8", "surrogateescape")
    for slot, data in _media(wire.body, arguments):
        text = text.replace(data, f"$media:{slot.media.sha256}:{slot.recipe}")
    parts = urlsplit(request.url)
    query = [
        (name, "(not kept)" if name.lower() in _SECRET_QUERY else value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    kept: dict[str, JSON] = {
        "method": request.method,
        "url": parts._replace(query=urlencode(query)).geturl(),
        "headers": {
            name: value if name in KEPT_HEADERS else "(not kept)" for name, value in request.headers.items()
        },
        "body": json.loads(text),
        "changes": list(changes),
    }
    return canonical_json(kept).decode("ascii")


def _media(body: object, arguments: object) -> Iterator[tuple[MediaSlot, str]]:
    """Yield each medium of a body with the base64 text that stands for it in the arguments."""
    match body, arguments:
        case MediaSlot() as slot, str() as text:
            yield slot, text.removeprefix(slot.prefix)
        case Mapping(), Mapping():
            for name in body:
                yield from _media(body[name], arguments.get(name))
        case (list(), list()):
            for inner, given in zip(body, arguments, strict=True):
                yield from _media(inner, given)


def _secrets(request: Outgoing) -> Iterator[str]:
    """Yield what must not be stored of a request: keys, tokens and signatures, as they stand in it."""
    for name, value in request.headers.items():
        signed = _AWS_SIGNED.search(value)
        if signed:
            yield from signed.groups()
        elif name not in KEPT_HEADERS and any(word in name for word in _SECRET_HEADERS):
            yield value
            yield value.rpartition(" ")[2]  # "Bearer KEY"
    for name, value in parse_qsl(urlsplit(request.url).query):
        if name.lower() in _SECRET_QUERY:
            yield value


def _masked(text: str, api_key: str | None) -> str:
    data, _ = mask_secrets(text.encode("utf-8", "surrogatepass"), [api_key] if api_key else ())
    return data.decode("utf-8", "replace")
