"""What `harness import` says of the files that it read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from harness.cli.options import printable, say
from harness.imports.imported_run import Wanted
from harness.imports.reader import ImportFile, Named, Tally


def named_facts(named: Named) -> dict[str, Any]:
    """Return how many there were, and the first by name, for `--json`."""
    return {"count": named.count, "first": list(named.first)}


def tell_notes(
    wanted: Wanted,
    files: Sequence[ImportFile],
    tally: Tally,
    facts: Sequence[Mapping[str, Any]],
    *,
    numbers_are_ids: bool,
) -> None:
    """Say on stderr what the user should know before believing the numbers.

    `numbers_are_ids`: ids that are numbers are matched to cases as they are, not as positions.
    """
    if wanted.cases.synthetic:
        say("note: the cases are SYNTHETIC: made by a script, of no clinical value")
    for file in files:
        for note in file.form.head(file.source).notes:
            say(f"note: {file.source.name!r}: {note}")
    for fact in facts:
        if fact["model"] and fact["model"] != wanted.model.name:
            say(f"note: {fact['name']!r} says that its model is {fact['model']!r}")
    if len(tally.served_models) > 1:
        say(f"note: the rows name several served models: {', '.join(sorted(tally.served_models))}")
    if tally.numbered and numbers_are_ids:
        say(
            f"note: ids of {tally.numbered} rows are numbers, matched to the cases with the same digits as "
            "id; make sure that they are ids, and no positions"
        )
    for why, named in sorted(tally.suspicious.items()):
        say(f"note: {named.count} answers were kept and may be failures ({why}): {_some(named)}")
    if tally.suspicious:
        say("note: --failure-text TEXT counts answers of just this text as failures")


def print_counts(found: Mapping[str, Any]) -> None:
    """Print what was read, matched and stored, as `--json` has it."""
    head = f"{found['benchmark']} {found['condition']}: {found['model']} (imported)"
    click.echo(printable(f"{head}, {_run_named(found)}"))
    if found["positions"]:
        pairs = ", ".join(f"{position} -> {case}" for position, case in found["positions"])
        click.echo(printable(f"  positions: {pairs}"))
    repeats = "" if found["repeats"] == 1 else f" in {found['repeats']} repeats"
    matched = f"rows matched to the {found['cases']} cases{repeats}"
    lines = [
        ("rows read", found["rows"], ""),
        (matched, found["answers"], ""),
        *((why, one["count"], _first(one)) for why, one in found["failures"].items()),
        ("rows of no case", found["unmatched"]["count"], _first(found["unmatched"])),
        ("same answer twice", found["repeated"]["count"], _first(found["repeated"])),
        ("units without a row in these files", found["missing"]["count"], _first(found["missing"])),
        ("rows skipped as bad", found["bad_rows"]["count"], _first(found["bad_rows"])),
    ]
    if "run" in found:
        lines += [
            ("answers added", found["added"], ""),
            ("known already", found["known"], ""),
            ("changed since", found["changed"]["count"], _first(found["changed"])),
        ]
    else:
        would = found["would"]
        lines += [
            ("answers new", would["new"], ""),
            ("known already", would["known"], ""),
            ("changed since", would["changed"]["count"], _first(would["changed"])),
        ]
    always = {"rows read", matched, "answers added", "answers new"}
    for what, count, more in lines:
        if count or what in always:
            click.echo(printable(f"  {count:>8}  {what}{f': {more}' if more else ''}"))
    if "run" in found:
        outcomes = ", ".join(f"{name} {count}" for name, count in found["outcomes"].items())
        click.echo(f"  outcomes of the run: {outcomes}")
    else:
        say("dry run: nothing was stored")


def _run_named(found: Mapping[str, Any]) -> str:
    if "run" in found:
        return f"run {found['run']}"
    would = found["would"]
    if not would["makes_run"]:
        return f"run {would['run']}"
    return "a new run would be made" if would["run"] is None else f"a new run {would['run']!r} would be made"


def _first(named: Mapping[str, Any]) -> str:
    more = named["count"] - len(named["first"][:5])
    return ", ".join(named["first"][:5]) + (f" and {more} more" if more > 0 else "")


def _some(named: Named) -> str:
    return _first(named_facts(named))
