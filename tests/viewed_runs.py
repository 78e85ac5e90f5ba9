"""Runs whose units are looked at in tests: their index, read as the pages' thread reads it."""

from __future__ import annotations

from stored_run_builder import Built

from harness.offline.stored_run import load_run
from harness.web.viewing.filters import Filters
from harness.web.viewing.index_reading import IndexReader
from harness.web.viewing.unit_index import UnitIndex


class Rests:
    """Stands for `asyncio.sleep`: notes how long, and waits not at all."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def index_of(built: Built, **options: object) -> tuple[UnitIndex, IndexReader]:
    """Return the index of a run, with how its units stand, and no answer read."""
    index = UnitIndex(await load_run(built.store, built.run))
    options.setdefault("sleep", Rests())
    reader = IndexReader(built.store, index, **options)  # type: ignore[arg-type]
    await reader.load()
    return index, reader


async def ids(index: UnitIndex, **filters: object) -> list[str]:
    """Return which cases are left, each with the first letter of its model."""
    looked = await index.look(Filters(**filters))  # type: ignore[arg-type]
    units = map(index.layout.unit, looked.rows.tolist())
    return [f"{unit.model[0]}:{unit.case_id}" for unit in units]
