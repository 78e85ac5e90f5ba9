"""How the facts about a unit are told on a terminal."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from harness.cli.options import printable
from harness.explaining.exchange_sentences import ask_name, cost_text, not_ended_text, told_of
from harness.explaining.media_sentences import media_lines

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
    asks = [f"{_ask(one)} {cost_text(one)}" for one in facts["asks"]]
    here = {**facts, "cost_usd": facts["spent_usd"]}
    whole = cost_text({**facts, "cost_usd": facts["evidence_cost_usd"]})
    paid = f"of that this run paid: {cost_text(here)}"
    paper.line("", f"in all: {whole} ({', '.join(asks)}); {paid}", hanging="  ")
    paper.line("", "")


def _ask(one: Facts) -> str:
    return "reformatter" if one["purpose"] == "reformat" else f"attempt {one['attempt']}"


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
        paper.line("  ", not_ended_text(facts["sessions_not_ended"]), hanging="  ")
    paper.line("", "")


def _exchange(paper: _Paper, number: int, one: Facts, *, full: bool) -> None:
    ask = ask_name(one)
    tags = [name for name, on in (("USED", one["used"]), ("an earlier round", one["earlier_round"])) if on]
    marks = f" [{', '.join(tags)}]" if tags else ""
    paper.line("", f"{number}. {ask}: {one['outcome']}{marks}", hanging="   ")
    for sentence in told_of(one, _cut):
        paper.line("   ", sentence, hanging="  ")
    if full and one["translated"]:
        paper.line("   ", "as LiteLLM sent it:")
        paper.verbatim("     ", json.dumps(one["translated"]["body"], indent=1, ensure_ascii=False))
    for name in ("text", "reasoning") if full else ("text",):
        if one[name]:
            _text(paper, name, one[name], full=full)
    paper.line("", "")


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
