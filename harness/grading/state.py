"""How far a grading has come beside its grades: its links, its rounds of calibration, whether it is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

from harness.canonical import JSON
from harness.errors import StoreError
from harness.grading.agreement import PairAgreement, read_pair
from harness.grading.plan import check_version
from harness.grading.seats import Seat, read_seats

OpenedBy: TypeAlias = Literal["no gate", "agreement", "lead"]

VERSION: Final = 1


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
class State:
    """All that changes of a grading beside its grades. `port` is where it was served last."""

    seats: tuple[Seat, ...]
    rounds: tuple[Round, ...] = ()
    opened: Opened | None = None
    port: int | None = None

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

    def at_port(self, port: int) -> State:
        """Return the state with another port."""
        return replace(self, port=port)

    def to_json(self) -> dict[str, JSON]:
        """Return the state as the store keeps it."""
        return {
            "version": VERSION,
            "seats": [seat.to_json() for seat in self.seats],
            "rounds": [
                {
                    "items": list(one.items),
                    "begun_at_us": one.begun_at_us,
                    "ended_at_us": one.ended_at_us,
                    "pairs": [pair.to_json() for pair in one.pairs],
                }
                for one in self.rounds
            ],
            "opened": None if self.opened is None else asdict(self.opened),
            "port": self.port,
        }


def read_state(stored: Mapping[str, JSON]) -> State:
    """Undo `State.to_json`. Raises StoreError for a state of another version, and for what is none."""
    check_version(stored, VERSION)
    try:
        return _state(stored)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreError("the state of a grading is damaged; take it from a backup") from error


def _state(found: Mapping[str, Any]) -> State:
    opened = found["opened"]
    return State(
        seats=read_seats(found["seats"]),
        rounds=tuple(
            Round(
                tuple(one["items"]),
                one["begun_at_us"],
                one["ended_at_us"],
                tuple(map(read_pair, one["pairs"])),
            )
            for one in found["rounds"]
        ),
        opened=None
        if opened is None
        else Opened(opened["at_us"], cast("OpenedBy", opened["by"]), opened["reason"]),
        port=found["port"],
    )
