"""How each finding is asked about, and the sentence that says that there is none.

The paper prints two such sentences (appendix B), kept here to the letter: those of bone loss in the
mandible and of periapical lesions. The others are ours, by their pattern.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

REPORT: Final = "report"
"""The condition that asks for a clinical report."""

ATTRIBUTE: Final = "attribute:"
"""What the names of conditions begin with that ask about one finding; the finding's id follows."""

ATTRIBUTES: Final = "attributes"
"""The union of those that a run asks, where there are several."""


def finding_of(condition: str) -> str:
    """Return the id of the finding that a condition asks about."""
    return condition.removeprefix(ATTRIBUTE)


@dataclass(frozen=True, slots=True)
class Question:
    """What a prompt calls a finding (it stands for {finding}), and the sentence for none (for {none})."""

    finding: str
    none: str


def _none(what: str, where: str = "") -> str:
    return f"No {what} is evident{where}."


QUESTIONS: Final[Mapping[str, Question]] = MappingProxyType(
    {
        "missing_teeth": Question("missing permanent teeth, third molars included", _none("missing tooth")),
        "partially_erupted_or_impacted": Question(
            "partially erupted or impacted teeth", _none("partially erupted or impacted tooth")
        ),
        "caries": Question("dental caries", _none("dental caries")),
        "periapical_lesion": Question("periapical lesions", _none("periapical lesion")),
        "furcation_radiolucency": Question("furcation radiolucency", _none("furcation radiolucency")),
        "metallic_restoration": Question(
            "metallic restorations, such as amalgam fillings", _none("metallic restoration")
        ),
        "non_metal_restoration": Question(
            "non-metal restorations, such as composite fillings", _none("non-metal restoration")
        ),
        "root_canal_treatment": Question("root-canal treatment", _none("root-canal treatment")),
        "artificial_crown": Question("artificial crowns", _none("artificial crown")),
        "bridge": Question("tooth-supported bridges", _none("tooth-supported bridge")),
        "non_metal_post_core": Question(
            "non-metal post-and-core structures", _none("non-metal post-and-core structure")
        ),
        "gcbl_maxilla": Question(
            "generalized crestal bone loss in the maxilla",
            _none("generalized crestal bone loss", " in the maxilla"),
        ),
        "gcbl_mandible": Question(
            "generalized crestal bone loss in the mandible",
            _none("generalized crestal bone loss", " in the mandible"),
        ),
        "abl_maxilla": Question(
            "localized angular bone loss in the maxilla",
            _none("localized angular bone loss", " in the maxilla"),
        ),
        "abl_mandible": Question(
            "localized angular bone loss in the mandible",
            _none("localized angular bone loss", " in the mandible"),
        ),
        "maxillary_abnormality": Question(
            "an abnormality of the maxilla", _none("abnormality", " in the maxilla")
        ),
        "mandibular_abnormality": Question(
            "an abnormality of the mandible", _none("abnormality", " in the mandible")
        ),
        "sinus_left": Question(
            "an abnormality of the left maxillary sinus", _none("abnormality", " in the left maxillary sinus")
        ),
        "sinus_right": Question(
            "an abnormality of the right maxillary sinus",
            _none("abnormality", " in the right maxillary sinus"),
        ),
        "tmj_left": Question(
            "an abnormality of the left temporomandibular joint",
            _none("abnormality", " in the left temporomandibular joint"),
        ),
        "tmj_right": Question(
            "an abnormality of the right temporomandibular joint",
            _none("abnormality", " in the right temporomandibular joint"),
        ),
    }
)
"""Finding id -> how it is asked about."""
