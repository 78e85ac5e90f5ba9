"""What is said of a step that cannot be resumed as it was, and the command that goes on with it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import fields

from harness.cache.rows import Run
from harness.cache.store import Store
from harness.cli.going_on import Invocation, where_again
from harness.manifest import Manifest, differences, read_manifest
from harness.offline.step_runs import source_run
from harness.run_options import RunOptions

_OPTION = {"attempts": "--attempts", "repeats": "--repeats", "reask": "--reask", "structured": "--structured"}
_OF_SOURCE = {"cases", "n_cases", "step", "synthetic"}
"""What a step's run takes from the run that it follows."""


async def step_moved_on(store: Store, found: Run, now: Manifest, invocation: Invocation) -> str:
    """Say why a step cannot be resumed, and which command takes over its answers and asks the rest."""
    assert now.step is not None
    source = await source_run(store, now.step.source)
    name = now.step.source[:12] if source is None else source.name
    was = read_manifest(found.manifest)
    changed = list(differences(was, now))
    words = ["harness", "step", now.step.kind, name, *step_words(invocation.options)]
    words += where_again(invocation.config_path, invocation.store)
    if _OF_SOURCE.issuperset(changed):
        why = (
            f"the answers of run {name!r}, which it is about, are not those that it began with "
            f"({was.n_cases} could be looked at then, {now.n_cases} now)"
        )
    else:
        why = f"what it wants has changed since ({', '.join(changed) or 'the program version'})"
    return (
        f"step {found.name!r} cannot be resumed: {why}; what it has stays as it is; to go on: "
        f"`{shlex.join(words)}`, which takes over every stored answer that still fits, and asks only the rest"
    )


def step_words(options: RunOptions) -> Iterator[str]:
    """Yield the options with which `harness step` wants what these options say."""
    usual = {one.name: one.default for one in fields(RunOptions)}
    step = options.step
    assert step is not None
    yield from ("--model", *options.models)
    if options.data is not None:
        yield from ("--data", options.data)
    lists = {"--of": step.models, "--conditions": step.conditions, "--cases": options.cases}
    for option, names in lists.items():
        if names:
            yield from (option, ",".join(names))
    if options.limit is not None:
        yield from ("--limit", str(options.limit))
    for name, option in _OPTION.items():
        value = getattr(options, name)
        if value != usual[name]:
            yield from (option, str(value))
    for name, value in options.params.items():
        yield from ("--param", f"{name}={json.dumps(value)}")
    if options.prompt is not None:
        yield from ("--prompt", options.prompt)
    if options.drop_unsupported:
        yield "--drop-unsupported"
