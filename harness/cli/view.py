"""`harness view`: runs, answers and exchanges as pages of a local server."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

import click

from harness.cache.location import display, find_store
from harness.cli.options import config_option, say, store_option
from harness.config import load_config


@click.command("view", epilog="Example: harness view --port 8731")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: a free one.")
@store_option
@config_option
def command(port: int, store: str | None, config_path: Path | None) -> None:
    """Show runs, answers and exchanges in a browser, live while a run is at work.

    Prints a link that opens on this machine alone, and serves it until Ctrl-C. Nothing is written.
    """
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    asyncio.run(_view(url, port))


async def _view(url: str, port: int) -> None:
    from harness.cache.store import Store
    from harness.web.guard import Access
    from harness.web.serving import LOOPBACK, listen, serve
    from harness.web.viewing.site import viewer

    async with await Store.open(url, create=False, only_read=True, warn=say) as opened:
        listening = listen(LOOPBACK, port)
        token, bound = secrets.token_urlsafe(24), listening.getsockname()[1]
        app = viewer(opened, Access(token, cookie=f"harness-{bound}"))
        click.echo(f"http://{LOOPBACK}:{bound}/?token={token}")
        await serve(app, listening)
