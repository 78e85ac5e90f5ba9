"""Whether the teeth that a clause names are a plain list, and fit what it says of them.

What stands between two teeth must be a list's "and" or comma; jaw, side, kind and count must be theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.benchmarks.pandent.answers.clauses import JAWS, SIDES, VERBS, Clause
from harness.benchmarks.pandent.answers.finding_words import Naming
from harness.benchmarks.pandent.answers.symbols import Symbol
from harness.benchmarks.pandent.answers.tooth_words import PLACES
from harness.benchmarks.pandent.answers.unreadable import Unreadable


def check_teeth(clause: Clause, naming: Naming) -> None:
    """Raise Unreadable where what a clause says of its teeth does not fit them."""
    _check_lists(clause)
    if clause.of("near") and not naming.near:
        raise Unreadable("position", clause.of("near")[0].text)
    numbers, spelled = (_written(clause, words) for words in (False, True))
    if numbers and spelled and numbers != spelled:
        raise Unreadable("inconsistent")
    for symbol in clause.of("count"):
        if int(symbol.says) != len(clause.teeth):
            raise Unreadable("count", symbol.text)
    kinds = list(_places(clause))
    if kinds and any(tooth % 10 not in frozenset().union(*kinds) for tooth in clause.teeth):
        raise Unreadable("inconsistent")
    jaws, sides = _jaws(clause.teeth), _sides(clause.teeth)
    named = clause.regions
    if any(len(named & pair) == 1 and there - named for pair, there in ((JAWS, jaws), (SIDES, sides))):
        raise Unreadable("inconsistent", " ".join(sorted(named)))
    if clause.teeth:
        _check_items(clause, frozenset().union(*naming.affirmed))
    if any(one.text.startswith("bilateral") for one in clause.symbols) and len(sides) == 1:
        raise Unreadable("inconsistent", "bilateral")


def _written(clause: Clause, spelled: bool) -> frozenset[int]:
    return frozenset().union(*(one.teeth for one in clause.of("teeth") if one.spelled == spelled))


def _check_lists(clause: Clause) -> None:
    """Refuse "36 or 37", and a tooth in parentheses that is not the one before it."""
    for place, symbol in enumerate(clause.symbols):
        around = clause.symbols[max(0, place - 2) : place + 3]
        if symbol.kind == "or" and any(one.kind == "teeth" for one in around):
            raise Unreadable("alternative", symbol.text)
        if symbol.kind != "paren" or place == 0:
            continue
        before = clause.symbols[place - 1]
        inside = [one for one in clause.symbols[place + 1 :] if one.kind != "tooth"]
        paired = before.kind == "teeth" and bool(inside) and inside[0].kind == "teeth"
        if paired and inside[0].teeth != before.teeth:
            raise Unreadable("inconsistent", f"{before.text} ({inside[0].text})")


def _check_items(clause: Clause, names: frozenset[str]) -> None:
    """Refuse lists whose items say different things: "36 and several molars", "36 seen, caries on 46".

    `names`: the groups of words that name the finding.
    """
    _check_pairs(clause)
    items: list[list[Symbol]] = [[]]
    for symbol in clause.symbols:
        if symbol.kind in ("and", "comma"):
            items.append([])
        items[-1].append(symbol)
    before = _Before()
    for item in items:
        _check_loose(item, before.listed)
        if _last_teeth(item) >= 0:
            _check_predicate(item, before, any(symbol.says in names for symbol in item))
        before.add(item, names)


@dataclass(slots=True)
class _Before:
    """What the items before one hold: teeth, names of the finding, the word "tooth".

    `closed`: for each item whose teeth have their predicate, whether the finding was named by then.
    """

    listed: bool = False
    named: bool = False
    closed: set[bool] = field(default_factory=set)
    tooth: bool = False

    def add(self, item: Sequence[Symbol], names: frozenset[str]) -> None:
        """Add an item, `names` being the groups of words that name the finding."""
        last = _last_teeth(item)
        says = any(map(_says, item))
        self.listed = self.listed or last >= 0
        self.named = self.named or any(symbol.says in names for symbol in item)
        self.tooth = self.tooth or any(symbol.text == "tooth" for symbol in item)
        if last >= 0 and (any(map(_predicates, item[last + 1 :])) or (says and not self.named)):
            self.closed.add(self.named)


def _last_teeth(item: Sequence[Symbol]) -> int:
    return max((place for place, symbol in enumerate(item) if symbol.kind == "teeth"), default=-1)


def _check_loose(item: Sequence[Symbol], listed: bool) -> None:
    """Refuse teeth without numbers in a list of teeth; in parentheses they describe the tooth before."""
    last = _last_teeth(item)
    loose = [symbol for symbol in item[last + 1 :] if symbol.kind in _COUNTABLE]
    beside = last >= 0 and len(item) > last + 1 and item[last + 1].text in ("tooth", "(")
    region = last < 0 and listed and item[0].kind == "and" and any(one.kind == "region" for one in item)
    if region or (loose and not (beside and len(loose) == 1)):
        raise Unreadable("open_list", item[-1].text)


def _check_predicate(item: Sequence[Symbol], before: _Before, named: bool) -> None:
    """Refuse an item with a predicate of its own, or after one that had, unless both name the finding."""
    if before.listed and len(item) > 1 and item[1].text in _ASIDES:
        raise Unreadable("position", item[1].text)
    says = [place for place, symbol in enumerate(item) if _says(symbol)]
    if before.listed and not named:
        alone = not before.tooth and any(symbol.text == "tooth" for symbol in item)
        own = says and (item[0].kind == "comma" or alone or says[0] < _last_teeth(item))
        if own or any(symbol.kind == "name" for symbol in item):
            raise Unreadable("not_named", item[-1].text)
    if False in before.closed or (before.closed and not named):
        raise Unreadable("not_named", item[-1].text)


def _says(symbol: Symbol) -> bool:
    return symbol.kind == "seen" or symbol.text in VERBS


def _predicates(symbol: Symbol) -> bool:
    return symbol.kind == "name" or _says(symbol)


_ASIDES: Final = frozenset({"associated with", "related to", "with", "by", "for", "as", "which", "that"})


def _check_pairs(clause: Clause) -> None:
    """Refuse two teeth that words join in another way than a list: "38 in the root of 37"."""
    between: list[Symbol] | None = None
    for symbol in clause.symbols:
        if symbol.kind == "teeth":
            if between:
                raise Unreadable("position", between[0].text)
            between = []
        elif symbol.kind in ("and", "comma", "paren", "unparen", "colon") or symbol.says == "nor":
            between = None
        elif between is not None and symbol.kind not in ("tooth", "fdi"):
            between.append(symbol)


_COUNTABLE: Final = frozenset({"tooth", "kind", "some", "count"})
"""What names teeth without saying which."""


def _places(clause: Clause) -> Iterator[frozenset[int]]:
    for symbol in clause.of("kind"):
        kind, *places = symbol.says.split()
        yield frozenset(map(int, places)) or PLACES[kind]


def _jaws(teeth: frozenset[int]) -> frozenset[str]:
    return frozenset("maxilla" if tooth < 30 else "mandible" for tooth in teeth)


def _sides(teeth: frozenset[int]) -> frozenset[str]:
    return frozenset("right" if tooth // 10 in (1, 4) else "left" for tooth in teeth)
