"""Redraw the bundled MedLayXPlain sample: 24 made-up cases with drawn pictures of all eight modalities.

Usage: python tools/draw_medlay_sample.py [OUT]   (default: the sample folder of the package)

Everything is a function of `medlay_sample_cases.jsonl` and fixed seeds. The pictures only look like medical
images: no patient's image went into them, and SYNTHETIC is burned into each. Their captions are in our own
words, about diseases that nobody has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from medlay_phantom import SIDE, draw_box, draw_picture  # noqa: E402
from sample_files import write_sample  # noqa: E402

CASES_FILE: Final = Path(__file__).resolve().parent / "medlay_sample_cases.jsonl"
SAMPLE: Final = ROOT / "harness" / "benchmarks" / "medlay" / "sample"
JPEG_QUALITY: Final = 70

Box: TypeAlias = tuple[int, int, int, int]


def main(out: Path = SAMPLE) -> None:
    """Write the whole sample folder."""
    specs = read_specs()
    write_texts(out, specs)
    for number in range(len(specs)):
        write_picture(out, specs, number)


def read_specs() -> list[dict[str, Any]]:
    """Return what each case is and what its picture shows."""
    return [json.loads(line) for line in CASES_FILE.read_text(encoding="utf-8").splitlines()]


def write_texts(out: Path, specs: Sequence[Mapping[str, Any]]) -> None:
    """Write the cases and the mark that all of it is synthetic."""
    cases = (_case(spec, number) for number, spec in enumerate(specs))
    write_sample(out, cases, "made-up findings, drawings and captions")


def write_picture(out: Path, specs: Sequence[Mapping[str, Any]], number: int) -> None:
    """Draw the picture of one case, counted from 0, with its box where the case says that it is drawn."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    spec = specs[number]
    picture = draw_picture(spec["modality"], tuple(spec["centre"]), spec["radius"], seed=4000 + number)
    if spec["drawn"]:
        draw_box(picture, box_of(spec))
    picture.save(out / _image_name(number), format="JPEG", quality=JPEG_QUALITY, optimize=True)


def box_of(spec: Mapping[str, Any]) -> Box:
    """Return the box around a lesion, in pixels."""
    (x, y), half = spec["centre"], spec["radius"] * 1.15
    left, top, right, bottom = (round(side * SIDE) for side in (x - half, y - half, x + half, y + half))
    return left, top, right, bottom


def _case(spec: Mapping[str, Any], number: int) -> dict[str, Any]:
    box = box_of(spec)
    place = f"in the {_where(spec['centre'])} of the image"
    share = f"{100 * (box[2] - box[0]) * (box[3] - box[1]) / SIDE**2:.1f}%"
    words = {"place": place, "Place": place[0].upper() + place[1:], "share": share}
    return {
        "id": f"syn-lay-{number + 1:03}",
        "image": _image_name(number),
        "roi": None if spec["drawn"] else list(box),
        "modality": spec["modality"],
        "expert_caption": spec["expert"].format_map(words),
        "lay_caption": spec["lay"].format_map(words),
        **({"concepts": spec["concepts"]} if spec["concepts"] else {}),
    }


def _where(centre: Sequence[float]) -> str:
    """Return the part of a picture that a point lies in, of nine."""
    x, y = (0 if one < 0.42 else 1 if one <= 0.58 else 2 for one in centre)
    rows, columns = ("upper", "", "lower"), ("left", "", "right")
    return " ".join(filter(None, (rows[y], columns[x], "part"))) if (x, y) != (1, 1) else "center"


def _image_name(number: int) -> str:
    return f"images/syn-lay-{number + 1:03}.jpg"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
