"""The clauses of a sentence, and whether each affirms or denies.

A sentence is cut at "but" and its like, between two parts that have verbs, and at "no" or "without" after
something was said. Negations are never resolved by guessing: two in one clause leave it unreadable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from harness.benchmarks.pandent.answers.symbols import Symbol
from harness.benchmarks.pandent.answers.unreadable import Reason, Unreadable

_NEVER: Final[dict[str, Reason]] = {
    "unsure": "unsure", "open": "open_list", "except": "exception", "between": "position", "hash": "number",
    "numeral": "number", "to": "range", "from": "range", "yes": "contradiction", "joined": "hyphen",
    "label": "word", "ordinal": "word",
}  # fmt: skip
"""Kinds that no clause may hold, wherever they stand."""
JAWS: Final = frozenset({"maxilla", "mandible"})
SIDES: Final = frozenset({"left", "right"})


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: its symbols, and what they add up to."""

    symbols: tuple[Symbol, ...]

    def of(self, kind: str) -> list[Symbol]:
        """Return its symbols of a kind."""
        return [symbol for symbol in self.symbols if symbol.kind == kind]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its symbols."""
        return frozenset(symbol.kind for symbol in self.symbols)

    @property
    def groups(self) -> frozenset[str]:
        """The groups of words that name findings in it; "region" where it names a jaw."""
        named = {symbol.says for symbol in self.of("name")}
        return frozenset(named | {"region"} if self.regions & JAWS else named)

    @property
    def regions(self) -> frozenset[str]:
        """Maxilla, mandible, left, right: as far as it names them."""
        return frozenset(said for symbol in self.of("region") for said in symbol.says.split())

    @property
    def teeth(self) -> frozenset[int]:
        """All teeth that it names."""
        return frozenset().union(*(symbol.teeth for symbol in self.of("teeth")))

    @property
    def negations(self) -> list[Symbol]:
        """Its negations; "nor" after another one is none of its own."""
        found = self.of("neg")
        return [symbol for place, symbol in enumerate(found) if symbol.says != "nor" or place == 0]


def clauses(found: Sequence[Symbol]) -> list[Clause]:
    """Cut a sentence into clauses. Raises Unreadable for what no clause may hold."""
    parts: list[list[Symbol]] = [[]]
    for place, symbol in enumerate(found):
        if symbol.kind in _NEVER:
            raise Unreadable(_NEVER[symbol.kind], symbol.text)
        if symbol.kind == "but" or _opens(symbol, parts[-1]) or _says_more(found, place, parts[-1]):
            while parts[-1] and (parts[-1][-1].kind in ("and", "comma") or parts[-1][-1].text == "with"):
                parts[-1].pop()
            parts.append([])
        if symbol.kind != "but" and (parts[-1] or symbol.kind not in ("and", "comma")):
            parts[-1].append(symbol)
    if not all(parts):
        raise Unreadable("cut_off")
    return [Clause(tuple(part)) for part in parts]


def _opens(symbol: Symbol, before: Sequence[Symbol]) -> bool:
    """True for "no" and "without" after a comma, "and" or "with" once something was said: a clause begins."""
    if symbol.kind != "neg" or symbol.text not in ("no", "without", "free of", "free from") or not before:
        return False
    joint = before[-1].kind in ("and", "comma") or before[-1].text == "with" or symbol.text == "without"
    return joint and any(one.kind in ("name", "normal") for one in before)


def _says_more(found: Sequence[Symbol], place: int, before: Sequence[Symbol]) -> bool:
    """True for "and" and a comma between two parts that have verbs: "36 shows caries, 37 is present"."""
    if found[place].kind not in ("and", "comma") or not any(one.text in VERBS for one in before):
        return False
    for symbol in found[place + 1 :]:
        if symbol.kind in ("and", "comma", "but"):
            return False
        if symbol.text in VERBS:
            return True
    return False


VERBS: Final = frozenset(
    {"is", "are", "was", "were", "has", "have", "had", "shows", "show", "exhibits", "exhibit", "demonstrates",
     "demonstrate", "displays", "display", "reveals", "reveal", "contains", "contain", "appears", "appear",
     "involves", "involve", "affects", "affect", "suggests", "carries", "carry", "presents", "lacks", "isn't",
     "aren't", "wasn't", "weren't", "hasn't", "haven't", "doesn't", "cover", "covers", "looks", "look",
     "lies", "lie", "gives", "don't", "presents with", "present with",
     "fails to", "fail to", "has undergone", "have undergone"}
)  # fmt: skip


def denies(clause: Clause) -> bool:
    """True if a clause denies, false if it affirms. Raises Unreadable for two negations and the like."""
    negations = clause.negations
    if clause.of("normal"):
        if negations or clause.groups & _FOUND:
            raise Unreadable("negation", clause.of("normal")[0].text)
        return True
    for before, symbol in pairwise(clause.symbols):
        if before.kind == "or" and symbol.kind == "neg":
            raise Unreadable("negation", symbol.text)
    if len(negations) > 1 or (negations and negations[0].says == "nor"):
        raise Unreadable("negation", negations[-1].text)
    if negations and negations[0].says in ("no", "free"):
        place = clause.symbols.index(negations[0])
        parts = clause.symbols[:place], clause.symbols[place:]
        around = [Clause(part).groups - {"region"} for part in parts]
        if all(around):
            raise Unreadable("negation", negations[0].text)
    return bool(negations)


_FOUND: Final = frozenset({"boneloss", "generalized", "lesion", "abnormal", "change", "infrabony"})
"""Groups that say something was found, whatever is called normal beside it."""
