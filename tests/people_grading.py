"""People who grade in a real browser, by keyboard alone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from page_browser import DESK, Opened, listened
from playwright.sync_api import Browser
from radm_night import TIERS
from sweep_kit import finish, spawn

Judge = Callable[[str], int]
"""The text of a diagnosis -> the tier that somebody gives it."""

_AT_HAND = """(() => { const at = document.activeElement.closest("fieldset")
        || document.querySelector("fieldset:not(:has(:checked))");
    return at && at.querySelector(".subject").textContent; })()"""
_ANSWERED = "document.querySelectorAll('form.sheet input:checked').length"
_ASKED = "document.querySelectorAll('form.sheet fieldset').length"


@contextmanager
def served_by_the_command(
    folder: Path, seats: Sequence[str], *more: str | Path, end: int = signal.SIGINT
) -> Iterator[Mapping[str, str]]:
    """Serve a grading by the real command until the end of the block; give its first links: seat -> address.

    It must end well by the signal `end`.
    """
    process = spawn("grade", *more, "--store", folder / "store.sqlite3", cwd=folder)
    try:
        assert process.stdout is not None
        links = dict(process.stdout.readline().split() for _ in seats)  # seat, its address
        assert list(links) == list(seats)
        yield links
        process.send_signal(end)
        done = finish(process)
        assert done.code == 0, done.err
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def deserved(text: str) -> int:
    """Return the tier that a diagnosis of `radm_night` says it deserves."""
    return next(tier for tier, word in enumerate(TIERS) if text.strip().startswith(word))


def strict(text: str) -> int:
    """Return the tier of somebody who is harder on the last diagnosis of odd cases."""
    tier = deserved(text)
    return max(tier - 1, 0) if "kind 4" in text and int(text.split("disease ")[1].split()[0]) % 2 else tier


@dataclass
class Person:
    """Somebody before a page of a grading."""

    opened: Opened
    link: str
    judge: Judge

    def begin(self) -> None:
        """Open the personal link and go to the first open sheet."""
        self.opened.page.goto(self.link)
        self.press("g")
        self.opened.page.wait_for_url("**/sheet/*")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.opened.page.keyboard.press(key)

    def answer(self, count: int | None = None) -> None:
        """Answer the questions that are open, or so many of them."""
        left = self.opened.run(_ASKED) - self.opened.run(_ANSWERED) if count is None else count
        for _ in range(left):
            text = self.opened.run(_AT_HAND)
            assert isinstance(text, str), "no question has the focus"
            self.press(str(self.judge(text)))

    def go_on(self) -> None:
        """Press Enter, which leads to the next open sheet, or to the overview, once all is saved."""
        here = self.opened.page.url
        self.press("Enter")
        self.opened.page.wait_for_url(lambda url: url not in {here, f"{here}#"})

    def all_open(self) -> int:
        """Grade until no sheet is open; return how many there were."""
        count = 0
        while "/sheet/" in self.opened.page.url:
            self.answer()
            self.go_on()
            count += 1
        return count


@contextmanager
def at_the_desk(
    browser: Browser, link: str, judge: Judge = deserved, *, size: tuple[int, int] = DESK, script: bool = True
) -> Iterator[Person]:
    """Give somebody with a browser window of their own."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, java_script_enabled=script, locale="en-GB"
    )
    try:
        yield Person(listened(context.new_page()), link, judge)
    finally:
        context.close()
