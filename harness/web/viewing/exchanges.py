"""One exchange on a page of its own, its parts as fragments of others, and each of its texts as a file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from harness.benchmarks.base import Case
from harness.cache.rows import Exchange
from harness.errors import HarnessError, UnknownNameError
from harness.messages import Fault, Reply
from harness.moments import shown_moment
from harness.offline.stored_run import StoredRun
from harness.providers.reading import read_exchange
from harness.web.links import Query, whole_number
from harness.web.pages import HTMX_HEADER, page
from harness.web.viewing.beginnings import beginning
from harness.web.viewing.exchange_views import body_view, header_views, request_view
from harness.web.viewing.library import Library

PARTS: Final = ("request", "headers", "body", "text", "reasoning")
_FILES: Final = ("body", "request", "text", "reasoning")
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Shown:
    """An exchange with what it means today; `reading` None: no run of this store says how to read it."""

    exchange: Exchange
    run: str | None
    reading: Reply | Fault | None

    def text(self, part: str) -> str | None:
        """Return the text or the reasoning of an answer; None where there is none."""
        if not isinstance(self.reading, Reply):
            return None
        return self.reading.text if part == "text" else self.reading.reasoning


def routes(library: Library) -> list[Route]:
    """Return the routes of this module."""

    async def exchange(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        found = await _shown(library, query)
        part = query.one("part")
        if part is not None and part not in PARTS:
            raise HTTPException(404)
        stored, case = await _case(library, query)
        values = await asyncio.to_thread(_values, found, part, stored, case)
        if part is not None and HTMX_HEADER in request.headers:
            return page("viewing/templates/exchange_part.html", part=part, **values)
        back = None if stored is None or case is None else {**_unit(query), "run": stored.run.name}
        return page("viewing/templates/exchange.html", only=part, back=back, **values)

    async def body(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        part = query.one("part") or "body"
        if part not in _FILES:
            raise HTTPException(404)
        found = await _shown(library, query, read=part in ("text", "reasoning"))
        data = _bytes(found, part)
        if data is None:
            raise HTTPException(404)
        name = f"exchange-{found.exchange.id}-{part}.txt"
        return download(data, name)

    return [Route("/exchange", exchange), Route("/exchange/body", body)]


def download(data: bytes, name: str) -> Response:
    """Return bytes as a file of plain text, a piece at a time; browsers keep it and never run it."""
    pieces: Iterator[bytes] = (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))
    headers = {
        "content-type": "text/plain",
        "content-disposition": f'attachment; filename="{name}"',
        "content-length": str(len(data)),
        "x-content-type-options": "nosniff",
    }
    return StreamingResponse(pieces, headers=headers)


async def _shown(library: Library, query: Query, *, read: bool = True) -> Shown:
    given = query.one("id") or ""
    exchange = await library.store.exchange(whole_number(given) or 0)
    if exchange is None:
        raise UnknownNameError(f"this store has no exchange {given!r}")
    if not read:
        return Shown(exchange, None, None)
    runs = await library.store.run_of_session([exchange.session])
    run = runs.get(exchange.session)
    if run is None:
        return Shown(exchange, None, None)
    stored = await library.stored(run)
    return Shown(exchange, run, await asyncio.to_thread(_read, stored, exchange))


def _read(stored: StoredRun, exchange: Exchange) -> Reply | Fault | None:
    """Return what an exchange means, read as the model that was asked; None where the run knows none such."""
    data = exchange.data
    for model in stored.models.values():
        if (model.model, model.provider.name) == (data.model, data.provider):
            return read_exchange(data, model.provider)
    return None


async def _case(library: Library, query: Query) -> tuple[StoredRun | None, Case | None]:
    """Return the run and case that a query names besides, to link media with; nothing where it names none."""
    run, name = query.one("run"), query.one("case")
    if run is None or name is None:
        return None, None
    try:
        stored = await library.stored(run)
    except HarnessError:
        return None, None
    place = stored.case_index.find(name)
    return (stored, None) if place is None else (stored, stored.case_index.case(place))


def _unit(query: Query) -> dict[str, str | None]:
    return {name: query.one(name) for name in ("model", "condition", "case", "repeat", "among")}


def _values(
    found: Shown, part: str | None, stored: StoredRun | None, case: Case | None
) -> dict[str, Any]:
    """Return what the templates show of an exchange: of one part, or of all."""
    data = found.exchange.data

    def wanted(name: str) -> bool:
        return part in (None, name)

    run = None if stored is None else stored.run.name
    return {
        "id": found.exchange.id,
        "exchange": found.exchange,
        "data": data,
        "run": found.run,
        "at": shown_moment(data.started_at_us),
        "request_view": request_view(data, run, case) if wanted("request") else None,
        "headers": header_views(data) if wanted("headers") else None,
        "body": body_view(data) if wanted("body") else None,
        "texts": {
            name: beginning(text, 20_000)
            for name in ("text", "reasoning")
            if wanted(name) and (text := found.text(name))
        },
    }


def _bytes(found: Shown, part: str) -> bytes | None:
    data = found.exchange.data
    if part == "body":
        return data.raw.body
    if part == "request":
        return data.request
    text = found.text(part)
    return None if text is None else text.encode("utf-8", "surrogatepass")
