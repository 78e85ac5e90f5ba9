"""A run is browsed in Chromium while it runs: pages change by themselves, and a unit is opened midway."""

from __future__ import annotations

import asyncio
import re
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest
from live_pages import sweep
from page_browser import AXE, DESK, Look, a_browser
from playwright.sync_api import Browser, Page, expect
from scripted_replies import Arrival, Behaviour, Script
from scripted_server import ScriptedServer
from site_checks import PAGE_LOOKS
from sweep_kit import (
    finish,
    right_answer,
    run_args,
    write_cases,
    write_config,
)

from harness.web.guard import Access
from harness.web.serving import LOOPBACK, listen, serve
from harness.web.viewing.present_store import PresentStore, lasting_viewer

pytestmark = pytest.mark.slow

CASES = 12
SOME_DONE = re.compile(rf"[6-9] of {CASES} units done")
MORE = re.compile(r"[3-6] more units have ended")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as found:
        yield found


@contextmanager
def served(place: Path) -> Iterator[str]:
    """Serve the viewer of a store from a thread; gives its address."""
    listening = listen(LOOPBACK, 0)
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    said: list[str] = []

    async def work() -> None:
        stop = asyncio.Event()
        async with PresentStore.at(str(place), said.append) as present:
            ready.set_result((asyncio.get_running_loop(), stop))
            await serve(lasting_viewer(present, Access(None)), listening, stop=stop)

    thread = threading.Thread(target=lambda: asyncio.run(work()), name="viewer")
    thread.start()
    loop, stop = ready.result(30)
    try:
        yield f"http://{LOOPBACK}:{listening.getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)


@contextmanager
def served_soon(server: ScriptedServer, folder: Path) -> Iterator[str]:
    """Serve the viewer once the first request of a sweep has arrived: its store is there then."""
    server.wait_for(1, 60)
    with served(folder / "store.sqlite3") as url:
        yield url


@contextmanager
def swept(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a sweep that tells of itself often; it does not outlive the block."""
    process = sweep(*run_args(folder, "--name", "night"), cwd=folder)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@contextmanager
def a_page(browser: Browser, look: Look) -> Iterator[tuple[Page, list[str]]]:
    """Give a page, and all that went wrong on it."""
    scheme = "dark" if look.dark else "light"
    context = browser.new_context(viewport={"width": look.width, "height": look.height}, color_scheme=scheme)
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda said: wrong.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_default_timeout(20_000)
    try:
        yield page, wrong
    finally:
        context.close()


def in_halves(server: ScriptedServer) -> Script:
    """Answer the first half of the cases, and hold the rest until the server is released."""

    def script(arrival: Arrival) -> Behaviour:
        if arrival.number == CASES // 2 - 1:
            server.hold()
        return right_answer(arrival)

    return script


def test_a_run_is_browsed_while_it_runs(browser: Browser, tmp_path: Path) -> None:
    write_cases(tmp_path / "data", CASES)
    with ScriptedServer() as server:
        server.script = in_halves(server)
        write_config(tmp_path, server.url, max_in_flight=2)
        server.hold()
        with (
            swept(tmp_path) as process,
            served_soon(server, tmp_path) as url,
            a_page(browser, Look(*DESK, dark=False)) as (page, wrong),
        ):
            page.goto(f"{url}/")
            page.get_by_role("link", name="night").click()
            live, counts = page.locator("#live"), page.locator("#counts")
            expect(live).to_contain_text(f"0 of {CASES} units done")
            expect(live).to_contain_text("1 request in flight")
            expect(counts).not_to_contain_text("valid")
            page.evaluate("window.stayed = true")

            server.release()
            server.wait_for(CASES // 2 + 1, 60)
            expect(live).to_contain_text(SOME_DONE)
            expect(counts).to_contain_text("valid")
            assert page.evaluate("window.stayed"), "it changed without being loaded again"

            page.goto(f"{url}/units?run=night&outcome=valid")
            rows, since = page.locator("#units tbody tr"), page.locator("#live-since")
            expect(page.locator(".count")).not_to_contain_text(re.compile("still reading|so far"))
            half = rows.count()
            assert CASES // 2 <= half < CASES
            expect(since).to_contain_text("The run goes on.")
            page.evaluate("window.stayed = true")
            rows.first.get_by_role("link").click()
            expect(page.locator("main")).to_contain_text("my tooth hurts")
            page.go_back()
            expect(since).to_contain_text("The run goes on.")

            page.evaluate("window.stayed = true")
            server.release()
            expect(since).to_contain_text("more unit")
            assert rows.count() == half, "no list changes under a reader's eyes"
            assert finish(process).code == 0
            expect(since).to_contain_text(MORE)
            page.locator("#live-since-show").click()
            expect(rows).to_have_count(CASES)
            assert page.evaluate("window.stayed")

            page.goto(f"{url}/live?run=night")
            expect(live).to_contain_text("ended: nothing is left to ask")
            assert live.get_attribute("hx-trigger") is None
        assert wrong == []
        assert len(server.arrivals) == CASES


def test_a_page_says_when_nobody_answers_it_any_more_and_keeps_focus_and_scroll_until_then(
    browser: Browser, tmp_path: Path
) -> None:
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        server.hold()
        # On a phone rows stack; a little wider than that a table of requests is moved sideways.
        with swept(tmp_path) as process, a_page(browser, Look(660, 812, dark=True)) as (page, _):
            with served_soon(server, tmp_path) as url:
                page.goto(f"{url}/live?run=night")
                link, region = page.locator("#live-model-1"), page.locator("#live-requests-scroll")
                expect(page.locator("#live")).to_contain_text("1 request in flight")
                link.focus()
                region.evaluate("one => { one.scrollLeft = 40; one.dataset.old = '1'; }")
                expect(region).not_to_have_attribute("data-old", "1")  # another one has taken its place
                expect(link).to_be_focused()
                assert region.evaluate("one => one.scrollLeft") == 40
                expect(page.locator("[data-live-lost]")).to_be_hidden()
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            expect(page.locator("[data-live-lost]")).to_be_visible()
            server.release()
            assert finish(process).code == 0


def test_live_pages_fit_any_width_and_have_nothing_serious_by_axe(browser: Browser, tmp_path: Path) -> None:
    if not AXE.is_file():
        pytest.skip("no axe-core: HARNESS_TEST_AXE names none")
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        with swept(tmp_path) as process:
            assert finish(process).code == 0
    script = AXE.read_text(encoding="utf-8")
    with served(tmp_path / "store.sqlite3") as url:
        for look in PAGE_LOOKS:
            context = browser.new_context(
                viewport={"width": look.width, "height": look.height},
                color_scheme="dark" if look.dark else "light",
                bypass_csp=True,
            )
            page = context.new_page()
            page.goto(f"{url}/live?run=night")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), str(look)
            page.evaluate(script)
            found = page.evaluate("axe.run()")["violations"]
            assert [(one["id"], one["impact"]) for one in found] == [], str(look)
            context.close()
