"""How the facts about a unit are told on a terminal."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from harness.cli.explain_media import media_lines
from harness.cli.options import printable

Facts: TypeAlias = Mapping[str, Any]

MOST_TEXT: Final = 300
"""Characters of an answer that are shown without `--full`."""


def render(facts: Facts, *, width: int, full: bool = False) -> str:
    """Return the facts of `explaining.unit_facts` as lines of at most `width` columns."""
    paper = _Paper(width)
    _head(paper, facts)
    for number, exchange in enumerate(facts["exchanges"], start=1):
        _exchange(paper, number, exchange, full=full)
    if facts["exchanges"] and not facts["imported"]:
        _spent(paper, facts)
    if not facts["exchanges"]:
        of = "" if facts["attempt"] is None else f" of attempt {facts['attempt']}"
        paper.line("", f"no exchange{of} is linked to it")
    _next(paper, facts)
    return paper.text


def _spent(paper: _Paper, facts: Facts) -> None:
    """Say what the unit cost, ask by ask, and what of it this run paid."""
    asks = [
        f"{'reformatter' if one['purpose'] == 'reformat' else 'attempt ' + str(one['attempt'])} {_cost(one)}"
        for one in facts["asks"]
    ]
    here = {**facts, "cost_usd": facts["spent_usd"]}
    whole = _cost({**facts, "cost_usd": facts["evidence_cost_usd"]})
    paper.line("", f"in all: {whole} ({', '.join(asks)}); of that this run paid: {_cost(here)}", hanging="  ")
    paper.line("", "")


class _Paper:
    def __init__(self, width: int) -> None:
        self._width = max(40, width)
        self._lines: list[str] = []

    def line(self, indent: str, text: str, *, hanging: str = "") -> None:
        """Add a sentence, wrapped."""
        self._lines += textwrap.wrap(
            printable(text),
            self._width,
            initial_indent=indent,
            subsequent_indent=indent + hanging,
            break_on_hyphens=False,
        ) or [""]

    def verbatim(self, indent: str, text: str) -> None:
        """Add a text with its own lines."""
        for line in printable(text).splitlines():
            self.line(indent, line)

    @property
    def text(self) -> str:
        return "\n".join(self._lines)


def _head(paper: _Paper, facts: Facts) -> None:
    unit = f"case {facts['case_id']}, condition {facts['condition']}, model {facts['model']}"
    paper.line("", f"{unit}, repeat {facts['repeat']}, run {facts['run']} ({facts['digest'][:12]})")
    step = facts["step"]
    if step is not None:
        unit = step["about"]
        repeat = f", repeat {unit['repeat']}" if unit["repeat"] != 1 else ""
        run = step["source_run"] or step["source"][:12]
        about = f"case {unit['case_id']}, condition {unit['condition']}, model {unit['model']}{repeat}"
        paper.line("", f"step {step['kind']}, about the answer of run {run}: {about}")
    stage = f" at {facts['stage']}" if facts["stage"] else ""
    paper.line("", f"{facts['state']}{stage}")
    for sentence in facts["why"]:
        paper.line("  ", sentence, hanging="  ")
    for line in media_lines(facts["media"]):
        paper.line("  ", line, hanging="  ")
    if facts["sessions_not_ended"]:
        paper.line("  ", _not_ended(facts["sessions_not_ended"]), hanging="  ")
    paper.line("", "")


def _not_ended(sessions: Sequence[Facts]) -> str:
    """Say of sessions without an end, oldest first, that they may be at work: in one sentence for all."""
    names, began = [str(one["session"]) for one in sessions], sessions[-1]["started"]
    if len(names) == 1:
        told = f"session {names[0]} of this run began at {began} and has not ended: it is"
        return f"{told} at work, or was killed"
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    told = f"sessions {listed} of this run have not ended (the last began at {began})"
    return f"{told}: they are at work, or were killed"


def _exchange(paper: _Paper, number: int, one: Facts, *, full: bool) -> None:
    ask = _ask(one)
    tags = [name for name, on in (("USED", one["used"]), ("an earlier round", one["earlier_round"])) if on]
    marks = f" [{', '.join(tags)}]" if tags else ""
    paper.line("", f"{number}. {ask}: {one['outcome']}{marks}", hanging="   ")
    for sentence in _told(one):
        paper.line("   ", sentence, hanging="  ")
    if full and one["translated"]:
        paper.line("   ", "as LiteLLM sent it:")
        paper.verbatim("     ", json.dumps(one["translated"]["body"], indent=1, ensure_ascii=False))
    for name in ("text", "reasoning") if full else ("text",):
        if one[name]:
            _text(paper, name, one[name], full=full)
    paper.line("", "")


def _ask(one: Facts) -> str:
    if not one["imported"]:
        name = "reformatter" if one["purpose"] == "reformat" else f"answer, attempt {one['attempt']}"
        return f"{name}, send {one['send']}"
    if one["attempt"] == 0:
        return "imported answer, replaced by a newer import"
    return f"imported answer, attempt {one['attempt']}"


def _told(one: Facts) -> Iterator[str]:
    yield from _origin(one) if one["imported"] else _asked(one)
    if one["translated"]:
        yield f"LiteLLM made of it: {one['translated']['method']} {one['translated']['url']}"
        yield from one["translated"]["changes"]
    if one["finish_reason"]:
        yield f"finish reason: {one['finish_reason']}"
    if one["message"]:
        quoted = one["quoted"] and not one["imported"]
        words = "the provider's words" if quoted else "why there is no answer"
        yield f"{words}: {_cut(one['message'])}"
    if one["outcome"] != one["stored_outcome"]:
        yield f"when it came it was read as {one['stored_outcome']}"
    if one["maybe_billed"]:
        yield "it may have been billed all the same"
    if one["masked"]:
        yield "an API key that the server echoed is masked in it"
    if one["not_usable_because"]:
        yield f"not usable: {_cut(one['not_usable_because'])}"


def _origin(one: Facts) -> Iterator[str]:
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
    yield f"the file says: {when}{took}{_tokens(one)}, {_cost(one)}"
    if one["served_model"]:
        yield f"served by {one['served_model']}"


def _asked(one: Facts) -> Iterator[str]:
    yield f"{one['at']}, status {one['status']}, {_latency(one)}; {_tokens(one)}, {_cost(one)}"
    served = one["served_model"]
    by = f"{one['model']} of {one['provider']} at {one['endpoint']}"
    yield f"asked {by}{f', served by {served}' if served and served != one['model'] else ''}"
    if one["cached"]:
        yield f"taken from the store: paid by session {one['session']} of run {one['paid_by_run']}"
    else:
        yield f"sent by session {one['session']} of this run; exchange {one['exchange']}"


def _latency(one: Facts) -> str:
    first = "" if one["first_byte_s"] is None else f" (first byte {one['first_byte_s']:.2f} s)"
    return f"{one['latency_s']:.2f} s{first}"


def _tokens(one: Facts) -> str:
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


def _cost(one: Facts) -> str:
    return "cost unknown" if one["cost_usd"] is None else f"${one['cost_usd']:.6f}"


def _text(paper: _Paper, name: str, text: str, *, full: bool) -> None:
    if full:
        paper.line("   ", f"{name}:")
        paper.verbatim("     ", text)
    else:
        paper.line("   ", f"{name}: {_cut(text)}", hanging="  ")


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) <= MOST_TEXT:
        return flat
    return f"{flat[:MOST_TEXT]}... ({len(text):,} characters; --full shows all)"


def _next(paper: _Paper, facts: Facts) -> None:
    found = facts["next"]
    paper.line("", f"next: {found['told']}", hanging="  ")
    if found["by"] == "snapshot":
        paper.line(
            "  ",
            f"judged by what the run keeps of itself, as it cannot be planned here: {found['why_snapshot']}",
            hanging="  ",
        )
    claim = found.get("claimed_by")
    if claim:
        who = f"process {claim['pid']} on {claim['host']}, until {claim['until']} at least"
        paper.line("  ", f"it is being asked right now by {who}", hanging="  ")
    if found.get("not_counted"):
        paper.line(
            "  ",
            f"exchange {found['not_counted']} answers the same request, but does not count: it is of a round "
            "before --again, or is read as an error today",
            hanging="  ",
        )
    if found.get("served_by"):
        paper.line("  ", f"attempt {found['attempt']} is answered by exchange {found['served_by']}")
    if found["asks"]:
        _miss(paper, found)


def _miss(paper: _Paper, found: Facts) -> None:
    ask = "the reformatter" if found["purpose"] == "reformat" else f"attempt {found['attempt']}"
    paper.line("  ", f"nothing stored answers {ask}, key {found['key'][:16]}", hanging="  ")
    near = found["nearest"]
    if near is None:
        unanswered = "no answer to a request about this case is stored"
        was = unanswered if found["ever_asked"] else "it was never asked"
        paper.line("  ", f"nothing in this store comes near it: {was}", hanging="  ")
        return
    run = f" of run {near['run']}" if near["run"] else ""
    same = "in nothing that is stored" if not near["told"] else f"in {near['n_differences']}"
    place = f"exchange {near['exchange']}{run}"
    paper.line("  ", f"nearest stored request: {place}; it differs {same}", hanging="  ")
    _list(paper, near["told"], near["n_differences"])
    if near["way_out"]:
        paper.line("  ", f"way out: {near['way_out']}", hanging="  ")


def _list(paper: _Paper, told: Sequence[str], count: int) -> None:
    for sentence in told:
        paper.line("    ", f"- {sentence}", hanging="  ")
    if count > len(told):
        paper.line("    ", f"- and {count - len(told)} more")
