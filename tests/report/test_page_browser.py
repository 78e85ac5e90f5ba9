"""The page of a report in a real browser: quiet, readable on a phone and on paper, usable without a mouse."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from page_browser import AXE, DESK, LOOKS, PHONE, Look, Opened, a_browser, axe, opened
from playwright.sync_api import Browser
from report.page_parsing import wide_report
from report.report_examples import REPORTS, figures_of

from harness.report.figures import drawn
from harness.report.html import page

pytestmark = pytest.mark.slow

PAGES = {**REPORTS, "wide": wide_report}
UPRIGHT_PX, ACROSS_PX = 680, 1009
"""What A4 takes between its margins, at 96 pixels an inch."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Each page as a file, in a folder of its own."""
    found = {}
    for name, make in PAGES.items():
        report = make()
        drawings = {figure.id: drawn(figure).svg("report") for figure in figures_of(report)}
        found[name] = tmp_path_factory.mktemp("page") / "index.html"
        found[name].write_bytes(page(report, drawings).encode())
    return found


@dataclass(frozen=True, slots=True)
class Seen:
    """What one page was like with one look."""

    path: Path
    look: Look
    said: list[str]
    requests: list[str]
    width: int
    facts: Mapping[str, Any]
    axe: Any


SEEN = [pytest.param((name, look), id=f"{name}-{look}") for name in PAGES for look in LOOKS]


@pytest.fixture(scope="module", params=SEEN)
def seen(request: pytest.FixtureRequest, browser: Browser, written: Mapping[str, Path]) -> Seen:
    """A page opened once with one look, and everything that its tests ask."""
    name, look = request.param
    with opened(browser, written[name], look) as one:
        width = one.run("document.documentElement.scrollWidth")
        facts = one.run(
            """({title: document.title, scripts: document.scripts.length,
                lightness: getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
                    .reduce((sum, one) => sum + Number(one), 0) / 765,
                names: [...document.querySelectorAll(".drawing svg text")]
                    .filter((one) => one.getAttribute("style").includes("--fig-ink"))
                    .map((one) => getComputedStyle(one).fill.match(/\\d+/g)
                        .reduce((sum, one) => sum + Number(one), 0) / 765),
                twice: document.querySelectorAll("[id]").length
                    - new Set([...document.querySelectorAll("[id]")].map((one) => one.id)).size,
                alive: [...document.querySelectorAll("*")].filter((one) =>
                    one.getAttributeNames().some((name) => name.startsWith("on"))).length,
                places: [...document.querySelectorAll("[href], [src]")].map((one) =>
                    one.getAttribute("href") ?? one.getAttribute("src"))})"""
        )
        found = axe(one) if AXE.is_file() else None
        return Seen(written[name], look, one.said, one.requests, width, facts, found)


def test_the_page_says_nothing_and_asks_nobody(seen: Seen) -> None:
    assert seen.said == []
    # The browser "asks" for the icon that stands in the page as data, and for nothing beyond the file.
    assert [url for url in seen.requests if url != "data:,"] == [seen.path.as_uri()]


def test_the_page_never_scrolls_sideways(seen: Seen) -> None:
    assert seen.width <= seen.look.width


def test_no_width_between_phone_and_desk_scrolls_sideways(
    browser: Browser, written: Mapping[str, Path]
) -> None:
    with opened(browser, written["wide"], Look(320, 800, False)) as one:
        for width in (320, 414, 600, 640, 768, 1024, 1119, 1120, 1920):
            one.page.set_viewport_size({"width": width, "height": 800})
            assert one.run("document.documentElement.scrollWidth") <= width


def test_the_page_follows_the_wish_for_dark_or_light(seen: Seen) -> None:
    lightness = seen.facts["lightness"]
    assert lightness < 0.2 if seen.look.dark else lightness > 0.95
    names = seen.facts["names"]
    assert all(one > 0.7 if seen.look.dark else one < 0.5 for one in names)
    assert names or "wide" in seen.path.read_text(encoding="utf-8")


def test_nothing_in_the_page_is_code_or_leads_elsewhere(seen: Seen) -> None:
    assert seen.facts["scripts"] == seen.facts["alive"] == seen.facts["twice"] == 0
    assert seen.facts["title"] != "owned"
    places = [place for place in seen.facts["places"] if not place.startswith(("#", "tables/", "figures/"))]
    assert places == ["data:,"]


def test_axe_finds_nothing_that_matters(seen: Seen) -> None:
    if seen.axe is None:
        pytest.skip("no axe-core in node_modules, and HARNESS_TEST_AXE names no axe.min.js")
    assert seen.axe["broken"] == []
    wanted = {"color-contrast", "heading-order", "scrollable-region-focusable", "td-headers-attr"}
    assert wanted <= set(seen.axe["passed"])


def test_axe_sees_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(
        "<title>x</title><p style='color: #aaa; background: #fff'>pale</p><img>", encoding="utf-8"
    )
    with opened(browser, path, LOOKS[0]) as one:
        found = {rule for _, rule, _ in axe(one)["broken"]}
    assert {"color-contrast", "image-alt", "html-has-lang"} <= found


def test_names_of_rows_stay_in_view_while_a_table_scrolls(
    browser: Browser, written: Mapping[str, Path]
) -> None:
    with opened(browser, written["wide"], Look(*PHONE, False)) as one:
        moved, before, after, name, value = one.run(
            """(() => { const region = document.querySelector("#wide .scroll");
                const [name, value] = region.querySelectorAll("tbody tr > *");
                const before = value.getBoundingClientRect().left;
                region.scrollLeft = 500;
                return [region.scrollLeft, before, value.getBoundingClientRect().left,
                    name.getBoundingClientRect().left - region.getBoundingClientRect().left,
                    region.clientWidth - name.offsetWidth]; })()"""
        )
    assert moved == 500
    assert after == before - 500
    assert name == 0
    assert value > 180  # what is left of the phone for numbers


def test_heads_of_a_tall_table_stay_in_view_on_a_desk(browser: Browser, written: Mapping[str, Path]) -> None:
    with opened(browser, written["rich"], Look(*DESK, False)) as one:
        moved, head = one.run(
            """(() => { const region = document.querySelector("#triage-both-leaderboard .scroll");
                region.scrollTop = 600;
                return [region.scrollTop, region.querySelector("thead th").getBoundingClientRect().top
                    - region.getBoundingClientRect().top]; })()"""
        )
    assert (moved, head) == (600, 0)


def test_the_keyboard_skips_to_the_report_and_into_tables(
    browser: Browser, written: Mapping[str, Path]
) -> None:
    with opened(browser, written["rich"], Look(*DESK, False)) as one:
        one.page.keyboard.press("Tab")
        assert one.run("document.activeElement.className") == "skip"
        assert one.run("document.activeElement.getBoundingClientRect().top") >= 0
        one.page.keyboard.press("Enter")
        assert one.run("document.activeElement.id") == "page-main"
        one.page.keyboard.press("Tab")
        assert one.run("document.activeElement.getAttribute('aria-label')") == "Table 1"
        assert one.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_mark_leads_to_its_note_and_the_note_back(browser: Browser, written: Mapping[str, Path]) -> None:
    with opened(browser, written["rich"], Look(*PHONE, False)) as one:
        one.page.click("#triage-both-leaderboard tr.marked sup a")
        assert "more than 1 in 20" in one.run("document.querySelector(':target').textContent")
        one.page.click(":target a")
        assert one.run("document.querySelector(':target').closest('tr').className") == "marked"


def test_a_long_text_is_collapsed_and_opens_whole(browser: Browser, written: Mapping[str, Path]) -> None:
    with opened(browser, written["hostile"], Look(*PHONE, False)) as one:
        path = "#hostile-table tbody tr:last-child td:nth-child(2)"
        assert one.run(f"document.querySelector({path!r}).offsetHeight") < 400
        one.page.click(f"{path} summary")
        assert one.run(f"document.querySelector({path!r} + ' .whole').textContent.length") == 200_000
        assert 100 < one.run(f"document.querySelector({path!r} + ' .whole').offsetHeight") < 400
        assert one.run("document.documentElement.scrollWidth") == PHONE[0]


def test_marks_of_direction_turn_nothing_around(browser: Browser, written: Mapping[str, Path]) -> None:
    with opened(browser, written["hostile"], Look(*DESK, False)) as one:
        left, right = one.run(
            """(() => { const cell = [...document.querySelectorAll("#hostile-table td:nth-child(2)")]
                    .find((one) => one.textContent.startsWith("never closed"));
                const text = cell.querySelector("bdi").lastChild, range = document.createRange();
                const at = (start, end) => { range.setStart(text, start); range.setEnd(text, end);
                    return range.getBoundingClientRect().left; };
                return [at(1, 2), at(7, 8)]; })()"""  # the t and the last e of " txt.exe"
        )
    assert left < right


@pytest.mark.parametrize("name", PAGES)
def test_every_table_fits_its_paper(browser: Browser, written: Mapping[str, Path], name: str) -> None:
    with opened(browser, written[name], Look(UPRIGHT_PX, 900, False)) as one:
        one.page.emulate_media(media="print")
        upright = _tables(one, ".upright")
        one.page.set_viewport_size({"width": ACROSS_PX, "height": 900})
        across = _tables(one, ".across, .split")
    assert [found for found in upright if found[1] > UPRIGHT_PX] == []
    assert [found for found in across if found[1] > ACROSS_PX] == []
    assert upright
    assert across or name == "hostile"


def _tables(one: Opened, kinds: str) -> Any:
    """Return the printed tables of these kinds, each as id and width in pixels."""
    return one.run(
        f"""[...document.querySelectorAll({kinds!r})].flatMap((one) =>
            [...one.querySelectorAll("table")].filter((table) => table.offsetWidth)
            .map((table) => [one.id, table.offsetWidth]))"""
    )


def test_paper_is_white_and_holds_what_screens_collapse(
    browser: Browser, written: Mapping[str, Path]
) -> None:
    with opened(browser, written["wide"], Look(*DESK, True)) as one:
        assert _shown(one, ".skip, .files, .narrow") > 0
        assert not one.run("document.querySelector('#wide-text .whole').checkVisibility()")
        one.page.emulate_media(media="print")
        assert one.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert one.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert _shown(one, ".skip, .files, .narrow, .unsplit") == 0
        assert _shown(one, ".broad, .banner, .piece") > 3
        assert one.run("document.querySelector('#wide-text .whole').checkVisibility()")


def _shown(one: Opened, selector: str) -> int:
    return int(
        one.run(f"[...document.querySelectorAll({selector!r})].filter((one) => one.offsetWidth).length")
    )


@pytest.mark.parametrize(("name", "least", "tables"), [("wide", 5, 4), ("rich", 10, 4)])
def test_every_printed_page_is_headed_by_the_warning(
    browser: Browser, written: Mapping[str, Path], tmp_path: Path, name: str, least: int, tables: int
) -> None:
    reader = shutil.which("pdftotext")
    with opened(browser, written[name], Look(*DESK, True)) as one:
        printed = one.page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    if reader is None:
        pytest.skip("no pdftotext in PATH to read the printed pages")
    done = subprocess.run([reader, "-layout", "page.pdf", "-"], capture_output=True, check=True, timeout=60)
    sheets = done.stdout.decode().split("\f")[:-1]
    assert len(sheets) >= least
    warning = PAGES[name]().warnings[0]
    assert [at for at, sheet in enumerate(sheets) if not sheet.lstrip().startswith(warning)] == []
    words = list(chain.from_iterable(sheet.split() for sheet in sheets))
    assert words.count("sim/steady") >= tables  # in every table, none is cut off
