"""Errors of every kind as providers word them: `tests/fixtures/errors/KIND.jsonl`, one answer a line.

`vendor` (who words it so), `outcome`, `status`, `body` (text, or JSON), and where they are not the usual
ones `headers`, `wait_s`, `billed`, `adapter`. Facts (status, shape, codes, phrases) come from the vendors'
error pages and from public issue threads; figures and identifiers are made up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.messages import RawReply

FOLDER = Path(__file__).parent / "fixtures" / "errors"

NOW_S = 1_790_000_000.0
"""The time (Unix) from which the moments in these answers count."""


@dataclass(frozen=True)
class ErrorExample:
    """One answer with a failure status; `wait_s` and `billed` as its Fault must have them."""

    vendor: str
    outcome: str
    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float | None = None
    billed: bool = False
    adapter: str = "openai"

    def raw(self, body: Any = None) -> RawReply:
        """Return the answer, or the same with another body."""
        value = self.body if body is None else body
        data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return RawReply(self.status, self.headers, data.encode())


def error_kinds() -> dict[str, list[ErrorExample]]:
    """Return the examples of each kind, by the name of its file."""
    return {
        path.stem: [ErrorExample(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
        for path in sorted(FOLDER.glob("*.jsonl"))
    }
