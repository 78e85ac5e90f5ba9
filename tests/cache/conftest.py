"""A store per test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness.cache.store import Store


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store, closed: copying it is faster than making its tables each time."""

    async def make(path: Path) -> Path:
        async with await Store.open(str(path)):
            return path

    return asyncio.run(make(tmp_path_factory.mktemp("empty") / "store.sqlite3"))


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "store.sqlite3"


@pytest.fixture
async def store(store_path: Path, empty_store: Path) -> AsyncIterator[Store]:
    shutil.copy(empty_store, store_path)
    async with await Store.open(str(store_path)) as opened:
        yield opened
