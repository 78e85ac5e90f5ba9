"""What a chat completion says: its text, its reasoning, why it stopped, what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import Object, as_count, as_object, as_text
from harness.settings import Provider

_CUT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "model_length",
     "model_context_window_exceeded"}
)  # fmt: skip
_BLOCKED = frozenset(
    {"content_filter", "content_filtered", "safety", "sensitive", "prohibited_content", "recitation",
     "blocklist", "spii", "guardrail_intervened", "model_armor"}
)  # fmt: skip
# vLLM ends running requests with 200 `abort` when it shuts down; DeepSeek and Zhipu name their own failures.
_FAILED = frozenset(
    {"error", "abort", "aborted", "cancelled", "canceled", "network_error", "insufficient_system_resource",
     "timeout"}
)  # fmt: skip


def first_choice(reply: Object) -> Object:
    """Return the first choice of a completion; an empty one where it has none."""
    choices = reply.get("choices")
    return as_object(choices[0]) if isinstance(choices, list) and choices else {}


def read_choice(reply: Object, choice: Object, provider: Provider) -> Reply | Fault:
    """Return what one choice means, without usage; `reply` is the completion around it."""
    message = as_object(choice.get("message"))
    finish = as_text(choice.get("finish_reason")) or None
    text = text_of(message.get("content"))
    refusal = as_text(message.get("refusal")) or _chunks_of(message.get("content"), "refusal")
    # Google's address for OpenAI's format adds its own word after a colon.
    reason = (finish or "").lower().partition(":")[0]
    if reason in _FAILED:
        said = f"the server gave up in mid-answer: finish reason {finish!r}"
        return Fault(Outcome.UNAVAILABLE, said, code=finish, maybe_billed=True)
    outcome = _outcome(reason, text, refusal, blocked=not choice and _prompt_was_filtered(reply))
    return Reply(
        outcome,
        text=text,
        reasoning=_reasoning(message, provider),
        finish_reason=finish,
        served_model=as_text(reply.get("model")) or None,
        detail=refusal or None,
    )


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or the text chunks of a typed list (Mistral)."""
    return content if isinstance(content, str) else _chunks_of(content, "text")


def read_usage(reply: Object) -> Usage:
    """Return the token counts of a completion, in whichever of the vendors' places they stand."""
    usage = as_object(reply.get("usage"))
    prompt = as_count(usage.get("prompt_tokens"))
    output = as_count(usage.get("completion_tokens"))
    reasoning = as_count(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    if reasoning is None:
        reasoning = as_count(usage.get("reasoning_tokens"))
    cached = as_count(as_object(usage.get("prompt_tokens_details")).get("cached_tokens"))
    for name in ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens"):
        cached = as_count(usage.get(name)) if cached is None else cached
    total = as_count(usage.get("total_tokens"))
    if reasoning and None not in (prompt, output) and total == (prompt or 0) + (output or 0) + reasoning:
        output = (output or 0) + reasoning  # xAI counts reasoning beside the completion; the total tells
    return Usage(prompt, output, reasoning, cached)


def _outcome(reason: str, text: str, refusal: str, *, blocked: bool) -> Outcome:
    if reason in _BLOCKED or blocked:
        return Outcome.FILTERED
    if refusal or reason == "refusal":
        return Outcome.REFUSED
    if reason in _CUT:
        return Outcome.TRUNCATED
    return Outcome.ANSWERED if text.strip() else Outcome.EMPTY


def _prompt_was_filtered(reply: Object) -> bool:
    """Tell whether Azure answered without a choice because its filter took the prompt."""
    results = reply.get("prompt_filter_results")
    return any(
        as_object(verdict).get("filtered") is True
        for result in (results if isinstance(results, list) else ())
        for verdict in as_object(as_object(result).get("content_filter_results")).values()
    )


def _reasoning(message: Object, provider: Provider) -> str | None:
    for name in provider.reasoning_fields:
        found = "".join(_strings(message.get(name)))
        if found:
            return found
    return _chunks_of(message.get("content"), "thinking") or None


def _chunks_of(content: object, kind: str) -> str:
    return "".join(_chunk_texts(content, kind)) if isinstance(content, list) else ""


def _chunk_texts(content: list[object], kind: str) -> Iterator[str]:
    for chunk in content:
        if isinstance(chunk, str):
            yield chunk if kind == "text" else ""
            continue
        typed = as_object(chunk)
        named = typed.get("type", "text")
        if named == kind or (kind, named) in (("text", "output_text"), ("thinking", "reasoning")):
            yield from _strings(typed.get(kind) or typed.get("text"))


def _strings(value: object) -> Iterator[str]:
    """Return the text in a string, in a list of strings, or in a list of objects that hold some."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                yield item
            else:
                part = as_object(item)
                yield as_text(part.get("text")) or as_text(part.get("summary"))
