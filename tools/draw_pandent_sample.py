"""Redraw the bundled PanDent sample: 24 made-up cases with phantom radiographs and clinical reports.

Usage: python tools/draw_pandent_sample.py [OUT]   (default: the sample folder of the package)

Everything is a function of fixed seeds and of our own templates. Findings are about as frequent as in the
paper's test split (table 4, test column), the rare ones once each. The pictures only look like panoramic
radiographs: no patient's image went into them, and SYNTHETIC is burned into each.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from pandent_phantom import draw_case  # noqa: E402
from sample_files import write_sample  # noqa: E402

from harness.benchmarks.pandent.clinical_reports import compose, drawn  # noqa: E402
from harness.benchmarks.pandent.finding_values import value_of  # noqa: E402
from harness.benchmarks.pandent.findings import BY_ID, FINDINGS, UNIVERSE, bridge_teeth  # noqa: E402

SAMPLE: Final = ROOT / "harness" / "benchmarks" / "pandent" / "sample"
JPEG_QUALITY: Final = 64
CASES: Final = 24
SEED: Final = 9_524

POSITIVE: Final[Mapping[str, int]] = {
    "missing_teeth": 21, "partially_erupted_or_impacted": 9, "caries": 7, "periapical_lesion": 4,
    "furcation_radiolucency": 2, "metallic_restoration": 10, "non_metal_restoration": 15,
    "root_canal_treatment": 12, "artificial_crown": 8, "bridge": 3, "non_metal_post_core": 4,
    "gcbl_maxilla": 13, "gcbl_mandible": 12, "abl_maxilla": 1, "abl_mandible": 2, "maxillary_abnormality": 1,
    "mandibular_abnormality": 1, "sinus_left": 1, "sinus_right": 1, "tmj_left": 1, "tmj_right": 1,
}  # fmt: skip
"""Finding -> how many of the 24 cases have it."""

PLACES: Final[Mapping[str, Sequence[float]]] = {
    "missing_teeth": (0.1, 0.1, 0.1, 0.4, 0.6, 1.5, 0.9, 6),
    "caries": (0.5, 0.7, 0.5, 1, 1.5, 2, 3, 1),
    "periapical_lesion": (1, 1, 0.3, 1, 2, 3, 1, 0),
    "furcation_radiolucency": (0, 0, 0, 0, 0, 3, 2, 0),
    "metallic_restoration": (0, 0, 0, 0.7, 1, 4, 4, 0),
    "non_metal_restoration": (1, 1, 0.6, 1.5, 1.5, 2, 2, 0),
    "root_canal_treatment": (1, 1, 0.3, 1, 1.5, 2.5, 1, 0),
    "artificial_crown": (0.4, 0.4, 0.3, 0.7, 1, 2, 1, 0),
    "abl_maxilla": (0, 0, 0, 0, 1, 2, 2, 0),
    "abl_mandible": (0, 0, 0, 0, 1, 2, 2, 0),
}
"""Finding -> how readily it strikes each place, from the central incisor to the wisdom tooth."""

MEAN_MORE: Final[Mapping[str, float]] = {
    "missing_teeth": 2.4, "caries": 0.8, "metallic_restoration": 1.3, "non_metal_restoration": 1.8,
    "root_canal_treatment": 1.0, "artificial_crown": 0.9,
}  # fmt: skip
"""Finding -> how many teeth it has on average beyond the first."""

BRIDGED: Final[Sequence[str]] = ("25-26-X", "35-X-37", "12-X-X-22")
ABNORMAL: Final[Mapping[str, str]] = {
    "maxillary_abnormality": "a round radiolucency with a thin bright rim above the upper right front teeth",
    "mandibular_abnormality": "a well-bordered radiolucency below the lower left molars",
    "sinus_left": "a dome-shaped shadow on the floor",
    "sinus_right": "a clouded floor",
    "tmj_left": "a flattened condyle",
    "tmj_right": "a flattened condyle",
}
NOTES: Final[Mapping[int, str]] = {
    5: "the patient moved slightly during exposure",
    16: "ghost image of an earring",
}


def main(out: Path = SAMPLE) -> None:
    """Write the whole sample folder."""
    cases = made_cases()
    write_texts(out, cases)
    for number in range(len(cases)):
        write_picture(out, cases, number)


def made_cases() -> list[dict[str, Any]]:
    """Return the findings of each case, all 21 in their one form."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    ranks = generator.random((CASES, len(FINDINGS))).argsort(axis=0).argsort(axis=0)
    has = [
        {one.id: bool(ranks[number, place] < POSITIVE[one.id]) for place, one in enumerate(FINDINGS)}
        for number in range(CASES)
    ]
    _move_posts_to_treated_roots(has)
    bridges = iter(BRIDGED)
    return [_made(one, next(bridges) if one["bridge"] else None, generator) for one in has]


def write_texts(out: Path, cases: Sequence[Mapping[str, Any]]) -> None:
    """Write the cases and the mark that all of it is synthetic."""
    lines = (_line(findings, number) for number, findings in enumerate(cases))
    write_sample(out, lines, "made-up findings, drawings and clinical reports")


def write_picture(out: Path, cases: Sequence[Mapping[str, Any]], number: int) -> None:
    """Draw the picture of one case, counted from 0."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    picture = draw_case(cases[number], seed=3000 + number)
    picture.save(out / _image_name(number), format="JPEG", quality=JPEG_QUALITY, optimize=True)


def _move_posts_to_treated_roots(has: Sequence[dict[str, bool]]) -> None:
    """Let only cases with treated roots have posts, as many as there should be."""
    treated = [one for one in has if one["root_canal_treatment"]]
    first = sorted(treated, key=lambda one: not one["non_metal_post_core"])[: POSITIVE["non_metal_post_core"]]
    for one in has:
        one["non_metal_post_core"] = any(one is chosen for chosen in first)


def _made(has: Mapping[str, bool], bridge: str | None, generator: np.random.Generator) -> dict[str, Any]:
    """Return the findings of one case, drawn so that they agree with each other."""
    gone = set(_bridged_away(bridge)) if bridge else set()
    carriers = set(bridge_teeth([bridge])) if bridge else set()

    def some(name: str, free: set[int], weights: Sequence[float]) -> list[int]:
        return _teeth(name, sorted(free - carriers), weights, generator) if has[name] else []

    found: dict[str, Any] = {}
    missing = {*some("missing_teeth", set(UNIVERSE) - gone, PLACES["missing_teeth"]), *gone}
    found["missing_teeth"] = sorted(missing)
    partial = some("partially_erupted_or_impacted", set(UNIVERSE) - missing, (0, 0, 0.2, 0, 0, 0, 0, 4))
    found["partially_erupted_or_impacted"] = partial
    sound = set(UNIVERSE) - missing - set(partial)
    for name in ("root_canal_treatment", "artificial_crown", "periapical_lesion", "furcation_radiolucency"):
        found[name] = some(name, sound, PLACES[name])
    found["non_metal_post_core"] = found["root_canal_treatment"][: int(has["non_metal_post_core"])]
    natural = sound - set(found["artificial_crown"])
    for name in ("metallic_restoration", "non_metal_restoration", "caries"):
        found[name] = some(name, natural, PLACES[name])
        natural -= set(found[name])
    for name in ("abl_maxilla", "abl_mandible"):
        found[name] = some(name, sound.intersection(BY_ID[name].teeth), PLACES[name])
    found["bridge"] = [bridge] if bridge else []
    for name in ("gcbl_maxilla", "gcbl_mandible"):
        found[name] = has[name]
    for name, description in ABNORMAL.items():
        found[name] = {"flag": has[name], "description": description if has[name] else ""}
    return {finding.id: value_of(finding, found[finding.id]) for finding in FINDINGS}


def _bridged_away(bridge: str) -> list[int]:
    """Return the teeth whose places the X units of one of our bridges take."""
    return {"25-26-X": [27], "35-X-37": [36], "12-X-X-22": [11, 21]}[bridge]


def _teeth(
    name: str, free: Sequence[int], weights: Sequence[float], generator: np.random.Generator
) -> list[int]:
    """Return one or more teeth, each the likelier the greater the weight of its place."""
    keys = generator.random(len(UNIVERSE)).tolist()
    more = -math.log(1 - generator.random()) * MEAN_MORE.get(name, 0.3)
    places = {tooth: weights[tooth % 10 - 1] for tooth in free if weights[tooth % 10 - 1]}
    order = sorted(places, key=lambda tooth: -math.log(keys[UNIVERSE.index(tooth)]) / places[tooth])
    return sorted(order[: 1 + round(more)])


def _line(findings: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the line of one case; every sixth gives its erupted teeth instead of the missing ones."""
    name = f"syn-pan-{number + 1:03}"
    stated = {key: value for key, value in findings.items() if number % 6 or key != "missing_teeth"}
    there = {*findings["missing_teeth"], *findings["partially_erupted_or_impacted"]}
    note = NOTES.get(number)
    return {
        "id": name,
        "image": _image_name(number),
        "findings": stated,
        **({} if number % 6 else {"erupted": [tooth for tooth in UNIVERSE if tooth not in there]}),
        **({} if note is None else {"auxiliary_note": note}),
        "report": compose(findings, drawn(name), note),
    }


def _image_name(number: int) -> str:
    return f"images/syn-pan-{number + 1:03}.jpg"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
