"""Whether a stored grading is sound: its two documents, and whether the units that it is about are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.exchange_rows import unpacked_object
from harness.cache.parts import chunks
from harness.cache.tables import RUN, UNIT, AnyRow


async def grading_problems(connection: AsyncConnection, row: AnyRow) -> list[str]:
    """Return what is wrong with one grading, a sentence each."""
    documents = {name: unpacked_object(row._mapping[name]) for name in ("settings", "state")}
    problems = [f"grading {row.name!r} has damaged {name}" for name, one in documents.items() if one is None]
    known = (await connection.execute(select(RUN.c.id).where(RUN.c.id == row.run_id))).scalar_one_or_none()
    if known is None:
        return [*problems, f"grading {row.name!r} is of run {row.run_id}, which does not exist"]
    settings = documents["settings"]
    if settings is None or problems:
        return problems
    try:
        items = [_unit(*item[:4]) for item in settings["items"]]
    except (KeyError, TypeError):
        return [f"the settings of grading {row.name!r} do not say which answers it is about"]
    missing = await _missing(connection, row.run_id, items)
    if missing:
        return [f"grading {row.name!r} is about units that run {row.run_id} does not have: {missing}"]
    return []


def _unit(model: str, condition: str, case_id: str, repeat: int) -> tuple[Any, ...]:
    """Return the key of a unit. Raises TypeError for what is none."""
    if not all(isinstance(name, str) for name in (model, condition, case_id)) or not isinstance(repeat, int):
        raise TypeError
    return model, condition, case_id, repeat


async def _missing(connection: AsyncConnection, run_id: int, items: Sequence[tuple[Any, ...]]) -> int:
    """Return how many of these units (model, condition, case, repeat) a run does not have."""
    there: set[tuple[Any, ...]] = set()
    columns = [UNIT.c[name] for name in ("model", "condition", "case_id", "repeat")]
    for cases in chunks(sorted({item[2] for item in items})):
        statement = select(*columns).where(UNIT.c.run_id == run_id, UNIT.c.case_id.in_(cases))
        there |= {tuple(row) for row in await connection.execute(statement)}
    return len(set(items) - there)

