"""The grades of a grading as a file, which `harness grades import` reads back: for the lead alone."""

from __future__ import annotations

import asyncio
import io
from typing import Final, cast
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from harness.cache.grades import standing
from harness.grading.desk import Desk
from harness.grading.ending import of_grading
from harness.grading.files import GradeFormat, write_grades
from harness.web.grading.seated import seated
from harness.web.links import Query

_TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


async def export(request: Request) -> Response:
    """Return all grades of the grading with their history, or those that stand (`which=latest`)."""
    who, query = seated(request), Query(request.scope["query_string"])
    kind = query.one("format") or "csv"
    if kind not in _TYPES:
        raise HTTPException(404)
    data = await exported(who.desk, cast("GradeFormat", kind), latest=query.one("which") == "latest")
    name = quote(f"{who.desk.name}-grades.{kind}", safe="")
    headers = {"content-disposition": f"attachment; filename*=utf-8''{name}"}
    return Response(data, media_type=_TYPES[kind], headers=headers)


async def exported(desk: Desk, kind: GradeFormat, *, latest: bool) -> bytes:
    """Return a file of the grades that this grading's seats gave, no others of the run."""
    history = await desk.store.grade_history(desk.stored.run.id)

    def written() -> bytes:
        ours = of_grading(desk, history)
        stream = io.BytesIO()
        write_grades(standing(ours) if latest else ours, kind, stream)
        return stream.getvalue()

    return await asyncio.to_thread(written)
