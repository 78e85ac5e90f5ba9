"""Copies of a Postgres store: a schema beside it, or an SQLite store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sqlalchemy import insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.dialects.sqlite import SqliteDialect
from harness.cache.tables import META, METADATA
from harness.errors import StoreError

PAGE: Final = 500
MOST_COPIES: Final = 1_000


async def copy_schema(connection: AsyncConnection, schema: str, version: int) -> str:
    """Copy a schema's tables, keys and rows to a new schema, within a transaction; return its name."""
    name = await _free_name(connection, schema, version)
    await connection.execute(text(f'CREATE SCHEMA "{name}"'))
    tables = await connection.execute(
        text("SELECT tablename FROM pg_tables WHERE schemaname = :schema ORDER BY 1"), {"schema": schema}
    )
    for table in tables.scalars().all():
        new, old = f'"{name}"."{table}"', f'"{schema}"."{table}"'
        await connection.execute(text(f"CREATE TABLE {new} (LIKE {old} INCLUDING ALL EXCLUDING INDEXES)"))
        await connection.execute(text(f"INSERT INTO {new} SELECT * FROM {old}"))
    # With LIKE, they would get other names.
    keys = (await connection.execute(text(_KEYS), {"schema": schema})).all()
    indexes = (await connection.execute(text(_INDEXES), {"schema": schema})).all()
    # What they say of other tables has no schema, as those were found by the search path.
    await connection.execute(text(f'SET LOCAL search_path = "{name}"'))
    for table, key, definition in keys:
        await connection.execute(text(f'ALTER TABLE "{table}" ADD CONSTRAINT "{key}" {definition}'))
    for table, index, unique, definition in indexes:
        kind, rest = "UNIQUE INDEX" if unique else "INDEX", definition.partition(" USING ")[2]
        await connection.execute(text(f'CREATE {kind} "{index}" ON "{table}" USING {rest}'))
    return name


_KEYS: Final = """
    SELECT t.relname::text, c.conname::text, pg_get_constraintdef(c.oid)
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE n.nspname = :schema AND c.contype IN ('p', 'u', 'f')
    ORDER BY position(c.contype IN 'puf'), 1, 2
"""

_INDEXES: Final = """
    SELECT t.relname::text, c.relname::text, i.indisunique, pg_get_indexdef(i.indexrelid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
    JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE n.nspname = :schema AND t.relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))
    ORDER BY 1, 2
"""


async def _free_name(connection: AsyncConnection, schema: str, version: int) -> str:
    for number in range(1, MOST_COPIES):
        name = f"{schema}_v{version}_{number}"
        known = await connection.execute(
            text("SELECT 1 FROM pg_namespace WHERE nspname = :name"), {"name": name}
        )
        if known.first() is None:
            return name
    raise StoreError(f"too many copies beside schema {schema!r}; drop some")


async def copy_to_sqlite(source: AsyncConnection, target: Path, *, skip_meta: Sequence[str]) -> None:
    """Copy all rows to an empty file, which becomes an SQLite store. `source` sees one moment throughout.

    Rows of `meta` whose names begin with one of `skip_meta` mean nothing elsewhere. Texts are copied as
    they are stored, escapes included.
    """
    dialect = SqliteDialect(target)
    engine = dialect.writer()
    try:
        async with engine.begin() as connection:
            await dialect.create_tables(connection)
            for table in METADATA.sorted_tables:
                rows = await source.stream(select(table).execution_options(yield_per=PAGE))
                async for page in rows.mappings().partitions():
                    kept = [dict(row) for row in page if table is not META or _means(row["name"], skip_meta)]
                    if kept:
                        await connection.execute(insert(table), kept)
            version = select(META.c.value).where(META.c.name == "schema_version")
            await dialect.mark_version(connection, int((await connection.execute(version)).scalar_one()))
    finally:
        await engine.dispose()


def _means(name: str, skipped: Sequence[str]) -> bool:
    return not name.startswith(tuple(skipped))
