"""Pages opened in the system's Chromium, and examined by axe-core.

Chromium is the one that HARNESS_TEST_CHROMIUM names, else `chromium` in PATH (Debian's package); axe-core is
the file `axe.min.js` that HARNESS_TEST_AXE names, else that in `node_modules` of the checkout (`axe-core`,
MPL-2.0). What needs one that is not there is skipped. Playwright speaks to Chromium through pipes: no test
opens a connection. The variables are read here: tests have an environment without them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, expect, sync_playwright

CHROMIUM = os.environ.get("HARNESS_TEST_CHROMIUM") or shutil.which("chromium")
_IN_CHECKOUT = Path(__file__).resolve().parent.parent / "node_modules" / "axe-core" / "axe.min.js"
AXE = Path(os.environ.get("HARNESS_TEST_AXE") or _IN_CHECKOUT)

# Its own 5 seconds are short where two cores run three tests and their browsers.
expect.set_options(timeout=20_000)

_UNTIL = """() => new Promise((done, failed) => {
    const holds = () => (%s);
    const longest = performance.now() + 30000;
    const look = () => {
        if (holds()) done();
        else if (performance.now() > longest) failed(new Error(`still not true: ${holds}`));
        else setTimeout(look, 10);
    };
    look();
})"""

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True, slots=True)
class Look:
    """What a page is opened with: the size of the window in pixels, and the colours that are wished."""

    width: int
    height: int
    dark: bool

    def __str__(self) -> str:
        return f"{self.width}-{'dark' if self.dark else 'light'}"


PHONE, DESK = (375, 812), (1280, 900)
LOOKS = tuple(Look(width, height, dark) for width, height in (PHONE, DESK) for dark in (False, True))


@dataclass(slots=True)
class Opened:
    """An open page, with everything that it said, asked for or popped up since."""

    page: Page
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression within the page."""
        return self.page.evaluate(script)

    def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true within the page; 30 s at most.

        Playwright's `wait_for_function` evaluates its text anew for each look, which a page whose content
        security policy forbids `eval` allows for the first look only.
        """
        self.page.evaluate(_UNTIL % condition)


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Give a headless Chromium; skips where none is at hand."""
    if CHROMIUM is None:
        pytest.skip("no chromium in PATH, and HARNESS_TEST_CHROMIUM names none")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), timeout=60_000)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, look: Look) -> Iterator[Opened]:
    """Open a file as a page of its own, offline."""
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height},
        color_scheme="dark" if look.dark else "light",
        offline=True,
    )
    try:
        found = listened(context.new_page())
        found.page.goto(path.as_uri(), wait_until="load")
        yield found
    finally:
        context.close()


def listened(page: Page) -> Opened:
    """Return an empty page of which everything is noted from now on."""
    page.set_default_timeout(30_000)
    found = Opened(page)
    page.on("console", lambda message: found.said.append(_words(message)))
    page.on("pageerror", lambda error: found.said.append(_error(error)))
    page.on("dialog", lambda dialog: found.said.append(_closed(dialog)))
    page.on("request", lambda request: found.requests.append(request.url))
    return found


def _words(message: ConsoleMessage) -> str:
    return f"console {message.type}: {message.text}"


def _error(error: Error) -> str:
    return f"error: {error.message}"


def _closed(dialog: Dialog) -> str:
    dialog.dismiss()
    return f"dialog: {dialog.message}"


def axe(opened: Opened, *further: str) -> Any:
    """Return what axe-core finds in a page: `passed`, rules; `broken`, each as impact, rule, an element.

    `further` names rules that it does not try by itself. Skips where axe-core is not at hand.
    """
    if not AXE.is_file():
        pytest.skip("no axe-core in node_modules, and HARNESS_TEST_AXE names no axe.min.js")
    opened.page.evaluate(AXE.read_text(encoding="utf-8"))
    return opened.page.evaluate(
        """(further) => axe.run(document, {resultTypes: ["violations"],
            rules: Object.fromEntries(further.map((one) => [one, {enabled: true}]))}).then((found) => ({
            passed: found.passes.map((one) => one.id),
            broken: found.violations.map((one) =>
                [one.impact, one.id, one.nodes[0].html.slice(0, 200)])}))""",
        list(further),
    )
