"""The compressed copy of the cases that a run keeps, so that it is scored without their files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from harness.benchmarks.base import Case, CaseSet
from harness.canonical import JSON, canonical_json
from harness.media import Media

Place: TypeAlias = tuple[Path | None, bool | None, float | None]
"""Where a medium lies, whether its samples are plain, and a video's length in seconds (see `Media`)."""


def encode_cases(cases: CaseSet) -> bytes:
    """Return a case set as canonical JSON lines: a head line, then one line a case.

    Paths are left out: the same cases in another folder give the same bytes.
    """
    return b"\n".join([encode_head(cases), *map(encode_case, cases.cases)])


def decode_cases(data: bytes) -> CaseSet:
    """Undo `encode_cases`; media come back without a path."""
    head_line, *lines = data.split(b"\n")
    head = json.loads(head_line)
    return CaseSet(
        cases=tuple(map(decode_case, lines)),
        raters=head["raters"],
        synthetic=head["synthetic"],
    )


def encode_head(cases: CaseSet) -> bytes:
    """Return the first line: what is not about a single case."""
    return canonical_json({"synthetic": cases.synthetic, "raters": cases.raters, "n": len(cases.cases)})


def encode_case(case: Case) -> bytes:
    """Return the line of one case."""
    return canonical_json(
        {
            "id": case.id,
            "fields": case.fields,
            "media": {role: [_media(one) for one in media] for role, media in case.media.items()},
            "reference": case.reference,
            "group": case.group,
            "tags": list(case.tags),
            "problem": case.problem,
        }
    )


def decode_case(line: bytes, places: Mapping[str, Sequence[Place]] | None = None) -> Case:
    """Undo `encode_case`; `places` gives, by role, what the line leaves out of each medium."""
    data: Mapping[str, JSON] = json.loads(line)
    media = cast("Mapping[str, list[dict[str, Any]]]", data["media"])
    return Case(
        id=cast(str, data["id"]),
        fields=cast("Mapping[str, str]", data["fields"]),
        media={
            role: tuple(Media(**one) for one in many)
            if places is None
            else tuple(
                Media(**one, path=path, plain=plain, duration_s=duration_s)
                for one, (path, plain, duration_s) in zip(many, places[role], strict=True)
            )
            for role, many in media.items()
        },
        reference=cast("Mapping[str, JSON]", data["reference"]),
        group=cast("str | None", data["group"]),
        tags=tuple(cast("list[str]", data["tags"])),
        problem=cast("str | None", data["problem"]),
    )


def _media(media: Media) -> Mapping[str, JSON]:
    return {
        "sha256": media.sha256,
        "mime": media.mime,
        "size": media.size,
        "width": media.width,
        "height": media.height,
    }
