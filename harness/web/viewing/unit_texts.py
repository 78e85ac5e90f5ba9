"""What answers and cases say, to be looked through: in memory, whatever the case of letters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.base import Case
from harness.web.viewing.unit_columns import Flags

MOST_BYTES: Final = 400_000_000
"""Of the texts of one run that are kept; those beyond it are not looked through, and pages say so."""
BEGINNING: Final = 200
"""Characters of an answer that a list shows."""

_KEPT_WORDS: Final = 64
_KEPT_HEADLINES: Final = 5_000


class UnitTexts:
    """The texts of one run's answers, a row a unit, and of its cases, by their places."""

    def __init__(self, units: int, places: NDArray[np.int32], *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._places = places
        self._answers: list[bytes] = [b""] * units
        self._beginnings: list[str] = [""] * units
        self._headlines: dict[int, str] = {}
        self._cases: Sequence[bytes] = ()
        self._left_out: set[int] = set()
        self._bytes = 0
        self._version = 0
        self._found: OrderedDict[tuple[str, ...], tuple[int, Flags]] = OrderedDict()

    @property
    def left_out(self) -> int:
        """The answers that are not looked through, since memory for them would be too much."""
        return len(self._left_out)

    def set_cases(self, cases: Iterable[Case]) -> None:
        """Take the texts of the cases, in the order of their places."""
        found = []
        for case in cases:
            text = fold("\n".join((case.id, *case.fields.values())))
            self._bytes += len(text)
            found.append(text if self._bytes <= self._most_bytes else fold(case.id))
        self._cases = found
        self._version += 1

    def set_answer(self, row: int, text: str) -> None:
        """Take the answer of a unit, in place of what it was."""
        folded = fold(text)
        self._bytes += len(folded) - len(self._answers[row])
        self._left_out.discard(row)
        if self._bytes > self._most_bytes and folded:
            self._bytes -= len(folded)
            self._left_out.add(row)
            folded = b""
        self._answers[row] = folded
        self._beginnings[row] = text[:BEGINNING]
        self._headlines.pop(row, None)
        self._version += 1

    def beginning(self, row: int) -> str:
        """Return how the answer of a unit begins; "" where none is known."""
        return self._beginnings[row]

    def set_headline(self, row: int, words: str) -> None:
        """Take what a unit's answer says in a few words, "" for none; of many the oldest are dropped."""
        self._headlines.pop(row, None)
        self._headlines[row] = words
        while len(self._headlines) > _KEPT_HEADLINES:
            self._headlines.pop(next(iter(self._headlines)))

    def headline(self, row: int) -> str | None:
        """Return what the answer of a unit says in a few words; None where that was not read."""
        return self._headlines.get(row)

    def having(self, words: Sequence[str]) -> Flags | None:
        """Return the units in whose answer, case or case's id each word stands; None: there are no words.

        Looks through everything for the first one, and for each further one through what that leaves: call
        it in a thread, with the rarest word first.
        """
        found: Flags | None = None
        for number in range(len(words)):
            found = self._having(tuple(words[: number + 1]), found)
        return found

    def _having(self, words: tuple[str, ...], among: Flags | None) -> Flags:
        """Return the units with all of these words, given those with all but the last one."""
        version = self._version
        known = self._found.pop(words, None)
        if known is None or known[0] != version:
            known = (version, self._look_for(fold(words[-1]), among))
        self._found[words] = known
        while len(self._found) > _KEPT_WORDS:
            self._found.popitem(last=False)
        return known[1]

    def _look_for(self, word: bytes, among: Flags | None) -> Flags:
        if among is None:
            found = np.fromiter((word in text for text in self._answers), np.bool_, len(self._answers))
        else:
            rows = np.flatnonzero(among)
            answers = (self._answers[row] for row in rows.tolist())
            found = np.zeros(len(among), np.bool_)
            found[rows] = np.fromiter((word in text for text in answers), np.bool_, len(rows))
        if self._cases:
            cases = np.fromiter((word in text for text in self._cases), np.bool_, len(self._cases))
            found |= cases[self._places]
        return found if among is None else found & among


def fold(text: str) -> bytes:
    """Return a text as it is looked through: in which upper and lower case are alike."""
    return text.casefold().encode("utf-8", "surrogatepass")
