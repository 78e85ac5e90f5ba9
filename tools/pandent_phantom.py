"""What the phantom radiographs of the PanDent sample show beside those of triage: work on teeth, and jaws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from opg_phantom import WIDTH, Drawing, Tooth, crown_outline, draw_radiograph
from PIL import Image


def draw_case(findings: Mapping[str, Any], *, seed: int) -> Image.Image:
    """Return the picture of a case; `findings` are all 21 in their one form, as case files are read."""
    return draw_radiograph(
        _plan(findings), seed=seed, more=lambda drawing, teeth: _more(drawing, teeth, findings)
    )


def _plan(findings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the findings that the common phantom draws, in its own terms."""
    tilts = {"1": -24, "2": 24, "3": -48, "4": 48}
    cysts = [36] if findings["mandibular_abnormality"]["flag"] else []
    worn = [side for side in ("left", "right") if findings[f"tmj_{side}"]["flag"]]
    return {
        "missing": findings["missing_teeth"],
        "impacted": {str(tooth): tilts[str(tooth)[0]] for tooth in findings["partially_erupted_or_impacted"]},
        "caries": {str(tooth): 2 for tooth in findings["caries"]},
        "periapical": findings["periapical_lesion"],
        "furcation": findings["furcation_radiolucency"],
        "filling": findings["metallic_restoration"],
        "rct": findings["root_canal_treatment"],
        "bone": {
            "upper": 0.34 if findings["gcbl_maxilla"] else 0.03,
            "lower": 0.34 if findings["gcbl_mandible"] else 0.03,
        },
        "cyst": cysts,
        "condyle": worn[0] if worn else None,
    }


def _more(drawing: Drawing, teeth: Mapping[int, Tooth], findings: Mapping[str, Any]) -> None:
    for fdi in (*findings["abl_maxilla"], *findings["abl_mandible"]):
        _angular_defect(drawing, teeth[fdi])
    for fdi in findings["non_metal_restoration"]:
        _composite(drawing, teeth[fdi])
    for fdi in findings["non_metal_post_core"]:
        _post(drawing, teeth[fdi])
    for fdi in findings["artificial_crown"]:
        _crown(drawing, teeth[fdi])
    for pattern in findings["bridge"]:
        _bridge(drawing, [teeth[int(unit)] if unit != "X" else None for unit in pattern.split("-")])
    for side, sign in (("left", 1), ("right", -1)):
        if findings[f"sinus_{side}"]["flag"]:
            drawing.blob((WIDTH / 2 + sign * 165, 104), (76, 20), 150, blur=3, alpha=0.9)
    if findings["maxillary_abnormality"]["flag"]:
        drawing.blob((WIDTH / 2 - 66, 136), (34, 24), 190, blur=1.2, alpha=0.9)
        drawing.blob((WIDTH / 2 - 66, 136), (31, 21), 62, blur=1.6)


def _composite(drawing: Drawing, tooth: Tooth) -> None:
    """Draw a filling brighter than tooth and darker than metal, at a side of the crown."""
    neck, side = tooth.crown, 1 if tooth.fdi % 2 else -1
    filling = [(side * 0.2, 3), (side * 0.94, 4), (side * 0.92, neck * 0.66), (side * 0.34, neck * 0.56)]
    drawing.shape([tooth.at(*point) for point in filling], 228, blur=0.7)


def _crown(drawing: Drawing, tooth: Tooth) -> None:
    outline = [(across * 1.06, along - 1) for across, along in crown_outline(tooth)]
    drawing.shape([tooth.at(*point) for point in outline], 252, blur=0.6)


def _post(drawing: Drawing, tooth: Tooth) -> None:
    """Draw a post in the widest root, grey between dentine and metal, and its core in the crown."""
    apex, neck = tooth.roots()[0], tooth.crown
    drawing.line([tooth.at(apex * 0.66, neck * 0.5), tooth.at(apex * 0.86, neck + tooth.root * 0.5)], 5, 218)
    core = [(-0.4, neck * 0.3), (0.4, neck * 0.3), (0.36, neck), (-0.36, neck)]
    drawing.shape([tooth.at(*point) for point in core], 218)


def _bridge(drawing: Drawing, units: Sequence[Tooth | None]) -> None:
    """Draw crowns on the teeth, bodies for the units between them, and one beyond the last tooth."""
    carried = [(place, tooth) for place, tooth in enumerate(units) if tooth is not None]
    for (place, tooth), (next_place, following) in pairwise(carried):
        if next_place > place + 1:
            ends = [one.at(0, one.crown * 0.5) for one in (tooth, following)]
            drawing.line(ends, tooth.crown * 0.74, 246, blur=0.8)
    for place, end, beyond in ((0, carried[0], -3.0), (len(units) - 1, carried[-1], 3.0)):
        if end[0] != place:
            tooth = end[1]
            ends = [tooth.at(across, tooth.crown * 0.5) for across in (0.0, beyond)]
            drawing.line(ends, tooth.crown * 0.74, 246, blur=0.8)
    for _, tooth in carried:
        _crown(drawing, tooth)


def _angular_defect(drawing: Drawing, tooth: Tooth) -> None:
    """Draw a dark wedge along one side of the root."""
    neck, side = tooth.crown, 1 if tooth.fdi // 10 in (1, 4) else -1
    wedge = [(side * 0.8, neck), (side * 1.5, neck + 1), (side * 0.62, neck + tooth.root * 0.66)]
    drawing.shape([tooth.at(*point) for point in wedge], 56, blur=1.4)
