"""Media as responses: pictures in the form that is asked for, and clips with ranges of their bytes.

A request names a medium through its case, and never a file. What is sent is made of bytes with the medium's
digest, has the type that the bytes themselves tell, a name that tells nothing, and a policy of its own under
which nothing in it could act. What cannot be shown is a small picture with words, or the words alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from html import escape
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from harness.canonical import sha256_hex
from harness.media import Media
from harness.media_threads import in_media_thread
from harness.web.links import Query
from harness.web.media.sound_files import NotShownError, sound_file
from harness.web.media.thumbnails import FORMS, Box, Form, clip_facts, picture
from harness.web.static_files import known_tags

Result = TypeVar("Result")

_PATIENCE_S: Final = 60.0
"""How long a request waits for a picture; one that takes longer is there when it is asked for again."""
_PIECE: Final = 256 * 1024
_FORMS_VERSION: Final = 1
"""Counts up when the forms of pictures change, so that browsers do not show kept ones."""
_RANGE: Final = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
# A sandbox without scripts, which stays of this site: a clip in a tab of its own is asked for by its page.
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; "
        "sandbox allow-same-origin"
    ),
    "x-content-type-options": "nosniff",
    "cache-control": "private, max-age=3600",
}
_clips = ThreadPoolExecutor(1, thread_name_prefix="clips")


async def asked_for(media: Media, request: Request, *, box: Box | None = None) -> Response:
    """Return the response to a request whose query has `as` (one of `FORMS`, "screen" unless given) and, of a
    clip, `frame`; a clip without one is sent as a file.
    """
    query = Query(request.scope["query_string"])
    form = query.one("as") or "screen"
    frame = query.one("frame")
    if form not in FORMS or (frame is not None and re.fullmatch("[0-9]{1,9}", frame, re.ASCII) is None):
        return not_shown(request, "there is no such form of this medium")
    return await response_of(media, form, None if frame is None else int(frame), request, box=box)


async def response_of(
    media: Media, form: Form, frame: int | None, request: Request, *, box: Box | None = None
) -> Response:
    """Return a medium in a form as a response, or words why it is not shown.

    An image, or the frame of a clip; of a clip without `frame`, its file. `box` (x0, y0, x1, y1 in pixels of
    the image upright) is drawn in the form "marked".
    """
    tag = _tag(media, form, frame, box)
    if tag in known_tags(request):
        return Response(status_code=304, headers={**_HEADERS, "etag": tag})
    try:
        if media.kind == "video" and frame is None:
            return await _clip(media, tag, request)
        work = _in_clip_thread if media.kind == "video" else in_media_thread
        found = await _within(work(picture, media, form, frame=frame, box=box))
    except NotShownError as error:
        return not_shown(request, str(error))
    except TimeoutError:
        return not_shown(request, "this picture takes long to make; ask again in a minute", status=503)
    headers = {**_HEADERS, "etag": tag, "content-disposition": _named(found.mime)}
    return Response(found.data, media_type=found.mime, headers=headers)


def not_shown(request: Request, why: str, *, status: int = 404) -> Response:
    """Return why a medium is not shown: as a small picture where one is awaited, else as text."""
    accepted = request.headers.get("accept", "")
    headers = {**_HEADERS, "cache-control": "no-store"}
    if "image/" in accepted and "text/html" not in accepted:
        return Response(_drawn(why), status, headers, "image/svg+xml")
    return Response(f"not shown: {why}\n", status, headers, "text/plain; charset=utf-8")


def _drawn(why: str) -> str:
    lines: list[str] = [""]
    for word in f"not shown: {why}".split():
        if len(lines[-1]) + len(word) > 34:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    texts = "".join(
        f'<text x="16" y="{34 + 22 * place}">{escape(line)}</text>' for place, line in enumerate(lines[:8])
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200" viewBox="0 0 320 200">'
        '<rect width="320" height="200" fill="#eceff1" stroke="#8b9299"/>'
        f'<g font-family="sans-serif" font-size="15" fill="#3a4047">{texts}</g></svg>'
    )


async def _within(work: Awaitable[Result]) -> Result:
    return await asyncio.wait_for(work, _PATIENCE_S)


async def _in_clip_thread(work: Callable[..., Result], /, *args: object, **named: object) -> Result:
    """Return what work on clips comes to, one piece at a time: it may take minutes, and images go on."""
    return await asyncio.get_running_loop().run_in_executor(_clips, lambda: work(*args, **named))


def _tag(media: Media, form: Form, frame: int | None, box: Box | None) -> str:
    marked = box if form == "marked" else None
    return f'"{sha256_hex(repr((_FORMS_VERSION, media.sha256, form, frame, marked)).encode())[:32]}"'


def _named(mime: str) -> str:
    ending = {
        "image/jpeg": "jpg",
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "video/x-msvideo": "avi",
    }
    return f'inline; filename="medium.{ending.get(mime, mime.partition("/")[2])}"'


async def _clip(media: Media, tag: str, request: Request) -> Response:
    """Return a clip's file, or the range of it that is asked for. Raises NotShownError."""
    mime, size = await _within(asyncio.to_thread(clip_facts, media))
    headers = {**_HEADERS, "etag": tag, "accept-ranges": "bytes", "content-disposition": _named(mime)}
    asked = request.headers.get("range", "").strip()
    if request.headers.get("if-range", tag) != tag:
        asked = ""
    span, status = (0, size), 200
    if asked.startswith("bytes="):
        if "," in asked:
            return _no_range("one range at a time, please", size, headers)
        found = byte_range(asked, size)
        if found is not None and found[0] >= found[1]:
            return _no_range("the clip has no such bytes", size, headers)
        if found is not None:
            span, status = found, 206
            headers["content-range"] = f"bytes {span[0]}-{span[1] - 1}/{size}"
    headers["content-length"] = str(span[1] - span[0])
    if request.method == "HEAD":
        return Response(None, status, headers, mime)
    return _FileResponse(media, span, status, headers, mime)


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """Return the first byte and the one after the last of a range (RFC 9110, 14.1.2).

    An empty one where the file has none of it. None: it is no range, to be passed over.
    """
    found = _RANGE.fullmatch(header)
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        return max(0, size - int(last)), size
    if last and int(last) < int(first):
        return None
    return min(int(first), size), min(size, int(last) + 1) if last else size


def _no_range(why: str, size: int, headers: dict[str, str]) -> Response:
    refused = {**headers, "content-range": f"bytes */{size}", "cache-control": "no-store"}
    return Response(f"{why}\n", 416, refused, "text/plain; charset=utf-8")


class _FileResponse(Response):
    """Bytes of a medium's file in pieces. Where the file changes meanwhile, the answer breaks off."""

    def __init__(
        self, media: Media, span: tuple[int, int], status: int, headers: dict[str, str], mime: str
    ) -> None:
        super().__init__(None, status, headers, mime)
        self._media, self._span = media, span

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        gone = asyncio.create_task(_until_gone(receive))
        try:
            with ExitStack() as stack:
                file = await asyncio.to_thread(stack.enter_context, sound_file(self._media))
                at, end = self._span
                while at < end and not gone.done():
                    piece = await asyncio.to_thread(file.read, at, min(_PIECE, end - at))
                    at += len(piece)
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        except NotShownError:
            return  # the server closes the connection: too little came, and the browser knows
        finally:
            gone.cancel()
        if at == end:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
