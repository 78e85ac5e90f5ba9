"""Where the media lie that a step shows: a run's snapshot knows what they are, and not where."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.benchmarks.base import Benchmark, Case
from harness.cache.store import Store
from harness.media import Media


async def media_places(
    store: Store, benchmark: Benchmark, cases: Iterable[Case], folder: Path | None
) -> Mapping[str, Media]:
    """Return digest -> medium with its path, for the media of cases that can be found.

    `folder`: case files to look in. None: where the store noted them, and the bundled sample. Raises
    CaseFileError, StoreError.
    """
    wanted = {one.sha256 for case in cases for many in case.media.values() for one in many}
    if folder is not None:
        return await asyncio.to_thread(_in_folder, benchmark, folder, wanted)
    found = dict(await store.places(wanted))
    if missing := wanted - found.keys():
        found |= await asyncio.to_thread(_in_folder, benchmark, benchmark.sample_dir(), missing)
    return found


def _in_folder(benchmark: Benchmark, folder: Path, wanted: set[str]) -> dict[str, Media]:
    media = (
        one for case in benchmark.load(folder).cases for many in case.media.values() for one in many
    )
    return {one.sha256: one for one in media if one.sha256 in wanted}


def with_places(case: Case, places: Mapping[str, Media]) -> Case:
    """Return a case whose media have their paths; with a `problem` where one is not found."""
    missing = [
        one.sha256
        for many in case.media.values()
        for one in many
        if one.sha256 not in places
    ]
    if missing:
        problem = (
            f"the file with sha256 {missing[0][:12]} was not found where the run read it; give --data the "
            "folder of the case files"
        )
        return replace(case, problem=case.problem or problem)
    media = {role: tuple(places[one.sha256] for one in many) for role, many in case.media.items()}
    return replace(case, media=media)
