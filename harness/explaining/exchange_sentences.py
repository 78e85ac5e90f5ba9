"""What is told of one exchange of a unit, in sentences for people: on a terminal and on pages alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Facts: TypeAlias = Mapping[str, Any]
"""Of one exchange as `exchange_facts` gives them, or of a whole unit."""

Cut: TypeAlias = Callable[[str], str]
"""Makes one line of a text, cut where it is long."""


def ask_name(one: Facts) -> str:
    """Return which ask an exchange belongs to, and which send of it it was."""
    if not one["imported"]:
        name = "reformatter" if one["purpose"] == "reformat" else f"answer, attempt {one['attempt']}"
        return f"{name}, send {one['send']}"
    if one["attempt"] == 0:
        return "imported answer, replaced by a newer import"
    return f"imported answer, attempt {one['attempt']}"


def told_of(one: Facts, cut: Cut) -> Iterator[str]:
    """Yield all that is told of an exchange, but for its texts."""
    yield from origin_of(one) if one["imported"] else _asked(one)
    yield from notes_on(one, cut)


def notes_on(one: Facts, cut: Cut) -> Iterator[str]:
    """Yield what an exchange came to and why, without its times, tokens and price."""
    if one["translated"]:
        yield f"LiteLLM made of it: {one['translated']['method']} {one['translated']['url']}"
        yield from one["translated"]["changes"]
    if one["finish_reason"]:
        yield f"finish reason: {one['finish_reason']}"
    if one["message"]:
        quoted = one["quoted"] and not one["imported"]
        words = "the provider's words" if quoted else "why there is no answer"
        yield f"{words}: {cut(one['message'])}"
    if one["outcome"] != one["stored_outcome"]:
        yield f"when it came it was read as {one['stored_outcome']}"
    if one["maybe_billed"]:
        yield "it may have been billed all the same"
    if one["masked"]:
        yield "an API key that the server echoed is masked in it"
    if one["not_usable_because"]:
        yield f"not usable: {cut(one['not_usable_because'])}"


def origin_of(one: Facts) -> Iterator[str]:
    """Yield where an imported answer comes from, how it was read, and only what its file says of it."""
    source = one["source"]
    known = source["file"] is not None
    file = f"{source['file']!r}, row {source['row']}" if known else "a file that is not known"
    digest = f" (sha256 {source['sha256'][:12]})" if source["sha256"] else ""
    yield f"imported from {file}{digest}, by session {one['session']}; exchange {one['exchange']}"
    version = f" {source['tool_version']}" if source["tool_version"] else ""
    paths = [f"{name} at {path}" for name, path in sorted(source["paths"].items())]
    choice = [f"answer {source['choice'] + 1} of its row"] if source["choice"] else []
    how = ", ".join([*choice, *paths])
    yield f"read as {source['format'] or 'an unknown format'}{version}{f': {how}' if how else ''}"
    when = f"asked {one['at']}, " if source["stated_at"] else ""
    took = "" if one["latency_s"] is None else f"{one['latency_s']:.2f} s, "
    yield f"the file says: {when}{took}{tokens_text(one)}, {cost_text(one)}"
    if one["served_model"]:
        yield f"served by {one['served_model']}"


def _asked(one: Facts) -> Iterator[str]:
    yield f"{one['at']}, status {one['status']}, {latency_text(one)}; {tokens_text(one)}, {cost_text(one)}"
    yield asked_text(one)
    yield paid_text(one)


def asked_text(one: Facts) -> str:
    """Return who was asked where, and who answered if that was another."""
    served = one["served_model"]
    by = f"{one['model']} of {one['provider']} at {one['endpoint']}"
    return f"asked {by}{f', served by {served}' if served and served != one['model'] else ''}"


def paid_text(one: Facts) -> str:
    """Return which session paid for an exchange."""
    if one["cached"]:
        return f"taken from the store: paid by session {one['session']} of run {one['paid_by_run']}"
    return f"sent by session {one['session']} of this run; exchange {one['exchange']}"


def latency_text(one: Facts) -> str:
    """Return how long an exchange took, and when its answer began."""
    first = "" if one["first_byte_s"] is None else f" (first byte {one['first_byte_s']:.2f} s)"
    return f"{one['latency_s']:.2f} s{first}"


def tokens_text(one: Facts) -> str:
    """Return the tokens that were read and written."""
    if one["input_tokens"] is None and one["output_tokens"] is None:
        return "tokens unknown"
    extra = [
        f"{one[name]} {word}"
        for name, word in (("reasoning_tokens", "of them reasoning"), ("cached_tokens", "read from a cache"))
        if one[name]
    ]
    counts = [_count(one["input_tokens"], "in"), _count(one["output_tokens"], "out"), *extra]
    return f"tokens {', '.join(counts)}"


def _count(value: int | None, word: str) -> str:
    return f"{'?' if value is None else value} {word}"


def cost_text(one: Facts) -> str:
    """Return what it cost, in US dollars."""
    return "cost unknown" if one["cost_usd"] is None else f"${one['cost_usd']:.6f}"


def not_ended_text(sessions: Sequence[Facts]) -> str:
    """Say of sessions without an end, oldest first, that they may be at work: in one sentence for all."""
    names, began = [str(one["session"]) for one in sessions], sessions[-1]["started"]
    if len(names) == 1:
        told = f"session {names[0]} of this run began at {began} and has not ended: it is"
        return f"{told} at work, or was killed"
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    told = f"sessions {listed} of this run have not ended (the last began at {began})"
    return f"{told}: they are at work, or were killed"




def sent_again_text(one: Facts, following: Facts | None) -> str | None:
    """Return why the next exchange of a unit was sent after this one; None for the last, and imported ones.

    Within an ask a request goes again after a transport fault; after an unusable answer the unit is asked
    again; `--again` begins a round of its own.
    """
    if following is None or one["imported"]:
        return None
    if one["earlier_round"] and not following["earlier_round"]:
        return "asked once more because --again marked the unit"
    if (one["purpose"], one["attempt"]) == (following["purpose"], following["attempt"]):
        return f"the same request was sent again, because this one ended as {one['stored_outcome']}"
    if following["purpose"] == "reformat":
        return "no attempt could be used, so the last complete answer went to the reformatter"
    return f"asked again as attempt {following['attempt']}, because this answer could not be used"
