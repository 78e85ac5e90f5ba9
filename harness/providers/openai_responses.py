"""The wire format of OpenAI's Responses API, where its newest models answer and some answer only."""

from __future__ import annotations

from typing import Final

from harness.errors import UnsupportedInputError
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
    WireRequest,
    WireValue,
)
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.base import Adapter
from harness.providers.bodies import error_in, holds_error, parse_json, reply_object
from harness.providers.body_fields import set_field, wire_json
from harness.providers.faults import ErrorReader, read_fault_in_reply
from harness.providers.message_parts import check_user_turn, misplaced, no_place_for
from harness.providers.openai_responses_replies import has_begun, last_response, read_response, read_usage
from harness.providers.openai_schema import named_schema
from harness.providers.options import check_request, image_mime, schema_to_send
from harness.providers.streams import is_event_stream
from harness.settings import Model, Provider

# `store`: what is asked here is never kept there. The others replace the question, or hide the answer.
_RESERVED: Final = frozenset(
    {"model", "input", "messages", "instructions", "prompt", "previous_response_id", "conversation",
     "background", "background_options", "stream", "stream_options", "store"}
)  # fmt: skip

_ABSENT: Final = frozenset(
    {"stop", "seed", "n", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs",
     "response_format", "max_completion_tokens"}
)  # fmt: skip
"""Parameters of chat completions that this format does not have; OpenAI answers 400 to each."""

TRANSPORT_PARAMS: Final = frozenset(
    {"user", "safety_identifier", "service_tier", "prompt_cache_key", "prompt_cache_retention", "metadata"}
)
"""Parameters that change who is billed, how fast or what is kept, and never the answer."""

# Neutral name -> where it stands in the body.
_PLACES: Final = {
    "max_tokens": ("max_output_tokens",),
    "reasoning_effort": ("reasoning", "effort"),
    "reasoning_summary": ("reasoning", "summary"),
    "reasoning_mode": ("reasoning", "mode"),
    "verbosity": ("text", "verbosity"),
}


class ResponsesAdapter(ErrorReader):
    """Responses at `{base_url}/responses`, complete in one answer: nothing is kept there, or polled.

    System text stands among the turns, where it was written, and not in `instructions`, which always come
    first.
    """

    kind = "openai-responses"
    wire_revision = 1

    def build(self, request: Request, model: Model) -> WireRequest:
        """Return the call. Unknown parameters keep their names.

        Raises UnsupportedInputError for an image where the format has none, for parameters that it does
        not have, and for options that the model is not known to take.
        """
        check_request(request, model, _RESERVED)
        body: dict[str, WireValue] = {
            "model": model.model,
            "input": [_item(message, model) for message in request.messages],
        }
        transport: dict[str, WireValue] = {"store": False}
        for name, value in request.params.items():
            if name in _ABSENT:
                raise UnsupportedInputError(f"the format 'openai-responses' has no {name!r}; leave it out")
            if name in TRANSPORT_PARAMS:
                transport[name] = wire_json(value)
            else:
                set_field(body, _PLACES.get(name, (name,)), name, value)
        schema, names = schema_to_send(request, model)
        answer_format = _answer_format(request.structured, schema)
        if answer_format is not None:
            set_field(body, ("text", "format"), "--structured", answer_format)
        if model.stream:
            transport["stream"] = True
        # A stream opens at once and is silent until the model has thought; 8 minutes were seen.
        return WireRequest(
            "/responses",
            body,
            headers=dict(model.provider.headers),
            transport=transport,
            thinks_silently=True,
            names=names,
        )

    def auth_headers(self, provider: Provider, api_key: str | None) -> dict[str, str]:
        """Return the header of the provider's settings; none without a key."""
        return provider.key_headers(api_key)

    def read_reply(self, raw: RawReply, provider: Provider) -> Reply | Fault:
        """Return what a 2xx answer means: one response object, or a stream that ends with one."""
        reply = reply_object(raw.body, last_response if is_event_stream(raw.body) else parse_json)
        if isinstance(reply, Fault):
            return reply
        if holds_error(reply):
            inner, began = error_in(0, reply), has_begun(reply)
            return read_fault_in_reply(
                raw, inner, provider, self._now_s(), read_usage(reply), began=began
            )
        if not isinstance(reply.get("output"), list) and "status" not in reply:
            return Fault(Outcome.MALFORMED_REPLY, "a reply that is no response", maybe_billed=True)
        return read_response(reply)


def _item(message: Message, model: Model) -> dict[str, WireValue]:
    match message.parts:
        case (TextPart(text=text),):
            return {"role": message.role, "content": text}
        case parts if message.role == "assistant":
            # Parts of an earlier answer would need the ids of that answer; plain text needs none.
            return {"role": message.role, "content": "".join(_text_of(part, message) for part in parts)}
        case parts:
            return {"role": message.role, "content": [_part(part, message, model) for part in parts]}


def _part(part: Part, message: Message, model: Model) -> dict[str, WireValue]:
    match part:
        case TextPart(text=text):
            return {"type": "input_text", "text": text}
        case ImagePart(media=media, recipe=recipe):
            check_user_turn(part, message)
            slot = MediaSlot(media, recipe, prefix=f"data:{image_mime(part, model)};base64,")
            return {"type": "input_image", "image_url": slot, "detail": "auto"}
        case _:
            raise no_place_for(part, model)


def _text_of(part: Part, message: Message) -> str:
    if not isinstance(part, TextPart):
        raise misplaced(part, message)
    return part.text


def _answer_format(structured: Structured, schema: Schema | None) -> dict[str, WireValue] | None:
    match structured, schema:
        case "json", _:
            return {"type": "json_object"}
        case "schema", Schema():
            return {"type": "json_schema", **named_schema(schema)}
        case _:
            return None


adapter: Adapter = ResponsesAdapter()
