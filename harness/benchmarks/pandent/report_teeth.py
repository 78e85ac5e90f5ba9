"""The teeth that a clinical report names, whoever wrote it: by FDI number, or in words.

Made for comparing two reports, not for scoring one: of each text it tells what it names for certain, and all
that it may mean. What only the second text names for certain, and the first cannot mean, was added.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.benchmarks.pandent.findings import ARCHES, UNIVERSE


class Teeth(NamedTuple):
    """FDI numbers: those that are surely named, and all that the words may mean (these among them)."""

    named: frozenset[int]
    possible: frozenset[int]


_DATE: Final = re.compile(r"\b(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})\b")
_LIST_MARK: Final = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+", re.MULTILINE)
_COUNTED: Final = (
    r"(?!\s?(?:(?:permanent|natural|erupted|remaining|upper|lower|adult|present|visible)\s)*teeth\b)"
)
_UNIT: Final = r"(?!(?:[.,]\d+)?[\s-]?(?:mm|cm|%|percent|degrees?|years?|yrs?|months?|weeks?|days?)\b|%)"
_NUMBER: Final = (
    rf"(?:#\s?(?P<{{0}}>[1-4][1-8])|(?<![\w.#])(?P<{{1}}>[1-4][1-8]){_COUNTED}{_UNIT})(?!\w|\.\d)"
)
_NUMBERED: Final = re.compile(_NUMBER.format("marked", "bare"))
_RANGE: Final = re.compile(
    rf"(?<!-){_NUMBER.format('marked', 'bare')}\s*(?:-|to|through)\s*"
    rf"{_NUMBER.format('marked2', 'bare2')}(?!-)"
)
_BETWEEN: Final = r"(?:\s*,\s*|\s+|-)"
_KIND: Final = (
    r"(?P<ordinal>first|second|third|1st|2nd|3rd)[- ](?P<molar>(?:pre)?molar)"
    r"|(?P<incisor>central|lateral) incisor|(?P<canine>canine|cuspid)|(?P<wisdom>wisdom) (?:tooth|teeth)"
    r"|(?P<group>incisor|premolar|molar|(?:anterior|posterior) (?:tooth|teeth))"
)
_SPELLED: Final = re.compile(
    rf"\b(?P<where>(?:(?:upper|lower|maxillary|mandibular|left|right|both|all|four|permanent|bilateral|and|or|the){_BETWEEN})*)"
    rf"(?:{_KIND})(?P<plural>s?)\b"
)
_PLACES: Final = {
    "incisor": (1, 2), "premolar": (4, 5), "molar": (6, 7, 8),
    "anterior": (1, 2, 3), "posterior": (4, 5, 6, 7, 8),
}  # fmt: skip
_ORDINALS: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3}
_QUADRANTS: Final = {("upper", "right"): 1, ("upper", "left"): 2, ("lower", "left"): 3, ("lower", "right"): 4}
_JAW: Final = {"upper": "upper", "maxillary": "upper", "lower": "lower", "mandibular": "lower"}


def plain(text: str) -> str:
    """Return a text as it is searched: lower case, one form of each character, dash and line end.

    Dates are taken out, and so are the numbers of lists at the beginning of lines.
    """
    unified = "\n".join(unicodedata.normalize("NFKC", text).lower().splitlines())
    dashed = re.sub("[\u2010-\u2015\u2212]", "-", unified)
    return _LIST_MARK.sub("", _DATE.sub(" ", dashed))


def teeth_named(text: str) -> Teeth:
    """Return the teeth of a `plain` text.

    A number counts with "#", or by itself where nothing makes it a count or a measure. A range names its
    ends, and may mean all teeth between them along the arch. Teeth in words count for certain where their
    jaw and side are clear, or the plural means both sides; else they are all that fit.
    """
    numbered = {int(found["marked"] or found["bare"]) for found in _NUMBERED.finditer(text)}
    named, possible = set(numbered), set(numbered)
    for found in _RANGE.finditer(text):
        ends = found["marked"] or found["bare"], found["marked2"] or found["bare2"]
        possible.update(_between(int(ends[0]), int(ends[1])))
    for certain, teeth in _spelled(text):
        possible |= teeth
        if certain:
            named |= teeth
    if "edentul" in text:
        possible.update(UNIVERSE)
    return Teeth(frozenset(named), frozenset(possible))


def _between(first: int, last: int) -> tuple[int, ...]:
    """Return the teeth from one to the other along their arch; nothing where they stand in two."""
    for teeth in ARCHES.values():
        if first in teeth and last in teeth:
            low, high = sorted((teeth.index(first), teeth.index(last)))
            return teeth[low : high + 1]
    return ()


def _spelled(text: str) -> Iterator[tuple[bool, set[int]]]:
    for found in _SPELLED.finditer(text):
        words = re.findall(r"\w+", found["where"])
        jaws = {_JAW[word] for word in words if word in _JAW}
        sides = {word for word in words if word in ("left", "right")}
        plural = bool(found["plural"]) or (found["wisdom"] is not None and found[0].endswith("teeth"))
        every = plural and ("all" in words or "four" in words)
        mixed = len(jaws) > 1 and len(sides) > 1  # "upper left and lower right": not all four
        certain = found["group"] is None and not mixed and ((bool(jaws) and (bool(sides) or plural)) or every)
        teeth = {
            10 * quadrant + place
            for (jaw, side), quadrant in _QUADRANTS.items()
            if jaw in (jaws or {jaw}) and side in (sides or {side})
            for place in _places(found)
        }
        yield certain, teeth


def _places(found: re.Match[str]) -> tuple[int, ...]:
    if found["ordinal"] is not None:
        place = _ORDINALS[found["ordinal"]]
        if found["molar"] == "molar":
            return (5 + place,)
        return (3 + place,) if place < 3 else ()
    if found["incisor"] is not None:
        return (1 if found["incisor"] == "central" else 2,)
    if found["canine"] is not None:
        return (3,)
    if found["wisdom"] is not None:
        return (8,)
    return _PLACES[found["group"].split()[0]]
