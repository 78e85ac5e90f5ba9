"""Where words that were searched for stand in a unit, for rows that show only how its answer begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.cache.store import Store
from harness.web.found_words import around_first
from harness.web.viewing.unit_index import UnitIndex
from harness.web.viewing.unit_reading import UnitReading

_MOST: Final = 3
"""Excerpts of one row."""
_BEFORE: Final = 40
_AFTER: Final = 80


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What stands around the first place of a word; `where`: "answer", or the name of the case's field."""

    where: str
    text: str


async def excerpts_of(
    store: Store, index: UnitIndex, reading: UnitReading, wanted: Mapping[int, Sequence[str]]
) -> Mapping[int, Sequence[Excerpt]]:
    """Return row -> excerpts with the folded words wanted of it, from the stored answers and the cases."""
    layout = index.layout
    linked = await store.some_linked_units(index.stored.run.id, map(layout.unit, wanted))
    answers = {layout.row(one.state.unit): reading.read(one).replayed.text for one in linked}
    found = {}
    for row, words in wanted.items():
        case = layout.cases.case(int(layout.place[row]))
        texts = {"answer": answers.get(row, ""), **case.fields}
        found[row] = tuple(_of(texts, words))[:_MOST]
    return found


def _of(texts: Mapping[str, str], words: Sequence[str]) -> Iterator[Excerpt]:
    told: list[str] = []
    for word in words:
        if any(word in one.casefold() for one in told):
            continue
        for where, text in texts.items():
            around = around_first(" ".join(text.split()), word, _BEFORE, _AFTER)
            if around is not None:
                told.append(around)
                yield Excerpt(where, around)
                break
