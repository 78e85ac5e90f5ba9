"""How a stored row is to be read: kept beside it, so that the row alone gives its answer again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.canonical import canonical_json
from harness.imports.documents import MISSING, BadRowError, Document, look_up

HEADER = "x-harness-import"
"""The header of an imported exchange that holds its hints."""

FIELDS = (
    "id",
    "answer",
    "repeat",
    "attempt",
    "finish_reason",
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "cost_usd",
    "total_s",
    "served_model",
    "reasoning",
    "error",
)
"""What `--map` can point to."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Format of a row, where its fields are, and which of its answers is meant.

    `paths`: our name -> dotted path. `choice` counts from 0 among the answers of one row; `failure_texts` are
    texts that the user knows to be failures in these files.
    """

    format: str
    paths: Mapping[str, str] = field(default_factory=dict)
    choice: int = 0
    failure_texts: tuple[str, ...] = ()

    def find(self, document: Document, name: str, *usual: str) -> Any:
        """Return a field: where the user says it is, else at the first usual path that leads somewhere.

        MISSING where there is nothing. Raises BadRowError where the user's path leads nowhere.
        """
        if name in self.paths:
            value = look_up(document, self.paths[name])
            if value is MISSING:
                raise BadRowError(f"there is no {self.paths[name]!r} (--map {name}={self.paths[name]})")
            return value
        for path in usual:
            value = look_up(document, path)
            if value is not MISSING:
                return value
        return MISSING

    def text(self, document: Document, name: str, *usual: str) -> str | None:
        """Return a field that is a text and not empty; None for anything else."""
        value = self.find(document, name, *usual)
        return value if isinstance(value, str) and value else None

    def for_answer(self, choice: int, text: str | None) -> Hints:
        """Return the hints for one answer of a row, with the failure text that it is and no other.

        So a text that is named later changes only the answers that it is about.
        """
        about = tuple(one for one in self.failure_texts if text is not None and one in (text, text.strip()))
        return replace(self, choice=choice, failure_texts=about)

    def header(self) -> dict[str, str]:
        """Return the hints as the header that is stored with a row; what is usual is left out."""
        known: dict[str, object] = {"format": self.format}
        if self.paths:
            known["map"] = dict(self.paths)
        if self.choice:
            known["choice"] = self.choice
        if self.failure_texts:
            known["failure_texts"] = list(self.failure_texts)
        return {HEADER: canonical_json(known).decode("ascii")}


def read_hints(headers: Mapping[str, str]) -> Hints:
    """Undo `Hints.header`. Raises BadRowError."""
    try:
        known = json.loads(headers.get(HEADER, ""))
        return Hints(
            format=str(known["format"]),
            paths={str(name): str(path) for name, path in known.get("map", {}).items()},
            choice=int(known.get("choice", 0)),
            failure_texts=tuple(str(text) for text in known.get("failure_texts", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRowError("nothing says how this row is to be read") from error
