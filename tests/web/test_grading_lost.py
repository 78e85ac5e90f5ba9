"""A grade is told saved only where whoever opens the store finds it; a store that is gone ends serving."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from grading_examples import desk_of, graded_run, with_small_task

from harness.cache.store import Store
from harness.cli.grade_serving import serve_gradings
from harness.errors import StoreError
from harness.grading.desk import Desk

task = pytest.fixture(autouse=True)(with_small_task)


def deleted(folder: Path) -> None:
    for one in folder.glob("*.sqlite3*"):
        one.unlink()


def put_back(folder: Path) -> None:
    """A copy of the store, as it was a while ago, comes to its place."""
    (store,) = folder.glob("*.sqlite3")
    backup = store.with_name("backup")
    shutil.copy(store, backup)
    Path(backup).replace(store)


async def served(desk: Desk, monkeypatch: pytest.MonkeyPatch, work: Callable[..., Any]) -> None:
    """Serve a grading as the command does, but for the network, while `work` has a client of it."""

    async def serve(app: Any, listening: Any, *, stop: asyncio.Event, **_: Any) -> None:
        listening.close()
        base = f"http://127.0.0.1:{desk.state.port}"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client:
            await work(client, stop)

    monkeypatch.setattr("harness.web.serving.serve", serve)
    await serve_gradings([desk], "127.0.0.1", None)


async def say(client: httpx.AsyncClient, desk: Desk, value: int) -> httpx.Response:
    seat = next(one for one in desk.seats if one.name == "alice")
    seen = (await desk.sheet(seat, 1)).seen
    return await client.post(
        f"/g/{seat.token}/sheet/1", data={"seen": seen, "right": "ny"[value]},
        headers={"hx-request": "true", "origin": str(client.base_url), "sec-fetch-site": "same-origin"},
    )  # fmt: skip


@pytest.mark.parametrize("loses", [deleted, put_back])
async def test_nothing_is_told_saved_once_the_store_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loses: Callable[[Path], None]
) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built, calibration=0)

        async def work(client: httpx.AsyncClient, stop: asyncio.Event) -> None:
            first = await say(client, desk, 1)
            assert first.headers.get("x-saved") == "right", first.text
            loses(tmp_path)
            for _ in range(2):  # the second time, what was written to the file that is gone stands there
                lost = await say(client, desk, 0)
                assert (lost.status_code, "x-saved" in lost.headers) == (503, False)
                assert "the store of this grading is gone" in lost.text and lost.text.count("<") == 0
            assert stop.is_set()
            for seat in desk.seats:
                shown = await client.get(f"/g/{seat.token}/")
                assert shown.status_code == 503 and "is not saved" in shown.text

        with pytest.raises(StoreError, match="Put the store back where it was"):
            await served(desk, monkeypatch, work)


async def test_a_loss_while_a_grade_is_kept_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built, calibration=0)

        async def work(client: httpx.AsyncClient, _: asyncio.Event) -> None:
            async def kept(*_: object) -> dict[str, bool]:
                deleted(tmp_path)
                return {"right": False}

            with monkeypatch.context() as during:
                during.setattr("harness.web.grading.saving._keep", kept)
                assert (await say(client, desk, 1)).status_code == 503

        with pytest.raises(StoreError, match="so the pages are closed"):
            await served(desk, monkeypatch, work)


async def test_the_end_does_not_claim_what_was_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with graded_run(tmp_path, cases=2) as built:
        desk = await desk_of(built, calibration=0)

        async def full(*_: object) -> bool:
            raise StoreError("the disk is full")

        async def work(client: httpx.AsyncClient, _: asyncio.Event, *, again: bool) -> None:
            with monkeypatch.context() as during:
                during.setattr(Store, "add_next_grade", full)
                assert (await say(client, desk, 1)).status_code == 500
            if again:
                assert (await say(client, desk, 1)).headers["x-saved"] == "right"

        with pytest.raises(StoreError, match=r"1 answer could not be saved \(alice 1\)"):
            await served(desk, monkeypatch, lambda *given: work(*given, again=False))
        assert "every grade that was given is kept" not in capsys.readouterr().err
        await served(desk, monkeypatch, lambda *given: work(*given, again=True))
        assert "every grade that was given is kept" in capsys.readouterr().err
