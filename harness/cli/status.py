"""`harness status`: how far runs have come."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from harness.budget import summed
from harness.cache.location import display, find_store
from harness.cache.rows import Run, Session
from harness.cache.store import Store
from harness.cache.unit_marks import UnitCount
from harness.cli.options import config_option, json_option, print_json, printable, say, store_option, wrapped
from harness.cli.step_told import step_facts, step_lines
from harness.cli.tables import Column, named_lines, terminal_width
from harness.config import load_config
from harness.errors import StoreError
from harness.manifest import Manifest, read_manifest
from harness.moments import shown_moment
from harness.offline.spending import spent_by_model
from harness.offline.step_runs import steps_over
from harness.outcomes import INCOMPLETE, USABLE, UnitOutcome
from harness.served_models import served_as, served_notes, together

_FLAGS = {
    "synthetic": "SYNTHETIC cases", "simulated": "SIMULATED models", "imported": "IMPORTED answers",
}

Facts: TypeAlias = dict[str, Any]
"""What `--json` prints."""


@click.command("status", epilog="Example: harness status latest")
@click.argument("run", required=False)
@config_option
@store_option
@json_option
def command(run: str | None, config_path: Path | None, store: str | None, as_json: bool) -> None:
    """Show all runs of the store, or how each model of one RUN stands."""
    config = load_config(config_path)
    url = find_store(store, os.environ, config.store, Path.cwd())
    say(f"store: {display(url)}")
    facts = asyncio.run(_all_runs(url) if run is None else _one_run(url, run))
    if as_json:
        print_json(facts)
    elif run is None:
        _print_runs(facts)
    else:
        _print_run(facts)


async def _all_runs(url: str) -> Facts:
    async with await Store.open(url, create=False) as store:
        runs = await store.runs()
        rows = [await _summary(store, run, runs) for run in runs]
    return {"runs": rows}


async def _one_run(url: str, reference: str) -> Facts:
    async with await Store.open(url, create=False) as store:
        run = await store.find_run(reference)
        manifest = read_manifest(run.manifest)
        summary = await _summary(store, run, await store.runs())
        counts = await store.count_units(run.id)
        served = await store.count_served(run.id)
        models = [
            {
                **_model_facts(name, manifest, counts, await store.unit_errors(run.id, name, but=USABLE)),
                "served_as": served_as(manifest, name, served.get(name, {})),
            }
            for name in manifest.models
        ]
        counted = await _counted_sessions(store, run, summary["sessions"])
    return {**summary, "sessions": counted, "models": models, "spent": _spending(counted)}


async def _summary(store: Store, run: Run, runs: Sequence[Run]) -> Facts:
    manifest = read_manifest(run.manifest)
    sessions = await store.sessions(run.id)
    counts = await store.count_units(run.id)
    done = sum(one.units for one in counts if one.outcome is not None and one.outcome not in INCOMPLETE)
    return {
        "run": run.name,
        "digest": run.digest,
        "benchmark": run.benchmark,
        "synthetic": manifest.synthetic,
        "simulated": manifest.simulated,
        "imported": manifest.imported,
        "step": step_facts(run, runs),
        "steps": [
            {"run": one.run.name, "kind": one.kind, "model": one.model}
            for one in steps_over(runs, run.digest)
        ],
        "units": manifest.n_units,
        "done": done,
        "sessions": [_session_facts(session) for session in sessions],
    }


async def _counted_sessions(store: Store, run: Run, facts: Sequence[Facts]) -> list[Facts]:
    """Return the sessions, those that did not count their sends at their end by what they stored.

    They were killed, are at work, or failed. `counted` says where the counts are from: "end" or "exchanges",
    null where an exchange is damaged.
    """
    sessions = await store.sessions(run.id)
    found = []
    for session, known in zip(sessions, facts, strict=False):
        if known["spent_by_model"] is not None or known["sends"] == 0:
            found.append(known | {"counted": "end"})
            continue
        try:
            spent = await spent_by_model(store, run, session, sessions)
        except StoreError as error:
            say(f"note: session {session.id} is not counted: {error}")
            found.append(known | {"counted": None})
            continue
        total = summed(spent.values())
        counts = {
            "sends": total.sends,
            "spent_usd": total.usd,
            "unknown_cost_sends": total.unknown,
            "at_most_usd": None,  # what was in flight is not stored
            "spent_by_model": {name: one.to_json() for name, one in sorted(spent.items())},
        }
        found.append(known | counts | {"counted": "exchanges"})
    return found


def _spending(sessions: Sequence[Facts]) -> Facts:
    """Return what all sessions spent by model, reformatters among them.

    `usd` is null where the cost of a send is unknown. `from_exchanges` are sessions that were counted by what
    they stored, `uncounted` those with a damaged exchange.
    """
    models: dict[str, Facts] = {}
    for session in sessions:
        for name, one in (session["spent_by_model"] or {}).items():
            known = models.setdefault(name, {"known_usd": 0.0, "sends": 0, "unknown": 0})
            for field in known:
                known[field] += one[field]
    rows = [
        {"model": name, "usd": None if one["unknown"] else one["known_usd"], **one}
        for name, one in sorted(models.items())
    ]
    return {
        "models": rows,
        "from_exchanges": [one["id"] for one in sessions if one["counted"] == "exchanges"],
        "uncounted": [one["id"] for one in sessions if one["counted"] is None],
    }


def _session_facts(session: Session) -> Facts:
    ended = None if session.ended_at_us is None else shown_moment(session.ended_at_us)
    return {
        "id": session.id,
        "started": shown_moment(session.started_at_us),
        "ended": ended,
        "exit": session.exit_code,
        "shard": session.info.get("shard"),
        "sends": session.info.get("sends"),
        "spent_usd": session.info.get("spent_usd"),
        "unknown_cost_sends": session.info.get("unknown_cost_sends"),
        "at_most_usd": session.info.get("at_most_usd"),
        "cut_off": session.info.get("cut_off"),
        "spent_by_model": session.info.get("spent_by_model"),
        "closed": session.info.get("closed"),
        "import": session.info.get("import"),
    }


def _model_facts(
    model: str, manifest: Manifest, counts: Sequence[UnitCount], errors: Sequence[tuple[str, int]]
) -> Facts:
    n_units = manifest.n_model
    outcomes: Counter[str] = Counter()
    for one in counts:
        if one.model == model and one.outcome is not None:
            outcomes[one.outcome.value] += one.units
    outcomes[UnitOutcome.NOT_ATTEMPTED.value] += n_units - outcomes.total()
    return {
        "model": model,
        "units": n_units,
        "outcomes": dict(sorted((+outcomes).items())),
        "reasons": [{"reason": reason, "units": count} for reason, count in errors],
    }


def _print_runs(facts: Facts) -> None:
    columns = [
        Column("run"),
        Column("benchmark"),
        Column("done", right=True),
        Column("units", right=True),
        Column("last session"),
        Column("exit", right=True),
    ]
    rows = []
    for run in facts["runs"]:
        last = run["sessions"][-1] if run["sessions"] else None
        rows.append(
            (
                run["run"],
                f"{run['benchmark']} (imported)" if run["imported"] else run["benchmark"],
                run["done"],
                run["units"],
                last and last["started"],
                last and last["exit"],
            )
        )
    click.echo("\n".join(named_lines(columns, rows)) if rows else "no runs yet")


def _print_run(facts: Facts) -> None:
    click.echo(
        f"{facts['run']} ({str(facts['digest'])[:12]}): {facts['done']} of {facts['units']} units done"
    )
    for flag, words in _FLAGS.items():
        if facts[flag]:
            click.echo(f"  {words}")
    if facts["step"] is not None:
        for line in step_lines(facts["step"]):
            click.echo(_reason(printable(f"  {line}")))
    for step in facts["steps"]:
        click.echo(printable(f"  step {step['kind']} by {step['model']}: {step['run']}"))
    for model in facts["models"]:
        outcomes = ", ".join(f"{name} {count}" for name, count in model["outcomes"].items())
        click.echo(f"  {model['model']}: {outcomes}")
        for reason in model["reasons"]:
            click.echo(_reason(printable(f"    {reason['units']} x {reason['reason']}")))
    for note in served_notes(together(model["served_as"] for model in facts["models"])):
        click.echo(_reason(printable(f"  {note}")))
    _print_spent(facts["spent"])
    for session in facts["sessions"]:
        ended = session["ended"] or "now: still running, or killed"
        code = "" if session["exit"] is None else f", exit {session['exit']}"
        shard = f", shard {session['shard']}" if session["shard"] else ""
        click.echo(f"  session {session['id']}: {session['started']} to {ended}{code}{shard}")
        for file in (session["import"] or {}).get("files", ()):
            version = f" {file['tool_version']}" if file["tool_version"] else ""
            line = f"    imported {file['name']!r} ({file['format']}{version}, sha256 {file['sha256'][:12]})"
            click.echo(printable(line))


def _reason(line: str) -> str:
    """Return a reason in the lines of a terminal; in one line where the output is none."""
    return wrapped(line, terminal_width(), hanging="      ") if sys.stdout.isatty() else line


def _print_spent(spent: Facts) -> None:
    priced = [one for one in spent["models"] if one["known_usd"] or one["unknown"]]
    for one in priced:
        unknown = f", and what {one['unknown']} sends cost is not known" if one["unknown"] else ""
        click.echo(f"  spent on {one['model']}: ${one['known_usd']:.4f} for {one['sends']} sends{unknown}")
    if priced and spent["from_exchanges"]:
        click.echo(f"  {_named(spent['from_exchanges'])} counted by stored answers, without those in flight")
    if spent["uncounted"]:
        click.echo(f"  not counted: what session {', '.join(map(str, spent['uncounted']))} spent")


def _named(sessions: Sequence[int]) -> str:
    many = "sessions" if len(sessions) > 1 else "session"
    return f"{many} {', '.join(map(str, sessions))} {'are' if len(sessions) > 1 else 'is'}"
