"""HTML made of templates: every text escaped, a missing name an error, the same frame around every page."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.responses import HTMLResponse

from harness.report.page_text import brief, inline, shown
from harness.web.found_words import found as in_page
from harness.web.found_words import found_shown, places_found
from harness.web.links import link
from harness.web.notices import notices
from harness.web.static_files import asset

HTMX_HEADER = "hx-request"


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a template of `harness.web` (such as "viewing/templates/runs.html") as a response.

    In templates `inline` and `shown` make HTML of any text, with marks for what is not seen, `brief` a title
    of one line, `link` a link (see `harness.web.links`), `asset` the address of a file of `static/`, which
    browsers keep until its content is another, and `notices` what is to stand above every page.
    `found` and `found_shown` are `inline` and `shown` with the words marked that were searched for.
    """
    return HTMLResponse(render(name, **values), status_code=status)


def render(name: str, **values: Any) -> str:
    """Return a template filled in, in valid UTF-8 whatever its texts hold."""
    return environment().get_template(name).render(**values)


@cache
def environment() -> Environment:
    """Return the templates, which extend "templates/base.html"."""
    found = Environment(
        loader=FunctionLoader(_source), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.globals |= {"link": link, "brief": brief, "inline": inline, "shown": shown, "asset": asset}
    found.globals |= {
        "notices": notices, "found": in_page, "found_shown": found_shown, "places_found": places_found
    }  # fmt: skip
    return found


def _source(name: str) -> str | None:
    path = files("harness.web").joinpath(*name.split("/"))
    return path.read_text(encoding="utf-8") if path.is_file() else None
