"""Gradings served: where, by which links, and how to reach them from another computer."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from harness.cli.options import say
from harness.cli.tables import GAP, display_width, terminal_width
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.grading.desk import Desk
    from harness.grading.seats import Seat

_OPEN: Final = (
    "warning: anybody on the way can read this line, it is not encrypted; a tunnel by ssh is safer"
)


async def serve_gradings(desks: Sequence[Desk], host: str, port: int | None) -> None:
    """Serve gradings until the process is told to stop, and print the link of each seat."""
    from harness.web.grading.site import grader
    from harness.web.guard import Access
    from harness.web.serving import base_address, is_open, names_of, serve

    if any(desk.store.read_only for desk in desks):
        raise ConfigError(
            "this store can only be read, and grades are to be kept; make it writable, or use `--status`"
        )
    listening = _listening(host, port, desks)
    base, bound = base_address(host, listening), listening.getsockname()[1]
    for desk in desks:
        await desk.remember_port(bound)
    access = Access(None, hosts=names_of(host, listening), any_address=is_open(listening))
    lines = links(desks, base, terminal_width() if sys.stdout.isatty() else None)
    told = partial(_tell, lines, _OPEN if is_open(listening) else _by_tunnel(bound))
    await serve(grader(desks, access), listening, ready=told)
    say("the pages are closed; every grade that was given is kept")


def _tell(lines: Sequence[str], way: str) -> None:
    say(
        "note: each rater needs their own link alone; by that of the consensus the raters settle what they "
        "differ on, and by that of the lead you see progress, agreement and files"
    )
    say(way)
    say("the links, until Ctrl-C; every grade is kept as it is given:")
    for line in lines:
        click.echo(line)


def _by_tunnel(port: int) -> str:
    from harness.web.serving import tunnel

    return f"note: from another computer: `{tunnel(port)}`, and the same links there"


def _listening(host: str, port: int | None, desks: Sequence[Desk]) -> socket.socket:
    """Return a socket at the port that was asked for; else at that of last time, else at a free one."""
    from harness.web.serving import listen

    last = next((desk.state.port for desk in desks if desk.state.port is not None), None)
    if port is not None or last is None:
        return listen(host, port or 0)
    try:
        return listen(host, last)
    except ConfigError:
        say(
            f"warning: port {last}, at which this was served last, is in use; the links have another one "
            "now: send them anew, or free that port and start again"
        )
        return listen(host, 0)


def links(desks: Sequence[Desk], base: str, columns: int | None) -> list[str]:
    """Return the lines that are printed: each seat with its link, below it where `columns` are too few.

    None: it is no terminal, whose lines would be broken anywhere.
    """
    names = [seat.name for desk in desks for seat in desk.seats]
    width = max(map(display_width, names))
    longest = max(len(address(base, seat)) for desk in desks for seat in desk.seats)
    beside = columns is None or width + len(GAP) + longest <= columns
    lines = []
    for desk in desks:
        if len(desks) > 1:
            lines.append(f"{desk.name}:")
        for seat in desk.seats:
            link = address(base, seat)
            if beside:
                lines.append(f"{seat.name}{' ' * (width - display_width(seat.name))}{GAP}{link}")
            else:
                lines += [seat.name, link]
    return lines


def address(base: str, seat: Seat) -> str:
    """Return the personal link of a seat."""
    return f"{base}/g/{seat.token}/"
