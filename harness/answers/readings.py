"""What one reply is worth as an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from harness.answers.extraction import Aliases, extract, unchanged
from harness.answers.refusals import reads_like_refusal
from harness.answers.strict_json import StrictJsonError, parse_strict
from harness.answers.thinking import blank, without_thinking
from harness.answers.validation import Validator
from harness.canonical import JSON
from harness.messages import Reply
from harness.outcomes import USABLE, ExchangeOutcome, UnitOutcome
from harness.schema_names import restored

TextReader: TypeAlias = Callable[[str], tuple[JSON, str | None]]
"""Returns what a text answer says, or None and what is wrong where nothing in it may be counted."""

PROSE_REFUSAL = "prose_refusal"
"""Flag: the text reads like a refusal. Advisory, see `harness.answers.refusals`."""


@dataclass(frozen=True, slots=True)
class UnitError:
    """Why there is no prediction: one word, and a sentence."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply read as an answer.

    `answer` is the text of an unusable reply without its reasoning, if it is complete and shows anything,
    else "": the only text that may be handed on, to a later attempt or to the reformatter. Its keys are those
    of the schema; `as_written` is the same text as the model wrote it, where it was asked for aliases.
    """

    outcome: UnitOutcome
    prediction: JSON = None
    answer: str = ""
    error: UnitError | None = None
    flags: tuple[str, ...] = ()
    as_written: str = ""

    @property
    def usable(self) -> bool:
        """True if there is a prediction."""
        return self.outcome in USABLE


def read_answer(
    reply: Reply,
    validator: Validator | None,
    aliases: Aliases = unchanged,
    read_text: TextReader | None = None,
) -> Reading:
    """Return what a reply is worth: a pure function, the same live and on replay.

    Without a validator every complete text that shows anything is valid (free text), unless `read_text` finds
    nothing in it that may be counted: such a text is unparsable, never an empty answer. A truncated reply is
    never read as an answer, not even where its text happens to be whole and to fit: its provider says
    that there was more to come. Keys that were asked for under an alias get their names back first: that is
    transport, and makes no answer a recovered one.
    """
    match reply.outcome:
        case ExchangeOutcome.ANSWERED:
            if validator is None:
                return _read_free_text(reply.text, read_text)
            if not reply.names:
                return _read_json(reply.text, validator, aliases)
            reading = _read_json(restored(reply.text, reply.names), validator, aliases)
            return replace(reading, as_written=_shown(reply.text)) if reading.answer else reading
        case ExchangeOutcome.TRUNCATED:
            return _unread(UnitOutcome.TRUNCATED, "the answer was cut off at a limit", reply)
        case ExchangeOutcome.EMPTY:
            return _unread(UnitOutcome.EMPTY, "the answer has no text", reply)
        case ExchangeOutcome.REFUSED:
            return _unread(UnitOutcome.REFUSED, "the provider reports a refusal", reply)
        case ExchangeOutcome.FILTERED:
            return _unread(UnitOutcome.FILTERED, "the provider blocked the request or the answer", reply)
        case _:
            raise ValueError(f"{reply.outcome.value!r} is the outcome of a fault, not of a reply")


def _unread(outcome: UnitOutcome, message: str, reply: Reply) -> Reading:
    return Reading(outcome, error=UnitError(outcome.value, reply.detail or message))


def _read_json(text: str, validator: Validator, aliases: Aliases) -> Reading:
    extraction = extract(text, validator, aliases)
    if extraction.how is not None:
        outcome = UnitOutcome.VALID if extraction.how == "whole" else UnitOutcome.RECOVERED
        return Reading(outcome, extraction.value)
    answer = _shown(text)
    if blank(answer):
        return _nothing_shown(text)
    error = UnitError(extraction.kind or "no_json", extraction.problem or "the answer holds no JSON value")
    return Reading(UnitOutcome.UNPARSABLE, None, answer, error, _flags(answer))


def _read_free_text(text: str, read_text: TextReader | None) -> Reading:
    answer = without_thinking(text)
    if blank(answer):
        return _nothing_shown(text)
    if read_text is None:
        return Reading(UnitOutcome.VALID, answer, flags=_flags(answer))
    value, problem = read_text(answer)
    if problem is not None:
        error = UnitError("unreadable", problem)
        return Reading(UnitOutcome.UNPARSABLE, None, answer, error, _flags(answer))
    return Reading(UnitOutcome.VALID, value)


def _nothing_shown(text: str) -> Reading:
    if blank(text):
        return Reading(UnitOutcome.EMPTY, error=UnitError("empty", "the answer has no text"))
    error = UnitError("think_only", "the answer is reasoning and nothing else")
    return Reading(UnitOutcome.EMPTY, error=error)


def _shown(text: str) -> str:
    """Return an answer without its reasoning."""
    return text if _is_json(text) else without_thinking(text)


def _is_json(text: str) -> bool:
    """True for a text in which a tag of reasoning can only be part of a string."""
    try:
        parse_strict(text)
    except StrictJsonError:
        return False
    return True


def _flags(answer: str) -> tuple[str, ...]:
    return (PROSE_REFUSAL,) if reads_like_refusal(answer) else ()
