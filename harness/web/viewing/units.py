"""Lists of units: filtered, searched, sorted, 50 a page; each has its link, and works without scripts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from harness.cache.rows import Run
from harness.cache.runs import LATEST
from harness.session_standing import any_open
from harness.web.found_words import finding
from harness.web.links import Query, whole_number
from harness.web.pages import page
from harness.web.viewing.excerpts import Excerpt
from harness.web.viewing.facet_choices import chosen, facets_shown
from harness.web.viewing.filters import SORTS, Filters, unit_link, units_link
from harness.web.viewing.library import Library
from harness.web.viewing.run_page import banner
from harness.web.viewing.unit_index import Looked, UnitGlance, UnitIndex

PAGE: Final = 50
_PENDING: Final = "viewing/templates/pending.html"
_SEEN: Final = 80
"""Characters of an id, or of an answer, that are seen in a row whatever the width of the window."""
_SORT_NAMES: Final = {"run": "in the order of the run", "worst": "worst first", "latest": "latest first"}


@dataclass(frozen=True, slots=True)
class RowShown:
    """One row of the list; `metric`: of which metric the value is, where those of other rows may differ.

    `shown`: what its answer says, in a few words. `excerpts`: where words that are looked for stand else.
    """

    glance: UnitGlance
    href: str
    value: str | None
    metric: str | None
    shown: str
    excerpts: Sequence[Excerpt]


def routes(library: Library) -> list[Route]:
    """Return the routes of this module."""

    async def units(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        run = await library.store.find_run(query.one("run") or LATEST)
        filters, number = Filters.read(query), max(1, whole_number(query.one("page")) or 1)
        here = units_link(run.name, filters, number)
        part = request.headers.get("hx-target") == "units"
        if query.one("among") is not None and not part:
            return RedirectResponse(here, 303)
        index = await library.soon(run.name)
        if index is None:
            return _pending(run, here if part else None)
        values = await _values(library, run, index, filters, number)
        name = "viewing/templates/units_part.html" if part else "viewing/templates/units.html"
        with finding(filters.words()):
            response = page(name, **values)
        # A list that asks for itself again may come when another one is looked at.
        known = request.headers.get("hx-current-url", "").endswith(here)
        if part and not known and query.one("again") is None:
            response.headers["hx-push-url"] = here
        return response

    return [Route("/units", units)]


def _pending(run: Run, here: str | None) -> Response:
    """Return a page that asks for itself again; where a part of one was asked for, go to the whole one."""
    return Response(headers={"hx-redirect": here}) if here else page(_PENDING, run=run)


async def _values(
    library: Library, run: Run, index: UnitIndex, filters: Filters, number: int
) -> Mapping[str, Any]:
    """Return all that the template shows: the rows of a page are read first, as far as a page may wait."""
    read, ended = index.reading  # before what is chosen by it: who reads on meanwhile changes no count here
    looked = await index.look(filters)
    total = len(looked.rows)
    pages = max(1, -(-total // PAGE))
    number = min(number, pages)
    rows = looked.rows[(number - 1) * PAGE : number * PAGE].tolist()
    is_new = any(index.unknown(row, headline=False) for row in rows)
    await library.read(run.name, [row for row in rows if index.unknown(row, headline=True)])
    if is_new:  # what is chosen from says what the rows say
        looked = replace(looked, facets=(await index.look(filters)).facets)
    excerpts = await library.excerpts(run.name, _hidden(index, rows, filters.words()))
    return {
        "run": run,
        "banner": banner(index.stored),
        "filters": filters,
        "total": total,
        "of": len(index),
        "first": (number - 1) * PAGE + 1 if total else 0,
        "page_number": number,
        "pages": pages,
        "rows": [_row(run, index, row, filters, excerpts.get(row, ())) for row in rows],
        "late": any(index.unknown(row, headline=True) for row in rows),
        **_links(run, filters, number, pages),
        **_columns(run, index, looked, filters),
        "ended": ended,
        "unread": ended - read if _needs_reading(filters) else 0,
    }


def _links(run: Run, filters: Filters, number: int, pages: int) -> Mapping[str, Any]:
    """Return where a list leads: its other orders and pages, itself, all units; and what its form sends."""
    return {
        "sorts": [
            (_SORT_NAMES[sort], units_link(run.name, replace(filters, sort=sort)), sort == filters.sort)
            for sort in SORTS
        ],
        "previous": units_link(run.name, filters, number - 1) if number > 1 else None,
        "next": units_link(run.name, filters, number + 1) if number < pages else None,
        "again": units_link(run.name, filters, number) + "&again=1",
        "every": units_link(run.name, Filters(sort=filters.sort)),
        "reference": run.digest,
        "among": filters.without("text").packed(),
        "searched": filters.text.encode("utf-8", "replace").decode("utf-8").replace("\0", " "),
    }


def _columns(run: Run, index: UnitIndex, looked: Looked, filters: Filters) -> Mapping[str, Any]:
    """Return what is chosen and may be, which columns there are, and what is not known yet."""
    return {
        "facets": facets_shown(run.name, index, looked, filters),
        "chosen": list(chosen(run.name, filters)),
        "several": {"conditions": len(index.layout.conditions) > 1, "repeats": index.layout.repeats > 1},
        "has_right": index.has_right,
        "value_head": _value_head(index),
        "unscored": _unscored(index),
        "quoted": shlex.quote(run.name),
        "is_open": any_open(index.stored.sessions),
        "left_out": index.texts.left_out if filters.words() else 0,
    }


def _hidden(index: UnitIndex, rows: Sequence[int], words: Sequence[str]) -> Mapping[int, Sequence[str]]:
    """Return row -> those of the words that are not seen in its id, or at the beginning of its answer."""
    found = {}
    for row in rows if words else ():
        glance = index.glance_at(row)
        seen = f"{glance.unit.case_id[:_SEEN]}\n{_shown(glance)[:_SEEN]}".casefold()
        found[row] = [word for word in words if word not in seen]
    return {row: hidden for row, hidden in found.items() if hidden}


def _shown(glance: UnitGlance) -> str:
    """Return what the list says of an answer: a few words on it, or how it begins, in one line."""
    return glance.headline or " ".join(glance.beginning.split())


def _value_head(index: UnitIndex) -> str | None:
    """Return the head of the column of values; None where there is none, or no unit has one."""
    if index.value_path is not None and not index.has_right:
        return index.value_path
    return (index.value_path or "value") if index.has_values else None


def _unscored(index: UnitIndex) -> str | None:
    """Return the metric whose values lists show only once the run was scored, where it was not."""
    if index.has_right or index.has_values:
        return None
    return index.value_path or next((path for path in index.value_paths if path), None)


def _needs_reading(filters: Filters) -> bool:
    """Tell whether what is left depends on what answers say, all of which are to be read for it."""
    return bool(filters.words() or filters.right or filters.sort == "worst")


def _row(
    run: Run, index: UnitIndex, row: int, filters: Filters, excerpts: Sequence[Excerpt]
) -> RowShown:
    glance = index.glance_at(row)
    metric = index.value_paths[index.layout.condition[row]]
    value = None if glance.value is None or metric is None else f"{glance.value:.3f}"
    href = unit_link(run.name, glance.unit, filters)
    named = metric if value and index.value_path is None else None
    return RowShown(glance, href, value, named, _shown(glance), excerpts)
