"""In which order a rater grades, and which sheets all raters grade first: drawn by a stored seed.

A draw gives each item the SHA-256 of the canonical JSON of [seed, what is drawn, of whom, item number], and
takes the items by it, least first: the same on every machine and for every version of every library, and of
no pattern that an item's place in the run could be told from. Two answers to one case side by side invite
comparison, so that answers of one case do not follow each other where that can be avoided.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from harness.canonical import digest

ORDER: Final = "order"
CALIBRATION: Final = "calibration"


def drawn(items: Collection[int], *draw: str | int) -> list[int]:
    """Return items in the order of a draw, which `draw` names: its seed, what for, and of whom."""
    return sorted(items, key=lambda item: (digest([*draw, item]), item))


def apart(items: Sequence[int], case_of: Mapping[int, str], before: str | None = None) -> list[int]:
    """Return items in the same order, but none beside another one of its case wherever that can be.

    Each place gets the first item left that is of another case than the one before it (`before`: that of what
    precedes them all); a case that has more than half of what is left is taken wherever it can be, since it
    would have to follow itself later.
    """
    queue = _Queue(items, case_of)
    found: list[int] = []
    last = before
    while queue:
        crowded = queue.crowded()
        item = queue.first_of(crowded) if crowded is not None and crowded != last else queue.first_but(last)
        found.append(item)
        last = case_of[item]
    return found


def rater_order(
    rater: str, seed: int, rounds: Sequence[Sequence[int]], case_of: Mapping[int, str]
) -> list[int]:
    """Return a rater's order of all items: each round of calibration shuffled, then the others shuffled."""
    first = {number for one in rounds for number in one}
    rest = [number for number in case_of if number not in first]
    found: list[int] = []
    for part in (*rounds, rest):
        before = case_of[found[-1]] if found else None
        found += apart(drawn(part, seed, ORDER, rater), case_of, before)
    return found


class _Queue:
    """Items left, in order; of each case they are taken in order too."""

    def __init__(self, items: Sequence[int], case_of: Mapping[int, str]) -> None:
        self._case_of = case_of
        self._left = OrderedDict.fromkeys(items)  # whose first one is found at once, however many have gone
        self._of_case: dict[str, deque[int]] = {}
        for item in items:
            self._of_case.setdefault(case_of[item], deque()).append(item)
        self._most = [(-len(theirs), case) for case, theirs in self._of_case.items()]
        heapq.heapify(self._most)

    def __len__(self) -> int:
        return len(self._left)

    def crowded(self) -> str | None:
        """Return the case that has more than half of what is left, if one has."""
        while True:
            count, case = self._most[0]
            left = len(self._of_case[case])
            if -count == left:
                return case if 2 * left > len(self._left) else None
            heapq.heapreplace(self._most, (-left, case))

    def first_of(self, case: str) -> int:
        """Take the first item of a case."""
        item = self._of_case[case].popleft()
        del self._left[item]
        return item

    def first_but(self, case: str | None) -> int:
        """Take the first item of another case; of this one if there is no other."""
        others = (found for item in self._left if (found := self._case_of[item]) != case)
        return self.first_of(next(others, self._case_of[next(iter(self._left))]))
