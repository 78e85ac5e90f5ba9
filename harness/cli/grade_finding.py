"""Which gradings are meant by the words of `harness grade`: by name, of a run, or one that is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.cli.grade_told import print_made
from harness.errors import ConfigError, UnknownNameError
from harness.nearest import nearest_or_known

if TYPE_CHECKING:
    from harness.cache.gradings import StoredGrading
    from harness.cache.rows import Run
    from harness.cache.store import Store
    from harness.cli.grade_deeds import Deeds
    from harness.grading.opening import GradingWanted


async def find_gradings(
    store: Store, names: Sequence[str], wanted: GradingWanted, deeds: Deeds
) -> Sequence[StoredGrading]:
    """Return the gradings that are meant; one that is wanted and not there is made, if `deeds` may.

    Raises ConfigError, UnknownNameError, StoreError.
    """
    from harness.grading.opening import GradingWanted, check_same, name_of
    from harness.grading.plan import read_plan

    if wanted == GradingWanted():
        known = [one for name in names for one in await _known(store, name)]
        return list({one.id: one for one in known}.values())
    if len(names) > 1:
        raise ConfigError("one run at a time is graded anew; name several gradings without further options")
    named = wanted.task is None and wanted.name is None
    found = await store.grading_named(names[0]) if named else None
    if found is not None:
        run = next(run for run in await store.runs() if run.id == found.run_id)
    else:
        run = await _run_named(store, names[0])
        name = await name_of(store, run, wanted)
        found = await store.grading_named(name)
        if found is None:
            return [await _made(store, run, wanted, deeds, name)]
    check_same(found, read_plan(found.settings), run, wanted)
    return [found]


async def _made(store: Store, run: Run, wanted: GradingWanted, deeds: Deeds, name: str) -> StoredGrading:
    from harness.grading.opening import make_grading
    from harness.grading.plan import read_plan

    if not deeds.makes:
        way = _way_to_make_it(run, wanted, deeds)
        raise ConfigError(f"run {run.name!r} has no grading {name!r} yet{way}")
    made = await make_grading(store, run, wanted)
    print_made(made.name, read_plan(made.settings), run.name)
    return made


def _way_to_make_it(run: Run, wanted: GradingWanted, deeds: Deeds) -> str:
    if not wanted.raters:
        task = "" if wanted.task is None else f" --task {wanted.task}"
        return f"; `harness grade {run.name}{task} --raters NAME,NAME` makes one"
    if deeds.changes:
        return ", so there is nothing to change; make it first, by the same command without these changes"
    return (
        "; the same command without --status and --json makes it and serves it, and with --links in their "
        "place makes it and prints its links"
    )


async def _run_named(store: Store, name: str) -> Run:
    """Return the run of a name. Raises UnknownNameError, which knows of gradings too."""
    try:
        return await store.find_run(name)
    except UnknownNameError as error:
        names = (*await store.grading_names(), *(run.name for run in await store.runs()))
        raise UnknownNameError(
            f"there is no grading and no run {name!r}{nearest_or_known(name, names)}"
        ) from error


async def _known(store: Store, name: str) -> Sequence[StoredGrading]:
    """Return the grading of a name, or those of the run of this name that were not withdrawn."""
    from harness.grading.state import was_withdrawn

    named = await store.grading_named(name)
    if named is not None:
        return [named]
    run = await _run_named(store, name)
    found = [one for one in await store.gradings_of(run.id) if not was_withdrawn(one.state)]
    if not found:
        raise ConfigError(
            f"run {run.name!r} is not graded yet; say who grades it, and how: `harness grade {run.name} "
            "--task TASK --raters NAME,NAME`"
        )
    return found
