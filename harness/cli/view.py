"""`harness view`: runs, answers and exchanges as pages of a local server."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

import click

from harness.cache.location import display, find_store
from harness.cli.options import config_option, say, store_option
from harness.config import load_config

if TYPE_CHECKING:
    from harness.cache.store import Store
    from harness.web.guard import Access

_WARMED_S = 2.0
"""How long the link waits, at most, until the units of the run that is looked at first are in memory."""
_ANYWHERE = {"0.0.0.0", "::"}
_UNENCRYPTED = (
    "warning: other machines can reach these pages; the line is not encrypted: who has the link, or listens "
    "on the way, reads cases and answers of patients; without --host, an ssh tunnel is told that is safer"
)


@click.command("view", epilog="Example: harness view night --port 8731")
@click.argument("run", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: a free one.")
@click.option(
    "--host", metavar="ADDRESS", default="127.0.0.1", help="Where to listen. Default: this machine alone."
)
@click.option("--open/--no-open", "opening", help="Open the page in a browser too. Default: no.")
@store_option
@config_option
def command(
    run: str | None, port: int, host: str, opening: bool, store: str | None, config_path: Path | None
) -> None:
    """Show runs, answers and exchanges in a browser, live while a run is at work.

    Prints a link that opens on this machine alone, to the page of RUN or to all runs, and serves it until
    Ctrl-C. Nothing is written to the store.
    """
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    asyncio.run(_view(url, run, host, port, _open if opening else None))


async def _view(
    url: str, run: str | None, host: str, port: int, opener: Callable[[str], None] | None
) -> None:
    from harness.web.serving import base_address, listen, serve
    from harness.web.viewing.present_store import PresentStore, lasting_viewer

    token = secrets.token_urlsafe(24)
    async with PresentStore.at(url, say) as present:
        place = await _place(present.store, run, token)
        with listen(host, port) as listening:
            link = base_address(host, listening) + place
            await present.library.warm(_WARMED_S, run)
            app = lasting_viewer(present, _access(token, host, listening))

            def tell() -> None:
                _tell(link, host, listening)
                if opener is not None:
                    opener(link)

            await serve(app, listening, ready=tell)
    say("the pages are closed")


def _access(token: str, host: str, listening: socket) -> Access:
    from harness.web.guard import Access
    from harness.web.serving import is_open, names_of

    return Access(
        token,
        cookie=f"harness-{listening.getsockname()[1]}",
        hosts=names_of(host, listening),
        any_address=is_open(listening),
    )


async def _place(store: Store, run: str | None, token: str) -> str:
    """Return path and query of the first page. Raises UnknownNameError, StoreError."""
    from harness.web.links import link

    if run is None:
        return link("/", token=token)
    return link("/run", run=(await store.find_run(run)).name, token=token)


def _tell(link: str, host: str, listening: socket) -> None:
    from harness.web.serving import is_open, tunnel

    if host in _ANYWHERE:
        say("note: where the name in the link is not known, put an address of this machine there")
    by_tunnel = f"note: from another machine, first: `{tunnel(listening.getsockname()[1])}`"
    say(_UNENCRYPTED if is_open(listening) else by_tunnel)
    say("open this link; Ctrl-C ends it:")
    click.echo(link)


def _open(link: str) -> None:
    """Open a link without waiting: a browser in the terminal lives as long as it is looked at."""
    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
