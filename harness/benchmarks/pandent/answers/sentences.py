"""One sentence with its parts told apart: a topic and yes or no at its start, and the symbols of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.pandent.answers.symbols import Symbol, symbols
from harness.benchmarks.pandent.answers.tooth_sets import bridges, numbered
from harness.benchmarks.pandent.answers.tooth_words import spelled_out
from harness.benchmarks.pandent.answers.unreadable import Unreadable
from harness.benchmarks.pandent.findings import Finding

_TOPIC: Final = frozenset({"name", "link", "noun", "sign", "region", "tooth", "side", "both"})
_UNFINISHED: Final = frozenset(
    {"and", "or", "comma", "colon", "to", "from", "near", "ordinal", "both", "hash", "numeral"}
)
_NO_START: Final = frozenset({"and", "or", "comma", "colon", "unparen", "to"})
_LAST_LINKS: Final = frozenset({"respectively", "throughout", "also", "located", "there", "it"})
_ATTRIBUTES: Final = frozenset(
    {"obvious", "definite", "definitive", "significant", "radiographic", "radiologic", "radiological",
     "carious", "endodontic", "missing", "furcation", "furcal", "radiolucent", "impacted", "edentulous"}
)  # fmt: skip
_BEFORE_NOUNS: Final = frozenset({"upper", "lower", "maxillary", "mandibular"})


@dataclass(frozen=True, slots=True)
class Spoken:
    """A sentence: the topic before a colon and yes or no, that yes or no, and what it says besides."""

    topic: tuple[Symbol, ...]
    yes: bool | None
    symbols: tuple[Symbol, ...]


def spoken(sentence: str, finding: Finding) -> Spoken:
    """Return the parts of a sentence in lower case about a finding.

    Raises Unreadable for what is not known, for numbers that are no teeth, and for an end in the middle.
    """
    found = symbols(sentence, finding.id)
    if finding.id == "missing_teeth":
        found = _without_full_count(found)
    if finding.type == "bridge_patterns":
        found = bridges(found)
    found = numbered(spelled_out(found))
    _check_parentheses(found)
    found = _without_label(found)
    _check_end(found)
    topic, yes, rest = _answered(found)
    _check_colons(rest)
    return Spoken(tuple(topic), yes, tuple(rest))


def _without_full_count(found: list[Symbol]) -> list[Symbol]:
    """Drop 32 after "all": all 32 teeth are all teeth."""
    return [
        symbol
        for place, symbol in enumerate(found)
        if not (symbol.kind == "number" and symbol.text == "32" and place and found[place - 1].text == "all")
    ]


def _without_label(found: list[Symbol]) -> list[Symbol]:
    """Drop "Answer:", "the answer is" and their like."""
    place = 0
    while place < len(found) and (found[place].kind == "label" or found[place].text in ("the", "is")):
        place += 1
    if not any(symbol.kind == "label" for symbol in found[:place]):
        return found
    if place < len(found) and found[place].kind in ("colon", "comma"):
        place += 1
    return found[place:]


def _check_end(found: Sequence[Symbol]) -> None:
    if not found:
        raise Unreadable("empty")
    if found[0].kind in _NO_START:
        raise Unreadable("cut_off", found[0].text)
    last = found[-1]
    open_link = last.kind == "link" and last.text not in _LAST_LINKS
    if last.kind in _UNFINISHED or open_link or (last.kind == "region" and last.text in _BEFORE_NOUNS):
        raise Unreadable("cut_off", last.text)
    if len(found) > 1 and _waits(last, found[-2]):
        raise Unreadable("cut_off", last.text)
    if last.kind == "neg" and last.says == "not" and len(found) == 1:
        raise Unreadable("cut_off", last.text)


def _waits(last: Symbol, before: Symbol) -> bool:
    """True if something must follow: "there is no", "no obvious", "no carious", "on teeth"."""
    if last.kind == "neg" and last.says == "no":
        return before.kind not in ("colon", "comma", "label")
    if last.text in _ATTRIBUTES:
        return before.says == "no" or before.kind in ("sign", "noun")
    return last.kind == "tooth" and before.text in ("on", "in", "at", "of")


def _check_parentheses(found: Sequence[Symbol]) -> None:
    depth = 0
    for place, symbol in enumerate(found):
        depth += {"paren": 1, "unparen": -1}.get(symbol.kind, 0)
        empty = symbol.kind == "unparen" and place and found[place - 1].kind == "paren"
        if depth not in (0, 1) or empty:
            raise Unreadable("parentheses")
    if depth:
        raise Unreadable("cut_off", "(")


def _answered(found: list[Symbol]) -> tuple[list[Symbol], bool | None, list[Symbol]]:
    """Split off a yes or no that stands at the start, or after a topic and a colon."""
    start = 0
    colon = next((place for place, symbol in enumerate(found) if symbol.kind == "colon"), None)
    topic = colon is not None and all(symbol.kind in _TOPIC for symbol in found[:colon])
    if colon is not None and topic and _yes(found[colon + 1 :]) is not None:
        start = colon + 1
    yes = _yes(found[start:])
    if yes is None:
        return [], None, found
    rest = found[start + 1 :]
    if rest and rest[0].kind in ("comma", "colon", "but"):
        rest = rest[1:]
    return found[: max(start - 1, 0)], yes, rest


def _yes(found: Sequence[Symbol]) -> bool | None:
    """Return the yes or no at the start; "no" before a noun is none."""
    if not found:
        return None
    if found[0].kind == "yes":
        return True
    alone = len(found) == 1 or found[1].kind in ("comma", "colon") or found[1].text == ";"
    return False if found[0].kind == "neg" and found[0].text == "no" and alone else None


def _check_colons(found: Sequence[Symbol]) -> None:
    """Refuse a colon after a negation, and one after teeth before more than the name of the finding."""
    for place, symbol in enumerate(found):
        if symbol.kind != "colon":
            continue
        before, after = ({one.kind for one in part} for part in (found[:place], found[place + 1 :]))
        if "neg" in before or ("teeth" in before and after & {"teeth", "neg", "normal", "colon"}):
            raise Unreadable("negation", symbol.text)
