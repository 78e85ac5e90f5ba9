"""What is told of answers that were read from files: nobody was asked for them, and nobody can be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from harness.cache.rows import NewExchange, Session
from harness.canonical import JSON
from harness.imports.documents import BadRowError
from harness.imports.hints import read_hints
from harness.providers.imported import state_of


def import_facts(data: NewExchange, sessions: Iterable[Session]) -> Mapping[str, JSON]:
    """Return where an imported exchange comes from and how its row is read; None: it is not known.

    `format`, `paths` and `choice` (from 0) are the hints that today's reading follows; the tool's version
    is what the session noted that imported the file. `total_s` seconds, as the row states it.
    """
    kept = _kept(data.request)
    facts: dict[str, Any] = {name: kept.get(name) for name in ("file", "sha256", "row")}
    facts |= {"format": None, "tool_version": None, "paths": {}, "choice": None, "total_s": None}
    for session in sessions:
        noted: Any = session.info.get("import") or {}
        for file in noted.get("files", ()):
            if file.get("sha256") == facts["sha256"]:
                facts |= {"format": file.get("format"), "tool_version": file.get("tool_version")}
    try:
        hints = read_hints(data.raw.headers)
        facts |= {"format": hints.format, "paths": dict(hints.paths), "choice": hints.choice}
        stated = state_of(data.raw)
    except BadRowError:
        return facts | {"stated_at": False}
    return facts | {"total_s": stated.total_s, "stated_at": stated.started_at_us is not None}


def _kept(request: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(request)["imported"]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, Mapping) else {}


def imported_next(*, answered: bool) -> Mapping[str, JSON]:
    """Return what comes next for a unit whose answers come from files."""
    told = "its answers are imported" if answered else "the imported files hold no answer for it"
    return {
        "by": "import",
        "why_snapshot": None,
        "asks": False,
        "told": f"{told}, and nobody is asked for it; `harness import` adds what is missing",
    }
