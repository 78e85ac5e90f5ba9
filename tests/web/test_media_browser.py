"""Images, clips and differences in a real browser: looked at with keys alone, quiet, asking nobody else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from clip_examples import written_clip
from media_site import case_with, looking, noted, request_with, saved
from page_browser import DESK, Look, Opened, a_browser, axe
from playwright.sync_api import Browser, Page
from site_checks import PAGE_LOOKS
from starlette.applications import Starlette
from stored_run_builder import Plan, built_run
from web_site import Site, served

from harness.benchmarks.registry import get_benchmark
from harness.cache.rows import UnitId
from harness.media import probe
from harness.outcomes import UnitOutcome
from harness.web.application import application
from harness.web.guard import Access
from harness.web.media import case_files
from harness.web.viewing.differences import difference
from harness.web.viewing.library import Library

pytestmark = pytest.mark.slow

LOOKED_AT = [
    pytest.param(case, look, id=f"{case}-{look}") for case in ("images", "clip") for look in PAGE_LOOKS
]
DAYLIGHT = Look(*DESK, dark=False)
TEXT = "The marked area shows a dark spot in the upper right part of the liver. " * 12
OTHER = "The marked area shows a bright spot in the lower part of the liver, which is large. " * 9


@asynccontextmanager
async def made(folder: Path, access: Access) -> AsyncIterator[Starlette]:
    images = [saved(folder, f"{n}.png", (2_000 + n, 1_000)) for n in range(3)]
    clip = probe(
        written_clip(folder, "clip.webm", frames=30, size=(192, 128), container="webm", codec="libvpx-vp9")
    )
    cases = [
        case_with(*images, id="images", fields={"roi": "500,250,1000,500"}),
        case_with(clip, id="clip", role="clip"),
    ]
    shown = [[index, index / 10] for index in range(0, 30, 5)]
    entry = {"sha256": clip.sha256, "as": "images", "fps": None, "sampled_by": "harness", "frames": shown}
    parts = [(clip.sha256, f"frame:index={index}") for index, _ in shown]
    async with built_run(folder, Plan(cases, models=("alpha", "beta"))) as built:
        await noted(built, [*images, clip])
        unit = UnitId("alpha", "both", "clip", 1)
        id = await built.exchange(unit, "{}", request=request_with(*parts, clips=[entry]), media_sent={})
        await built.finish(unit, UnitOutcome.UNPARSABLE, [(id, "answer", 1)])
        library = Library(built.store)
        medlay = get_benchmark("medlay")
        texts = case_with(fields={"expert_caption": TEXT})
        texts = type(texts)(texts.id, texts.fields, {}, {"lay_caption": TEXT})
        found = difference(medlay, "A", texts, OTHER)
        yield application(
            [looking(library, {"images": found, "clip": found}), *case_files.routes(library)], access
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("media")
    with served(lambda access: made(folder, access), token=None) as one:
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@contextmanager
def looked_at(browser: Browser, site: Site, case: str, look: Look = DAYLIGHT, **how: Any) -> Iterator[Opened]:
    """Open the page of a case; at the end it has said nothing on its console and asked nobody else."""
    width, height = look.width, look.height
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if look.dark else "light", **how
    )
    try:
        page = context.new_page()
        page.set_default_timeout(30_000)
        found = Opened(page)
        page.on("console", lambda message: found.said.append(f"{message.text} {message.location['url']}"))
        page.on("pageerror", lambda error: found.said.append(error.message))
        page.on("request", lambda request: found.requests.append(request.url))
        page.goto(f"{site.url}/look?case={case}", wait_until="load")
        yield found
        # A picture in a tab of its own names no icon, and the browser looks for one.
        assert [one for one in found.said if not one.endswith("/favicon.ico")] == []
        assert [one for one in found.requests if not one.startswith(site.url)] == []
    finally:
        context.close()


def told(one: Opened, words: str) -> None:
    """Wait until the viewer says something."""
    one.until(f"document.querySelector('.viewer-told')?.textContent.includes({json.dumps(words)})")


def view(page: Page) -> dict[str, float]:
    """Return where the picture is drawn, in pixels of the window."""
    found: dict[str, float] = page.locator(".viewer-plane").bounding_box()  # type: ignore[assignment]
    return found


def test_keys_alone_open_a_picture_and_look_at_it(browser: Browser, site: Site) -> None:
    with looked_at(browser, site, "images") as one:
        page, keys = one.page, one.page.keyboard
        page.locator("a[data-medium]").nth(1).focus()
        keys.press("Enter")
        told(one, "image 2 of 3 (2 of 3)")
        fitted = view(page)
        assert fitted["width"] == pytest.approx(1_280, abs=1)
        keys.press("+")
        told(one, "zoom 80 %")  # the window shows 1,280 of 2,001 pixels: 64 %, and a quarter more
        assert view(page)["width"] == pytest.approx(1_600, abs=1)
        left = view(page)["x"]
        keys.press("ArrowRight")
        assert view(page)["x"] == pytest.approx(left - 80, abs=1)
        keys.press("0")
        told(one, "fits the window")
        assert view(page) == pytest.approx(fitted, abs=1)
        keys.press("i")
        told(one, "inverted")
        assert one.run("document.querySelector('.viewer-plane img').style.filter") == "invert(1)"
        keys.press("n")
        told(one, "image 3 of 3")
        keys.press("ArrowLeft")  # seen whole, the arrows go on
        told(one, "image 2 of 3")
        keys.press("1")
        told(one, "zoom 100 %")
        keys.press("Escape")
        assert one.run("document.querySelector('.viewer').open") is False
        one.until("document.activeElement.dataset.title === 'image 2 of 3'")


def test_the_box_lies_where_it_lies_in_the_image_at_every_zoom(browser: Browser, site: Site) -> None:
    with looked_at(browser, site, "images") as one:
        page = one.page
        page.locator("a[data-medium]").first.click()
        told(one, "image 1 of 3")
        for key in ("0", "+", "+", "ArrowDown", "-"):
            page.keyboard.press(key)
            whole, box = view(page), page.locator(".viewer-box rect").bounding_box()
            assert box is not None
            sides = (
                (box["x"] - whole["x"]) / whole["width"],
                (box["y"] - whole["y"]) / whole["height"],
                box["width"] / whole["width"],
                box["height"] / whole["height"],
            )
            assert sides == pytest.approx((0.25, 0.25, 0.25, 0.25), abs=0.01)
        page.keyboard.press("b")
        told(one, "box hidden")
        assert not page.locator(".viewer-box rect").is_visible()
        page.get_by_role("button", name="box: the region of interest").click()
        assert page.locator(".viewer-box rect").is_visible()


def test_small_pictures_come_first_and_the_whole_one_when_asked_for(browser: Browser, site: Site) -> None:
    with looked_at(browser, site, "images") as one:
        page = one.page
        page.wait_for_load_state("networkidle")
        assert {url.partition("as=")[2] for url in one.requests if "/media/" in url} == {"thumb"}
        page.locator("a[data-medium]").first.click()
        told(one, "image 1 of 3")
        assert one.run("document.querySelector('.viewer-plane img').naturalWidth") == 1_600
        page.keyboard.press("+")
        before = view(page)
        page.get_by_role("button", name="whole picture: load").click()
        told(one, "the whole picture")
        assert one.run("document.querySelector('.viewer-plane img').naturalWidth") == 2_000
        assert view(page) == pytest.approx(before, abs=1)


def test_a_mouse_moves_and_zooms_where_it_points(browser: Browser, site: Site) -> None:
    with looked_at(browser, site, "images") as one:
        page = one.page
        page.locator("a[data-medium]").first.click()
        told(one, "image 1 of 3")
        page.mouse.move(400, 400)
        at = (400 - view(page)["x"]) / view(page)["width"]
        page.keyboard.down("Control")
        page.mouse.wheel(0, -300)
        page.keyboard.up("Control")
        told(one, "zoom ")
        one.until("document.querySelector('.viewer-plane').getBoundingClientRect().width > 2000")
        assert (400 - view(page)["x"]) / view(page)["width"] == pytest.approx(at, abs=0.005)
        before = view(page)
        page.mouse.down()
        page.mouse.move(450, 430, steps=4)
        page.mouse.up()
        assert view(page)["x"] == pytest.approx(before["x"] + 50, abs=1)
        assert view(page)["y"] == pytest.approx(before["y"] + 30, abs=1)


def test_frames_of_a_clip_are_stepped_through_and_the_clip_plays(browser: Browser, site: Site) -> None:
    with looked_at(browser, site, "clip") as one:
        page = one.page
        one.until("document.querySelector('video').readyState >= 1")
        assert one.run("document.querySelector('video').duration") == pytest.approx(3.0, abs=0.2)
        one.run("document.querySelector('video').currentTime = 2.0")
        one.until("!document.querySelector('video').seeking")
        assert page.locator(".strip-title").inner_text() == "Frames shown to alpha"
        page.locator(".strip a").nth(2).focus()
        page.keyboard.press("Enter")
        told(one, "frame 10 at 1.00 s (3 of 6)")
        page.keyboard.press("n")
        told(one, "frame 15 at 1.50 s (4 of 6)")
        page.keyboard.press("p")
        page.keyboard.press("p")
        told(one, "frame 5 at 0.50 s (2 of 6)")
        page.get_by_role("button", name="close").click()
        # The browser gives the focus back to the first frame, and then the page to the one looked at last.
        one.until("document.activeElement.dataset.title === 'frame 5 at 0.50 s'")


@pytest.mark.parametrize("case", ["images", "clip"])
def test_without_scripts_pictures_are_links_and_the_box_is_drawn(
    browser: Browser, site: Site, case: str
) -> None:
    with looked_at(browser, site, case, java_script_enabled=False) as one:
        page = one.page
        if case == "images":
            assert page.locator(".medium-picture svg rect").first.is_visible()
        page.locator("a[data-medium]").first.click()
        page.wait_for_url("**/media/file**")
        assert ("as=marked" if case == "images" else "as=screen") in page.url
        assert page.locator("img").count() == 1


def test_a_file_opened_by_itself_is_shown_by_the_browser(browser: Browser, site: Site) -> None:
    with looked_at(browser, site, "clip") as one:
        with one.page.expect_popup() as popup:
            one.page.locator(".medium-links a").click()
        # Its policy lets no script poll within the page: it is asked from here.
        for _ in range(300):
            if popup.value.evaluate("document.querySelector('video')?.readyState") == 4:
                break
            popup.value.wait_for_timeout(100)
        assert popup.value.evaluate("document.querySelector('video').duration") == pytest.approx(3.0, abs=0.2)


@pytest.mark.parametrize(("case", "look"), LOOKED_AT)
def test_pages_and_viewer_fit_their_window_and_axe_finds_nothing(
    browser: Browser, site: Site, case: str, look: Look
) -> None:
    with looked_at(browser, site, case, look) as one:
        page = one.page
        assert one.run("document.documentElement.scrollWidth") <= look.width
        serious = [found for found in axe(one)["broken"] if found[0] in ("serious", "critical")]
        assert serious == []
        page.locator("a[data-medium]").first.click()
        told(one, "1 of ")
        assert one.run("document.querySelector('.viewer').scrollWidth") <= look.width
        small = one.run(
            """[...document.querySelectorAll(".viewer button")].filter((one) => one.checkVisibility())
                .map((one) => one.getBoundingClientRect())
                .filter((box) => box.width < 24 || box.height < 24).length"""
        )
        assert small == 0
        serious = [found for found in axe(one)["broken"] if found[0] in ("serious", "critical")]
        assert serious == []


def test_a_file_that_is_gone_says_so_in_the_viewer(browser: Browser, site: Site) -> None:
    with looked_at(browser, site, "images") as one:
        page = one.page
        page.route("**/media/file**as=screen", lambda route: route.fulfill(status=404, body="no"))
        page.locator("a[data-medium]").first.click()
        told(one, "image 1 of 3 could not be loaded")
        page.keyboard.press("+")
        page.keyboard.press("Escape")
        one.said.clear()  # the browser itself tells of the 404
