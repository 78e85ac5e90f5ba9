"""Teeth in words: "upper right first molar" is 16; without jaw and side only where no other tooth is
meant.

A plural without a side means both teeth of its jaw ("maxillary central incisors" are 11 and 21), one with
neither jaw nor side is open. What names no tooth for certain ("the molars", "third molar") stays as a kind
of teeth, which must fit the numbers beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from harness.benchmarks.pandent.answers.symbols import Symbol
from harness.benchmarks.pandent.answers.unreadable import Unreadable

PLACES: Final = {
    "incisor": frozenset({1, 2}), "canine": frozenset({3}), "premolar": frozenset({4, 5}),
    "molar": frozenset({6, 7, 8}),
    "wisdom": frozenset({8}), "anterior": frozenset({1, 2, 3}), "posterior": frozenset({4, 5, 6, 7, 8}),
}  # fmt: skip
"""Kind of tooth -> its places in a quadrant, counted from the midline."""

_PLACE: Final = {
    ("incisor", "central"): 1, ("incisor", "lateral"): 2, ("premolar", "1"): 4, ("premolar", "2"): 5,
    ("molar", "1"): 6, ("molar", "2"): 7, ("molar", "3"): 8,
}  # fmt: skip
_ADJECTIVES: Final = frozenset(
    {"upper", "lower", "maxillary", "mandibular", "left", "right", "left and right", "right and left"}
)
_QUADRANT: Final = {
    ("maxilla", "right"): 1, ("maxilla", "left"): 2, ("mandible", "left"): 3, ("mandible", "right"): 4,
}  # fmt: skip
_PLURAL: Final = ("s", "wisdom teeth")


def spelled_out(found: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols with each tooth in words as one symbol. Raises Unreadable for a broken one."""
    result: list[Symbol] = []
    for symbol in found:
        if symbol.kind != "kind" or symbol.says in ("anterior", "posterior"):
            result.append(symbol)
            continue
        start = _start(result)
        before = result[start:]
        del result[start:]
        result += _named(before, symbol)
    return result


def _start(before: Sequence[Symbol]) -> int:
    """Return where the words begin that belong to a kind of tooth which stands next."""
    start = len(before)
    while start and _belongs(before[start - 1], before[start - 2] if start > 1 else None):
        start -= 1
    while start < len(before) and before[start].kind in ("and", "comma"):
        start += 1
    return start


def _belongs(symbol: Symbol, earlier: Symbol | None) -> bool:
    if symbol.kind == "region":
        return symbol.text in _ADJECTIVES
    if symbol.kind in ("and", "comma"):
        wanted = ("ordinal", "region") if symbol.kind == "and" else ("ordinal",)
        return earlier is not None and earlier.kind in wanted
    return symbol.kind in ("ordinal", "both") or symbol.text in ("permanent", "bilateral", "all", "four")


def _named(before: list[Symbol], kind: Symbol) -> list[Symbol]:
    ordinals = [symbol.says for symbol in before if symbol.kind == "ordinal"]
    places = _places(kind.says, ordinals)
    plural = kind.text.endswith(_PLURAL)
    whole = "all" in (symbol.text for symbol in before)
    regions = [symbol for symbol in before if symbol.kind in ("region", "and", "comma", "ordinal")]
    both = any(symbol.kind == "both" or symbol.text == "bilateral" for symbol in before)
    if kind.says in ("incisor", "premolar", "molar") and not ordinals:
        return [*before, kind]
    quadrants = _quadrants(regions, plural, both=both, whole=whole)
    if not quadrants:
        fits = replace(kind, says=f"{kind.says} {' '.join(map(str, sorted(places)))}")
        return [*(one for one in before if one.kind != "ordinal"), fits]
    teeth = frozenset(10 * quadrant + place for quadrant in quadrants for place in places)
    if plural and len(teeth) == 1:
        raise Unreadable("count", kind.text)
    text = " ".join([*(symbol.text for symbol in before), kind.text])
    return [Symbol("teeth", "", text, teeth, spelled=True)]


def _places(kind: str, ordinals: list[str]) -> frozenset[int]:
    if kind in ("canine", "wisdom"):
        if ordinals:
            raise Unreadable("word", ordinals[0])
        return PLACES[kind]
    try:
        return frozenset(_PLACE[kind, ordinal] for ordinal in ordinals)
    except KeyError:
        raise Unreadable("number", kind) from None


def _quadrants(parts: list[Symbol], plural: bool, *, both: bool, whole: bool) -> frozenset[int]:
    """Return the quadrants that are named: none where jaw or side stays open.

    Raises Unreadable for words that mix regions with ordinals, or leave open which jaw belongs to which side.
    """
    kinds = [symbol.kind for symbol in parts if symbol.kind in ("region", "ordinal")]
    if sum(left != right for left, right in pairwise(kinds)) > 1:
        raise Unreadable("open_list", parts[0].text)
    specs: list[dict[str, str]] = [{}]
    for said in " ".join(symbol.says for symbol in parts if symbol.kind == "region").split():
        axis = "jaw" if said in ("maxilla", "mandible") else "side"
        if specs[-1].setdefault(axis, said) != said:
            specs.append({axis: said})
    jaws = {spec["jaw"] for spec in specs if "jaw" in spec}
    sides = {spec["side"] for spec in specs if "side" in spec}
    if not sides and plural and (len(jaws) == 1 or whole):
        return frozenset(quadrant for (jaw, _), quadrant in _QUADRANT.items() if jaw in jaws or not jaws)
    if both or whole or not jaws or not sides:
        return frozenset()
    if any(len(spec) == 1 for spec in specs) and len(jaws) > 1 and len(sides) > 1:
        raise Unreadable("open_list", parts[0].text)
    return frozenset(_QUADRANT[spec.get("jaw", min(jaws)), spec.get("side", min(sides))] for spec in specs)
