"""LiteLLM's arguments as a wire format, and the answers that were translated by it: read without LiteLLM.

What is stored of an exchange: the provider's own bytes, status and headers, and beside them, as headers of
ours (`REPLY`, `SENT`, `UNREAD`), LiteLLM's translation of the answer and the request that it made of ours.
Errors are read from the provider's bytes alone; an answer's text is the translated one, while why it ended,
what it cost and who gave it are the provider's own words wherever they stand in the bytes. For LiteLLM says
"stop" of what a provider calls an error, and zero tokens where none are given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from harness.errors import UnsupportedInputError
from harness.messages import Fault, RawReply, Reply, Request, Usage, WireRequest
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.base import Adapter
from harness.providers.bodies import (
    Object,
    as_object,
    as_text,
    error_body,
    error_in,
    parse_json,
    reply_object,
)
from harness.providers.faults import read_fault, read_fault_in_reply
from harness.providers.openai import OpenAIAdapter
from harness.providers.openai_replies import first_choice, read_choice, read_usage
from harness.settings import Model, Provider

VERSION: Final = "1.110.2"
"""The one version that translates, pinned in pyproject.toml: it enters the request key."""

MARK: Final = "harness-litellm-"
"""How the names of our headers begin; a server's own of such a name are dropped."""
REPLY: Final = f"{MARK}reply"
SENT: Final = f"{MARK}sent"
UNREAD: Final = f"{MARK}unread"

_OURS: Final = frozenset(
    {"api_base", "base_url", "cache", "caching", "client", "custom_llm_provider", "deployment_id",
     "drop_params", "additional_drop_params", "allowed_openai_params", "extra_headers", "fallbacks",
     "context_window_fallback_dict", "headers", "litellm", "litellm_logging_obj", "logger_fn",
     "max_retries", "metadata", "mock_response", "mock_timeout", "mock_tool_calls", "model_list",
     "modify_params", "num_retries", "retry_policy", "retry_strategy", "shared_session", "acompletion",
     "timeout", "request_timeout", "stream_timeout", "tools", "functions", "web_search_options"}
)  # fmt: skip
_SECRET_WORDS: Final = ("key", "secret", "password", "credential", "bearer")
_SECRET_ENDS: Final = ("_token", "_tokens_provider", "_token_provider")

# How providers call what the shared reading of completions knows under another name.
_ENDS: Final = {
    "guardrail_intervened": "content_filter", "content_filtered": "content_filter",
    "error_toxic": "content_filter", "prohibited_content": "content_filter", "image_safety": "content_filter",
    "image_prohibited_content": "content_filter", "image_recitation": "content_filter",
    "model_armor": "content_filter", "jailbreak": "content_filter", "error_limit": "length",
    "other": "length", "timeout": "error", "user_cancel": "error", "malformed_model_output": "error",
    "unexpected_tool_call": "error", "malformed_tool_use": "error",
}  # fmt: skip
_USAGE_FIELDS: Final = ("usage", "usageMetadata", "meta", "prompt_eval_count", "inputTextTokenCount")
_USAGE_HEADERS: Final = ("x-amzn-bedrock-input-token-count",)


class LiteLLMAdapter(OpenAIAdapter):
    """Chat arguments in OpenAI's form, which LiteLLM makes the provider's own request of when it is sent.

    `model` begins with LiteLLM's name of the provider: `bedrock/...`, `vertex_ai/...`, `cohere/...`. All
    parameters go to LiteLLM under their names, its own (`aws_region_name`, `vertex_project`) included.
    Answers are never streamed: `stream` of a model is about transport, and what is stored is one answer.
    """

    kind = "litellm"
    wire_revision = 1

    def build(self, request: Request, model: Model) -> WireRequest:
        """Return the arguments with LiteLLM's version: both enter the key.

        Raises UnsupportedInputError for what OpenAI's format refuses, for arguments that would let LiteLLM
        retry, cache, drop or call elsewhere, and for anything that may be a secret.
        """
        for name in request.params:
            if name in _OURS:
                raise UnsupportedInputError(f"the parameter {name!r} is set by the program; leave it out")
            if may_be_secret(name):
                raise UnsupportedInputError(
                    f"the parameter {name!r} may be a secret, and parameters are stored; give it by the "
                    "environment, see api_key_env"
                )
        wire = super().build(request, model.model_copy(update={"stream": False}))
        return replace(wire, path="", body={**wire.body, "litellm": VERSION})

    def auth_headers(self, provider: Provider, api_key: str | None) -> dict[str, str]:
        """Return nothing: LiteLLM puts the key where the provider wants it, or signs with it."""
        return {}

    def read_reply(self, raw: RawReply, provider: Provider) -> Reply | Fault:
        """Return what a 2xx answer means; UNKNOWN where LiteLLM could not read it, as it may be paid for."""
        own = reply_object(raw.body)
        if isinstance(own, Fault):
            return own
        if own.get("error"):
            return read_fault_in_reply(raw, error_in(0, own), provider, self._now_s())
        try:
            reply = as_object(parse_json(raw.headers.get(REPLY, "").encode("utf-8", "surrogatepass")))
        except ValueError:
            why = raw.headers.get(UNREAD) or "nothing is kept of its translation"
            return Fault(Outcome.UNKNOWN, f"LiteLLM cannot read this answer: {why}", maybe_billed=True)
        ended = own_finish(own)
        choice = dict(first_choice(reply))
        if ended is not None:
            choice["finish_reason"] = _ENDS.get(ended.lower(), ended)
        read = read_choice(reply, choice, provider)
        if isinstance(read, Fault):
            return replace(read, code=ended or read.code, usage=_usage(raw, own, reply))
        served = as_text(own.get("model")) or as_text(own.get("modelVersion")) or None
        finish = ended or read.finish_reason
        return replace(read, finish_reason=finish, usage=_usage(raw, own, reply), served_model=served)

    def read_error(self, raw: RawReply, provider: Provider) -> Fault | Reply:
        """Return what any other answer means, by the provider's bytes and AWS's header of its type."""
        error = error_body(raw.status, raw.body)
        kind = raw.headers.get("x-amzn-errortype", "").partition(":")[0].strip()
        if kind:
            error = replace(error, code=error.code or kind, codes=error.codes | {kind.lower()})
        return read_fault(raw, error, provider, self._now_s())


def may_be_secret(name: str) -> bool:
    """Tell whether an argument of this name may hold a credential (`azure_ad_token`)."""
    low = name.lower()
    return any(word in low for word in _SECRET_WORDS) or low.endswith(_SECRET_ENDS)


def translated_request(raw: RawReply) -> Object | None:
    """Return what LiteLLM made of a stored exchange's request; None where it had no part in it.

    Fields: `method`, `url`, `headers`, `body` (media by digest, no secrets) and `changes`, in sentences.
    """
    try:
        found = as_object(parse_json(raw.headers.get(SENT, "").encode("utf-8", "surrogatepass")))
    except ValueError:
        return None
    return found or None


def own_finish(own: Object) -> str | None:
    """Return why a provider says that it stopped, in its own word; None where it does not say.

    Places: Anthropic `stop_reason`; Bedrock converse `stopReason` (AWS, "Converse"); Cohere v2
    `finish_reason`; Gemini `candidates[0].finishReason` and `promptFeedback.blockReason`; Titan
    `results[0].completionReason`; Ollama `done_reason`; chat completions `choices[0].finish_reason`.
    """
    for name in ("stop_reason", "stopReason", "finish_reason", "done_reason"):
        if as_text(own.get(name)):
            return as_text(own.get(name))
    for group, name in (
        ("candidates", "finishReason"), ("choices", "finish_reason"), ("results", "completionReason")
    ):  # fmt: skip
        items = own.get(group)
        first = as_object(items[0]) if isinstance(items, list) and items else {}
        if as_text(first.get(name)):
            return as_text(first.get(name))
    blocked = as_text(as_object(own.get("promptFeedback")).get("blockReason"))
    return "content_filter" if blocked and "UNSPECIFIED" not in blocked else None


def _usage(raw: RawReply, own: Object, reply: Object) -> Usage:
    """Return the translated token counts where the provider gave any: LiteLLM makes them up where not."""
    told = any(own.get(name) for name in _USAGE_FIELDS) or any(name in raw.headers for name in _USAGE_HEADERS)
    return read_usage(reply) if told else Usage()


adapter: Adapter = LiteLLMAdapter()
