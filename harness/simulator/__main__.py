"""Run the simulator by itself: `python -m harness.simulator --port 8100`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Sequence

from harness.simulator.server import URL_VARIABLE, SimulatorServer


async def serve(host: str, port: int) -> None:
    """Serve until cancelled; the first line on stdout is the base URL."""
    async with SimulatorServer(host=host, port=port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stderr.write(f"use it with: export {URL_VARIABLE}={server.url}\n")
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m harness.simulator", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: loopback)")
    parser.add_argument("--port", type=int, default=0, help="port to listen at (default: any free one)")
    options = parser.parse_args(arguments)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve(options.host, options.port))
    except OSError as error:
        sys.stderr.write(f"cannot listen at {options.host}:{options.port}: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
