"""All pages of a site that links lead to, from its first one on: what they hold, and what is wrong with them.

    with view_site(store) as site, site.client() as client:
        pages = crawled(client)
    assert [wrong for page in pages for wrong in wrong_in(page)] == []

Bounded: of each path (`/unit`, whatever its query) so many are asked for, in the order in which links to them
were found; so a run of thousands of units is crawled in seconds.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

import httpx

from harness.web.guard import HEADERS

_LINKS = ("href", "src", "action", "formaction", "poster", "hx-get", "srcset")
_BEING_MADE = (b'hx-trigger="load delay', b'http-equiv="refresh" content="1"')
_PATIENCE_S = 60.0
_NEVER = {"style", "base", "object", "embed", "iframe", "frame", "applet"}
_GOES_ELSEWHERE = ("http-equiv", "ping", "style", "srcdoc", "background")


@dataclass(frozen=True)
class Crawled:
    """One answer: its address, and the page that it was found on."""

    address: str
    found_on: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The address without its query."""
        return self.address.partition("?")[0]

    @property
    def text(self) -> str:
        """The page as text."""
        return self.body.decode()

    @property
    def is_html(self) -> bool:
        """Whether a browser shows it as a page."""
        return self.headers.get("content-type", "").startswith("text/html")


def crawled(client: httpx.Client, start: str = "/", *, each: int = 25, at_most: int = 1_000) -> list[Crawled]:
    """Return every page that is reached, at most `each` of a path."""
    waiting, known, counts = deque([(start, "")]), {start}, Counter[str]()
    found: list[Crawled] = []
    while waiting and len(found) < at_most:
        address, found_on = waiting.popleft()
        path = address.partition("?")[0]
        if counts[path] >= each:
            continue
        counts[path] += 1
        page = ready(client, address, found_on)
        found.append(page)
        for link in _links(page):
            if link not in known and link.startswith("/"):
                known.add(link)
                waiting.append((link, address))
    return found


def ready(client: httpx.Client, address: str, found_on: str = "") -> Crawled:
    """Ask for a page until it says no more that it is being made."""
    end = time.monotonic() + _PATIENCE_S
    while True:
        answer = client.get(address)
        page = Crawled(address, found_on, answer.status_code, answer.headers, answer.content)
        if not any(words in page.body for words in _BEING_MADE):
            return page
        assert time.monotonic() < end, f"{address} is never ready"
        time.sleep(0.02)


def wrong_in(page: Crawled) -> list[str]:
    """Return what is wrong with an answer: dead links, errors, missing headers, script, places elsewhere."""
    told = [] if page.status < 400 else [f"it answers {page.status}"]
    told += [f"it has no header {name}" for name in HEADERS if name not in page.headers]
    told += _wrong_html(_parsed(page)) if page.is_html else []
    return [f"{page.address} (linked on {page.found_on or 'nothing'}): {one}" for one in told]


def _wrong_html(elements: Sequence[tuple[str, dict[str, str]]]) -> Iterator[str]:
    for name, attributes in elements:
        shown = f"<{name} {attributes}>"[:200]
        if name in _NEVER or (name == "script" and not attributes.get("src", "").startswith("/static/")):
            yield f"it holds {shown}"
        for key, value in attributes.items():
            again = key == "http-equiv" and value == "refresh" and attributes.get("content", "").isdecimal()
            if not again and (key.startswith(("on", "hx-on", "hx-vars")) or key in _GOES_ELSEWHERE):
                yield f"it holds {shown}"
            if key in _LINKS and (value[:1] not in set("/#?") or value.startswith(("//", "/\\"))):
                yield f"it leads elsewhere: {shown}"


def _links(page: Crawled) -> Iterator[str]:
    if not page.is_html:
        return
    for _, attributes in _parsed(page):
        if attributes.get("method", "get").casefold() != "get":
            continue
        for key in _LINKS:
            address = attributes.get(key, "").partition("#")[0]
            if address.startswith("?"):
                yield page.path + address
            elif address:
                yield address


def _parsed(page: Crawled) -> list[tuple[str, dict[str, str]]]:
    parser = _Elements()
    parser.feed(page.body.decode("utf-8"))
    parser.close()
    return parser.found


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element; of an attribute that stands twice, the first counts, as in browsers."""
        self.found.append((tag, {name: value or "" for name, value in reversed(attrs)}))
