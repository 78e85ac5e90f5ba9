"""How an examination is told: a block of lines for each model, a summary, and the same as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from harness.cli.options import printable
from harness.cli.tables import terminal_width
from harness.doctor.choosing import Estimate
from harness.doctor.findings import Call, Examined, Finding, Level, counts
from harness.settings import Model

_INDENT = " " * 18


def told(examined: Examined, *, raw: bool = False) -> Iterator[str]:
    """Give the lines about one model; with `raw` what each call was answered."""
    model = examined.model
    yield f"{model.name}  ({model.provider.name}, {model.model})"
    for _, alike in groupby(examined.in_order, key=_sameness):
        same = list(alike)
        if len(same) > 1:
            checks = ", ".join(one.check for one in same)
            yield from _wrapped(f"  {Level.SKIP:<6}", f"{checks}: {same[0].text}")
        else:
            yield from _lines(same[0])
    if raw:
        for call in examined.calls:
            yield from _raw_lines(call)


def _sameness(finding: Finding) -> object:
    """What makes neighbours one line: checks that were not made for the same reason."""
    return finding.text if finding.level is Level.SKIP else finding.check


def _lines(finding: Finding) -> Iterator[str]:
    text = finding.text if finding.call is None else f"{finding.text}  [{_cost(finding.call)}]"
    yield from _wrapped(f"  {finding.level:<6}{finding.check:<10}", printable(text))
    if finding.advice:
        yield from _wrapped(f"{_INDENT}-> ", printable(finding.advice))


def _cost(call: Call) -> str:
    parts = [f"{call.total_s:.2f} s"]
    usage = call.usage
    if usage.input_tokens is not None or usage.output_tokens is not None:
        parts.append(f"{_count(usage.input_tokens)}+{_count(usage.output_tokens)} tokens")
    if usage.reasoning_tokens:
        parts.append(f"{usage.reasoning_tokens:,} of them reasoning")
    return ", ".join([*parts, usd(call.usd)])


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"


def usd(amount: float | None) -> str:
    """Return an amount small enough to need six places; unknown is said so."""
    if amount is None:
        return "$?"
    return "$0" if amount == 0 else f"${amount:.6f}" if amount < 0.01 else f"${amount:.4f}"


def _raw_lines(call: Call) -> Iterator[str]:
    yield f"        {call.path}: status {call.status or 'none'}, {call.outcome}"
    body = printable(" ".join(call.body_start.split())) or printable(call.error or "")
    yield from _wrapped(" " * 10, body, behind=" " * 10)


def _wrapped(lead: str, text: str, behind: str | None = None) -> list[str]:
    behind = " " * max(len(lead), len(_INDENT)) if behind is None else behind
    return textwrap.wrap(
        text,
        max(terminal_width(), 40),
        initial_indent=lead,
        subsequent_indent=behind,
        break_on_hyphens=False,
    ) or [lead.rstrip()]


def summary(examined: Sequence[Examined], wanted: int) -> str:
    """Return the last line: how many models ended how, calls, and USD in all."""
    found = counts({str(place): one for place, one in enumerate(examined)})
    parts = [f"{found[Level.OK]} ok", f"{found[Level.WARN]} with warnings", f"{found[Level.FAIL]} failed"]
    if wanted > len(examined):
        parts.append(f"{wanted - len(examined)} not finished")
    calls = sum(len(one.calls) for one in examined)
    unpriced = sum(one.unpriced for one in examined)
    cost = usd(sum(one.spent_usd for one in examined))
    beside = f" and {unpriced} of unknown price" if unpriced else ""
    models = "model" if wanted == 1 else "models"
    return f"{wanted} {models}: {', '.join(parts)}; {calls} calls, {cost}{beside} in all"


def forecast(estimates: Sequence[Estimate]) -> str:
    """Return what the examination will take at most, in one sentence."""
    questions = sum(one.questions for one in estimates)
    high = sum(one.high_usd or 0.0 for one in estimates)
    open_ended = [one.model.name for one in estimates if one.high_usd is None]
    models = "1 model" if len(estimates) == 1 else f"{len(estimates)} models"
    asked = f"{questions} tiny questions to {models}"
    if len(open_ended) == len(estimates):
        return f"{asked}, at a cost that nobody knows (no price)"
    beside = f", and what {', '.join(open_ended)} may cost, which nobody knows" if open_ended else ""
    return f"{asked}, at most {usd(high)}{beside}"


def facts(examined: Examined) -> dict[str, object]:
    """Return all that is known of one model for JSON; keys are masked in it."""
    model = examined.model
    listing = asdict(examined.listing)
    listing["names"] = len(examined.listing.names)
    return {
        **_identity(model),
        "level": str(examined.level),
        "checks": [
            {"check": one.check, "level": str(one.level), "text": one.text, "advice": one.advice}
            for one in examined.in_order
        ],
        "listing": listing,
        "limits": asdict(examined.limits),
        "calls": [asdict(call) for call in examined.calls],
        "spent_usd": None if examined.unpriced else examined.spent_usd,
    }


def _identity(model: Model) -> dict[str, object]:
    return {
        "name": model.name,
        "provider": model.provider.name,
        "adapter": model.provider.adapter,
        "model": model.model,
        "api_key_env": model.provider.api_key_env,
    }


def estimate_facts(one: Estimate) -> dict[str, object]:
    """Return what one model's examination would take, for JSON."""
    return {
        **_identity(one.model),
        "questions": one.questions,
        "low_usd": one.low_usd,
        "high_usd": one.high_usd,
    }
