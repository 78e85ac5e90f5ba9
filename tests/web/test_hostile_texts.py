"""A run whose every name and text is an attack, crawled: no page runs, loads or leads to any of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from page_browser import DESK, Look, a_browser
from site_checks import visiting
from site_crawler import Crawled, crawled, wrong_in
from stored_run_builder import Built, Plan, built_run, case
from web_site import view_site

from harness.cache.rows import UnitId
from harness.outcomes import ExchangeOutcome, UnitOutcome

SCRIPT = "<script>document.title='owned'</script>"
ATTACKS = (
    SCRIPT,
    '"><img src=x onerror="document.title=\'owned\'">',
    "' autofocus onfocus=document.title='owned' x='",
    "</title></textarea></style></script><svg onload=document.title='owned'>",
    "{{ 7 * 7 }}{% raise %}${7*7}",
    "../../../../etc/passwd",
    "javascript:document.title='owned'",
    "//evil.example/x?a=1&b=2#c",
    "a\u2028b\rc\x00d\u202ee\ud800f",
    "%3Cscript%3E%00%2e%2e%2f",
    "<a href='http://evil.example/' style='position:fixed'>x</a><meta http-equiv=refresh content=0>",
)
LONG = "tooth 36 <b>" * 17_000
MODELS = ("alpha", "<img src=x onerror=alert(1)>")


async def _attack(folder: Path) -> None:
    named = [text.replace("\ud800", "\ufffe") for text in ATTACKS]
    cases = [case(f"{number} {text}", "Exodontia", complaint=text) for number, text in enumerate(named)]
    plan = Plan(cases, models=MODELS)
    async with built_run(folder, plan, name=f"night {SCRIPT} & 'more' \"yet\"") as built:
        for number, one in enumerate(cases):
            for name in MODELS:
                await _unit(built, UnitId(name, "both", one.id, 1), ATTACKS[number])
        await _unit(built, UnitId("alpha", "both", cases[0].id, 1), LONG)


async def _unit(built: Built, unit: UnitId, text: str) -> None:
    answer = json.dumps({"reasoning": text, "labels": text})
    await built.answers(unit, UnitOutcome.UNPARSABLE, answer, text.encode("utf-8", "replace"))
    await built.exchange(
        unit, f"<html>{text}".encode("utf-8", "replace"), status=502, attempt=3,
        outcome=ExchangeOutcome.UNAVAILABLE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that nobody has open."""
    folder = tmp_path_factory.mktemp("hostile")
    asyncio.run(_attack(folder))
    return folder / "store.sqlite3"


@pytest.fixture(scope="module")
def pages(store: Path) -> list[Crawled]:
    with view_site(store) as site, site.client() as client:
        return crawled(client, each=12)


def test_no_page_runs_loads_or_leads_to_what_a_text_says(pages: list[Crawled]) -> None:
    # The run was built by hand: its images are nowhere, and /media/file says so.
    looked_at = [page for page in pages if (page.path, page.status) != ("/media/file", 404)]
    wrong = [one for page in looked_at for one in wrong_in(page)]
    assert wrong == []
    assert any(b"&lt;script&gt;document.title=" in page.body for page in pages)
    assert {page.path for page in pages} >= {"/", "/run", "/units", "/unit", "/exchange"}


def test_every_page_is_text_in_utf8_and_no_template_of_a_text_is_filled_in(pages: list[Crawled]) -> None:
    for page in pages:
        assert b">49" not in page.body and "root:x:" not in page.body.decode("utf-8", "replace")
        if page.is_html:
            page.body.decode("utf-8")
            assert b"\x00" not in page.body


def test_a_browser_runs_none_of_it(store: Path, pages: list[Crawled]) -> None:
    """One page of each kind; the browser would say what its policy had to stop."""
    kinds = {page.path: page.address for page in pages if page.is_html and page.status == 200}
    look = Look(*DESK, False)
    with a_browser() as browser, view_site(store) as site, visiting(browser, site, look) as one:
        for address in kinds.values():
            one.page.goto(site.url + address, wait_until="load")
            assert one.page.title() != "owned"
            assert one.said == []
            assert [url for url in one.requests if not url.startswith(site.url + "/")] == []


def test_what_is_wrong_is_found() -> None:
    """A search that finds nothing in anything proves nothing."""
    for html in (
        SCRIPT, "<p onclick=x>", "<p style='color:red'>", "<a href=javascript:x>", "<a href=//evil.example>",
        "<img src=http://evil.example>", "<iframe>", "<meta http-equiv=refresh>", "<base href=/>",
        "<p hx-on:x=y>",
        "<style>p{}</style>", "<a href=' /x'>",
    ):  # fmt: skip
        page = Crawled("/", "", 200, {"content-type": "text/html"}, html.encode())
        assert [one for one in wrong_in(page) if "no header" not in one], html
