"""The wire format of OpenAI's chat completions, which most vendors and all local servers speak."""

from __future__ import annotations

from dataclasses import replace
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
    Object,
    as_object,
    error_in,
    holds_error,
    parse_json,
    reply_object,
)
from harness.providers.body_fields import set_field, wire_json
from harness.providers.faults import ErrorReader, read_fault_in_reply
from harness.providers.message_parts import check_user_turn, no_place_for
from harness.providers.openai_replies import first_choice, fold_completion, read_choice, read_usage
from harness.providers.openai_schema import named_schema
from harness.providers.options import check_request, image_mime, schema_to_send
from harness.providers.streams import is_event_stream
from harness.providers.videos import video_fields, video_part
from harness.settings import Model, Provider

_RESERVED: Final = frozenset({"model", "messages", "stream", "stream_options", "n"})

TRANSPORT_PARAMS: Final = frozenset(
    {"user", "safety_identifier", "service_tier", "prompt_cache_key", "prompt_cache_retention", "metadata",
     "store"}
)  # fmt: skip
"""Parameters that change who is billed, how fast or what is kept, and never the answer."""


_ELSEWHERE: Final = (
    "[this model answers in the format 'openai-responses' only: ask for it as openai-responses/MODEL, or "
    "give it a provider with adapter = \"openai-responses\"]"
)


class OpenAIAdapter(ErrorReader):
    """Chat completions at `{base_url}/chat/completions`.
    """

    kind = "openai"
    wire_revision = 1

    def build(self, request: Request, model: Model) -> WireRequest:
        """Return the call. Unknown parameters keep their names; `max_tokens` takes the provider's.

        Raises UnsupportedInputError for an image or a video where the format has none, and for options that
        the model is not known to take.
        """
        check_request(request, model, _RESERVED)
        body: dict[str, WireValue] = {
            "model": model.model,
            "messages": [_message(message, model) for message in request.messages],
        }
        body |= video_fields(request.messages, model)
        transport: dict[str, WireValue] = {}
        for name, value in request.params.items():
            if name in TRANSPORT_PARAMS:
                transport[name] = wire_json(value)
                continue
            field = model.provider.max_tokens_field if name == "max_tokens" else name
            set_field(body, field, name, value)
        schema, names = schema_to_send(request, model)
        response_format = _response_format(request.structured, schema)
        if response_format is not None:
            set_field(body, "response_format", "--structured", response_format)
        if model.stream:
            transport["stream"] = True
            if model.provider.stream_options:
                transport["stream_options"] = {"include_usage": True}
        headers = dict(model.provider.headers)
        return WireRequest("/chat/completions", body, headers, transport, names=names)

    def auth_headers(self, provider: Provider, api_key: str | None) -> dict[str, str]:
        """Return the header of the provider's settings; none without a key."""
        return provider.key_headers(api_key)

    def read_reply(self, raw: RawReply, provider: Provider) -> Reply | Fault:
        """Return what a 2xx answer means: one JSON object, or a stream of chunks that is complete."""
        reply = reply_object(raw.body, fold_completion if is_event_stream(raw.body) else parse_json)
        if isinstance(reply, Fault):
            return reply
        usage = read_usage(reply)
        if holds_error(reply):
            inner, began = error_in(0, reply), _began(first_choice(reply))
            return read_fault_in_reply(raw, inner, provider, self._now_s(), usage, began=began)
        if "choices" not in reply or not isinstance(reply["choices"], list | None):
            return Fault(Outcome.MALFORMED_REPLY, "a reply that is no completion", maybe_billed=True)
        choice = first_choice(reply)
        if choice.get("error"):
            inner = error_in(0, {"error": choice["error"]})
            return read_fault_in_reply(raw, inner, provider, self._now_s(), usage, began=_began(choice))
        read = read_choice(reply, choice, provider)
        return replace(read, usage=usage)

    def read_error(self, raw: RawReply, provider: Provider) -> Fault | Reply:
        """Return what any other answer means; where the model answers elsewhere, how to ask it there."""
        read = super().read_error(raw, provider)
        if not isinstance(read, Fault) or read.outcome is not Outcome.MODEL_NOT_FOUND:
            return read
        elsewhere = "v1/responses" in read.message.lower()
        return replace(read, message=f"{read.message} {_ELSEWHERE}") if elsewhere else read


def _began(choice: Object) -> bool:
    """Tell whether an answer had begun, text or reasoning, before an error ended it: it may be billed."""
    return any(value for name, value in as_object(choice.get("message")).items() if name != "role")


def _message(message: Message, model: Model) -> dict[str, WireValue]:
    match message.parts:
        case (TextPart(text=text),):
            # Chat templates of many local models take text only as a plain string.
            return {"role": message.role, "content": text}
        case parts:
            return {"role": message.role, "content": [_part(part, message, model) for part in parts]}


def _part(part: Part, message: Message, model: Model) -> dict[str, WireValue]:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case ImagePart(media=media, recipe=recipe):
            check_user_turn(part, message)
            slot = MediaSlot(media, recipe, prefix=f"data:{image_mime(part, model)};base64,")
            return {"type": "image_url", "image_url": {"url": slot}}
        case VideoPart():
            check_user_turn(part, message)
            return video_part(part, model)
        case _:
            raise no_place_for(part, model)


def _response_format(structured: Structured, schema: Schema | None) -> dict[str, WireValue] | None:
    match structured, schema:
        case "json", _:
            return {"type": "json_object"}
        case "schema", Schema():
            return {"type": "json_schema", "json_schema": named_schema(schema)}
        case _:
            return None


adapter: Adapter = OpenAIAdapter()
