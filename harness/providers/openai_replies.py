"""What a chat completion says, in one piece or in chunks: text, reasoning, why it stopped, what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import Object, as_count, as_object, as_text, holds_error, parse_json
from harness.providers.streams import events
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
    """Return the choice of index 0, in whatever order they came; else the first, or an empty one."""
    choices = reply.get("choices")
    found = [as_object(choice) for choice in choices] if isinstance(choices, list) else []
    return next((choice for choice in found if choice.get("index") == 0), found[0] if found else {})


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


def fold_completion(body: bytes) -> Object:
    """Return the completion that a stream of chunks adds up to.

    Text fields of the deltas are joined, lists strung together, all else taken from the last chunk that
    has it. An error among the events is kept as `error`, whatever was said before or after it. Raises
    ValueError on a stream that stops before its end, or that holds no JSON. An end mark alone does not
    make an answer whole: gateways send it after an upstream that was lost, and every server known here
    gives a finish reason.
    """
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    deltas: dict[str, list[Any]] = {}
    ended = False
    for event in events(body):
        if event.data.strip() == b"[DONE]":
            ended = True
            break
        chunk = as_object(parse_json(event.data))
        if event.name == "error" or holds_error(chunk):
            whole.setdefault("error", chunk.get("error") or chunk or event.data.decode("utf-8", "replace"))
            chunk = {"usage": chunk.get("usage")}
        whole.update({key: value for key, value in chunk.items() if key != "choices" and value is not None})
        first = _own_choice(chunk.get("choices"))
        told = {key: value for key, value in first.items() if value not in (None, "")}
        choice.update({key: value for key, value in told.items() if key != "delta"})
        _add(deltas, as_object(first.get("delta")))
    whole_answer = choice.get("finish_reason") or (ended and whole and not (choice or deltas))
    if not (whole_answer or choice.get("error") or whole.get("error")):
        raise ValueError("the stream stops before its end")
    if choice or deltas:
        message = {key: _joined(key, values) for key, values in deltas.items()}
        whole["choices"] = [{"message": message, **choice}]
    else:
        whole.setdefault("choices", [])
    return whole


def _own_choice(value: object) -> Object:
    for item in value if isinstance(value, list) else ():
        choice = as_object(item)
        if choice.get("index") in (None, 0):
            return choice
    return {}


def _add(message: dict[str, list[Any]], delta: Object) -> None:
    for key, value in delta.items():
        if value is not None:
            message.setdefault(key, []).append(value)


def _joined(key: str, values: list[Any]) -> object:
    if key != "role" and all(isinstance(value, str) for value in values):
        return "".join(values)
    if any(isinstance(value, list) for value in values):
        # Mistral's reasoning models send typed pieces first, and then plain text.
        return [item for value in values for item in (value if isinstance(value, list) else [value])]
    return values[-1]
