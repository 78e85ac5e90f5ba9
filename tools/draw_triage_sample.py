"""Redraw the bundled triage sample: 24 made-up cases, phantom radiographs and three simulated raters.

Usage: python tools/draw_triage_sample.py [OUT]   (default: the sample folder of the package)

Everything is a function of `triage_sample_cases.jsonl` and fixed seeds. The pictures only look like
panoramic radiographs: no patient's image went into them, and SYNTHETIC is burned into each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from opg_phantom import draw_radiograph  # noqa: E402
from sample_files import write_lines, write_sample  # noqa: E402

from harness.benchmarks.triage.taxonomy import DOMAIN_OF, DOMAINS, LABELS  # noqa: E402

CASES_FILE: Final = Path(__file__).resolve().parent / "triage_sample_cases.jsonl"
SAMPLE: Final = ROOT / "harness" / "benchmarks" / "triage" / "sample"
JPEG_QUALITY: Final = 64

RATERS: Final[Mapping[str, tuple[float, float, float]]] = {
    "rater-a": (0.18, 0.10, 0.015),
    "rater-b": (0.25, 0.12, 0.025),
    "rater-c": (0.32, 0.06, 0.010),
}
"""Name -> chance that a true label is missed, is taken for a sibling of its domain, and that one is added."""


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
    """Write the cases, the raters and the mark that all of it is synthetic."""
    write_sample(out, map(_case, specs), "made-up complaints, labels, drawings and raters")
    (out / "raters").mkdir(exist_ok=True)
    for number, (name, rates) in enumerate(RATERS.items()):
        write_lines(out / "raters" / f"{name}.jsonl", _ratings(specs, rates, seed=2000 + number))


def write_picture(out: Path, specs: Sequence[Mapping[str, Any]], number: int) -> None:
    """Draw the picture of one case, counted from 0."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    picture = draw_radiograph(specs[number]["findings"], seed=1000 + number)
    picture.save(out / _image_name(specs[number]), format="JPEG", quality=JPEG_QUALITY, optimize=True)


def _image_name(spec: Mapping[str, Any]) -> str:
    return f"images/{spec['id']}.jpg"


def _case(spec: Mapping[str, Any]) -> dict[str, Any]:
    needed = len({DOMAIN_OF[label] for label in spec["labels"]})
    return {
        "id": spec["id"],
        "chief_complaint": spec["chief_complaint"],
        "image": _image_name(spec),
        "labels": spec["labels"],
        "rationale": spec["rationale"],
        "tags": ["single-domain" if needed == 1 else "multi-domain"],
    }


def _ratings(
    specs: Sequence[Mapping[str, Any]], rates: tuple[float, float, float], *, seed: int
) -> list[dict[str, Any]]:
    """Return a simulated rater's labels: the true ones, with seeded faults."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return [{"id": spec["id"], "labels": _rated(spec["labels"], rates, generator)} for spec in specs]


def _rated(
    labels: Sequence[str], rates: tuple[float, float, float], generator: np.random.Generator
) -> list[str]:
    missed, confused, added = rates
    chosen: set[str] = set()
    for label in LABELS:
        # Four draws a label whatever becomes of it, so that one edited case does not move the others.
        chance, mixed, extra, pick = generator.random(4)
        siblings = [one for one in DOMAINS[DOMAIN_OF[label]] if one != label]
        if label in labels and chance >= missed:
            chosen.add(siblings[int(pick * len(siblings))] if mixed < confused else label)
        elif label not in labels and extra < added:
            chosen.add(label)
    return [label for label in LABELS if label in chosen]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
