"""Who grades what of a grading at a moment: those who were there from the beginning, came later, or left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from harness.grading.order import rater_order
from harness.grading.plan import Plan
from harness.grading.state import Joined, Round, State


class Roster:
    """The raters of a grading by its plan and its state. Make another one when either changes."""

    def __init__(self, plan: Plan, state: State) -> None:
        self.plan = plan
        self.state = state
        gone = {one.name for one in state.retired}
        later = (one.name for one in state.joined if one.name not in plan.raters)
        self.names: tuple[str, ...] = (*plan.raters, *later)
        """Everybody whose grades are this grading's, in the order in which they came."""
        self.active: tuple[str, ...] = tuple(name for name in self.names if name not in gone)
        """Those who are waited for."""
        self._later: Mapping[str, Joined] = {one.name: one for one in state.joined}

    @cached_property
    def pending(self) -> tuple[Joined, ...]:
        """Return those who grade a round of their own, and to whom nothing else is open before."""
        return tuple(one for name in self.active if (one := self._later.get(name)) and one.round is not None)

    def calibrates(self, name: str) -> Round | None:
        """Return the round that a rater must get past; None: full grading is open to them."""
        own = self._later.get(name)
        if own is not None and own.round is not None:
            return own.round
        return self.state.round if self.state.opened is None else None

    def rounds_of(self, name: str) -> Sequence[Sequence[int]]:
        """Return the items of each round that is a rater's, as they began; each item in the first alone."""
        own = self._later.get(name)
        rounds = [*self.state.rounds[own.after if own else 0 :], *(own.rounds if own else ())]
        found, seen = [], set[int]()
        for one in sorted(rounds, key=lambda one: one.begun_at_us):
            found.append([number for number in one.items if number not in seen])
            seen.update(one.items)
        return found

    def grades(self, name: str, number: int) -> bool:
        """Tell whether a rater is to grade an item, now or later."""
        items = self._items.get(name)
        return items is None or number in items

    def grades_all(self, name: str) -> bool:
        """Tell whether a rater is to grade every item, and not a share of them."""
        return name not in self._items

    def graders(self, number: int) -> Iterator[str]:
        """Yield those who are waited for at an item."""
        return (name for name in self.active if self.grades(name, number))

    def partakers(self, place: int) -> tuple[str, ...]:
        """Return those who are waited for in a round of all raters, by its place."""
        return tuple(name for name in self.active if self._after(name) <= place)

    def held_against(self, one: Joined) -> tuple[str, ...]:
        """Return those with whom somebody is compared who came later: all who grade the same sheets too.

        Where all others left, those who calibrate by themselves on the same sheets.
        """
        items = one.rounds[-1].items if one.rounds else ()
        waiting = {other.name for other in self.pending}
        if waiting.issuperset(self.active):
            beside = (other for other in self.pending if other.name != one.name)
            return tuple(other.name for other in beside if other.rounds[-1].items == items)
        return tuple(
            name
            for name in self.active
            if name not in waiting and all(self.grades(name, number) for number in items)
        )

    def order(self, name: str, case_of: Mapping[int, str]) -> Sequence[int]:
        """Return all items of a rater in their own order: each round shuffled, then the others."""
        items = self._items.get(name)
        mine = case_of if items is None else {n: case for n, case in case_of.items() if n in items}
        return rater_order(name, self.plan.seed, self.rounds_of(name), mine)

    def open_first(self, name: str) -> int | None:
        """Return how many of a rater's order are open to them; None: all."""
        if self.calibrates(name) is None:
            return None
        return sum(map(len, self.rounds_of(name)))

    @cached_property
    def _items(self) -> Mapping[str, frozenset[int]]:
        """Return rater -> all that they grade, of those alone who do not grade everything."""
        return {
            one.name: frozenset([*one.share, *(n for items in self.rounds_of(one.name) for n in items)])
            for one in self.state.joined
            if one.share is not None
        }

    def _after(self, name: str) -> int:
        own = self._later.get(name)
        return own.after if own is not None else 0
