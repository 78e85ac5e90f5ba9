"""A store with one run whose cases have real files as media, and the pages that serve them."""

from __future__ import annotations

import io
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from stored_run_builder import Built, Plan, built_run

from harness.benchmarks.base import Case
from harness.cache.key import CLIPS_FIELD
from harness.cache.rows import UnitId
from harness.canonical import JSON, canonical_json, sha256_hex
from harness.media import Media, probe
from harness.media_reading import Note, stamp_of
from harness.web.application import application
from harness.web.guard import Access
from harness.web.links import link
from harness.web.media import case_files
from harness.web.media.shown import case_media
from harness.web.pages import environment
from harness.web.viewing.difference_parts import Difference
from harness.web.viewing.library import Library

AS_IMAGE = {"accept": "image/avif,image/webp,image/svg+xml,image/*,*/*;q=0.8"}
AS_PAGE = {"accept": "text/html,application/xhtml+xml,image/webp,*/*;q=0.8"}


@dataclass
class MediaSite:
    """Pages with the media of cases, asked without a socket."""

    built: Built
    library: Library
    client: httpx.AsyncClient

    async def get(
        self,
        case: str = "a",
        role: str = "image",
        n: int | str = 0,
        headers: Mapping[str, str] = AS_IMAGE,
        **query: Any,
    ) -> httpx.Response:
        """Ask for a medium; `form` stands for `as`."""
        if "form" in query:
            query["as"] = query.pop("form")
        address = link("/media/file", run="test-run", case=case, role=role, n=n, **query)
        return await self.client.get(address, headers=dict(headers))


def case_with(*media: Media, id: str = "a", role: str = "image", **changes: Any) -> Case:
    """Return a case with these media in one role."""
    fields = {"chief_complaint": "It hurts.", **changes.pop("fields", {})}
    return Case(
        id=id,
        fields=fields,
        media={role: media} if media else {},
        reference={"labels": [], "rationale": ""},
        **changes,
    )


@asynccontextmanager
async def media_site(
    folder: Path, *cases: Case, notes: Sequence[Media] | None = None
) -> AsyncIterator[MediaSite]:
    """Give the pages of a run; `notes`: media whose places the store knows, all of the cases unless given."""
    plan = Plan(cases, models=("alpha", "beta"))
    async with built_run(folder, plan) as built:
        await noted(
            built,
            [one for case in cases for many in case.media.values() for one in many]
            if notes is None
            else notes,
        )
        library = Library(built.store)
        app = application(case_files.routes(library), Access(None))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield MediaSite(built, library, client)


async def noted(built: Built, media: Sequence[Media]) -> None:
    """Have the store know where media lie."""
    found = []
    for one in media:
        stamp = None if one.path is None else stamp_of(one.path)
        if stamp is not None:
            found.append(Note(one, stamp, time.time_ns() // 1_000))
    await built.store.remember(found)


def saved(
    folder: Path, name: str = "one.png", size: tuple[int, int] = (40, 20), mode: str = "RGB", **how: Any
) -> Media:
    """Save a picture with a ramp in it, and return what it is."""
    path = folder / name
    ramp = Image.linear_gradient("L").resize(size)
    image = ramp.convert(mode) if mode != "I;16" else Image.fromarray(_wide(ramp))
    image.save(path, **how)
    return probe(path)


def _wide(grey: Image.Image) -> Any:
    import numpy as np

    return (np.asarray(grey).astype(np.uint16) << 4) + 3


def passed_off(folder: Path, name: str, data: bytes, mime: str, size: tuple[int, int] = (40, 20)) -> Media:
    """Write any bytes, and return them as a store might call them that somebody else wrote."""
    path = folder / name
    path.write_bytes(data)
    return Media(sha256_hex(data), mime, len(data), *size, path)


def request_with(*parts: tuple[str, str], clips: Sequence[Mapping[str, Any]] = ()) -> dict[str, JSON]:
    """Return a stored request: (digest, recipe) of each medium, and what it shows of clips."""
    content: list[JSON] = [{"$media": [sha256, recipe, 1], "prefix": ""} for sha256, recipe in parts]
    found: dict[str, JSON] = {"messages": [{"role": "user", "content": content}]}
    if clips:
        found[CLIPS_FIELD] = json.loads(canonical_json(list(clips)))
    return found


def opened(response: httpx.Response) -> Image.Image:
    """Return the image that a response holds."""
    return Image.open(io.BytesIO(response.content))


_LOOK = """{% extends "templates/base.html" %}
{% from "media/templates/viewer.html" import viewer %}
{% from "viewing/templates/difference.html" import difference %}
{% block title %}a unit{% endblock %}
{% block head %}<link rel="stylesheet" href="/static/media.css">
<link rel="stylesheet" href="/static/difference.css">{% endblock %}
{% block main %}<h1>A unit</h1>{{ viewer(media) }}<h2>Difference</h2>{{ difference(found) }}{% endblock %}
{% block scripts %}<script src="/static/media.js" defer></script>{% endblock %}"""


def looking(library: Library, differences: Mapping[str, Difference]) -> Route:
    """Return a page `/look?case=` with the media of a case, and a difference, as pages of units have them."""

    async def look(request: Request) -> HTMLResponse:
        case_id = request.query_params["case"]
        stored = await library.stored("test-run")
        case = stored.case_index.case(stored.case_index.place(case_id))
        links = {}
        for name in ("alpha", "beta"):
            linked = await library.store.linked_unit(stored.run.id, UnitId(name, "both", case_id, 1))
            links[name] = () if linked is None else linked.links
        media = await case_media(library, stored, case, links)
        values = {"media": media, "found": differences[case_id]}
        return HTMLResponse(environment().from_string(_LOOK).render(values))

    return Route("/look", look)
