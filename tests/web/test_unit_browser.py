"""The pages of units in a real browser: keys, parts that come when opened, every width and both themes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from page_browser import AXE, LOOKS, Look, a_browser
from playwright.sync_api import Browser, Page
from site_checks import ZOOMED
from stored_run_builder import EXTRACTION, FILLING, SCALING, Plan, answer, built_run
from web.test_unit_page import HOSTILE, UNIT, with_image
from web_site import Site, view_site

from harness.cache.rows import UnitId
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.web.links import link

LONG = f"{HOSTILE} {'word ' * 2_000}"
QUERY: dict[str, Any] = {"run": "test-run", "condition": "both", "case": "c1"}
MODELS = ("alpha", "a-model-with-a-very-long-name/of-its-provider-2026-05-01-preview", "gamma")


async def _store(folder: Path) -> None:
    long = with_image("c1", FILLING, SCALING, complaint=LONG, tags=("adult",))
    cases = [long, with_image("c2", EXTRACTION)]
    async with built_run(folder, Plan(cases, models=MODELS, attempts=2)) as built:
        busy = {"status": 503, "outcome": ExchangeOutcome.UNAVAILABLE}
        lost = await built.exchange(UNIT, b"<html>busy</html>", **busy)
        first = await built.exchange(UNIT, LONG)
        good = await built.exchange(UNIT, answer(FILLING, EXTRACTION, reasoning=LONG), attempt=2)
        links: list[Any] = [(lost, "answer", 1), (first, "answer", 1), (good, "answer", 2)]
        await built.finish(UNIT, UnitOutcome.VALID, links, used=[good])
        await built.valid(UnitId(MODELS[1], "both", "c1"), FILLING, SCALING)
        await built.answers(UnitId("gamma", "both", "c1"), UnitOutcome.UNPARSABLE, "no", "no")
        await built.valid(UnitId("alpha", "both", "c2"), EXTRACTION)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("units")
    with ThreadPoolExecutor(1) as thread:  # Playwright's loop runs in this one
        thread.submit(asyncio.run, _store(folder)).result()
    with view_site(folder / "store.sqlite3") as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as found:
        yield found


class Window:
    """An open page; `said` are its complaints."""

    def __init__(self, browser: Browser, site: Site, look: Look) -> None:
        self.context = browser.new_context(
            viewport={"width": look.width, "height": look.height},
            color_scheme="dark" if look.dark else "light",
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(error.message))
        self.page.goto(site.link("/"))


@pytest.fixture
def window(browser: Browser, site: Site, request: pytest.FixtureRequest) -> Iterator[Window]:
    look = getattr(request, "param", LOOKS[2])
    found = Window(browser, site, look)
    yield found
    found.context.close()


def test_keys_go_from_unit_to_unit_and_side_by_side_and_back(window: Window, site: Site) -> None:
    page = window.page
    page.goto(site.url + link("/unit", model="alpha", **QUERY))
    page.keyboard.press("j")
    page.wait_for_url("**case=c2**")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**case=c1**")
    page.keyboard.press("3")
    page.wait_for_url("**#exchange-3")
    page.keyboard.press("m")
    page.wait_for_url("**/case?**")
    page.keyboard.press("j")
    page.wait_for_url("**case=c2**")
    page.keyboard.press("u")
    page.wait_for_url("**/units?**")


def test_keys_pressed_faster_than_pages_come_begin_none_of_them_anew(window: Window, site: Site) -> None:
    page = window.page
    dropped: list[str] = []
    page.on("requestfailed", lambda one: dropped.append(one.url) if one.is_navigation_request() else None)
    page.goto(site.url + link("/unit", model="alpha", **QUERY))
    for number in range(60):
        page.keyboard.press("jk"[number // 2 % 2])
    page.wait_for_load_state()
    assert dropped == [] and window.said == []


def test_the_parts_of_an_exchange_come_when_they_are_opened(window: Window, site: Site) -> None:
    page = window.page
    page.goto(site.url + link("/unit", model="alpha", **QUERY))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/exchange" in request.url else None)
    part = page.locator("#exchange-1 details.part").nth(2)
    assert asked == []
    part.locator("summary").first.press("Enter")
    part.locator("text=the whole body as a file").wait_for()
    assert "<html>busy</html>" in part.inner_text() and len(asked) == 1
    part.locator("summary").first.press("Enter")
    part.locator("summary").first.press("Enter")
    assert len(asked) == 1, "it is asked for once"
    assert window.said == []


SEEN = [
    LOOKS[1],
    *(pytest.param(look, marks=pytest.mark.slow) for look in (LOOKS[2], Look(*ZOOMED, False))),
]


@pytest.mark.parametrize("window", SEEN, ids=str, indirect=True)
@pytest.mark.parametrize("path", ["/unit", "/case", "/exchange"])
def test_a_page_fits_is_quiet_and_can_be_used_by_everyone(window: Window, site: Site, path: str) -> None:
    page = window.page
    query: dict[str, Any] = {"id": 3, **QUERY} if path == "/exchange" else {"model": "alpha", **QUERY}
    page.goto(site.url + link(path, **query), wait_until="load")
    if path == "/unit":
        page.locator("#exchange-1 details.part summary").first.click()
        page.locator("#exchange-1 .part-body section").first.wait_for()
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= seen, "the page scrolls sideways"
    assert window.said == []
    if not AXE.is_file():
        pytest.skip("no axe-core in node_modules, and HARNESS_TEST_AXE names no axe.min.js")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        """axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map(
            (one) => [one.impact, one.id, one.nodes[0].html.slice(0, 200)]))"""
    )
    assert found == []
