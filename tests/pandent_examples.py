"""Cases whose findings the paper prints (tables 3 and 5, figure 4), and how to make more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image

from harness.benchmarks.pandent.findings import FINDINGS

PRINTED: dict[str, dict[str, Any]] = {
    "table 3 row 1": {
        "missing_teeth": [18, 28, 38, 46, 47, 48], "caries": [37], "metallic_restoration": [17, 26, 27, 37],
        "root_canal_treatment": [27, 36], "artificial_crown": [36], "non_metal_post_core": [36],
        "gcbl_maxilla": True, "gcbl_mandible": True,
    },
    "table 3 row 2": {
        "missing_teeth": [28, 36, 38, 46], "caries": [27], "periapical_lesion": [35],
        "metallic_restoration": [16, 17, 37], "non_metal_restoration": [27], "root_canal_treatment": [11],
        "artificial_crown": [11, 21], "gcbl_maxilla": True, "gcbl_mandible": True,
    },
    "figure 4 case 1": {
        "missing_teeth": [17, 18, 28, 36, 38, 46, 48], "caries": [13],
        "metallic_restoration": [26, 27, 37, 47], "non_metal_restoration": [42, 43],
        "root_canal_treatment": [13], "artificial_crown": [14, 15, 16],
    },
    "figure 4 case 2": {
        "partially_erupted_or_impacted": [18], "missing_teeth": [27, 38, 45, 46, 48], "caries": [28],
        "periapical_lesion": [35], "non_metal_restoration": [12, 16, 17, 22, 24, 28],
        "root_canal_treatment": [15, 35, 36], "artificial_crown": [15, 35, 36, 37], "bridge": ["25-26-X"],
        "non_metal_post_core": [35], "gcbl_mandible": True,
    },
    "table 5": {
        "missing_teeth": [18, 26, 27, 28, 38, 48], "non_metal_restoration": [11, 21],
        "root_canal_treatment": [11, 21], "gcbl_maxilla": True, "gcbl_mandible": True,
    },
}  # fmt: skip
"""Where it is printed -> the findings that are there; all others are none."""


def findings(**there: Any) -> dict[str, Any]:
    """Return all 21 findings as a line states them: those given, and none of the others."""
    none = {one.id: [] if one.answer == "tooth_set" else False for one in FINDINGS}
    return {**none, **there}


def line(name: str = "a", **fields: Any) -> dict[str, Any]:
    """Return a line of a case file without any finding, with these fields instead."""
    return {"id": name, "image": "a.png", "findings": findings(), "report": "All is well.", **fields}


def write(folder: Path, *lines: object) -> Path:
    """Write a case file, and the image that its lines name."""
    if not (folder / "a.png").exists():
        Image.new("L", (20, 10), 90).save(folder / "a.png")
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines]
    (folder / "cases.jsonl").write_text("\n".join(texts), encoding="utf-8", newline="")
    return folder
