"""What a simulated model knows of expert terms in English captions: plain words for them, kinds of images."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple


class Term(NamedTuple):
    """Plain words that may stand in a term's place, and a definition that may stand behind it."""

    plain: str
    definition: str


TERMS: Final[Mapping[str, Term]] = {
    "adjacent": Term("nearby", "next to it"),
    "anechoic": Term("completely black", "without any echo"),
    "aneurysm": Term("bulge of a blood vessel", "a widened blood vessel"),
    "atrophy": Term("shrinking", "tissue that has become smaller"),
    "axial": Term("cross-sectional", "seen as a slice across the body"),
    "benign": Term("harmless", "not cancer"),
    "biliary dilatation": Term("widening of the bile channels", "bile channels that are too wide"),
    "biopsy": Term("small tissue sample", "a piece of tissue taken for a test"),
    "carcinoma": Term("cancer", "a kind of cancer"),
    "cirrhosis": Term("advanced scarring of the liver", "hardening of the liver by scars"),
    "colonic mucosa": Term("inner lining of the large bowel", "the lining of the large bowel"),
    "consolidation": Term("filled lung tissue", "lung that holds fluid in place of air"),
    "contrast-enhanced": Term("taken with a contrast dye", "made with a dye that shows more"),
    "coronal": Term("front-facing", "seen from the front"),
    "cyst": Term("pocket of fluid", "a hollow filled with fluid"),
    "demyelination": Term("loss of the cover of nerve fibers", "damage to the cover of nerves"),
    "dermoscopic": Term("magnified", "seen through a skin magnifier"),
    "dysplasia": Term("abnormal change of cells", "cells that no longer look normal"),
    "edema": Term("swelling", "swelling by fluid"),
    "effusion": Term("collection of fluid", "fluid where it should not be"),
    "fibrosis": Term("scarring", "scar tissue"),
    "glioma": Term("brain tumor", "a tumor of brain tissue"),
    "hepatic": Term("liver", "of the liver"),
    "hyperintense": Term("brighter than normal", "brighter than the rest"),
    "hyperchromatic": Term("dark", "darker than usual"),
    "hypodense": Term("darker than normal", "darker than the rest"),
    "hypodensity": Term("dark area", "a spot that is darker than the rest"),
    "infarction": Term("tissue that lost its blood supply", "tissue without blood supply"),
    "lesion": Term("abnormal spot", "an area that does not look normal"),
    "lymphadenopathy": Term("swollen lymph nodes", "lymph nodes that are too large"),
    "malignancy": Term("cancer", "a disease that may be cancer"),
    "mediastinum": Term("space between the lungs", "the middle of the chest"),
    "melanoma": Term("serious skin cancer", "a dangerous skin cancer"),
    "meningioma": Term("tumor of the brain's covering", "a mostly slow-growing tumor"),
    "metastasis": Term("growth that has spread", "cancer that came from elsewhere"),
    "midline shift": Term("shift of the middle of the brain", "a brain pushed to one side"),
    "necrosis": Term("dead tissue", "tissue that has died"),
    "neoplastic": Term("tumor-like", "of a tumor"),
    "nevus": Term("mole", "a mole of the skin"),
    "nodule": Term("small lump", "a small round lump"),
    "nuclei": Term("cell centers", "the centers of cells"),
    "opacity": Term("light area", "an area that looks too white"),
    "parenchyma": Term("tissue", "the working tissue of an organ"),
    "pleural": Term("around the lung", "of the cover of the lung"),
    "pneumonia": Term("lung infection", "an infection of the lung"),
    "polypoid": Term("bulging", "shaped like a small growth"),
    "pulmonary": Term("lung", "of the lungs"),
    "radiograph": Term("X-ray picture", "a picture made with X-rays"),
    "renal": Term("kidney", "of the kidney"),
    "retroperitoneal": Term("in the back of the belly", "behind the belly's organs"),
    "splenic": Term("spleen", "of the spleen"),
    "steatosis": Term("fat in the liver cells", "too much fat"),
    "stroma": Term("supporting tissue", "the tissue between the glands"),
    "ventricle": Term("fluid space of the brain", "a space filled with fluid"),
}

KINDS: Final[Mapping[str, str]] = {
    "MRI": "an MRI scan, which is made with magnets",
    "CT": "a CT scan, which is a detailed X-ray picture of a slice of the body",
    "X-ray": "an X-ray picture",
    "microscope": "a picture that was taken through a microscope",
    "ultrasound": "an ultrasound picture, which is made with sound waves",
    "PET": "a PET scan, which shows where the body uses sugar",
    "skin": "a magnified picture of the skin",
    "camera": "a picture that was taken with a small camera inside the body",
}
KIND_MARKS: Final[Mapping[str, str]] = {
    "PET": r"positron|\bPET\b",
    "MRI": r"\bMRI\b|magnetic resonance|\bFLAIR\b|\bT[12]\b",
    "CT": r"\bCT\b|computed tomograph",
    "X-ray": r"radiograph|x-ray",
    "microscope": r"histolog|histopatholog|microscop|cytolog|biopsy|staining",
    "ultrasound": r"ultraso|sonogra|echo",
    "skin": r"dermoscop|\bskin\b",
    "camera": r"endoscop|colonoscop|gastroscop|small camera",
}
"""Kind of image -> what in a caption tells it; the first that fits counts."""

BODY_PARTS: Final = (
    ("brain", r"brain|cranial|cerebr|head"), ("chest", r"chest|lung|pulmon|thora|mediastin"),
    ("liver", r"liver|hepat"), ("kidney", r"kidney|renal"), ("large bowel", r"colon"), ("breast", r"breast"),
    ("skin", r"skin|nevus|dermosc|pigmented"), ("thyroid", r"thyroid"), ("lymph node", r"lymph node"),
    ("belly", r"abdom|splen|pancrea|belly"),
)  # fmt: skip
SHOWN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "MRI": ("brain", "knee", "belly"),
    "CT": ("chest", "liver", "belly"),
    "X-ray": ("chest", "hand", "hip"),
    "microscope": ("breast", "thyroid", "large bowel"),
    "ultrasound": ("liver", "kidney", "thyroid"),
    "PET": ("chest", "whole body"),
    "skin": ("skin",),
    "camera": ("large bowel", "stomach"),
}
"""Kind of image -> what parts of the body it may be said to show."""
PLACES: Final = tuple(
    f"in the {vertical}{horizontal} part of the image"
    for vertical in ("upper", "middle", "lower")
    for horizontal in (" left", "", " right")
)

PATTERN: Final = re.compile(
    rf"\b(?:{'|'.join(map(re.escape, sorted(TERMS, key=len, reverse=True)))})\b", re.IGNORECASE
)
"""Finds any of the terms, the longest first."""


def kind_of_image(text: str) -> str | None:
    """Return the kind of image that a text names, in expert or in plain words; None without any."""
    return next((kind for kind, mark in KIND_MARKS.items() if re.search(mark, text, re.IGNORECASE)), None)
