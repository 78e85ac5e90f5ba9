"""Where the media of cases lie on this machine: a run's snapshot knows what they are, and not where."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from harness.benchmarks.registry import get_benchmark
from harness.cache.store import Store
from harness.errors import HarnessError
from harness.media import Media
from harness.media_threads import in_media_thread
from harness.web.media.sound_files import NotShownError, sound_file


async def located(store: Store, benchmark: str, media: Sequence[Media]) -> list[Media]:
    """Return media with the paths where they were noted, or lie in the bundled sample; without, where not.

    `benchmark`: name of the benchmark or step. Where several files are noted, the first that still has the
    medium's bytes; of a single one that is said when it is asked for.
    """
    noted = await store.noted({one.sha256 for one in media})
    missing = {one.sha256 for one in media} - noted.keys()
    sample = await asyncio.to_thread(_sample, benchmark.partition(".")[0]) if missing else {}
    found = []
    for one in media:
        paths = noted.get(one.sha256) or sample.get(one.sha256, ())
        path = paths[0] if len(paths) == 1 else await in_media_thread(_first_sound, one, paths)
        found.append(replace(one, path=path))
    return found


def _first_sound(media: Media, paths: Sequence[Path]) -> Path | None:
    for path in paths:
        try:
            with sound_file(replace(media, path=path)):
                return path
        except NotShownError:
            continue
    return paths[0] if paths else None


@lru_cache(maxsize=8)
def _sample(benchmark: str) -> Mapping[str, tuple[Path, ...]]:
    try:
        found = get_benchmark(benchmark)
        cases = found.load(found.sample_dir()).cases
    except HarnessError:
        return {}
    media = (one for case in cases for many in case.media.values() for one in many)
    return {one.sha256: (one.path,) for one in media if one.path is not None}
