"""Who asks for a page of a grading, and what a form of theirs says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from harness.grading.desk import Desk
from harness.grading.seats import Seat
from harness.web.grading.keeping import Keeping
from harness.web.links import whole_number

MOST_BYTES: Final = 1 << 18
"""Of a form: a comment of some 60,000 characters, however it is encoded."""

_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Seated:
    """A seat at a desk, which a link led to."""

    desk: Desk
    seat: Seat
    keeping: Keeping

    @property
    def base(self) -> str:
        """Return the address of the seat's first page."""
        return f"/g/{self.seat.token}/"


def seated(request: Request) -> Seated:
    """Return who asks."""
    return cast("Seated", request.state.seated)


def position_of(request: Request) -> int:
    """Return which sheet is asked for, counted from 1; whether there is one only the desk knows."""
    position = whole_number(request.path_params["position"])
    if position is None:
        raise HTTPException(404)
    return position


async def form_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a form, of equal names the last. Raises HTTPException for what is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().casefold() != _FORM:
        raise HTTPException(415, "only the forms of these pages are taken")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise HTTPException(413, "that is too long; shorten the comment")
    try:
        text = body.decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict"))
    except ValueError as error:
        raise HTTPException(400, "that is no form of these pages") from error
