"""What is in the store, counted."""

from __future__ import annotations

from typing import Final

from sqlalchemy import func, select

from harness.cache.parts import StorePart
from harness.cache.tables import (
    BLOB,
    CLAIM,
    EXCHANGE,
    GRADE,
    GRADING,
    MEDIA,
    RUN,
    SCHEMA_VERSION,
    SERVED,
    SESSION,
    UNIT,
)
from harness.canonical import JSON

_COUNTED: Final = {
    "exchanges": EXCHANGE,
    "served_keys": SERVED,
    "runs": RUN,
    "sessions": SESSION,
    "units": UNIT,
    "claims": CLAIM,
    "blobs": BLOB,
    "media": MEDIA,
    "grades": GRADE,
    "gradings": GRADING,
}


class MaintenanceStore(StorePart):
    """What `harness store` asks."""

    async def stats(self) -> dict[str, JSON]:
        """Return counts, times (microseconds UTC) and sizes (bytes); JSON throughout."""
        facts: dict[str, JSON] = {"schema_version": SCHEMA_VERSION, "read_only": self.read_only}
        async with self._database.reading() as connection:
            for name, table in _COUNTED.items():
                statement = select(func.count()).select_from(table)
                facts[name] = (await connection.execute(statement)).scalar_one()
            outcomes = select(EXCHANGE.c.outcome, func.count()).group_by(EXCHANGE.c.outcome)
            facts["outcomes"] = {name: count for name, count in await connection.execute(outcomes)}
            span = select(func.min(EXCHANGE.c.started_at_us), func.max(EXCHANGE.c.started_at_us))
            first, last = (await connection.execute(span)).one()
            facts |= {"first_exchange_at_us": first, "last_exchange_at_us": last}
            bodies = select(func.coalesce(func.sum(func.length(EXCHANGE.c.body)), 0))
            facts["packed_body_bytes"] = (await connection.execute(bodies)).scalar_one()
        return facts
