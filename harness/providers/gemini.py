"""The wire format of Google's `generateContent`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from harness.messages import (
    Fault,
    ImagePart,
    MediaSlot,
    Message,
    Part,
    RawReply,
    Reply,
    Request,
    Schema,
    Structured,
    TextPart,
    VideoPart,
    WireRequest,
    WireValue,
)
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.base import Adapter
from harness.providers.bodies import (
    as_text,
    error_in,
    holds_error,
    reply_object,
)
from harness.providers.body_fields import set_field, wire_json
from harness.providers.faults import ErrorReader, read_fault_in_reply
from harness.providers.gemini_replies import read_candidate, read_usage, texts_of
from harness.providers.gemini_stream import first_candidate, read_chunks
from harness.providers.message_parts import no_place_for, system_apart
from harness.providers.options import check_request, image_mime, schema_to_send
from harness.providers.videos import GEMINI_MOST_FPS, frames_per_second
from harness.settings import Model, Provider

_CONFIG_NAMES: Final = {
    "max_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "stop": "stopSequences",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "media_resolution": "mediaResolution",
}
_THINKING_NAMES: Final = {
    "thinking_level": "thinkingLevel",
    "thinking_budget": "thinkingBudget",
    "include_thoughts": "includeThoughts",
}
# Neutral name -> field beside `generationConfig`; these are no generation settings.
_BODY_NAMES: Final = {"safety_settings": "safetySettings", "safetySettings": "safetySettings"}
_TRANSPORT_NAMES: Final = {"service_tier": "serviceTier", "serviceTier": "serviceTier", "labels": "labels"}
_RESERVED: Final = frozenset(
    {"contents", "systemInstruction", "candidateCount", "candidate_count", "n", "stream"}
)

# What Google calls these containers (ai.google.dev, "Video understanding", supported formats).
_VIDEO_NAMES: Final = {"video/quicktime": "video/mov", "video/x-msvideo": "video/avi"}


class GeminiAdapter(ErrorReader):
    """`generateContent` at `{base_url}/models/MODEL:generateContent`; the key goes in a header.

    With `stream` of a model it is `:streamGenerateContent?alt=sse`, with the same body: the address is
    transport, so the key is the same, and both forms read alike. No catalogue model streams by default:
    Google cuts no silent requests that we know of, and a stream is as silent while a model thinks.
    """

    kind = "gemini"
    wire_revision = 1

    def build(self, request: Request, model: Model) -> WireRequest:
        """Return the call. Unknown parameters go into `generationConfig` under their own names.

        Raises UnsupportedInputError for a system message that is not first, and for options that the model
        is not known to take.
        """
        check_request(request, model, _RESERVED)
        system, turns = system_apart(request.messages, model)
        body: dict[str, WireValue] = {"contents": [_turn(message, model) for message in turns]}
        if system:
            body["systemInstruction"] = {"parts": [_part(part, model) for part in system]}
        schema, aliases = schema_to_send(request, model)
        fields, transport = _options(request, schema)
        body |= fields
        return WireRequest(
            _path(model),
            body,
            headers=dict(model.provider.headers),
            transport=transport,
            thinks_silently=model.stream,
            names=aliases,
        )

    def auth_headers(self, provider: Provider, api_key: str | None) -> dict[str, str]:
        """Return the header that carries the key; a key in the URL would end in logs."""
        return {"x-goog-api-key": api_key} if api_key else {}

    def read_reply(self, raw: RawReply, provider: Provider) -> Reply | Fault:
        """Return what a 2xx answer means, by its first candidate or the verdict on its prompt.

        Streamed or not. A stream with an error in it, or that ends before a finish reason, is a fault,
        whatever text it holds.
        """
        reply = reply_object(raw.body, read_chunks)
        if isinstance(reply, Fault):
            return reply
        usage = read_usage(reply)
        if holds_error(reply):
            inner, began = error_in(0, reply), any(texts_of(first_candidate(reply)))
            return read_fault_in_reply(raw, inner, provider, self._now_s(), usage, began=began)
        if not any(key in reply for key in ("candidates", "promptFeedback", "usageMetadata")):
            return Fault(Outcome.MALFORMED_REPLY, "a reply that is no generated content", maybe_billed=True)
        served_model = as_text(reply.get("modelVersion")) or None
        return replace(read_candidate(reply), usage=usage, served_model=served_model)


def _options(request: Request, schema: Schema | None) -> tuple[dict[str, WireValue], dict[str, WireValue]]:
    """Return the fields beside the turns: those that change the answer, and those of the transport.

    Raises UnsupportedInputError for a field that is set twice.
    """
    body: dict[str, WireValue] = {}
    transport: dict[str, WireValue] = {}
    config: dict[str, WireValue] = {}
    thinking: dict[str, WireValue] = {}
    special = ((_BODY_NAMES, body), (_TRANSPORT_NAMES, transport), (_THINKING_NAMES, thinking))
    for name, value in request.params.items():
        for names, fields in special:
            if name in names:
                set_field(fields, names[name], name, value)
                break
        else:
            listed = [value] if name == "stop" and isinstance(value, str) else value
            set_field(config, _CONFIG_NAMES.get(name, name), name, listed)
    if thinking:
        set_field(config, "thinkingConfig", next(iter(thinking)), thinking)
    for field, option in _structured(request.structured, schema):
        set_field(config, field, "--structured", option)
    return body | ({"generationConfig": config} if config else {}), transport


def _path(model: Model) -> str:
    name = model.model if "/" in model.model else f"models/{model.model}"
    method = "streamGenerateContent?alt=sse" if model.stream else "generateContent"
    return f"/{quote(name, safe='/')}:{method}"


def _turn(message: Message, model: Model) -> dict[str, WireValue]:
    role = "model" if message.role == "assistant" else "user"
    return {"role": role, "parts": [_part(part, model) for part in message.parts]}


def _part(part: Part, model: Model) -> dict[str, WireValue]:
    match part:
        case TextPart(text=text):
            return {"text": text}
        case ImagePart(media=media, recipe=recipe):
            return {"inlineData": {"mimeType": image_mime(part, model), "data": MediaSlot(media, recipe)}}
        case VideoPart(media=media, recipe=recipe, fps=fps):
            mime = _VIDEO_NAMES.get(media.mime, media.mime)
            data: dict[str, WireValue] = {"mimeType": mime, "data": MediaSlot(media, recipe)}
            found: dict[str, WireValue] = {"inlineData": data}
            if fps is not None:
                found["videoMetadata"] = {"fps": frames_per_second(part, GEMINI_MOST_FPS)}
            return found
        case _:
            raise no_place_for(part, model)


def _structured(structured: Structured, schema: Schema | None) -> Iterator[tuple[str, WireValue]]:
    if structured != "off":
        yield "responseMimeType", "application/json"
    if schema is not None:
        yield "responseJsonSchema", wire_json(schema.body)


adapter: Adapter = GeminiAdapter()
