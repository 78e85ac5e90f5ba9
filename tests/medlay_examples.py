"""MedLayXPlain cases, a folder of them, and what a verifier says: for tests of the benchmark `medlay`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.rubric import CRITERIA

EXPERT = "Axial CT of the abdomen. The region of interest shows a hypodense hepatic lesion."
LAY = "This is a CT scan of the belly. The marked area shows a darker spot in the liver (a lesion)."
SAID = "1. This is a CT scan of the belly.\n2. In the box is a dark spot.\n3. It may be a growth (lesion)."


def line(id: str = "a", **changes: Any) -> dict[str, Any]:
    """Return a sound line; a change to `...` leaves a field out."""
    whole = {
        "id": id, "image": f"images/{id}.png", "roi": [2, 3, 12, 9], "modality": "CT",
        "expert_caption": EXPERT, "lay_caption": LAY,
    }  # fmt: skip
    return {name: value for name, value in (whole | changes).items() if value is not ...}


def write(folder: Path, *lines: Mapping[str, Any], size: tuple[int, int] = (40, 20)) -> Path:
    """Write a folder of these lines, with an image of its own shade for each path that is named."""
    folder.mkdir(parents=True, exist_ok=True)
    for shade, one in enumerate(lines):
        path = folder / str(one.get("image", "images/none.png"))
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".png" and not path.exists():
            Image.new("RGB", size, (shade % 256, shade // 256 % 256, 9)).save(path)
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (folder / "cases.jsonl").write_text(text, encoding="utf-8")
    return folder


def case(id: str = "a", expert: str = EXPERT, lay: str = LAY, modality: str = "CT", **changes: Any) -> Case:
    """Return a case without media."""
    reference = {"lay_caption": lay, "modality": modality, "concepts": []}
    return Case(id, {"expert_caption": expert, "roi": "2,3,12,9"}, {}, reference, **changes)


def verdict(scores: Sequence[int] = (2, 2, 2, 2, 2), **changes: Any) -> dict[str, Any]:
    """Return what a verifier says that is consistent, but for the changes."""
    total = sum(scores)
    said = "PASS" if total == 10 else "REVISE" if total >= 7 else "FAIL"
    return {
        "scores": dict(zip(CRITERIA.values(), scores, strict=True)),
        "total_score": total,
        "verdict": said,
        "fail_reasons": [] if said == "PASS" else ["something is missing"],
        "revised_lay_caption": "" if said == "PASS" else "A better text.",
        "expert_error": False,
        "expert_error_reason": "",
        "brief_note": "as seen",
    } | changes
