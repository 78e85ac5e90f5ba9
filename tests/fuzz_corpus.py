"""The corpora of the fuzz targets: one file a target, one line an input."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "fuzz" / "corpus"


def read_corpus(target: str) -> list[bytes]:
    """Return the inputs that are kept for a target."""
    lines = (FOLDER / f"{target}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_decoded(json.loads(line)) for line in lines]


def write_corpus(target: str, inputs: Iterable[bytes]) -> None:
    """Keep these inputs, sorted, each once: as text where they are UTF-8, else as base64."""
    lines = [json.dumps(_encoded(data)) for data in sorted(set(inputs), key=lambda data: (len(data), data))]
    (FOLDER / f"{target}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _encoded(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _decoded(line: dict[str, str]) -> bytes:
    return line["text"].encode("utf-8") if "text" in line else base64.b64decode(line["base64"])
