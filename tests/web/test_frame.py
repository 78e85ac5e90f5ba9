"""The frame of all pages in a real browser: sound in every look, and by keyboard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from page_browser import Look, a_browser
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


def _routes() -> list[Route]:
    async def design(request: Request) -> Response:
        return HTMLResponse(environment().from_string(DESIGN).render())

    async def press(request: Request) -> Response:
        return PlainTextResponse(f"{request.method} {request.url.query}")

    async def broken(request: Request) -> Response:
        raise RuntimeError("the complaint of a patient")

    return [Route("/", design), Route("/press", press, methods=["GET", "POST"]), Route("/broken", broken)]


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


@pytest.mark.parametrize("look", PAGE_LOOKS, ids=str)
def test_the_design_is_sound(browser: Browser, site: Site, look: Look) -> None:
    with visiting(browser, site, look) as one:
        assert one.page.title() == "all of the design"
        assert wrong_with(one, site, look) == []
