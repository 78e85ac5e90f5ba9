"""How far a grading has come beside its grades: its links, its rounds of calibration, whether it is open,
who came later and who left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

from harness.cache.owner import Owner
from harness.canonical import JSON
from harness.errors import StoreError
from harness.grading.agreement import PairAgreement, read_pair
from harness.grading.plan import check_version
from harness.grading.seats import Seat, read_seats

OpenedBy: TypeAlias = Literal["no gate", "agreement", "lead", "with all"]

VERSION: Final = 2
_BEFORE: Final = 1
"""Without anybody who came later or left, and without who serves it."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of calibration: the numbers of its items, and what it came to.

    `pairs` is how far each two raters agreed, by their grades as they stood at `ended_at_us`, when the last
    of them finished; both were written once. Moments in microseconds since 1970 UTC.
    """

    items: tuple[int, ...]
    begun_at_us: int
    ended_at_us: int | None = None
    pairs: tuple[PairAgreement, ...] = ()

    def reaches(self, threshold: float) -> bool:
        """Tell whether every two raters agreed at least so far beyond chance."""
        kappas = [pair.pooled.kappa for pair in self.pairs]
        return bool(kappas) and all(kappa is not None and kappa >= threshold for kappa in kappas)


@dataclass(frozen=True, slots=True)
class Opened:
    """When full grading was opened (microseconds since 1970 UTC), by what, and why if it was the lead."""

    at_us: int
    by: OpenedBy
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """A rater who came when the grading was under way, or came back.

    Of the rounds of all raters those from place `after` on are theirs too. `rounds` are their own, held
    against what the others said of the same items; while `opened` is None no other sheet is open to them.
    `share`: the items that they grade beside rounds of calibration; None: all. `in_place_of`: whose open
    sheets these were. `at_us` in microseconds since 1970 UTC.
    """

    name: str
    at_us: int
    after: int
    rounds: tuple[Round, ...] = ()
    opened: Opened | None = None
    share: tuple[int, ...] | None = None
    in_place_of: str | None = None

    @property
    def round(self) -> Round | None:
        """Return their own round of calibration that counts; None: full grading is open to them as to all."""
        return self.rounds[-1] if self.rounds and self.opened is None else None


@dataclass(frozen=True, slots=True)
class Retired:
    """A rater who left (microseconds since 1970 UTC). What they graded stays."""

    name: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Returned:
    """When a rater who had left came back last: later than they left, whatever the clock says."""

    name: str
    at_us: int


@dataclass(frozen=True, slots=True)
class State:
    """All that changes of a grading beside its grades.

    `port` is where it was served last, and `server` the process that did. `returned` tells a store that is
    joined with an older copy of itself that who left there is back. `withdrawn_at_us`: since when this is no
    grading any more (microseconds since 1970 UTC); None: it is one.
    """

    seats: tuple[Seat, ...]
    rounds: tuple[Round, ...] = ()
    opened: Opened | None = None
    port: int | None = None
    server: Owner | None = None
    joined: tuple[Joined, ...] = ()
    retired: tuple[Retired, ...] = ()
    returned: tuple[Returned, ...] = ()
    withdrawn_at_us: int | None = None

    @property
    def round(self) -> Round | None:
        """Return the latest round of calibration; None where there is none."""
        return self.rounds[-1] if self.rounds else None

    def with_round(self, new: Round) -> State:
        """Return the state with one more round."""
        return replace(self, rounds=(*self.rounds, new))

    def with_round_ended(self, ended: Round) -> State:
        """Return the state with the latest round in its final form."""
        return replace(self, rounds=(*self.rounds[:-1], ended))

    def with_link(self, name: str, token: str) -> State:
        """Return the state with another token for the seat of a name."""
        return replace(
            self, seats=tuple(replace(one, token=token) if one.name == name else one for one in self.seats)
        )

    def at_port(self, port: int, server: Owner | None = None) -> State:
        """Return the state with another port, and who listens there."""
        return replace(self, port=port, server=server)

    def joined_as(self, name: str) -> Joined | None:
        """Return how somebody came who was not there from the beginning, or came back."""
        return next((one for one in self.joined if one.name == name), None)

    def with_retired(self, name: str, now_us: int) -> State:
        """Return the state with a rater among those who left; they have a seat no more."""
        came = next((one.at_us for one in self.returned if one.name == name), -1)
        return replace(
            self,
            seats=tuple(one for one in self.seats if (one.role, one.name) != ("rater", name)),
            retired=(*self.retired, Retired(name, max(now_us, came + 1))),
        )

    def with_returned(self, left: Retired, now_us: int) -> State:
        """Return the state without one of those who left; their seat is not made."""
        back = Returned(left.name, max(now_us, left.at_us + 1))
        return replace(
            self,
            retired=tuple(one for one in self.retired if one.name != left.name),
            returned=(*(one for one in self.returned if one.name != left.name), back),
        )

    def with_joined(self, *changed: Joined) -> State:
        """Return the state with these in place of who has the same names, or added."""
        new = {one.name: one for one in (*self.joined, *changed)}
        return replace(self, joined=tuple(new.values()))

    def to_json(self) -> dict[str, JSON]:
        """Return the state as the store keeps it."""
        return {
            "version": VERSION,
            "seats": [seat.to_json() for seat in self.seats],
            "rounds": _rounds_json(self.rounds),
            "opened": None if self.opened is None else asdict(self.opened),
            "port": self.port,
            "server": None if self.server is None else asdict(self.server),
            "joined": [
                {
                    "name": one.name,
                    "at_us": one.at_us,
                    "after": one.after,
                    "rounds": _rounds_json(one.rounds),
                    "opened": None if one.opened is None else asdict(one.opened),
                    "share": None if one.share is None else list(one.share),
                    "in_place_of": one.in_place_of,
                }
                for one in self.joined
            ],
            "retired": [asdict(one) for one in self.retired],
            "returned": [asdict(one) for one in self.returned],
            "withdrawn_at_us": self.withdrawn_at_us,
        }


def _rounds_json(rounds: Iterable[Round]) -> list[JSON]:
    return [
        {
            "items": list(one.items),
            "begun_at_us": one.begun_at_us,
            "ended_at_us": one.ended_at_us,
            "pairs": [pair.to_json() for pair in one.pairs],
        }
        for one in rounds
    ]


def read_state(stored: Mapping[str, JSON]) -> State:
    """Undo `State.to_json`. Raises StoreError for a state of another version, and for what is none."""
    check_version(stored, VERSION, _BEFORE)
    try:
        return _state(stored)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreError("the state of a grading is damaged; take it from a backup") from error


def was_withdrawn(stored: Mapping[str, JSON]) -> bool:
    """Tell whether a grading with this stored state is one no more. Raises as `read_state` does."""
    return read_state(stored).withdrawn_at_us is not None


def _state(found: Mapping[str, Any]) -> State:
    server = found.get("server")
    return State(
        seats=read_seats(found["seats"]),
        rounds=_rounds(found["rounds"]),
        opened=_opened(found["opened"]),
        port=found["port"],
        server=None if server is None else Owner(**server),
        joined=tuple(map(_joined, found.get("joined", ()))),
        retired=tuple(Retired(**one) for one in found.get("retired", ())),
        returned=tuple(Returned(**one) for one in found.get("returned", ())),
        withdrawn_at_us=found.get("withdrawn_at_us"),
    )


def _joined(found: Mapping[str, Any]) -> Joined:
    share = found["share"]
    return Joined(
        name=found["name"],
        at_us=found["at_us"],
        after=found["after"],
        rounds=_rounds(found["rounds"]),
        opened=_opened(found["opened"]),
        share=None if share is None else tuple(share),
        in_place_of=found["in_place_of"],
    )


def _rounds(found: Iterable[Mapping[str, Any]]) -> tuple[Round, ...]:
    return tuple(
        Round(
            tuple(one["items"]),
            one["begun_at_us"],
            one["ended_at_us"],
            tuple(map(read_pair, one["pairs"])),
        )
        for one in found
    )


def _opened(found: Mapping[str, Any] | None) -> Opened | None:
    return None if found is None else Opened(found["at_us"], cast("OpenedBy", found["by"]), found["reason"])
