"""What is measured with: made-up cases, images of a wanted size, an answer, a configuration."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.benchmarks.triage.taxonomy import LABELS, answer_of

COMPLAINT = (
    "Patient {number:07d} reports a dull ache in the lower left jaw for about three weeks, worse on biting "
    "and with cold drinks. Gums bleed now and then when brushing. Last check-up two years ago."
)
REASONING = (
    "The radiograph shows a deep carious lesion of the lower left first molar close to the pulp, generalised "
    "horizontal bone loss of less than a third of the root length, and a retained root in the upper right "
    "quadrant. The complaint of pain on biting and to cold fits the carious tooth. Bleeding on brushing fits "
    "the periodontal findings. No sign of a lesion that would need an urgent referral. "
)


def answer_body() -> bytes:
    """Return a body of OpenAI's chat format with a usable triage answer of usual length."""
    value: dict[str, Any] = json.loads(json.dumps(answer_of(list(LABELS)[3:5])))
    value["reasoning"] = REASONING * 2
    message = {"role": "assistant", "content": json.dumps(value)}
    reply = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 700, "total_tokens": 1600},
    }
    return json.dumps(reply).encode()


def write_png(path: Path, size: int, number: int) -> None:
    """Write a small grey PNG that differs for each `number`, filled up to about `size` bytes.

    What fills it stands in a chunk that decoders skip: nothing of it compresses, as in a radiograph, and
    reading, hashing, encoding and sending cost what they cost for any file of that size.
    """
    rows = b"".join(b"\0" + bytes([number % 251] * 16) for _ in range(8))
    head = struct.pack(">IIBBBBB", 16, 8, 8, 0, 0, 0, 0)
    filling = struct.pack(">Q", number) + _noise()[: max(size - 120, 0)]
    chunks = (b"IHDR", head), (b"prVt", filling), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks))


def write_cases(folder: Path, count: int, *, image_bytes: int, images: int = 1) -> Path:
    """Write a triage case folder of `count` cases, each with an image file of its own name.

    There are `images` different files; the others are hard links to them, so that 20,000 cases of 1 MB do not
    need 20 GB of disk: each is opened, read, hashed, encoded and sent all the same.
    """
    (folder / "images").mkdir(parents=True)
    for number in range(count):
        path = folder / "images" / f"{number:07d}.png"
        if number < images:
            write_png(path, image_bytes, number)
        else:
            path.hardlink_to(folder / "images" / f"{number % images:07d}.png")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in _case_lines(count))
    return folder


def write_config(folder: Path, url: str, models: Sequence[str] = ("m",)) -> Path:
    """Write a harness.toml with models at the loopback server."""
    lines = ["[providers.lab]", 'adapter = "openai"', f'base_url = "{url}/v1"', 'endpoint = "lab"']
    for name in models:
        lines += [
            f"[models.{name}]", 'provider = "lab"', f'model = "{name}"', 'inputs = ["text", "image"]',
            "params = { temperature = 0, max_tokens = 2048 }",
        ]  # fmt: skip
    path = folder / "harness.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def prompt_body(number: int) -> dict[str, Any]:
    """Return a text request as large as the one that a sweep sends."""
    from harness.benchmarks.prompts import load_prompt, render

    text = render(load_prompt("triage-complaint-v1"), {"chief_complaint": COMPLAINT.format(number=number)})
    return {
        "model": "m",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": 2048,
    }


def _case_lines(count: int) -> Iterator[str]:
    labels = list(LABELS)
    for number in range(count):
        yield json.dumps(
            {
                "id": f"case-{number:07d}",
                "chief_complaint": COMPLAINT.format(number=number),
                "image": f"images/{number:07d}.png",
                "labels": [labels[number % len(labels)]],
                "rationale": "made up",
            }
        )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_NOISE: list[bytes] = []


def _noise() -> bytes:
    if not _NOISE:
        _NOISE.append(os.urandom(2**21))
    return _NOISE[0]
