"""Stored answers that fit but for the endpoint or the wire revision: said before they are paid for again."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from harness.benchmarks.base import Benchmark
from harness.cache.store import Store
from harness.identity import Built, build
from harness.media_threads import in_media_thread
from harness.messages import Structured
from harness.plans import first_request
from harness.runner import Work

LOOKED_AT = 100
"""Open units that are looked at for each model."""


async def twin_notes(benchmark: Benchmark, work: Work, structured: Structured, store: Store) -> list[str]:
    """Return a sentence for each model whose next requests were answered at another place before."""
    notes = []
    for name in work.models:
        wanted = await in_media_thread(_first_requests, benchmark, work, structured, name)
        served = await store.served([built.key for built in wanted])
        missing = [built for built in wanted if built.key not in served]
        found = await store.twins([built.twin for built in missing])
        places = Counter(
            place
            for built in missing
            for place in found.get(built.twin, ())
            if place != (built.endpoint, built.wire_revision)  # answered just now, by another process
        )
        if places:
            (endpoint, revision), count = places.most_common(1)[0]
            notes.append(_note(name, missing[0], endpoint, revision, f"{count} of its next {len(wanted)}"))
    return notes


def _first_requests(benchmark: Benchmark, work: Work, structured: Structured, name: str) -> list[Built]:
    built = []
    for unit in islice(work.open_units(name), LOOKED_AT):
        try:
            if unit.case.problem is None:
                built.append(build(first_request(benchmark, unit, structured), unit.model.model))
        except Exception:  # noqa: BLE001 - a hint only; when the unit is asked, it will say what is wrong
            continue
    return built


def _note(name: str, wanted: Built, endpoint: str, revision: int, share: str) -> str:
    if endpoint != wanted.endpoint:
        mend = f"set endpoint = {endpoint!r} for its provider to use those answers"
        return f"{name}: {share} requests were answered before, at endpoint {endpoint!r}; {mend}"
    return (
        f"{name}: {share} requests were answered before, as an older version of the program built them "
        f"(wire revision {revision}, now {wanted.wire_revision}); they are asked again"
    )
