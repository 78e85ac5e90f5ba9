"""The triage label set: 8 domains and their 22 labels, and the order in which they are counted.

The strings are the exact JSON keys of the paper's inference prompt (arXiv 2604.13060, table 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from harness.canonical import JSON

DOMAINS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Perio": (
            "Gingivitis (BPE screening score 1 or 2) - Non-surgical periodontal treatment",
            "Mild to moderate periodontitis (BPE screening score 3) - Non-surgical periodontal treatment",
            "Severe periodontitis (BPE screening score 4) - Complex periodontal treatment",
        ),
        "Cariology": (
            "Simple operative (Class I to V)",
            "Management of discolorations (e.g. Veneers and/or vital bleaching)",
        ),
        "Endo": (
            "Endodontics (Anterior and/or premolars)",
            "Molar endodontics",
        ),
        "Crowns": (
            "Single-unit Crowns (Anterior)",
            "Crowns (Posterior; incl. Onlays)",
        ),
        "Bridges": (
            "Resin bonded bridges (Anterior; <= 2 missing teeth)",
            "Resin bonded bridges (Posterior; <= 2 missing teeth)",
            "Conventional bridges (<= 4 units)",
        ),
        "Denture": (
            "Removable partial dentures (Simple; bound or free-end saddle)",
            "Extensive removable partial denture (Acrylic base; mucosally supported)",
            "Overdenture (incl. complete or partial)",
            "Complete dentures",
            "Combination case (Edentulous in one arch only)",
        ),
        "Implants": (
            "Implants (Single tooth)",
            "Implants (Multiple teeth)",
        ),
        "OMFS": (
            "Exodontia",
            "Minor O.S.",
            "Other OMSF Consult",
        ),
    }
)

LABELS: tuple[str, ...] = tuple(label for labels in DOMAINS.values() for label in labels)

DOMAIN_OF: Mapping[str, str] = MappingProxyType(
    {label: domain for domain, labels in DOMAINS.items() for label in labels}
)

DOMAIN_COLUMNS: tuple[tuple[int, ...], ...] = tuple(
    tuple(LABELS.index(label) for label in labels) for labels in DOMAINS.values()
)
"""For each domain, the positions of its labels in `LABELS`."""

ALIASES: Mapping[str, str] = MappingProxyType({"Other OMFS Consult": "Other OMSF Consult"})
"""Spellings taken for a label. The paper's own prompt spells this one both ways."""


def label_key(label: str) -> str:
    """Return a label with its domain, as in "Endo/Molar endodontics"."""
    return f"{DOMAIN_OF[label]}/{label}"


def answer_of(labels: Iterable[str], reasoning: str = "") -> dict[str, JSON]:
    """Return a set of labels in the form of the answer schema."""
    wanted = frozenset(labels)
    flags = {
        domain: {label: int(label in wanted) for label in members} for domain, members in DOMAINS.items()
    }
    return {"triage_output": flags, "reasoning": reasoning}


def code_of(answer: JSON) -> int:
    """Return an answer that fits the schema as a code: bit i is set where label i of `LABELS` is 1."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"a triage answer is an object, got {type(answer).__name__}")
    output = answer["triage_output"]
    if not isinstance(output, Mapping):
        raise TypeError(f"'triage_output' is an object, got {type(output).__name__}")
    code = 0
    for domain, members in DOMAINS.items():
        found = output[domain]
        if not isinstance(found, Mapping):
            raise TypeError(f"{domain!r} is an object, got {type(found).__name__}")
        for label in members:
            if found[label] == 1:
                code |= _BIT[label]
    return code


def code_of_labels(labels: JSON) -> int:
    """Return a list of labels as a code. Raises ValueError for a text that is no label."""
    if not isinstance(labels, list | tuple):
        raise TypeError(f"the labels of a case are a list, not {type(labels).__name__}")
    code = 0
    for label in labels:
        if label not in _BIT:
            raise ValueError("the reference of a case holds a text that is no label")
        code |= _BIT[label]
    return code


_BIT: Mapping[str, int] = MappingProxyType({label: 1 << place for place, label in enumerate(LABELS)})
