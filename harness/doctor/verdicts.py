"""What the answers to the tiny questions prove. Pure: what came back in, a finding out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from harness.answers.strict_json import StrictJsonError, parse_strict
from harness.answers.thinking import without_thinking
from harness.canonical import JSON
from harness.doctor.advice import failed
from harness.doctor.findings import Call, Finding, Level
from harness.doctor.questions import COLOURS, FORCED, WORD
from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.settings import Model

Meaning: TypeAlias = Reply | Fault
Verdict: TypeAlias = Callable[[Meaning, Model, Call], Finding]

_SHOWN = 60
_REFUSED_OPTION = frozenset({Outcome.BAD_REQUEST, Outcome.UNSUPPORTED_INPUT, Outcome.UNKNOWN})
_COLOUR_NAMES: Final[Mapping[str, str]] = {
    "yellow": "yellow", "gold": "yellow", "golden": "yellow", "amber": "yellow",
    "green": "green", "lime": "green", "red": "red", "blue": "blue", "black": "black", "white": "white",
    "grey": "grey", "gray": "grey", "orange": "orange", "purple": "purple", "violet": "purple",
    "pink": "pink", "brown": "brown", "cyan": "cyan", "magenta": "magenta",
}  # fmt: skip
_COLOUR = re.compile(rf"\b({'|'.join(_COLOUR_NAMES)})\b", re.IGNORECASE)


def on_text(meaning: Meaning, model: Model, call: Call) -> Finding:
    """Judge the answer to the question for one word."""
    if not isinstance(meaning, Reply):
        return failed("text", meaning, model, call)
    said = without_thinking(meaning.text)
    if meaning.outcome is not Outcome.ANSWERED:
        return _no_answer("text", meaning, call)
    if re.search(rf"\b{WORD}\b", said, re.IGNORECASE):
        return Finding("text", Level.OK, f"answered {_shown(said)}", call=call)
    return Finding(
        "text",
        Level.WARN,
        f"answered {_shown(said)}, and was asked for {WORD!r}",
        "it can be reached, but does not do as it is told: its chat template may be missing or wrong",
        call,
    )


def on_picture(meaning: Meaning, model: Model, call: Call) -> Finding:
    """Judge whether the model saw the picture: the two colours, in their order, and no other before them."""
    if not isinstance(meaning, Reply):
        wrong = meaning.outcome in _REFUSED_OPTION
        advice = f"if it takes no images, write inputs = [\"text\"] for {model.name!r}" if wrong else None
        return failed("image", meaning, model, call, advice)
    if meaning.outcome is not Outcome.ANSWERED:
        return _no_answer("image", meaning, call)
    said = without_thinking(meaning.text)
    found = [_COLOUR_NAMES[name.lower()] for name in _COLOUR.findall(said)]
    if tuple(dict.fromkeys(found))[:2] == COLOURS:
        return Finding("image", Level.OK, f"seen: answered {_shown(said)}", call=call)
    return Finding(
        "image",
        Level.WARN,
        f"answered {_shown(said)}, but the picture is {COLOURS[0]} on the left, {COLOURS[1]} on the right",
        "it may not see what it is sent: look at one real case with 'harness explain' before you run many",
        call,
    )


def on_schema(meaning: Meaning, model: Model, call: Call, *, declared: bool = True) -> Finding:
    """Judge whether a schema that forces an odd answer was honoured."""
    if not isinstance(meaning, Reply):
        return _refused_option("schema", meaning, model, call, declared=declared)
    if meaning.outcome is not Outcome.ANSWERED:
        return _no_answer("schema", meaning, call)
    said = without_thinking(meaning.text)
    if _json(said) == {"word": FORCED}:
        return _honoured("schema", model, call, declared=declared)
    if FORCED in said:
        told = f"followed, but not enforced: {_shown(said)} is not the bare JSON"
    else:
        told = f"ignored: answered {_shown(said)}, which the schema does not allow"
    return _ignored("schema", told, model, call, declared=declared)


def on_json(meaning: Meaning, model: Model, call: Call, *, declared: bool = True) -> Finding:
    """Judge whether JSON mode was honoured where plain words were asked for."""
    if not isinstance(meaning, Reply):
        return _refused_option("json", meaning, model, call, declared=declared)
    if meaning.outcome is not Outcome.ANSWERED:
        return _no_answer("json", meaning, call)
    said = without_thinking(meaning.text)
    if isinstance(_json(said), dict | list):
        return _honoured("json", model, call, declared=declared)
    return _ignored("json", f"ignored: answered {_shown(said)}", model, call, declared=declared)


def _no_answer(check: str, reply: Reply, call: Call) -> Finding:
    """Tell a reply without a usable text: it proves that the model is reached, and no more."""
    usage, finish = reply.usage, f" (finish reason {reply.finish_reason!r})" if reply.finish_reason else ""
    if reply.outcome is Outcome.TRUNCATED:
        spent = "" if usage.output_tokens is None else f" after {usage.output_tokens:,} tokens"
        thought = f", {usage.reasoning_tokens:,} of them reasoning" if usage.reasoning_tokens else ""
        told = f"cut off{spent}{thought}{finish}"
        advice = "raise max_tokens in `params`, or lower its reasoning effort"
        if without_thinking(reply.text).strip() and not usage.reasoning_tokens:
            told += f": {_shown(reply.text)}"
            advice = "it comes to no end: is max_tokens tiny, or its chat template missing?"
    elif reply.outcome is Outcome.EMPTY:
        told, advice = f"answered without any text{finish}", "--raw shows what came; see `reasoning_fields`"
    else:
        detail = f": {reply.detail}" if reply.detail else ""
        told = f"{reply.outcome.value} a harmless question{finish}{detail}"
        advice = "its filter is strict: look at the provider's safety settings"
    return Finding(check, Level.WARN, told, advice, call)


def _honoured(check: str, model: Model, call: Call, *, declared: bool) -> Finding:
    if declared:
        return Finding(check, Level.OK, "honoured", call=call)
    told = f"honoured, though the settings of {model.name!r} do not name it"
    return Finding(check, Level.OK, told, f"to use it, add {check!r} to its `structured`", call)


def _ignored(check: str, told: str, model: Model, call: Call, *, declared: bool) -> Finding:
    if not declared:
        return Finding(check, Level.OK, f"{told}; the settings do not name it either", call=call)
    advice = f"--structured {check} has no effect here: take {check!r} out of `structured` of {model.name!r}"
    return Finding(check, Level.WARN, told, advice, call)


def _refused_option(check: str, fault: Fault, model: Model, call: Call, *, declared: bool) -> Finding:
    if fault.outcome not in _REFUSED_OPTION:
        return failed(check, fault, model, call)
    if not declared:
        return Finding(check, Level.OK, f"not taken, as the settings have it: {fault.message}", call=call)
    return failed(check, fault, model, call, f"take {check!r} out of `structured` of {model.name!r}")


def _json(text: str) -> JSON:
    try:
        return parse_strict(text.strip())
    except StrictJsonError:
        return None


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}...")
