"""A store per test, on each database."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer, schema_of

from harness.cache.store import Store
from harness.cache.tables import META, METADATA


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store, closed: copying it is faster than making its tables each time."""

    async def make(path: Path) -> Path:
        async with await Store.open(str(path)):
            return path

    return asyncio.run(make(tmp_path_factory.mktemp("empty") / "store.sqlite3"))


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """Where an SQLite store may be made."""
    return tmp_path / "store.sqlite3"


@pytest.fixture
def postgres_place(postgres: PostgresServer) -> str:
    """Where a Postgres store may be made."""
    return postgres.new_store()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> str:
    """Where a store may be made: a path, or the URL of a database."""
    found = request.getfixturevalue({"sqlite": "store_path", "postgres": "postgres_place"}[request.param])
    return str(found)


@pytest.fixture(scope="session")
def used_place(postgres: PostgresServer) -> str:
    """A Postgres store for many tests, one after another: emptying it is faster than making its tables."""

    async def make(url: str) -> str:
        async with await Store.open(url):
            return url

    return asyncio.run(make(postgres.new_store()))


@pytest.fixture(params=["sqlite", "postgres"])
def empty_place(request: pytest.FixtureRequest) -> str:
    """Where a store without entries is."""
    if request.param == "postgres":
        place: str = request.getfixturevalue("used_place")
        _empty(request.getfixturevalue("postgres"), place)
        return place
    path: Path = request.getfixturevalue("store_path")
    shutil.copy(request.getfixturevalue("empty_store"), path)
    return str(path)


@pytest.fixture
async def store(empty_place: str) -> AsyncIterator[Store]:
    """An empty store, open."""
    async with await Store.open(empty_place) as opened:
        yield opened


def _empty(server: PostgresServer, place: str) -> None:
    """Delete all rows but those that say what the store is."""
    tables = [table.name for table in reversed(METADATA.sorted_tables) if table is not META]
    server.run(
        *(f'DELETE FROM "{name}"' for name in tables),
        "DELETE FROM meta WHERE name LIKE 'writer:%'",
        schema=schema_of(place),
    )
