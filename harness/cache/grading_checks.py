"""Whether a stored grading is sound: its two documents, and whether the units that it is about are there."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.exchange_rows import unpacked_json
from harness.cache.parts import chunks
from harness.cache.tables import RUN, UNIT, AnyRow


async def grading_problems(connection: AsyncConnection, row: AnyRow) -> list[str]:
    """Return what is wrong with one grading, a sentence each."""
    problems = []
    documents: dict[str, Any] = {}
    for name in ("settings", "state"):
        try:
            documents[name] = unpacked_json(row._mapping[name])
        except (zlib.error, ValueError):
            documents[name] = None
        if not isinstance(documents[name], dict):
            problems.append(f"grading {row.name!r} has damaged {name}")
    known = (await connection.execute(select(RUN.c.id).where(RUN.c.id == row.run_id))).scalar_one_or_none()
    if known is None:
        return [*problems, f"grading {row.name!r} is of run {row.run_id}, which does not exist"]
    if problems:
        return problems
    try:
        items = [tuple(item[:4]) for item in documents["settings"]["items"]]
    except (KeyError, TypeError):
        return [f"the settings of grading {row.name!r} do not say which answers it is about"]
    missing = await _missing(connection, row.run_id, items)
    if missing:
        return [f"grading {row.name!r} is about units that run {row.run_id} does not have: {missing}"]
    return []


async def _missing(connection: AsyncConnection, run_id: int, items: Sequence[tuple[Any, ...]]) -> int:
    """Return how many of these units (model, condition, case, repeat) a run does not have."""
    there: set[tuple[Any, ...]] = set()
    columns = [UNIT.c[name] for name in ("model", "condition", "case_id", "repeat")]
    for cases in chunks(sorted({str(item[2]) for item in items})):
        statement = select(*columns).where(UNIT.c.run_id == run_id, UNIT.c.case_id.in_(cases))
        there |= {tuple(row) for row in await connection.execute(statement)}
    return len(set(items) - there)

