"""A process that sends the same requests with a bare client, and says what that cost.

`python -m perf.bare` reads {"url", "count", "in_flight", "client": "aiohttp" | "httpx", "images": [...]}:
each worker sends one request after the other and reads the answer; with images, each is read, hashed and put
into its body as base64 first. Nothing is checked, retried or kept.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from perf.material import prompt_body
from perf.ours import cpu_s

Post = Callable[[bytes], Awaitable[bytes]]
HEADERS = {"content-type": "application/json"}


def main() -> None:
    """Do what the argument says."""
    wanted = json.load(sys.stdin)
    print(json.dumps({"cpu_s": asyncio.run(measure(**wanted))}), flush=True)


async def measure(url: str, count: int, in_flight: int, client: str, images: list[str]) -> float:
    """Return the CPU seconds of `count` exchanges."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        if client == "aiohttp":
            return await _timed(_aiohttp_post(session, url), count, in_flight, images)
        async with httpx.AsyncClient(transport=AiohttpTransport(client=session), timeout=60) as httpx_client:

            async def post(body: bytes) -> bytes:
                return (await httpx_client.post(url, content=body, headers=HEADERS)).content

            return await _timed(post, count, in_flight, images)


def _aiohttp_post(session: aiohttp.ClientSession, url: str) -> Post:
    async def post(body: bytes) -> bytes:
        # a large body as a payload of its own: aiohttp warns of bytes that it would copy at once
        async with session.post(url, data=aiohttp.BytesPayload(body), headers=HEADERS) as response:
            return await response.read()

    return post


async def _timed(post: Post, count: int, in_flight: int, images: list[str]) -> float:
    numbers = iter(range(count))
    bodies = None if images else [json.dumps(prompt_body(number)).encode() for number in range(count)]

    async def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            body = bodies[number] if bodies is not None else _with_image(images[number % len(images)], number)
            await post(body)

    start = cpu_s()
    await asyncio.gather(*(work(numbers) for _ in range(in_flight)))
    return cpu_s() - start


def _with_image(path: str, number: int) -> bytes:
    data = Path(path).read_bytes()
    hashlib.sha256(data).hexdigest()
    body: dict[str, Any] = prompt_body(number)
    text = {"type": "text", "text": body["messages"][0]["content"]}
    url = "data:image/png;base64," + base64.b64encode(data).decode("ascii")
    image = {"type": "image_url", "image_url": {"url": url}}
    body["messages"][0]["content"] = [text, image]
    return json.dumps(body).encode()


if __name__ == "__main__":
    main()
