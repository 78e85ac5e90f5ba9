"""The server of the pages: found, bounded, and ended promptly."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from stored_run_builder import Plan, built_run, case
from web_site import FROM_TERMINAL, view_site


@pytest.fixture
def a_store(tmp_path: Path) -> Path:
    """The file of a store with one run, which nobody has open."""

    async def make() -> None:
        async with built_run(tmp_path, Plan([case("a", "Exodontia")]), name="one"):
            pass

    asyncio.run(make())
    return tmp_path / "store.sqlite3"


def test_a_store_is_served_to_whoever_has_the_link(a_store: Path) -> None:
    with view_site(a_store) as site:
        first = httpx.get(site.link(), headers=FROM_TERMINAL, trust_env=False)
        assert (first.status_code, first.headers["location"]) == (303, "/")
        with site.client() as client:
            assert "one" in client.get("/").text
