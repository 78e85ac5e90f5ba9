"""The usable translations of a stored step, as its answers are read today."""

from __future__ import annotations

import shlex
from contextlib import aclosing
from typing import cast

from harness.benchmarks.case_steps import SOURCE_CASE
from harness.benchmarks.radm.translate import Translate
from harness.benchmarks.radm.translated_cases import Translation, Translator
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.errors import ConfigError
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import load_run
from harness.outcomes import USABLE


async def translations(store: Store, run: Run) -> tuple[dict[str, Translation], Translator]:
    """Return id of the case -> its translation, the first usable repeat, and who translated.

    Raises ConfigError for a run that is no translation, StoreError.
    """
    stored = await load_run(store, run)
    if not isinstance(stored.benchmark, Translate):
        first = f" {shlex.quote(run.name)} --model NAME" if run.benchmark == Translate.benchmark else ""
        raise ConfigError(
            f"run {run.name!r} is of {run.benchmark} and translates nothing; name one of `harness step "
            f"translate{first}`"
        )
    found: dict[str, tuple[int, Translation]] = {}
    async with aclosing(replay_units(store, stored, Replayer(stored))) as stream:
        async for replayed in stream:
            if replayed.result.outcome not in USABLE:
                continue
            case = stored.case_index.case(stored.case_index.place(replayed.unit.case_id))
            source, repeat = cast("str", case.reference[SOURCE_CASE]), replayed.unit.repeat
            if source not in found or repeat < found[source][0]:
                english = str(replayed.result.prediction).strip()
                found[source] = repeat, Translation(case.fields["history"], english)
    models = ", ".join(sorted(stored.manifest.models))
    note = f"history_en translated by {models} (run {run.name}, digest {run.digest[:12]})"
    return {source: one for source, (_, one) in found.items()}, Translator(note, stored.manifest.simulated)
