"""What every page of `harness view` and `harness grade` must be, looked at in a real browser.

    @pytest.mark.parametrize("look", PAGE_LOOKS, ids=str)
    def test_the_page_is_sound(browser, site, look):
        with visiting(browser, site, look) as one:              # has the cookie of `view`
            one.page.goto(site.url + "/unit?...")
            assert wrong_with(one, site, look) == []

`wrong_with` says what is wrong, each thing in a sentence: the page scrolls sideways, the console was written
to (so does the browser where the policy refuses a style or a script), a request went elsewhere, axe-core
finds something (its rule for small targets included), an element holds script. With
HARNESS_TEST_SCREENSHOTS=DIR each page that is checked is kept there as PNG, for people to look at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from page_browser import AXE, DESK, PHONE, Look, Opened, axe, listened
from playwright.sync_api import Browser
from web_site import Site

ZOOMED = (640, 450)
"""A desk's window at 200 %: 1280 by 900 pixels are 640 by 450 of CSS."""
PAGE_LOOKS = (
    *(Look(width, height, dark) for width, height in (PHONE, DESK) for dark in (False, True)),
    Look(*ZOOMED, False),
)
_KEPT_IN = os.environ.get("HARNESS_TEST_SCREENSHOTS")

_INLINE = """[...document.querySelectorAll("*")].filter((one) => one.localName === "script" && !one.src
    || one.getAttributeNames().some((name) => name.startsWith("on") || name.startsWith("hx-on")))
    .map((one) => one.outerHTML.slice(0, 120))"""


@contextmanager
def visiting(browser: Browser, site: Site, look: Look, *, script: bool = True) -> Iterator[Opened]:
    """Give a page that has opened the site's link; `script=False`: without JavaScript."""
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme="dark" if look.dark else "light",
        java_script_enabled=script,
    )
    try:
        opened = listened(context.new_page())
        if site.token is not None:
            opened.page.goto(site.link(), wait_until="load")
        yield opened
    finally:
        context.close()


def wrong_with(opened: Opened, site: Site, look: Look, *, allowed: tuple[str, ...] = ()) -> list[str]:
    """Return what is wrong with the open page; `allowed` names rules of axe-core that it may break."""
    _keep(opened, look)
    width = opened.run("document.documentElement.scrollWidth")
    found = [f"it is {width} px wide in {look.width} px"] if width > look.width else []
    found += [f"it said: {words}" for words in opened.said]
    found += [f"it asked for {url}" for url in opened.requests if not url.startswith(f"{site.url}/")]
    found += [f"script in the page: {element}" for element in opened.run(_INLINE)]
    if AXE.is_file():
        broken = axe(opened, "target-size")["broken"]
        found += [f"axe: {impact} {rule}: {html}" for impact, rule, html in broken if rule not in allowed]
    return found


def _keep(opened: Opened, look: Look) -> None:
    if _KEPT_IN is None:
        return
    address = urlsplit(opened.page.url)
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{address.path}-{address.query}").strip("-")[:80] or "root"
    opened.page.screenshot(path=Path(_KEPT_IN) / f"{name}-{look}.png", full_page=True)
