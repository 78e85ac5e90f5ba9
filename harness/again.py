"""What `--again` asks once more: a new list of units, or what is left of an earlier one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from harness.cache.rows import Session
from harness.canonical import JSON
from harness.outcomes import ASKED_AGAIN_ON_RESUME, UnitOutcome
from harness.shards import Shard
from harness.unit_states import UnitList, UnitStates


@dataclass(frozen=True, slots=True)
class AgainList:
    """A list as a session works on it.

    `id` is the exchange up to which stored answers do not count for its units; None: not known yet, or no
    list. `new` are the units to be marked; None where an earlier list of the same outcomes goes on.
    `left` counts what that one has left. `second` tells that its failures have their second turn.
    """

    outcomes: tuple[UnitOutcome, ...] = ()
    id: int | None = None
    new: UnitList | None = None
    left: int = 0
    second: bool = False

    def info(self) -> Mapping[str, JSON]:
        """Return what a session keeps of its list."""
        names = sorted(outcome.value for outcome in self.outcomes)
        return {"again": names, "again_after": self.id, "again_second": self.second}


def again_list(
    states: UnitStates, sessions: Sequence[Session], outcomes: Collection[UnitOutcome]
) -> AgainList:
    """Return the list that `--again OUTCOMES` works on; `states` are whole.

    An earlier list of the same outcomes goes on while it was interrupted, and once more for the units that
    failed in it: what was answered since is not asked again. After that, or for other outcomes, all units
    that stand so now are a new list. Each shard has lists of its own.
    """
    chosen = tuple(sorted(set(outcomes)))
    earlier = _latest(sessions, chosen, states.wanted.shard)
    if earlier is not None:
        members = states.list_counts(earlier)
        never = members[None]
        failed = sum(members[outcome] for outcome in ASKED_AGAIN_ON_RESUME)
        had_second = any(
            one.info.get("again_after") == earlier and one.info.get("again_second") for one in sessions
        )
        if never or (failed and not had_second):
            return AgainList(chosen, earlier, left=never + failed, second=not never)
    return AgainList(chosen, new=states.units(chosen))


def _latest(
    sessions: Sequence[Session], outcomes: tuple[UnitOutcome, ...], shard: Shard | None
) -> int | None:
    names = sorted(outcome.value for outcome in outcomes)
    ids = [
        one.info.get("again_after")
        for one in sessions
        if one.info.get("again") == names and one.info.get("shard") == (shard and str(shard))
    ]
    return max((found for found in ids if isinstance(found, int)), default=None)
