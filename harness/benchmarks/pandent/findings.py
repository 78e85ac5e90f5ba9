"""The 32 teeth and the 21 findings of PanDent, in the order of its clinical reports.

Names, order and types are those of the paper's template bank and table 3 (appendix C). It names 19
findings and counts 21: left and right sinus and left and right joint are taken to be two each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Arch: TypeAlias = Literal["maxilla", "mandible"]
FindingType: TypeAlias = Literal["tooth_set", "binary", "binary_with_description", "bridge_patterns"]
AnswerType: TypeAlias = Literal["tooth_set", "binary"]

QUADRANTS: Final[Mapping[int, str]] = MappingProxyType(
    {1: "upper right", 2: "upper left", 3: "lower left", 4: "lower right"}
)
"""First digit of an FDI number (ISO 3950) -> where the tooth is, from the patient's view."""

UNIVERSE: Final[tuple[int, ...]] = tuple(
    quadrant * 10 + place for quadrant in QUADRANTS for place in range(1, 9)
)
"""The FDI numbers of the 32 permanent teeth, ascending; bit i of a tooth code stands for `UNIVERSE[i]`."""

ARCHES: Final[Mapping[Arch, tuple[int, ...]]] = MappingProxyType(
    {
        "maxilla": (18, 17, 16, 15, 14, 13, 12, 11, 21, 22, 23, 24, 25, 26, 27, 28),
        "mandible": (48, 47, 46, 45, 44, 43, 42, 41, 31, 32, 33, 34, 35, 36, 37, 38),
    }
)
"""The teeth of each jaw as they stand side by side, from the patient's right to the left."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its id in case files, its name, what its value is, and to which jaw its teeth belong.

    `derived`: the value follows from others (missing teeth: those neither erupted nor partially erupted).
    """

    id: str
    label: str
    type: FindingType
    arch: Arch | None = None
    derived: bool = False

    @property
    def answer(self) -> AnswerType:
        """What an answer about it is: yes or no, or a set of teeth (for bridges: their numbered units)."""
        return "tooth_set" if self.type in ("tooth_set", "bridge_patterns") else "binary"

    @property
    def teeth(self) -> tuple[int, ...]:
        """The teeth that it can concern, ascending; none where it is no matter of single teeth."""
        if self.answer == "binary":
            return ()
        return UNIVERSE if self.arch is None else tuple(sorted(ARCHES[self.arch]))


FINDINGS: Final[tuple[Finding, ...]] = (
    Finding("missing_teeth", "Missing Teeth", "tooth_set", derived=True),
    Finding("partially_erupted_or_impacted", "Partially Erupted or Impacted Teeth", "tooth_set"),
    Finding("caries", "Dental Caries", "tooth_set"),
    Finding("periapical_lesion", "Periapical Lesions", "tooth_set"),
    Finding("furcation_radiolucency", "Furcation Radiolucency", "tooth_set"),
    Finding("metallic_restoration", "Metallic Restorations", "tooth_set"),
    Finding("non_metal_restoration", "Non-Metal Restorations", "tooth_set"),
    Finding("root_canal_treatment", "Root-Canal Treatment", "tooth_set"),
    Finding("artificial_crown", "Artificial Crown Prosthesis", "tooth_set"),
    Finding("bridge", "Tooth-Supported Bridge Prosthesis", "bridge_patterns"),
    Finding("non_metal_post_core", "Non-Metal Post-and-Core Structure", "tooth_set"),
    Finding("gcbl_maxilla", "Generalized Crestal Bone Loss in the Maxilla", "binary"),
    Finding("gcbl_mandible", "Generalized Crestal Bone Loss in the Mandible", "binary"),
    Finding("abl_maxilla", "Localized Angular Bone Loss in the Maxilla", "tooth_set", arch="maxilla"),
    Finding("abl_mandible", "Localized Angular Bone Loss in the Mandible", "tooth_set", arch="mandible"),
    Finding("maxillary_abnormality", "Maxillary Abnormality", "binary_with_description"),
    Finding("mandibular_abnormality", "Mandibular Abnormality", "binary_with_description"),
    Finding("sinus_left", "Maxillary Sinus Abnormality (left)", "binary_with_description"),
    Finding("sinus_right", "Maxillary Sinus Abnormality (right)", "binary_with_description"),
    Finding("tmj_left", "Temporomandibular Joint Abnormality (left)", "binary_with_description"),
    Finding("tmj_right", "Temporomandibular Joint Abnormality (right)", "binary_with_description"),
)

BY_ID: Final[Mapping[str, Finding]] = MappingProxyType({finding.id: finding for finding in FINDINGS})

ABBREVIATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "gcbl_mandible": "GCBL-M",
        "gcbl_maxilla": "GCBL-X",
        "non_metal_post_core": "NMPP",
        "periapical_lesion": "Peri.",
        "root_canal_treatment": "RCT",
        "metallic_restoration": "Amal.",
        "caries": "Caries",
        "non_metal_restoration": "NMR",
        "artificial_crown": "Crown",
    }
)
"""The paper's short names of the findings of its table 2, in the order of its columns."""

TABLE2: Final[tuple[str, ...]] = tuple(ABBREVIATIONS)
"""The nine findings of the paper's table 2: two are yes or no, seven are sets of teeth."""

_BIT: Final[Mapping[int, int]] = MappingProxyType({tooth: 1 << bit for bit, tooth in enumerate(UNIVERSE)})
_PLACE: Final[Mapping[int, tuple[Arch, int]]] = MappingProxyType(
    {tooth: (arch, place) for arch, teeth in ARCHES.items() for place, tooth in enumerate(teeth)}
)
_UNIT: Final = re.compile(r"#?[1-4][1-8]|[Xx]", re.ASCII)


def tooth_code(teeth: Iterable[int]) -> int:
    """Return a set of teeth as a code below 2**32. Raises KeyError for a number that is no tooth."""
    code = 0
    for tooth in teeth:
        code |= _BIT[tooth]
    return code


def teeth_of(code: int) -> tuple[int, ...]:
    """Return the teeth of a code, ascending."""
    return tuple(tooth for tooth, bit in _BIT.items() if code & bit)


def bridge_pattern(text: str) -> str:
    """Return a bridge pattern in its one spelling: no "#", "X" upper case, from the patient's right to left.

    A pattern is two or more units joined by "-": a tooth's FDI number, or X for one without its own number
    (the paper prints "#25-#26-X", where 27 is missing), one X for each tooth of the arch that is replaced.
    With one number alone the direction is unknown, and the pattern stays as it is written. Raises ValueError
    that says what is wrong: units of another form, fewer than two, none with a number, a tooth twice, two
    jaws, not in the arch's order, numbers with too few or too many X between them, X beyond the arch's end.
    """
    units = text.split("-")
    for unit in units:
        if _UNIT.fullmatch(unit) is None:
            raise ValueError(f"{unit!r} is neither an FDI number nor X")
    if len(units) < 2:
        raise ValueError("a bridge has two units or more, joined by '-'")
    plain = [unit.removeprefix("#").upper() for unit in units]
    places = [_PLACE[int(unit)] for unit in plain if unit != "X"]
    if not places:
        raise ValueError("no unit has a number")
    if len({arch for arch, _ in places}) > 1:
        raise ValueError("its teeth stand in two jaws")
    if len(set(places)) < len(places):
        raise ValueError("it names a tooth twice")
    turned = places != sorted(places)
    if turned:
        plain.reverse()
        places.reverse()
    if places != sorted(places):
        raise ValueError("its teeth are not in the order of the arch")
    if (fault := _span_fault(plain, turned=turned)) is not None:
        raise ValueError(fault)
    return "-".join(plain)


def replaced_teeth(pattern: str) -> tuple[int, ...]:
    """Return the teeth that X stands for between two numbered units of a pattern in its one spelling.

    What an X at an end stands for is left out: some write it for a unit that hangs on its neighbour.
    """
    units = pattern.split("-")
    numbered = [at for at, unit in enumerate(units) if unit != "X"]
    arch, place = _PLACE[int(units[numbered[0]])]
    between = range(numbered[0], numbered[-1])
    return tuple(ARCHES[arch][place + at - numbered[0]] for at in between if units[at] == "X")


def bridge_teeth(patterns: Iterable[str]) -> tuple[int, ...]:
    """Return the numbered teeth of sound patterns, ascending, each once."""
    units = {unit.removeprefix("#") for pattern in patterns for unit in pattern.split("-")}
    return tuple(sorted(int(unit) for unit in units if unit not in "Xx"))


def _span_fault(units: Sequence[str], *, turned: bool) -> str | None:
    """Return what is wrong with how units in the arch's order stand side by side; None if nothing is.

    `turned`: they were written the other way round, and are named so.
    """
    numbered = [(at, *_PLACE[int(unit)]) for at, unit in enumerate(units) if unit != "X"]
    for (before, _, left), (after, _, right) in pairwise(numbered):
        if after - before != right - left:
            return _gap_fault(
                units[after if turned else before], units[before if turned else after], right - left - 1
            )
    (first, arch, place), (last, _, final) = numbered[0], numbered[-1]
    ends = [(first, len(units) - 1 - last)]
    if len(numbered) == 1:
        ends.append(ends[0][::-1])
    if all(before > place or final + after >= len(ARCHES[arch]) for before, after in ends):
        return f"an X of it stands beyond the last tooth of the {arch}"
    return None


def _gap_fault(one: str, two: str, between: int) -> str:
    """Return what is wrong with the units between two numbers that have `between` teeth between them."""
    should = "-".join((one, *["X"] * between, two))
    if not between:
        return f"teeth {one} and {two} are neighbours: write {should}"
    return f"teeth {one} and {two} are no neighbours: write X for each replaced tooth, as in {should}"
