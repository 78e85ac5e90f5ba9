"""Whether a clause says enough of the finding that was asked for, and nothing of another one.

To affirm, it must name the finding or be a bare list of teeth; to deny, it must deny all of it in all of
the mouth.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from harness.benchmarks.pandent.answers.clauses import JAWS, SIDES, Clause
from harness.benchmarks.pandent.answers.finding_words import Alternatives, Naming
from harness.benchmarks.pandent.answers.symbols import Symbol
from harness.benchmarks.pandent.answers.unreadable import Unreadable

_BARE: Final = frozenset({"neg", "link", "done", "comma", "colon", "sign", "seen", "tooth", "fdi"})
"""What a denial may consist of that names no finding: "none are visible"."""

_LIST: Final = frozenset(
    {"teeth", "link", "done", "comma", "colon", "and", "tooth", "fdi", "kind", "region", "both", "side",
     "paren", "unparen", "count", "only"}
)  # fmt: skip
_LIST_LINKS: Final = frozenset(
    {"the", "on", "in", "at", "of", "is", "are", "has", "have", "been", "respectively", "namely",
     "specifically", "also", "involving", "affecting"}
)  # fmt: skip
"""What an affirmation may consist of that names no finding: "teeth 36 and 37"."""


def check_names(clause: Clause, naming: Naming) -> None:
    """Raise Unreadable where a clause speaks of another finding."""
    for symbol in clause.of("name"):
        if symbol.says not in naming.groups:
            raise Unreadable("other_finding", symbol.text)


def check_denial(clause: Clause, naming: Naming) -> None:
    """Raise Unreadable unless a clause denies the whole finding, whatever region it speaks of."""
    _check_whole_mouth(clause)
    _check_one_statement(clause)
    for symbol in clause.symbols:
        if symbol.kind in ("detail", "only", "some", "count", "kind", "near") or symbol.says == "perhaps":
            raise Unreadable("partial_negative", symbol.text)
        if symbol.kind == "all" and not any(one.says == "free" for one in clause.negations):
            raise Unreadable("partial_negative", symbol.text)
        if symbol.text in _BEFORE_NOW and "rootcanal" not in clause.groups:
            raise Unreadable("partial_negative", symbol.text)
        structural = any(one.text == "structural" for one in clause.symbols)
        if symbol.kind == "name" and symbol.says in naming.narrower and not structural:
            raise Unreadable("partial_negative", symbol.text)
    if clause.of("normal"):
        if not said(naming.normal, clause.groups):
            raise Unreadable("not_named")
    elif not said(naming.denied, clause.groups):
        bare = clause.kinds <= _BARE and ("tooth" not in clause.kinds or "done" in clause.kinds)
        if clause.of("name") or not bare:
            raise Unreadable("not_named")


_BEFORE_NOW: Final = frozenset({"prior", "previous", "existing", "earlier"})


def _check_whole_mouth(clause: Clause) -> None:
    """Refuse "in this tooth" and "in the area": what is denied there may be elsewhere."""
    for before, symbol in pairwise(clause.symbols):
        pointed = before.text in _POINTING or (before.text == "the" and symbol.text == "tooth")
        if symbol.kind in ("tooth", "kind") and pointed:
            raise Unreadable("partial_negative", symbol.text)
        if symbol.text in _PLACES_OF and before.kind != "name":
            raise Unreadable("partial_negative", symbol.text)


def _check_one_statement(clause: Clause) -> None:
    """Refuse "not obvious", and what a comma or "and" adds to a denial: it may be affirmed."""
    check_joint_regions(clause)
    symbols = clause.symbols
    denied_at = symbols.index((clause.negations or clause.of("normal"))[0])
    for place, symbol in enumerate(symbols):
        following = symbols[place + 1 :]
        if symbol.says == "not" and following and following[0].kind == "sign":
            raise Unreadable("partial_negative", following[0].text)
        if symbol.kind not in ("and", "comma") or any(
            one.kind == "or" or one.says == "nor" for one in following
        ):
            continue
        joined = {one.kind for one in symbols[place - 1 : place + 2]} == {"name", "and"}
        if not joined and denied_at < place and any(one.kind == "name" for one in following):
            raise Unreadable("negation", symbol.text)


def check_joint_regions(clause: Clause) -> None:
    """Refuse two jaws or two sides that no "and", "or" or "nor" joins: each may have its own finding.

    An affirmation takes no "or".
    """
    for pair in (JAWS, SIDES):
        _check_named_once(clause, pair)
        last: int | None = None
        for place, symbol in enumerate(clause.symbols):
            if symbol.kind != "region" or not pair & set(symbol.says.split()):
                continue
            if last is not None and clause.symbols[last].says != symbol.says:
                between = clause.symbols[last + 1 : place]
                joined = any(one.kind in ("and", "or") or one.says == "nor" for one in between)
                either = any(one.kind == "or" for one in between) and not clause.negations
                if either or not joined or not all(map(_joins, between)):
                    raise Unreadable("region", symbol.text)
            last = place


def _check_named_once(clause: Clause, pair: frozenset[str]) -> None:
    """Refuse "no loss in the maxilla or the mandible shows loss": a finding on either side of two regions."""
    places = [
        n for n, one in enumerate(clause.symbols) if one.kind == "region" and pair & set(one.says.split())
    ]
    if len({clause.symbols[place].says for place in places}) > 1:
        around = clause.symbols[: places[0]], clause.symbols[places[-1] :]
        if all(any(one.kind == "name" for one in part) for part in around):
            raise Unreadable("region", clause.symbols[places[-1]].text)


def _joins(symbol: Symbol) -> bool:
    if symbol.kind == "link":
        return symbol.text in ("the", "in", "of", "on")
    return symbol.kind in ("and", "or", "comma", "region", "both", "side") or symbol.says == "nor"


_POINTING: Final = frozenset({"this", "that", "these"})
_PLACES_OF: Final = frozenset({"region", "regions", "area", "areas", "site", "sites"})


def check_affirmation(clause: Clause, naming: Naming) -> None:
    """Raise Unreadable unless a clause names the finding, or is nothing but a list of teeth."""
    if clause.of("all"):
        raise Unreadable("open_list", clause.of("all")[0].text)
    links = {symbol.text for symbol in clause.of("link")}
    listed = clause.teeth and clause.kinds <= _LIST and links <= _LIST_LINKS
    if not said(naming.affirmed, clause.groups) and not listed:
        raise Unreadable("not_named")


def said(alternatives: Alternatives, groups: frozenset[str]) -> bool:
    """True if the groups hold one of the alternatives whole."""
    return any(alternative <= groups for alternative in alternatives)
