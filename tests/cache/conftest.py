"""A store per test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness.cache.store import Store


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
async def store(store_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(store_path)) as opened:
        yield opened
