"""What a row states of an answer, in no tool's format, and what that means."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.imports.failures import known_failure
from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome
from harness.providers.openai_replies import read_choice
from harness.settings import Provider

_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Stated:
    """An answer as a file has it; None is what the file does not say.

    `error`: the tool's own words for why there is no answer. `stopped`: it reached a limit of tokens or
    messages, with or without text. `cost_usd` US dollars, `total_s` seconds, `started_at_us` microseconds
    since 1970 UTC, `prompt_sha256` the digest of what was asked.
    """

    text: str | None
    reasoning: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    usage: Usage = field(default_factory=Usage)
    served_model: str | None = None
    cost_usd: float | None = None
    total_s: float | None = None
    started_at_us: int | None = None
    prompt_sha256: str | None = None
    error: str | None = None
    stopped: bool = False

    @property
    def evidence(self) -> bool:
        """True if the row says that a model was at work: why it stopped, or that it wrote tokens."""
        return bool(self.finish_reason) or bool(self.usage.output_tokens) or bool(self.reasoning)


def meaning(stated: Stated, failure_texts: tuple[str, ...], provider: Provider) -> Reply | Fault:
    """Return what an imported answer means: a pure function.

    A failure stored as text, and an empty text that nothing explains, are faults, never answers. A finish
    reason means what it means in a chat completion.
    """
    if stated.error is not None:
        return _fault(f"the file says that it failed: {_short(stated.error)}", stated)
    if not (stated.text or "").strip():
        if not (stated.evidence or stated.refusal or stated.stopped):
            return _fault("the file holds no text, and does not say why", stated)
    else:
        failure = known_failure(stated.text or "", failure_texts, evidence=stated.evidence)
        if failure is not None:
            return _fault(f"a failure stored as text ({failure}): {_short(stated.text or '')}", stated)
    finish = "length" if stated.stopped else stated.finish_reason
    message = {"content": stated.text or "", "refusal": stated.refusal or ""}
    read = read_choice({}, {"message": message, "finish_reason": finish}, provider)
    if isinstance(read, Fault):
        return _fault(f"the file gives the finish reason {stated.finish_reason!r}", stated)
    return Reply(
        read.outcome,
        text=read.text,
        reasoning=stated.reasoning,
        finish_reason=stated.finish_reason,
        usage=stated.usage,
        served_model=stated.served_model,
        detail=read.detail,
    )


def _fault(message: str, stated: Stated) -> Fault:
    return Fault(ExchangeOutcome.UNKNOWN, message, usage=stated.usage)


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _SHOWN else f"{one_line[:_SHOWN]} ..."
