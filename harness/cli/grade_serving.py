"""Gradings served: where, by which links, and how to reach them from another computer.

Links are made of an address and what the store keeps, so that they can be told without serving anything.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from harness.cli.options import say
from harness.cli.tables import GAP, display_width, terminal_width
from harness.errors import ConfigError, HarnessError, StoreError
from harness.phrases import count

if TYPE_CHECKING:
    from harness.grading.desk import Desk
    from harness.grading.seats import Seat
    from harness.web.grading.keeping import Keeping

_OPEN: Final = "warning: anybody on the way can read this line, it is not encrypted; a tunnel by ssh is safer"


async def serve_gradings(desks: Sequence[Desk], host: str, port: int | None) -> None:
    """Serve gradings until the process is told to stop, and print the link of each seat.

    Raises StoreError where the store is gone, or answers that were given are not in it.
    """
    from harness.web.grading.keeping import Keeping
    from harness.web.grading.site import grader
    from harness.web.guard import Access
    from harness.web.serving import base_address, is_open, names_of, serve

    if any(desk.store.read_only for desk in desks):
        raise ConfigError(
            "this store can only be read, and grades are to be kept; make it writable, or use `--status`"
        )
    listening, beside = _listening(host, port, desks)
    base, bound = base_address(host, listening), listening.getsockname()[1]
    if not beside:
        for desk in desks:
            await desk.remember_port(bound)
    access = Access(None, hosts=names_of(host, listening), any_address=is_open(listening))
    lines = links(desks, base, terminal_width() if sys.stdout.isatty() else None)
    told = partial(_tell, lines, _OPEN if is_open(listening) else _by_tunnel(bound))
    stop = asyncio.Event()
    keeping = Keeping(desks[0].store, stop.set)
    await keeping.check()
    watching = asyncio.create_task(keeping.watch())
    try:
        await serve(grader(desks, access, keeping), listening, ready=told, stop=stop)
    finally:
        watching.cancel()
        if keeping.lost is None:
            await _leave(desks)
    await _check_kept(keeping)
    say("the pages are closed; every grade that was given is kept")


async def _check_kept(keeping: Keeping) -> None:
    """Raise StoreError where what was given is not in the store at the end, and say what to do."""
    with suppress(HarnessError):  # one that cannot be read now says nothing of what was kept
        await keeping.check()
    again = "pages that are still open then save what they could not"
    if keeping.lost is not None:
        raise StoreError(
            f"{keeping.lost}; so the pages are closed: no grade is told saved from then on. Put the store "
            "back where it was, together with the files beside it that begin with its name, and give the "
            f"same command again: {again}. A backup in its place holds the grades up to then alone"
        )
    if keeping.unsaved:
        by = ", ".join(f"{name} {n}" for name, n in sorted(keeping.unsaved.items()))
        raise StoreError(
            f"the pages are closed, and {count(sum(keeping.unsaved.values()), 'answer')} could not be saved "
            f"({by}); all others are kept. Give the same command again: {again}"
        )


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


async def _leave(desks: Sequence[Desk]) -> None:
    """Note that this process serves no more; what the store says then is told by whatever comes next."""
    with suppress(HarnessError):
        for desk in desks:
            await desk.served_no_more()


async def links_to_tell(desk: Desk, host: str, port: int | None) -> dict[str, str]:
    """Return seat -> link, as it is or will be served; a port is chosen and kept where there is none yet."""
    from harness.web.serving import base_address, listen

    with listen(host, 0) as free:
        site, _, chosen = base_address(host, free).rpartition(":")
    if port is None and desk.state.port is None:
        await desk.remember_port(int(chosen), served=False)
    base = f"{site}:{port or desk.state.port or chosen}"
    return {seat.name: address(base, seat) for seat in desk.seats}


def print_links(desks_links: Sequence[tuple[Desk, Mapping[str, str]]]) -> None:
    """Print links on stdout, and on stderr when they open anything."""
    for desk, found in desks_links:
        say(f"note: these links open their pages while `harness grade {desk.name}` serves them")
        if len(desks_links) > 1:
            click.echo(f"{desk.name}:")
        columns = terminal_width() if sys.stdout.isatty() else None
        for line in _beside(found, columns):
            click.echo(line)


def _listening(host: str, port: int | None, desks: Sequence[Desk]) -> tuple[socket.socket, bool]:
    """Return a socket at the port that was asked for; else at that of last time, else at a free one.

    And whether it is one beside that of last time, where another process serves the same at the moment.
    """
    from harness.web.serving import listen

    last = next((desk for desk in desks if desk.state.port is not None), None)
    if port is not None or last is None or last.state.port is None:
        return listen(host, port or 0), False
    try:
        return listen(host, last.state.port), False
    except ConfigError:
        where, server = f"port {last.state.port}", last.state.server
        if server is not None and server.is_alive():
            say(
                f"note: {last.name} is served already, at {where} by process {server.pid}; the links below "
                "work beside those, as long as this command does"
            )
            return listen(host, 0), True
        say(
            f"warning: {where}, at which this was served last, is in use; the links have another one now: "
            "send them anew, or free that port and start again"
        )
        return listen(host, 0), False


def links(desks: Sequence[Desk], base: str, columns: int | None) -> list[str]:
    """Return the lines that are printed: each seat with its link, below it where `columns` are too few.

    None: it is no terminal, whose lines would be broken anywhere.
    """
    lines = []
    width = max(display_width(seat.name) for desk in desks for seat in desk.seats)
    for desk in desks:
        if len(desks) > 1:
            lines.append(f"{desk.name}:")
        lines += _beside({seat.name: address(base, seat) for seat in desk.seats}, columns, width)
    return lines


def _beside(found: Mapping[str, str], columns: int | None, least: int = 0) -> list[str]:
    width = max(least, *map(display_width, found))
    if columns is not None and width + len(GAP) + max(map(len, found.values())) > columns:
        return [part for both in found.items() for part in both]
    return [f"{name}{' ' * (width - display_width(name))}{GAP}{link}" for name, link in found.items()]


def address(base: str, seat: Seat) -> str:
    """Return the personal link of a seat."""
    return f"{base}/g/{seat.token}/"
