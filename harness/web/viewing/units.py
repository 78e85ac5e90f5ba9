"""Lists of units: filtered, searched, sorted, 50 a page; each has its link, and works without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from harness.cache.rows import Run
from harness.cache.runs import LATEST
from harness.session_standing import any_open
from harness.web.links import Query, whole_number
from harness.web.pages import page
from harness.web.viewing.facets import MOST_STRATA, FacetCount
from harness.web.viewing.filters import SORTS, Facet, Filters, unit_link, units_link
from harness.web.viewing.library import Library
from harness.web.viewing.run_page import banner
from harness.web.viewing.unit_index import Looked, UnitGlance, UnitIndex

PAGE: Final = 50
_PENDING: Final = "viewing/templates/pending.html"
_SHOWN_VALUES: Final = 12
"""Values of a facet that are shown at once; the others can be unfolded."""
_SORT_NAMES: Final = {"run": "in the order of the run", "worst": "worst first", "latest": "latest first"}
_TITLES: Final[Mapping[Facet, str]] = {
    "right": "right or wrong", "outcome": "outcome", "model": "model", "condition": "condition",
    "stage": "stage", "stratum": "stratum of cases",
}  # fmt: skip
_RIGHT_NAMES: Final = {"yes": "right", "no": "wrong", "none": "neither"}
_NOT_READ: Final = "neither, or not read yet"


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet, with the link that chooses it, or no longer does."""

    name: str
    units: int
    chosen: bool
    href: str


@dataclass(frozen=True, slots=True)
class FacetShown:
    """A facet with its values: the first of them, and those that are unfolded."""

    title: str
    first: Sequence[Choice]
    more: Sequence[Choice]
    cut: bool


@dataclass(frozen=True, slots=True)
class RowShown:
    """One row of the list; `metric`: of which metric the value is, where those of other rows may differ."""

    glance: UnitGlance
    href: str
    value: str | None
    metric: str | None


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
        response = page(name, **values)
        if part and not request.headers.get("hx-current-url", "").endswith(here):
            response.headers["hx-push-url"] = here
        return response

    return [Route("/units", units)]


def _pending(run: Run, here: str | None) -> Response:
    """Return a page that asks for itself again; where a part of one was asked for, go to the whole one."""
    return Response(headers={"hx-redirect": here}) if here else page(_PENDING, run=run)


async def _values(
    library: Library, run: Run, index: UnitIndex, filters: Filters, number: int
) -> Mapping[str, Any]:
    looked = await index.look(filters)
    total = len(looked.rows)
    pages = max(1, -(-total // PAGE))
    number = min(number, pages)
    rows = looked.rows[(number - 1) * PAGE : number * PAGE].tolist()
    is_new = any(index.unknown(row, headline=False) for row in rows)
    await library.read(run.name, [row for row in rows if index.unknown(row, headline=True)])
    if is_new:  # what is chosen from says what the rows say
        looked = replace(looked, facets=(await index.look(filters)).facets)
    read, ended = index.reading
    return {
        "run": run,
        "banner": banner(index.stored),
        "filters": filters,
        "total": total,
        "of": len(index),
        "first": (number - 1) * PAGE + 1 if total else 0,
        "page_number": number,
        "pages": pages,
        "rows": [_row(run, index, row, filters) for row in rows],
        "facets": list(_facets(run, index, looked, filters)),
        "sorts": [
            (_SORT_NAMES[sort], units_link(run.name, replace(filters, sort=sort)), sort == filters.sort)
            for sort in SORTS
        ],
        "previous": units_link(run.name, filters, number - 1) if number > 1 else None,
        "next": units_link(run.name, filters, number + 1) if number < pages else None,
        "here": units_link(run.name, filters, number),
        "every": units_link(run.name, Filters(sort=filters.sort)),
        "chosen": list(_chosen(run, filters)),
        "reference": run.digest,
        "among": filters.without("text").packed(),
        "searched": filters.text.encode("utf-8", "replace").decode("utf-8").replace("\0", " "),
        "several": {"conditions": len(index.layout.conditions) > 1, "repeats": index.layout.repeats > 1},
        "has_right": index.has_right,
        "value_head": _value_head(index),
        "late": any(index.unknown(row, headline=True) for row in rows),
        "ended": ended,
        "is_open": any_open(index.stored.sessions),
        "unread": ended - read if read < ended and _needs_reading(filters) else 0,
        "left_out": index.texts.left_out if filters.words() else 0,
    }


def _value_head(index: UnitIndex) -> str | None:
    """Return the head of the column of values; None where there is none, or no unit has one."""
    if index.value_path is not None and not index.has_right:
        return index.value_path
    return (index.value_path or "value") if index.has_values else None


def _needs_reading(filters: Filters) -> bool:
    """Tell whether what is left depends on what answers say, all of which are to be read for it."""
    return bool(filters.words() or filters.right or filters.sort == "worst")


def _row(run: Run, index: UnitIndex, row: int, filters: Filters) -> RowShown:
    glance = index.glance_at(row)
    metric = index.value_paths[index.layout.condition[row]]
    value = None if glance.value is None or metric is None else f"{glance.value:.3f}"
    href = unit_link(run.name, glance.unit, filters)
    return RowShown(glance, href, value, metric if value and index.value_path is None else None)


def _facets(run: Run, index: UnitIndex, looked: Looked, filters: Filters) -> Sequence[FacetShown]:
    found = []
    for facet in _TITLES:
        counts = looked.facets[facet]
        is_asked = bool(filters.chosen(facet))
        if not is_asked and (len(counts) < 2 or (facet == "right" and not index.has_right)):
            continue
        read, ended = index.reading
        found.append(_facet(run, facet, counts, filters, all_read=read == ended))
    return found


def _chosen(run: Run, filters: Filters) -> Iterator[tuple[str, str, str]]:
    """Yield what is chosen: its facet, its name, and the link without it."""
    for facet, title in _TITLES.items():
        for value in filters.chosen(facet):
            name = _RIGHT_NAMES.get(value, value) if facet == "right" else value
            yield title, name, units_link(run.name, filters.toggled(facet, value))
    if filters.text:
        yield "words", filters.text, units_link(run.name, filters.without("text"))


def _facet(
    run: Run, facet: Facet, counts: Sequence[FacetCount], filters: Filters, *, all_read: bool
) -> FacetShown:
    names: Mapping[str, str] = {}
    if facet == "right":
        names = _RIGHT_NAMES if all_read else {**_RIGHT_NAMES, "none": _NOT_READ}
    choices = [
        Choice(
            names.get(one.value, one.value),
            one.units,
            one.chosen,
            units_link(run.name, filters.toggled(facet, one.value)),
        )
        for one in counts
    ]
    first = [one for place, one in enumerate(choices) if place < _SHOWN_VALUES or one.chosen]
    more = [one for one in choices if one not in first]
    return FacetShown(_TITLES[facet], first, more, facet == "stratum" and len(counts) >= MOST_STRATA)
