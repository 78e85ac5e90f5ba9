"""The frame of all pages in a real browser: sound in every look, and by keyboard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from page_browser import DESK, Look, Opened, a_browser
from playwright.sync_api import Browser
from site_checks import PAGE_LOOKS, visiting, wrong_with
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from web_site import Site, served

from harness.web.application import application
from harness.web.guard import Access
from harness.web.pages import environment

DESIGN = (Path(__file__).parent / "design.html").read_text(encoding="utf-8")


PRESSED: list[str] = []
"""Methods by which /press was asked, once the guard had let it through."""


def _routes() -> list[Route]:
    async def design(request: Request) -> Response:
        return HTMLResponse(environment().from_string(DESIGN).render())

    async def press(request: Request) -> Response:
        PRESSED.append(request.method)
        return PlainTextResponse(f"{request.method} {request.url.query}")

    async def broken(request: Request) -> Response:
        raise RuntimeError("the complaint of a patient")

    async def part(request: Request) -> Response:
        return HTMLResponse("<b>part</b> <script>document.title = 'owned'</script>")

    return [
        Route("/part", part),
        Route("/", design),
        Route("/press", press, methods=["GET", "POST"]),
        Route("/broken", broken),
    ]


@asynccontextmanager
async def _made(access: Access) -> AsyncIterator[Starlette]:
    yield application(_routes(), access)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served(_made) as one:
        yield one


QUICK = {"375-dark", "1280-light"}
SEEN = [
    pytest.param(look, id=str(look), marks=[] if str(look) in QUICK else pytest.mark.slow)
    for look in PAGE_LOOKS
]


@pytest.mark.parametrize("look", SEEN)
def test_the_design_is_sound(browser: Browser, site: Site, look: Look) -> None:
    with visiting(browser, site, look) as one:
        assert one.page.title() == "all of the design"
        assert wrong_with(one, site, look) == []


DESIGN_LOOK = Look(*DESK, False)


@pytest.fixture
def one(browser: Browser, site: Site) -> Iterator[Opened]:
    """The page of the design, just opened."""
    with visiting(browser, site, DESIGN_LOOK) as opened:
        yield opened


def test_single_keys_press_what_is_marked(one: Opened, site: Site) -> None:
    one.page.keyboard.press("n")
    one.page.wait_for_url("**/press?next")
    one.page.goto(site.url)
    one.page.keyboard.press("ArrowRight")
    one.page.wait_for_url("**/press?next")


def test_keys_with_modifiers_and_keys_while_typing_do_nothing(one: Opened, site: Site) -> None:
    for modifier in ("Control", "Alt", "Meta"):
        one.page.keyboard.press(f"{modifier}+u")
    one.page.keyboard.press("/")
    assert one.run("document.activeElement.name") == "text"
    one.page.keyboard.type("nujk?/")
    assert one.run("document.activeElement.value") == "nujk?/"
    one.page.focus("select")
    one.page.keyboard.press("n")
    assert one.run("document.querySelectorAll('dialog').length") == 0
    assert one.page.url == site.url + "/"


def test_j_and_k_go_through_a_list_and_enter_opens(one: Opened) -> None:
    focused = "document.activeElement.textContent"
    for key, case in (("j", "c000"), ("j", "c001"), ("j", "c002"), ("j", "c002"), ("k", "c001")):
        one.page.keyboard.press(key)
        assert one.run(focused) == case
    one.page.keyboard.press("Enter")
    one.page.wait_for_url("**/press?c1")


def test_a_question_mark_lists_the_keys_and_they_can_be_turned_off(one: Opened, site: Site) -> None:
    assert one.run("document.querySelector('[data-keys-help]').checkVisibility()")
    one.page.keyboard.press("?")
    words = one.page.inner_text("dialog")
    for told in ("search the answers", "next in the list", "up", "read it again", "this list"):
        assert told in words
    assert wrong_with(one, site, DESIGN_LOOK) == []
    one.page.keyboard.press("n")  # does nothing behind a dialog
    one.page.uncheck("dialog input")
    one.page.keyboard.press("Escape")
    one.page.wait_for_selector("dialog", state="detached")
    one.page.keyboard.press("n")
    one.page.reload()
    one.page.keyboard.press("n")
    assert one.page.url == site.url + "/"
    one.page.click("[data-keys-help]")
    one.page.check("dialog input")
    one.page.keyboard.press("?")
    one.page.wait_for_selector("dialog", state="detached")
    one.page.keyboard.press("n")
    one.page.wait_for_url("**/press?next")


def test_screen_readers_are_told_of_keys(one: Opened) -> None:
    assert one.run("document.querySelector('.pages a').getAttribute('aria-keyshortcuts')") == "p ArrowLeft"


def test_a_form_is_taken_without_javascript_and_with_it(browser: Browser, site: Site) -> None:
    """A policy of no-referrer would have it sent with `Origin: null`."""
    for script in (True, False):
        with visiting(browser, site, DESIGN_LOOK, script=script) as one:
            one.page.click("text=Send it")
            one.page.wait_for_url("**/press")
            assert one.page.inner_text("body") == "POST "


def test_parts_are_put_into_the_page_and_their_scripts_are_not_run(one: Opened) -> None:
    one.page.keyboard.press("r")
    one.page.wait_for_selector("#told b")
    assert one.page.title() == "all of the design"
    assert one.said == []


def test_what_is_refused_or_lost_is_said_in_the_page(one: Opened) -> None:
    one.page.click("text=Break it")
    one.page.wait_for_selector(".trouble:visible")
    assert "refused this (500). This page is not up to date." in one.page.inner_text(".trouble")
    one.page.click("text=Again")
    one.page.wait_for_selector(".trouble", state="hidden")
    one.page.context.set_offline(True)
    one.page.click("text=Again")
    one.page.wait_for_selector(".trouble:visible")
    assert "does not answer" in one.page.inner_text(".trouble")
    one.page.context.set_offline(False)
    one.page.context.clear_cookies()
    one.page.click("text=Again")
    one.page.wait_for_selector(".trouble:has-text('earlier start')")


def test_inline_script_and_style_are_dead(one: Opened) -> None:
    one.run("""document.getElementById("told").innerHTML =
        '<img src="x" onerror="document.title=1"><a id="bad" href="javascript:document.title=2">x</a>'""")
    one.page.click("#bad")
    one.run("new Promise((done) => setTimeout(done))")
    assert one.page.title() == "all of the design"
    assert any("Content Security Policy" in words for words in one.said)


@pytest.fixture(scope="module")
def elsewhere(site: Site) -> Iterator[Site]:
    """Another site, by another name of this machine, that knows the link."""

    async def mail(request: Request) -> Response:
        return HTMLResponse(
            f"<!doctype html><title>mail</title><a id=link href='{site.link('/press?a=1')}'>open</a>"
            f"<a id=bare href='{site.url}/press?a=1'>open</a><img src='{site.link('/press')}'>"
            f"<form method=post action='{site.link('/press')}'><button>send</button></form>"
            f"<iframe src='{site.link('/press')}'></iframe>",
            headers={"content-security-policy": "default-src *", "cross-origin-opener-policy": "unsafe-none"},
        )

    @asynccontextmanager
    async def made(access: Access) -> AsyncIterator[Starlette]:
        yield application([Route("/", mail)], access)

    with served(made, token=None) as other:
        yield Site(other.url.replace("127.0.0.1", "localhost"), None, other.loop)


@pytest.mark.slow
@pytest.mark.parametrize("script", [True, False])
def test_the_link_in_a_mail_opens_the_page(
    browser: Browser, site: Site, elsewhere: Site, script: bool
) -> None:
    with visiting(browser, elsewhere, DESIGN_LOOK, script=script) as one:
        one.page.goto(elsewhere.url)
        one.page.click("#bare")
        assert "needs the link that was printed" in one.page.inner_text("main")
        one.page.goto(elsewhere.url)
        one.page.click("#link")
        one.page.wait_for_url(site.url + "/press?a=1")
        assert one.page.inner_text("body") == "GET a=1"
        assert site.token not in one.page.url
        (cookie,) = one.page.context.cookies(site.url)
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


def test_another_site_can_neither_show_nor_send_nor_frame(
    browser: Browser, site: Site, elsewhere: Site
) -> None:
    with visiting(browser, site, DESIGN_LOOK) as one:  # the cookie is there
        PRESSED.clear()
        one.page.goto(elsewhere.url, wait_until="load")
        one.page.click("button")
        assert "another site asked" in one.page.inner_text("main")
    assert PRESSED == []
