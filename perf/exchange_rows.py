"""Rows about sending: CPU an exchange, requests in flight, delays of the event loop."""

from __future__ import annotations

from perf.processes import Loopback, bare_cpu_s, folder, ours
from perf.rows import Row, Sizes

TEXT_MS = 1.5
IMAGE_RATIO = 2.0
LAG_MS = 50.0


def text_64(server: Loopback, sizes: Sizes) -> Row:
    """Measure the CPU of a text exchange at 64 in flight."""
    return _text(server, sizes, 64)


def text_512(server: Loopback, sizes: Sizes) -> Row:
    """Measure the CPU of a text exchange at 512 in flight."""
    return _text(server, sizes, 512)


def _text(server: Loopback, sizes: Sizes, in_flight: int) -> Row:
    count = sizes.exchanges
    # Answers take as long as we need for all that are in flight: so many really are.
    delay_s = in_flight / 500
    with folder(server, count) as at:
        server.reset(delay_s=delay_s)
        result = ours(at.run_args("--max-in-flight", str(in_flight)))
        most = server.stats()["max_in_flight"]
    cpu_ms = _ms(result["cpu_s"] - result["scoring_cpu_s"], count)
    bare_ms = {}
    for client in ("aiohttp", "httpx"):
        server.reset(delay_s=delay_s)
        bare_ms[client] = _ms(bare_cpu_s(server, count, in_flight, client), count)
    return Row(
        f"text, CPU each, {in_flight} in flight",
        f"<= {TEXT_MS} ms",
        cpu_ms,
        "ms",
        cpu_ms <= TEXT_MS,
        bare_ms["aiohttp"],
        f"httpx+aiohttp {bare_ms['httpx']:.2f} ms; {most} there at once; {count:,} units, all but the score",
        {"httpx_ms": bare_ms["httpx"], "seen_at_once": most, "wall_s": result["wall_s"]},
    )


def image(server: Loopback, sizes: Sizes) -> Row:
    """Measure the CPU of an exchange with an image of 1 MB."""
    count = sizes.images
    with folder(server, count, image_bytes=sizes.image_bytes, images=count) as at:
        server.reset()
        result = ours(at.run_args("--max-in-flight", "64", condition="both"))
        bare_ms = {
            client: _ms(bare_cpu_s(server, count, 64, client, at.images), count)
            for client in ("aiohttp", "httpx")
        }
    cpu_ms = _ms(result["cpu_s"] - result["scoring_cpu_s"], count)
    return Row(
        "1 MB image, CPU each",
        f"<= {IMAGE_RATIO:g}x bare",
        cpu_ms,
        "ms",
        cpu_ms <= IMAGE_RATIO * bare_ms["aiohttp"],
        bare_ms["aiohttp"],
        f"httpx+aiohttp {bare_ms['httpx']:.2f} ms; {count:,} files of {sizes.image_bytes:,} bytes",
        {"httpx_ms": bare_ms["httpx"], "wall_s": result["wall_s"]},
    )


def concurrency(server: Loopback, sizes: Sizes) -> Row:
    """Measure how many requests the server sees at once."""
    wanted = sizes.in_flight
    with folder(server, 2 * wanted) as at:
        server.reset(hold=wanted)
        ours(at.run_args("--max-in-flight", str(wanted)))
        seen = server.stats()["max_in_flight"]
    return Row(
        f"in flight, {wanted} asked for", f"{wanted}", seen, "", seen == wanted,
        note="the server answers none until all are there",
    )  # fmt: skip


def lag(server: Loopback, sizes: Sizes) -> Row:
    """Measure how long the event loop is not free during an image sweep."""
    with folder(server, sizes.images, image_bytes=sizes.image_bytes, images=sizes.images) as at:
        server.reset()
        result = ours(at.run_args("--max-in-flight", "64", condition="both"), lag=True)
    delays = [1000 * delay for delay in result["delays"]]
    p99 = delays[max(len(delays) - 1 - result["n_delays"] // 100, 0)]
    own = 1000 * result["own_delays"][-1]
    return Row(
        "event-loop lag, image sweep", f"< {LAG_MS:g} ms", delays[-1], "ms", delays[-1] < LAG_MS,
        note=f"longest of {result['n_delays']:,}; 99 % up to {p99:.0f} ms; our CPU within one: {own:.0f} ms",
        facts={"p99_ms": p99, "own_ms": own},
    )  # fmt: skip


def _ms(seconds: float, count: int) -> float:
    return 1000 * seconds / count
