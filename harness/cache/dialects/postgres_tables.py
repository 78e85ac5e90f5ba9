"""The store's tables as Postgres has them."""

from __future__ import annotations

import hashlib
from functools import cache, partial
from typing import Final

from sqlalchemy import Connection, LargeBinary, MetaData, Table, Text, event, text
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.tables import METADATA, AnyText


def lock_number(schema: str) -> int:
    """Return the number of a store's advisory lock: signed, 64 bits, one a schema."""
    return int.from_bytes(hashlib.sha256(f"harness store {schema}".encode()).digest()[:8], "big", signed=True)


@cache
def postgres_tables() -> MetaData:
    """Return the store's tables with what Postgres has to be told.

    Texts are compared by code point as in SQLite and Python, whatever the database's language: orders
    and pages must be the same on both. Bytes are compressed already, so Postgres need not try.
    """
    tables = MetaData()
    for table in METADATA.sorted_tables:
        copy = table.to_metadata(tables)
        for column in copy.columns:
            if isinstance(column.type, AnyText | Text):
                column.type = Text(collation="C")
            elif isinstance(column.type, LargeBinary):
                event.listen(copy, "after_create", partial(_keep_as_it_is, column.name))
    return tables


def _keep_as_it_is(column: str, table: Table, connection: Connection, **_options: object) -> None:
    connection.execute(text(f'ALTER TABLE "{table.name}" ALTER COLUMN "{column}" SET STORAGE EXTERNAL'))


async def unsound_parts(connection: AsyncConnection, schema: str) -> list[str]:
    """Return what is wrong with the schema, one sentence each."""
    found = {tuple(row) for row in await connection.execute(text(_PARTS), {"schema": schema})}
    problems = [f"the {kind} {name!r} is missing" for kind, name in sorted(_expected() - found)]
    for (name,) in await connection.execute(text(_UNSOUND_INDEXES), {"schema": schema}):
        problems.append(f"the index {name!r} is not valid; make it anew with REINDEX")
    for (name,) in await connection.execute(text(_UNCHECKED_KEYS), {"schema": schema}):
        problems.append(f"the foreign key {name!r} was never checked; validate the constraint")
    failures = (await connection.execute(text(_CHECKSUM_FAILURES))).scalar()
    if failures:
        problems.append(f"the server found {failures} pages with a wrong checksum in this database")
    return problems


def _expected() -> set[tuple[str, str]]:
    tables = METADATA.sorted_tables
    return (
        {("table", table.name) for table in tables}
        | {("primary key of", table.name) for table in tables}
        | {("index", str(index.name)) for table in tables for index in table.indexes}
        | {
            ("foreign key of", f"{table.name} to {key.column.table.name}")
            for table in tables
            for key in table.foreign_keys
        }
    )


_PARTS: Final = """
    SELECT 'table', tablename::text FROM pg_tables WHERE schemaname = :schema
    UNION ALL SELECT 'index', indexname::text FROM pg_indexes WHERE schemaname = :schema
    UNION ALL SELECT 'primary key of', conrelid::regclass::text FROM pg_constraint
        WHERE contype = 'p' AND connamespace = CAST(:schema AS regnamespace)
    UNION ALL SELECT 'foreign key of', conrelid::regclass || ' to ' || confrelid::regclass FROM pg_constraint
        WHERE contype = 'f' AND connamespace = CAST(:schema AS regnamespace)
"""

_UNSOUND_INDEXES: Final = """
    SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = :schema AND NOT (i.indisvalid AND i.indisready AND i.indislive) ORDER BY 1
"""

_UNCHECKED_KEYS: Final = """
    SELECT conname::text FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace
    WHERE n.nspname = :schema AND NOT convalidated ORDER BY 1
"""

_CHECKSUM_FAILURES: Final = (
    "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
)
