"""What a dry run prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import click

from harness.cli.options import print_json
from harness.cli.tables import Column, named_lines, terminal_width
from harness.costs import OUTPUT_LIMIT_PARAMS, output_limit
from harness.dry_run import Forecast, Restating
from harness.planning import Plan
from harness.unit_states import UnitStates

COLUMNS = (
    Column("model"),
    *(Column(title, right=True) for title in ("done", "stored", "to send", "in", "out", "USD")),
)


def print_forecast(
    forecasts: list[Forecast], restating: list[Restating], plan: Plan, states: UnitStates, *, as_json: bool
) -> None:
    """Print what each model's open units would come to, and what their reformatters would at most."""
    if as_json:
        shard = states.wanted.shard
        print_json(
            {
                "run": plan.manifest.digest(),
                "shard": None if shard is None else str(shard),
                "units_elsewhere": states.n_elsewhere,
                "models": [one.to_json() for one in forecasts],
                "reformatters": [one.to_json() for one in restating],
            }
        )
        return
    for line in table(forecasts, terminal_width()):
        click.echo(line)
    click.echo("in and out: tokens; these and USD: from one short answer a unit to all attempts\nin full")
    if assumed := _assumed(forecasts, plan):
        _print_filled(assumed)
    asked = [one for one in restating if one.asks]
    for reformatter in asked:
        _print_filled(_told(reformatter))
    for one in forecasts:
        for told in one.beyond.told(one.model, "units"):
            _print_filled(told)
    unpriced = [one.model for one in forecasts if one.usd_low is None]
    unpriced += [one.model.name for one in asked if one.unpriced and one.model.name not in unpriced]
    if unpriced:
        _print_filled(f"price unknown: {', '.join(unpriced)}")


def _assumed(forecasts: Sequence[Forecast], plan: Plan) -> str:
    """Say how long an answer may be where nothing but the model's own limit says so; "" if it is never so."""
    limits: dict[int, list[str]] = {}
    for one in forecasts:
        model_plan = plan.models[one.model]
        limit = output_limit(model_plan.model, model_plan.params)
        chosen = any(name in model_plan.params for name in OUTPUT_LIMIT_PARAMS)
        if one.usd_high and limit is not None and not chosen:
            limits.setdefault(limit, []).append(one.model)
    if not limits:
        return ""
    each = [f"{limit} tokens ({', '.join(models)})" for limit, models in sorted(limits.items())]
    return f"the high end assumes answers of {', '.join(each)}; give --param max_tokens=N or --max-cost"


def _told(one: Restating) -> str:
    """Return the most that a reformatter would come to, in words."""
    tokens = f"{_most(one.input_tokens)} tokens in, {_most(one.output_tokens)} out"
    usd = "USD unknown" if one.usd is None else f"{one.usd:.2f} USD"
    return f"on top, the reformatter {one.model.name} for 0-{one.asks} units: at most {tokens}, {usd}"


def _most(count: int | None) -> str:
    return "?" if count is None else _short(count)


def _print_filled(told: str) -> None:
    click.echo(textwrap.fill(told, terminal_width(), subsequent_indent="  ", break_on_hyphens=False))


def table(forecasts: Sequence[Forecast], width: int) -> Iterator[str]:
    """Give the lines of the table; a name too long for `width` columns stands whole in a line of its own."""
    return named_lines(COLUMNS, [(one.model, *_numbers(one)) for one in forecasts], width)


def _numbers(one: Forecast) -> tuple[object, ...]:
    return (
        f"{one.finished}/{one.units}",
        one.stored,
        one.to_send,
        _range(one.input_tokens_low, one.input_tokens_high),
        _range(one.output_tokens_low, one.output_tokens_high),
        _usd_range(one.usd_low, one.usd_high),
    )


def _range(low: int, high: int | None) -> str:
    return f"{_short(low)}-{'?' if high is None else _short(high)}"


def _short(count: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return str(count)


def _usd_range(low: float | None, high: float | None) -> str:
    if low is None:
        return "unknown"
    return f"{_usd(low)}-{'?' if high is None else _usd(high)}"


def _usd(amount: float) -> str:
    return f"{amount:.2f}" if amount < 1000 else f"{amount:.0f}"
