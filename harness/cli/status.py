"""`harness status`: how far runs have come."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import click

from harness.cache.location import display, find_store
from harness.cache.rows import Run, Session, UnitId, UnitState
from harness.cache.store import Store
from harness.cli.options import config_option, json_option, print_json, printable, say, store_option
from harness.cli.tables import Column, render_table
from harness.config import load_config
from harness.manifest import Manifest, read_manifest
from harness.outcomes import INCOMPLETE, USABLE, UnitOutcome
from harness.snapshot import decode_cases

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
        rows = [await _summary(store, run) for run in await store.runs()]
    return {"runs": rows}


async def _one_run(url: str, reference: str) -> Facts:
    async with await Store.open(url, create=False) as store:
        run = await store.find_run(reference)
        manifest = read_manifest(run.manifest)
        case_ids = [case.id for case in decode_cases(await store.get_blob(manifest.cases.sha256)).cases]
        states = await store.unit_states(run.id)
        summary = await _summary(store, run)
        models = [_model_facts(name, manifest, case_ids, states) for name in manifest.models]
    return {**summary, "models": models}


async def _summary(store: Store, run: Run) -> Facts:
    manifest = read_manifest(run.manifest)
    sessions = await store.sessions(run.id)
    states = await store.unit_states(run.id)
    done = sum(state.outcome not in INCOMPLETE and state.outcome is not None for state in states.values())
    return {
        "run": run.name,
        "digest": run.digest,
        "benchmark": run.benchmark,
        "synthetic": manifest.synthetic,
        "simulated": manifest.simulated,
        "imported": manifest.imported,
        "units": manifest.n_units,
        "done": done,
        "sessions": [_session_facts(session) for session in sessions],
    }


def _session_facts(session: Session) -> Facts:
    ended = None if session.ended_at_us is None else _moment(session.ended_at_us)
    return {
        "id": session.id,
        "started": _moment(session.started_at_us),
        "ended": ended,
        "exit": session.exit_code,
        "sends": session.info.get("sends"),
        "spent_usd": session.info.get("spent_usd"),
        "closed": session.info.get("closed"),
        "import": session.info.get("import"),
    }


def _moment(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _model_facts(
    model: str, manifest: Manifest, case_ids: list[str], states: dict[UnitId, UnitState]
) -> Facts:
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wanted = product(manifest.conditions, case_ids, range(1, manifest.repeats + 1))
    for condition, case_id, repeat in wanted:
        state = states.get(UnitId(model, condition, case_id, repeat))
        outcome = (state.outcome if state else None) or UnitOutcome.NOT_ATTEMPTED
        counts[outcome.value] += 1
        if state is not None and outcome not in USABLE and state.error:
            reasons[state.error] += 1
    return {
        "model": model,
        "units": counts.total(),
        "outcomes": dict(sorted(counts.items())),
        "reasons": [{"reason": reason, "units": count} for reason, count in reasons.most_common(5)],
    }


def _print_runs(facts: Facts) -> None:
    columns = [
        Column("run", shrink=True),
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
    click.echo(render_table(columns, rows) if rows else "no runs yet")


def _print_run(facts: Facts) -> None:
    click.echo(
        f"{facts['run']} ({str(facts['digest'])[:12]}): {facts['done']} of {facts['units']} units done"
    )
    for flag, words in _FLAGS.items():
        if facts[flag]:
            click.echo(f"  {words}")
    for model in facts["models"]:
        outcomes = ", ".join(f"{name} {count}" for name, count in model["outcomes"].items())
        click.echo(f"  {model['model']}: {outcomes}")
        for reason in model["reasons"]:
            click.echo(printable(f"    {reason['units']} x {reason['reason']}"))
    for session in facts["sessions"]:
        ended = session["ended"] or "now: still running, or killed"
        code = "" if session["exit"] is None else f", exit {session['exit']}"
        click.echo(f"  session {session['id']}: {session['started']} to {ended}{code}")
        for file in (session["import"] or {}).get("files", ()):
            version = f" {file['tool_version']}" if file["tool_version"] else ""
            line = f"    imported {file['name']!r} ({file['format']}{version}, sha256 {file['sha256'][:12]})"
            click.echo(printable(line))
