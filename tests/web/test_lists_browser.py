"""Lists of units in a browser: by keyboard alone, each state with its link, without scripts, and for axe."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bulk_run import bulk_plan, fill
from page_browser import AXE, CHROMIUM, DESK, PHONE
from playwright.sync_api import Page, expect, sync_playwright
from site_checks import ZOOMED
from stored_run_builder import built_run
from web_site import Site, view_site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("lists")

    async def make() -> None:
        async with built_run(folder, bulk_plan(110, synthetic=True), name="night") as built:
            await fill(built)
            await built.store.end_session(built.session, 3)

    with ThreadPoolExecutor() as elsewhere:  # Playwright has a loop in this thread
        elsewhere.submit(asyncio.run, make()).result()
    with view_site(folder / "store.sqlite3") as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(chromium: object, site: Site, *, scripts: bool = True, size: tuple[int, int] = DESK) -> Page:
    context = chromium.new_context(  # type: ignore[attr-defined]
        viewport={"width": size[0], "height": size[1]}, java_script_enabled=scripts
    )
    page: Page = context.new_page()
    page.set_default_timeout(20_000)
    page.goto(site.link("/units?run=night"))
    page.goto(f"{site.url}/units?run=night")
    expect(page.locator("#units")).to_be_visible()
    return page


def at(page: Page) -> str:
    return page.evaluate("document.activeElement.textContent.trim()")  # type: ignore[no-any-return]


def test_rows_pages_search_and_filters_by_keyboard_alone(chromium: object, site: Site) -> None:
    page = opened(chromium, site)
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert at(page) == "case-000001"
    page.keyboard.press("k")
    assert at(page) == "case-000000"
    page.keyboard.press("n")
    expect(page.get_by_text("page 2 of 9")).to_be_visible()
    assert page.url.endswith("/units?run=night&page=2")
    page.keyboard.press("p")
    expect(page.get_by_text("page 1 of 9")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("case-00010")
    expect(page.locator(".count strong").first).to_have_text("40")
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.url.endswith("text=case-00010")
    page.keyboard.press("Escape")
    assert page.evaluate("[document.activeElement.tagName, document.querySelector('#text').value]") == [
        "BODY",
        "case-00010",
    ]
    page.keyboard.press("/")
    page.keyboard.type("case-00010")
    for key in ("Enter", "j", "j", "k"):  # faster than the list comes: nothing of it is typed or lost
        page.keyboard.press(key)
    expect(page.locator("[data-key-item]:focus")).to_have_text("case-000101")
    expect(page.locator(".count strong").first).to_have_text("40")
    assert page.locator("#text").input_value() == "case-00010"
    page.locator(".choice", has_text="beta").press("Enter")
    expect(page.locator(".count strong").first).to_have_text("10")
    assert "model=beta" in page.url and "text=case-00010" in page.url
    # What is typed next keeps what was chosen.
    page.locator("#text").fill("case-000101")
    expect(page.locator(".count strong").first).to_have_text("1")
    assert "model=beta" in page.url
    page.go_back()
    expect(page.locator(".count strong").first).to_have_text("10")
    page.reload()
    expect(page.locator(".count strong").first).to_have_text("10")
    assert page.locator("#text").input_value() == "case-00010"


def test_without_scripts_links_and_the_form_do_the_same(chromium: object, site: Site) -> None:
    page = opened(chromium, site, scripts=False)
    page.locator(".choice", has_text="unparsable").click()
    expect(page.locator(".count strong").first).to_have_text("4")
    page.locator("#text").fill("Patient")
    page.locator("form button").click()
    expect(page.locator(".count strong").first).to_have_text("4")
    assert page.url == f"{site.url}/units?run=night&outcome=unparsable&text=Patient"
    page.get_by_role("link", name="latest first").click()
    assert "sort=latest" in page.url


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core")
@pytest.mark.parametrize("size", [PHONE, ZOOMED, DESK])
@pytest.mark.parametrize("path", ["/", "/run?run=night", "/units?run=night&model=beta&text=patient"])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    chromium: object, site: Site, path: str, size: tuple[int, int]
) -> None:
    page = opened(chromium, site, size=size)
    page.goto(site.url + path)
    page.wait_for_load_state("networkidle")
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(found => found.violations.map(one => [one.id, one.nodes[0].html]))")
    assert not found
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    if size[0] <= 640:
        stacked = "[...document.querySelectorAll('.scroll:has(.stacked)')]"
        beyond = f"{stacked}.filter((one) => one.scrollWidth > one.clientWidth).length"
        assert page.evaluate(beyond) == 0, "no column lies beyond the edge"


def test_on_a_phone_all_that_is_known_of_a_unit_is_seen_at_once_and_no_key_is_hinted_at(
    chromium: object, site: Site
) -> None:
    context = chromium.new_context(  # type: ignore[attr-defined]
        viewport={"width": PHONE[0], "height": PHONE[1]}, has_touch=True, is_mobile=True
    )
    page: Page = context.new_page()
    page.goto(site.link("/units?run=night&outcome=valid"))
    page.goto(f"{site.url}/units?run=night&outcome=valid")
    row = page.get_by_role("row").nth(1)
    expect(row.get_by_role("rowheader")).to_be_visible()
    cells = row.get_by_role("cell").all()
    assert len(cells) >= 4
    for cell in cells:
        box = cell.bounding_box()
        assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0])
    expect(row.locator(".beginning")).to_contain_text(re.compile("missing|exactly the reference"))
    for hint in (".keys", "[data-keys-help]", ".pages kbd"):
        expect(page.locator(hint).first).to_be_hidden()
    context.close()
