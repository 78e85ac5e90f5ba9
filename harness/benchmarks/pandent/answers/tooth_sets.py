"""Sets of teeth in an answer: FDI numbers, ranges in words, and the patterns of bridges.

A number must be one of the 32 permanent teeth and must name a tooth: what may count ("12 teeth", "12
missing roots") or measure is refused, never skipped. Hyphens join the units of a bridge and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.benchmarks.pandent.answers.symbols import Symbol
from harness.benchmarks.pandent.answers.unreadable import Unreadable
from harness.benchmarks.pandent.findings import UNIVERSE, bridge_pattern, bridge_teeth

_TEETH: Final = frozenset(UNIVERSE)
_COUNTED: Final = frozenset(
    {
        "noun",
        "detail",
        "name",
        "sign",
        "tooth",
        "kind",
        "ordinal",
        "count",
        "region",
        "some",
        "sure",
        "picture",
    }
)
"""What a number may count when it stands before it."""

_AFTER: Final = frozenset({"tooth", "bilaterally"})
"""What may follow a number without being counted by it: "in 36 tooth"."""

_OTHER_NUMBERS: Final = frozenset({"picture", "noun", "detail", "sign", "count", "ordinal", "label"})
"""After which a number is no tooth's: "image 12"."""

_MARKERS: Final = frozenset({"tooth", "hash", "numeral", "fdi"})
_HASH: Final = re.compile(r"[# ]")


def numbered(found: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols with numbers and ranges as sets of teeth, and without "#" and "number" before them.

    Raises Unreadable for a number that is no tooth or may count, for a range that is none, for two notations.
    """
    dotted = {symbol.kind for symbol in found if symbol.kind in ("number", "dotted")}
    if len(dotted) > 1:
        raise Unreadable("notation")
    result: list[Symbol] = []
    for place, symbol in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else None
        if symbol.kind in ("number", "dotted"):
            before = found[place - 1] if place else None
            result.append(_tooth(symbol, before, _marker(found, place), following))
        elif symbol.kind in ("hash", "numeral"):
            if following is None or following.kind not in ("hash", "number", "dotted", "joined", "numeral"):
                raise Unreadable("number", symbol.text)
        else:
            result.append(symbol)
    return _ranged(result)


def bridges(found: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols with each bridge pattern as the set of its numbered units, the pattern as its text.

    Raises Unreadable for a pattern that is none.
    """
    return [_bridge(symbol) if symbol.kind == "joined" else symbol for symbol in found]


def _bridge(symbol: Symbol) -> Symbol:
    try:
        pattern = bridge_pattern(_HASH.sub("", symbol.text))
    except ValueError:
        raise Unreadable("bridge", symbol.text) from None
    return Symbol("teeth", "pattern", pattern, frozenset(bridge_teeth([pattern])), marked=True)


def _marker(found: Sequence[Symbol], place: int) -> str | None:
    """Return what marks a number as naming: what stands before it, or before the list that it is part of."""
    while place and found[place - 1].kind in ("number", "dotted", "and", "comma"):
        place -= 1
    before = found[place - 1] if place else None
    return before.text if before is not None and before.kind in _MARKERS else None


def _tooth(symbol: Symbol, before: Symbol | None, marker: str | None, following: Symbol | None) -> Symbol:
    number = symbol.text
    if symbol.kind == "dotted":
        if marker is None:
            raise Unreadable("number", number)
        number = number.replace(".", "")
    if len(number) != 2 or int(number) not in _TEETH:
        raise Unreadable("number", symbol.text)
    if marker is None and before is not None and before.kind in _OTHER_NUMBERS:
        raise Unreadable("number", f"{before.text} {number}")
    alone = marker in ("#", "tooth", "fdi")
    counts = following is not None and following.kind in _COUNTED and following.text not in _AFTER
    if following is not None and counts and (not alone or following.text == "teeth"):
        raise Unreadable("count", f"{number} {following.text}")
    return Symbol("teeth", "", number, frozenset({int(number)}), marked=marker is not None)


def _ranged(found: list[Symbol]) -> list[Symbol]:
    """Return the symbols with "36 to 38" and "from 36 through 38" as one set each."""
    result: list[Symbol] = []
    place = 0
    while place < len(found):
        symbol = found[place]
        if symbol.kind not in ("to", "from"):
            result.append(symbol)
            place += 1
            continue
        opened = symbol.kind == "from"
        first, place = _end(found, place + 1) if opened else (result.pop() if result else None, place)
        if place >= len(found) or found[place].kind != "to":
            raise Unreadable("range", symbol.text)
        last, place = _end(found, place + 1)
        result.append(_range(first, last))
    return result


def _end(found: Sequence[Symbol], place: int) -> tuple[Symbol | None, int]:
    while place < len(found) and (found[place].kind in ("tooth", "fdi") or found[place].text == "the"):
        place += 1
    return (found[place], place + 1) if place < len(found) else (None, place)


def _range(first: Symbol | None, last: Symbol | None) -> Symbol:
    if first is None or last is None or len(first.teeth) != 1 or len(last.teeth) != 1:
        raise Unreadable("range")
    low, high = sorted((min(first.teeth), min(last.teeth)))
    if low == high or low // 10 != high // 10 or "pattern" in (first.says, last.says):
        raise Unreadable("range", f"{low} to {high}")
    return replace(first, text=f"{low} to {high}", says="range", teeth=frozenset(range(low, high + 1)))
