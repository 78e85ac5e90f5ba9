"""The body of a request, which may be neither long nor slow."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Message, Receive

from harness.web.pages import page

BODY_S: Final = 20.0
"""Seconds within which a body must have come, unless told otherwise."""
_DRAINED_BYTES: Final = 8 * 1_048_576
_DRAINED_S: Final = 2.0
_CLOSE: Final = {"connection": "close"}


class Body:
    """What an application receives; raises HTTPException (413, 408) where a body is too long or too slow.

    A browser shows the answer to a form only if the form was read to its end: so what is too long is read and
    dropped first, within bounds.
    """

    def __init__(self, receive: Receive, headers: Headers, max_bytes: int, within_s: float) -> None:
        self._receive = receive
        self._max = max_bytes
        self._within_s = within_s
        self._waits_for_leave = "expect" in headers
        self._size = 0
        self._whole = False
        self._deadline: float | None = None
        said = headers.get("content-length", "0")
        self.too_long = said.isdecimal() and int(said) > max_bytes

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        message = await self._in_time()
        self._size += len(message.get("body", b""))
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        if self._size > self._max:
            await self.drain()
            raise HTTPException(413, self._told(), headers=_CLOSE)
        return message

    async def drain(self) -> None:
        """Read the rest and drop it; no more than a few megabytes and seconds of it."""
        if self._waits_for_leave:
            return
        try:
            async with asyncio.timeout(_DRAINED_S):
                while not self._whole and self._size <= self._max + _DRAINED_BYTES:
                    message = await self._receive()
                    self._size += len(message.get("body", b""))
                    self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        except TimeoutError:
            return

    def refusal(self) -> Response:
        """Return the page that says that the body is too long."""
        response = page("templates/error.html", 413, told=self._told())
        response.headers.update(_CLOSE)
        return response

    def _told(self) -> str:
        return f"what was sent is longer than {self._max:,} bytes; nothing of it was kept"

    async def _in_time(self) -> Message:
        now = asyncio.get_running_loop().time()
        self._deadline = self._deadline or now + self._within_s
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._receive()
        except TimeoutError as error:
            raise HTTPException(408, "what was sent did not come in time; send it again", _CLOSE) from error
