"""The wire format of Anthropic's Messages API."""

from __future__ import annotations

from typing import Final

from harness.messages import (
    Fault,
    ImagePart,
    MediaSlot,
    Message,
    Part,
    RawReply,
    Reply,
    Request,
    TextPart,
    WireRequest,
    WireValue,
)
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.anthropic_events import fold_message
from harness.providers.anthropic_options import body_options
from harness.providers.anthropic_replies import is_message, read_message, read_usage
from harness.providers.anthropic_schema import SCHEMA_NAMES
from harness.providers.base import Adapter
from harness.providers.bodies import error_in, holds_error, parse_json, reply_object
from harness.providers.faults import ErrorReader, read_fault_in_reply
from harness.providers.message_parts import check_user_turn, no_place_for, system_apart
from harness.providers.options import check_request, image_mime, schema_to_send
from harness.providers.streams import is_event_stream
from harness.settings import Model, Provider

API_VERSION: Final = "2023-06-01"
"""Fixes what answers look like (the API's page "Versions"), so that another one makes another request."""

_RESERVED: Final = frozenset({"model", "messages", "system", "stream", "n"})


class AnthropicAdapter(ErrorReader):
    """Messages at `{base_url}/messages`; the key goes in the header `x-api-key`.
    """

    kind = "anthropic"
    wire_revision = 1

    def build(self, request: Request, model: Model) -> WireRequest:
        """Return the call. Unknown parameters keep their names (`harness.providers.anthropic_options`).

        Raises UnsupportedInputError for a system message that is not first, for an image outside user
        messages, for options that the model is not known to take, and where neither request nor model
        say how long the answer may be: the API demands `max_tokens`.
        """
        check_request(request, model, _RESERVED)
        system, turns = system_apart(request.messages, model)
        body: dict[str, WireValue] = {
            "model": model.model,
            "messages": [{"role": turn.role, "content": _content(turn, model)} for turn in turns],
        }
        if system:
            body["system"] = _content(Message("system", tuple(system)), model)
        schema, names = schema_to_send(request, model, SCHEMA_NAMES)
        options, transport = body_options(request, model, schema)
        if model.stream:
            transport["stream"] = True
        return WireRequest(
            "/messages",
            body | options,
            headers=_versioned(model.provider.headers),
            transport=transport,
            # Many models think unless told not to, and newer ones do not show it.
            thinks_silently=options.get("thinking") != {"type": "disabled"},
            names=names,
        )

    def auth_headers(self, provider: Provider, api_key: str | None) -> dict[str, str]:
        """Return the header that carries the key; none without a key."""
        return {"x-api-key": api_key} if api_key else {}

    def read_reply(self, raw: RawReply, provider: Provider) -> Reply | Fault:
        """Return what a 2xx answer means: one message, or the events of one that is complete."""
        reply = reply_object(raw.body, fold_message if is_event_stream(raw.body) else parse_json)
        if isinstance(reply, Fault):
            return reply
        if holds_error(reply):
            error, usage, began = error_in(0, reply), read_usage(reply), bool(reply.get("content"))
            return read_fault_in_reply(raw, error, provider, self._now_s(), usage, began=began)
        if not is_message(reply):
            said = "a reply that is no message with a stop reason"
            return Fault(Outcome.MALFORMED_REPLY, said, maybe_billed=True, usage=read_usage(reply))
        return read_message(reply)


def _versioned(headers: dict[str, str]) -> dict[str, str]:
    """Return a provider's headers, which may name another version of the API."""
    named = any(name.lower() == "anthropic-version" for name in headers)
    return dict(headers) if named else {"anthropic-version": API_VERSION, **headers}


def _content(message: Message, model: Model) -> WireValue:
    match message.parts:
        case (TextPart(text=text),):
            return text
        case parts:
            return [_part(part, message, model) for part in parts]


def _part(part: Part, message: Message, model: Model) -> dict[str, WireValue]:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case ImagePart(media=media, recipe=recipe):
            check_user_turn(part, message)
            source: dict[str, WireValue] = {
                "type": "base64",
                "media_type": image_mime(part, model),
                "data": MediaSlot(media, recipe),
            }
            return {"type": "image", "source": source}
        case _:
            raise no_place_for(part, model)


adapter: Adapter = AnthropicAdapter()
