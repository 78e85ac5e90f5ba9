"""A run as a session finds it, or makes it: stored, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from harness.again import AgainList, again_list
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.case_spool import case_ids, media_notes, snapshot_pieces
from harness.errors import RunNameTakenError
from harness.manifest import differences, read_manifest
from harness.outcomes import ASKED_AGAIN_ON_RESUME
from harness.planning import Plan
from harness.run_options import SessionOptions
from harness.runner import Work
from harness.state_reading import read_states
from harness.unit_states import Totals, UnitStates, Wanted

NOTED_AT_ONCE = 1_000
"""Media that are noted in one commit."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A run as a session finds it: what is done, what is open, what `--again` marked."""

    run: Run
    work: Work
    open_by_model: Mapping[str, int]
    again: AgainList = field(default_factory=AgainList)

    @property
    def is_done(self) -> bool:
        """True for a run that is stored and has nothing left to ask."""
        return self.run.id != 0 and not self.n_open

    @property
    def n_open(self) -> int:
        """Units that this session works on."""
        return sum(self.open_by_model.values())

    @property
    def states(self) -> UnitStates:
        """How this session's units stand."""
        return self.work.states

    def totals(self) -> Totals:
        """Return how this session's units stood when it began, by model."""
        return {model: self.states.outcomes(model) for model in self.work.models}


async def open_run(
    store: Store, plan: Plan, name: str | None, options: SessionOptions, found: Opening | None = None
) -> Opening:
    """Store what the run wants and return what is open. Raises RunNameTakenError.

    `found`, a look just taken at this run, is not taken again unless `--again` is to be noted: what another
    process has answered since is found when it is asked for.
    """
    await store.put_blobs(plan.blobs.values())
    await store.put_blob_pieces(plan.manifest.cases.sha256, lambda: snapshot_pieces(plan.cases))
    await note_media(store, plan)
    run = await _saved(store, plan, name)
    if found is not None and found.run.id == run.id and not options.again:
        return found
    return await look_at(store, plan, run, options, mark=True)


async def _saved(store: Store, plan: Plan, name: str | None) -> Run:
    try:
        return await store.save_run(
            name,
            plan.manifest.digest(),
            plan.benchmark.name,
            plan.manifest.to_json(),
            stem=plan.name_stem,
        )
    except RunNameTakenError as error:
        holder = next((run for run in await store.runs() if run.name == name), None)
        if holder is None:
            raise
        differing = differences(read_manifest(holder.manifest), plan.manifest)
        raise RunNameTakenError(f"{error} (what differs: {', '.join(differing)})") from None


async def note_media(store: Store, plan: Plan) -> None:
    """Keep the fingerprints of the media that were read, so that they need not be read the next time."""
    notes = media_notes(plan.cases.cases)
    while batch := list(islice(notes, NOTED_AT_ONCE)):
        await store.remember(batch)


async def look_at(
    store: Store | None, plan: Plan, run: Run | None, options: SessionOptions, *, mark: bool
) -> Opening:
    """Return how far a run has come; `run` None: it was never started. With `mark`, `--again` is noted."""
    wanted = Wanted(
        case_ids(plan.cases.cases), tuple(plan.models), tuple(plan.conditions), plan.manifest.repeats,
        options.shard, plan.asked,
    )
    again = AgainList()
    if run is None or store is None:
        states = UnitStates(wanted)
    else:
        states = await read_states(store, run.id, wanted, whole=bool(options.again))
        if options.again:
            again = again_list(states, await store.sessions(run.id), options.again)
        if again.new:
            last = await store.mark_again(run.id, again.new) if mark else await store.last_exchange_id()
            states.mark(again.new, last)
            again = replace(again, id=last)
    shown = run or Run(0, "(new)", plan.manifest.digest(), plan.benchmark.name, {}, 0)
    work = Work(
        run_id=shown.id,
        cases=plan.cases.cases,
        conditions=plan.conditions,
        models=plan.models,
        repeats=plan.manifest.repeats,
        states=states,
        ask_again=ASKED_AGAIN_ON_RESUME,
    )
    return Opening(shown, work, {name: work.count_open(name) for name in plan.models}, again)
