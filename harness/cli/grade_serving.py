"""Gradings served: where, by which links, and how to reach them from another computer."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness.cli.options import say
from harness.cli.tables import display_width
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.grading.desk import Desk
    from harness.grading.seats import Seat


async def serve_gradings(desks: Sequence[Desk], host: str, port: int | None) -> None:
    """Serve gradings until the process is told to stop, and print the link of each seat."""
    from harness.web.grading.site import grader
    from harness.web.guard import Access
    from harness.web.serving import base_address, is_open, names_of, serve, tunnel

    if any(desk.store.read_only for desk in desks):
        raise ConfigError(
            "this store can only be read, and grades are to be kept; make it writable, or use `--status`"
        )
    listening = _listening(host, port, desks)
    base, bound = base_address(host, listening), listening.getsockname()[1]
    for desk in desks:
        await desk.remember_port(bound)
    for line in links(desks, base):
        click.echo(line)
    say(
        "note: each rater needs their own link alone; by that of the consensus the raters settle what they "
        "differ on, and by that of the lead you see progress, agreement and files"
    )
    if is_open(listening):
        say("warning: anybody on the way can read this line, it is not encrypted; a tunnel by ssh is safer")
    else:
        say(f"note: from another computer: `{tunnel(bound)}`, and the same links there")
    say("serving until Ctrl-C; every grade is kept as it is given")
    access = Access(None, hosts=names_of(host, listening), any_address=is_open(listening))
    await serve(grader(desks, access), listening)


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


def links(desks: Sequence[Desk], base: str) -> list[str]:
    """Return the lines that are printed: each seat with its link."""
    lines = []
    for desk in desks:
        if len(desks) > 1:
            lines.append(f"{desk.name}:")
        width = max(map(display_width, (seat.name for seat in desk.seats)))
        lines += [
            f"{seat.name}{' ' * (width - display_width(seat.name))}  {address(base, seat)}"
            for seat in desk.seats
        ]
    return lines


def address(base: str, seat: Seat) -> str:
    """Return the personal link of a seat."""
    return f"{base}/g/{seat.token}/"
