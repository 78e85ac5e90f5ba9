"""The page of one unit: its case, what was predicted, what it scores, and every exchange behind it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.cache.one_unit import KeptScores
from harness.cache.rows import UnitId
from harness.errors import HarnessError
from harness.web.found_words import finding
from harness.web.links import Query
from harness.web.media.shown import case_media
from harness.web.pages import page
from harness.web.viewing.beginnings import beginning, readable
from harness.web.viewing.case_strip import strip
from harness.web.viewing.exchange_cards import MOST_CARDS, cards
from harness.web.viewing.exchange_views import sent_media
from harness.web.viewing.exchanges import download
from harness.web.viewing.filters import Filters, unit_link, units_link
from harness.web.viewing.library import Library
from harness.web.viewing.unit_case import case_shown, is_asked
from harness.web.viewing.unit_difference import compared
from harness.web.viewing.unit_evidence import UnitRead, UnitReader, asked_unit
from harness.web.viewing.unit_grades import UnitGrades, about, unit_grades
from harness.web.viewing.unit_index import Neighbours
from harness.web.viewing.unit_scores import UnitValue, unit_values
from harness.web.viewing.unit_standing import open_sessions, standing


def routes(library: Library) -> list[Route]:
    """Return the routes of this module."""
    reader = UnitReader(library)

    async def unit(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        stored = await library.stored(query.one("run") or "latest")
        read = await reader.read(stored, asked_unit(stored, query))
        values = await _values(library, reader, read, query)
        with finding(Filters.carried(query).words()):
            return page("viewing/templates/unit.html", **values)

    async def text(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        stored = await library.stored(query.one("run") or "latest")
        read = await reader.read(stored, asked_unit(stored, query))
        found = _text(read, query.one("of") or "")
        if found is None:
            raise HTTPException(404)
        return download(found.encode("utf-8", "surrogatepass"), "text.txt")

    return [Route("/unit", unit), Route("/unit/text", text)]


def _text(read: UnitRead, of: str) -> str | None:
    """Return a whole text of a unit: its prediction, its reference, or a field of its case."""
    if of == "prediction":
        return None if read.replayed.result.prediction is None else readable(read.replayed.result.prediction)
    if of == "reference":
        return readable(dict(read.case.reference))
    return read.case.fields.get(of.removeprefix("field:")) if of.startswith("field:") else None


async def _values(library: Library, reader: UnitReader, read: UnitRead, query: Query) -> dict[str, Any]:
    """Return all that the template shows."""
    stored, unit = read.stored, read.unit
    filters = Filters.carried(query)
    neighbours = await _neighbours(library, stored.run.name, unit, filters)
    grades = await unit_grades(library, reader, read)
    kept = await library.store.kept_scores(stored.run.id, unit)
    shown = await asyncio.to_thread(_shown, read, grades, kept, filters.words())
    run = stored.run.name
    return {
        "read": read,
        "unit": unit,
        "run": run,
        "result": read.replayed.result,
        "asked": is_asked(stored, read.case, unit.condition),
        "filters": filters,
        "neighbours": neighbours,
        "previous": neighbours and neighbours.previous and unit_link(run, neighbours.previous, filters),
        "next": neighbours and neighbours.next and unit_link(run, neighbours.next, filters),
        "list": units_link(run, filters),
        "quoted": shlex.quote,
        "strip": await strip(library, read, filters),
        "media": await case_media(library, stored, read.case, read.readable_links, unit.model),
        "about": await about(library, read),
        "grades": grades,
        "standing": await standing(library, read),
        "open_sessions": open_sessions(stored),
        **shown,
    }


async def _neighbours(
    library: Library, run: str, unit: UnitId, filters: Filters
) -> Neighbours | None:
    """Return where a unit stands in its list; None while that takes longer than a page may wait."""
    index = await library.patiently(run)
    return None if index is None else await index.neighbours(unit, filters)


def _shown(
    read: UnitRead, grades: UnitGrades, kept: KeptScores | None, words: Sequence[str]
) -> dict[str, Any]:
    """Return what is made of a unit without the store, for a thread of its own."""
    result = read.replayed.result
    documents = [send.exchange.data.request for send in read.sends if send.link.purpose == "answer"]
    sent = {sha256 for document in documents for sha256 in sent_media(document)} if documents else None
    values: Sequence[UnitValue] | None = None
    unscored = None
    try:
        values = unit_values(read, grades.values, kept)
    except (ValueError, HarnessError) as error:
        unscored = str(error)
    return {
        "case": case_shown(read.stored, read.case, read.unit.condition, sent),
        "fields": {name: beginning(text, words=words) for name, text in read.case.fields.items()},
        "reference": beginning(readable(dict(read.case.reference))),
        "prediction": None if result.prediction is None else beginning(readable(result.prediction)),
        "compared": compared(read, grades.values),
        "values": values,
        "unscored": unscored,
        "cards": cards(read, words),
        "more_cards": max(0, len(read.sends) - MOST_CARDS),
    }
