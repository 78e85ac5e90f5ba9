"""`python -m perf.viewer [STORE]`: what pages of `harness view` take, in a store or a new one of 100,000.

Wall time and CPU of whole pages, warm: the first page of units, each filter, searches for words that are
rare, common and nowhere, all at once. Before that: how long the link waits for the index; then: memory.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

import httpx

from harness.web.guard import Access
from harness.web.viewing.filters import Filters, units_link
from harness.web.viewing.present_store import PresentStore, lasting_viewer

UNITS = 100_000
MODELS = 10
BUDGET_S = 0.3


async def built(folder: Path, units: int = UNITS) -> Path:
    """Make a store with so many units of ten models, whose answers have some 1,300 characters each."""
    sys.path.insert(0, str(Path.cwd() / "tests"))
    from bulk_run import bulk_plan, fill
    from stored_run_builder import built_run

    names = [f"model-{number:02d}" for number in range(MODELS)]
    async with built_run(folder, bulk_plan(units // MODELS, names), name="large") as made:
        await fill(made)
        await made.store.end_session(made.session, 3)
    return folder / "store.sqlite3"


def views(model: str) -> dict[str, Filters]:
    """Return what is looked at, by its name in the table."""
    return {
        "first page": Filters(),
        "by model": Filters(model=(model,)),
        "by outcome": Filters(outcome=("unparsable", "provider_error")),
        "by stage": Filters(stage=("attempt-2",)),
        "wrong ones": Filters(right=("no",)),
        "worst first": Filters(sort="worst"),
        "latest first": Filters(sort="latest"),
        "a rare word": Filters(text="9876"),
        "a common word": Filters(text="upper"),
        "a word that is nowhere": Filters(text="zzzqqq"),
        "two words": Filters(text="quadrant upper"),
        "all of it": Filters(
            model=(model,), outcome=("valid",), right=("no",), text="lower left", sort="worst"
        ),
    }


async def measure(place: str) -> bool:
    """Print one line a page; True if all of them met the budget."""
    async with PresentStore.at(place, print) as present:
        start, cpu = time.perf_counter(), time.process_time()
        index = await present.library.index("latest")
        print(
            f"{len(index):,} units; the index, before the link: {time.perf_counter() - start:.2f} s, ",
            end="",
        )
        print(f"{time.process_time() - cpu:.2f} s of CPU")
        while index.reading[0] < index.reading[1]:  # noqa: ASYNC110
            await asyncio.sleep(0.5)  # nothing tells that all were read
        print(f"all answers read after {time.perf_counter() - start:.0f} s, a little at a time")
        transport = httpx.ASGITransport(lasting_viewer(present, Access(None)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            met = [
                await _page(client, index.stored.run.name, *one)
                for one in views(index.layout.models[0]).items()
            ]
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most")
    return all(met)


async def _page(client: httpx.AsyncClient, run: str, name: str, filters: Filters) -> bool:
    start, cpu = time.perf_counter(), time.process_time()
    found = await client.get(units_link(run, filters))
    wall, used = time.perf_counter() - start, time.process_time() - cpu
    found.raise_for_status()
    print(
        f"{name:<24}{1000 * wall:>8.0f} ms{1000 * used:>8.0f} ms of CPU{len(found.content) / 1024:>8.0f} kB"
    )
    return wall <= BUDGET_S


async def main() -> int:
    """Measure the store that is named, or a new one; 3 if a page took longer than its budget."""
    if len(sys.argv) > 1:
        return 0 if await measure(sys.argv[1]) else 3
    with tempfile.TemporaryDirectory() as folder:
        return 0 if await measure(str(await built(Path(folder)))) else 3


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
