"""`harness status`: how far runs have come."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from harness.cache.location import display, find_store
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.cache.unit_marks import UnitCount
from harness.cli.options import config_option, json_option, print_json, printable, say, store_option, wrapped
from harness.cli.step_told import step_facts, step_lines
from harness.cli.tables import Column, named_lines, terminal_width
from harness.config import load_config
from harness.live_state import read_state
from harness.manifest import Manifest, read_manifest
from harness.moments import now_us
from harness.offline.session_counts import Facts, counted_sessions, session_facts, spending
from harness.offline.step_runs import steps_over
from harness.outcomes import INCOMPLETE, USABLE, UnitOutcome
from harness.served_models import served_as, served_notes, together
from harness.session_standing import Standing, standing, told_s_ago

_FLAGS = {
    "synthetic": "SYNTHETIC cases", "simulated": "SIMULATED models", "imported": "IMPORTED answers",
}


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
        counted = await _standing_sessions(store, run)
    return {**summary, "sessions": counted, "models": models, "spent": spending(counted)}


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
        "sessions": [session_facts(session) for session in sessions],
    }


async def _standing_sessions(store: Store, run: Run) -> list[Facts]:
    """Return the sessions, counted, with how each stands and what it told of itself last."""
    sessions = await store.sessions(run.id)
    live = {one.session: one for one in await store.live_sessions(run.id)}
    found = []
    for session, facts in zip(sessions, await counted_sessions(store, run, sessions, say), strict=True):
        told = live.get(session.id)
        state = None if told is None else read_state(told.state)
        ago_s = told_s_ago(session, told, now_us())
        now = None if state is None or session.ended_at_us is not None else state.in_flight
        stands = standing(session, state, ago_s)
        ago = None if told is None else round(ago_s, 1)
        found.append(facts | {"standing": stands.value, "in_flight": now, "told_s_ago": ago})
    return found


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
        ended = session["ended"] or _now(session)
        code = "" if session["exit"] is None else f", exit {session['exit']}"
        shard = f", shard {session['shard']}" if session["shard"] else ""
        click.echo(f"  session {session['id']}: {session['started']} to {ended}{code}{shard}")
        for file in (session["import"] or {}).get("files", ()):
            version = f" {file['tool_version']}" if file["tool_version"] else ""
            line = f"    imported {file['name']!r} ({file['format']}{version}, sha256 {file['sha256'][:12]})"
            click.echo(printable(line))


def _now(session: Facts) -> str:
    """Return how a session without an end stands."""
    if session["standing"] == Standing.KILLED:
        return "an unknown end: it was killed"
    ago = "" if session["told_s_ago"] is None else f", told {session['told_s_ago']:.0f} s ago"
    if session["standing"] == Standing.SILENT:
        return f"now: still running, or killed{ago}"
    flying = "" if session["in_flight"] is None else f", {session['in_flight']} in flight"
    return f"now: {session['standing']}{flying}{ago}"


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
