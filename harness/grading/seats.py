"""Who may open which page of a grading: each rater's seat, the consensus's, the lead's."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from harness.benchmarks.steps import CONSENSUS, is_consensus
from harness.canonical import JSON
from harness.errors import ConfigError
from harness.grading.checking import raters_alike

Role: TypeAlias = Literal["rater", "consensus", "lead"]

LEAD: Final = "lead"
_TOKEN_BYTES: Final = 24

Draw: TypeAlias = Callable[[], str]


def new_token() -> str:
    """Return a token that nobody guesses: 192 random bits, in 32 letters that stand in a link as they are."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


@dataclass(frozen=True, slots=True)
class Seat:
    """A place at a grading. `name` is the rater's; the others are named as their role. `token` opens it."""

    role: Role
    name: str
    token: str = field(repr=False)

    def to_json(self) -> JSON:
        """Return the seat as the state of a grading has it."""
        return {"role": self.role, "name": self.name, "token": self.token}


def seats_for(raters: Sequence[str], draw: Draw = new_token) -> tuple[Seat, ...]:
    """Return new seats: one a rater in their order, a consensus's if they are several, the lead's."""
    theirs = [Seat("rater", name, draw()) for name in raters]
    together = [Seat("consensus", CONSENSUS, draw())] if len(raters) > 1 else []
    return (*theirs, *together, Seat("lead", LEAD, draw()))


def read_seats(stored: JSON) -> tuple[Seat, ...]:
    """Undo `Seat.to_json` of each."""
    seats = cast("Iterable[Mapping[str, str]]", stored)
    return tuple(Seat(cast("Role", one["role"]), one["name"], one["token"]) for one in seats)


def seat_of(seats: Iterable[Seat], token: str) -> Seat | None:
    """Return the seat that a token opens; looking takes as long whatever it is."""
    given = token.encode("utf-8", "surrogatepass")
    found = [one for one in seats if hmac.compare_digest(one.token.encode("utf-8"), given)]
    return found[0] if found else None


def with_rater(seats: Sequence[Seat], name: str, draw: Draw = new_token) -> tuple[Seat, ...]:
    """Return seats with another rater's behind the others', and a consensus's where they become several."""
    theirs = [one for one in seats if one.role == "rater"]
    others = [one for one in seats if one.role != "rater"]
    if theirs and all(one.role != "consensus" for one in others):
        others.insert(0, Seat("consensus", CONSENSUS, draw()))
    return (*theirs, Seat("rater", name, draw()), *others)


def check_raters(raters: Sequence[str], option: str = "--raters") -> None:
    """Raise ConfigError for names of raters that would be confused with others, or that are none."""
    if not raters:
        raise ConfigError("a grading needs somebody who grades; give --raters NAME,NAME")
    for name in raters:
        if not (name.strip() and name.isprintable() and name == name.strip()):
            raise ConfigError(f"{option}: {name!r} is no name; use letters, digits and dashes")
        if "," in name:
            raise ConfigError(f"{option}: {name!r} is several names; give one")
        if is_consensus(name) or name.casefold() == LEAD:
            raise ConfigError(f"{option}: {name!r} is no person's name here; choose another")
    for names in raters_alike(raters):
        raise ConfigError(f"{option}: {' and '.join(map(repr, names))} are hard to tell apart; rename one")
    if len(set(raters)) < len(raters):
        raise ConfigError(f"{option}: a name is there twice; each rater needs a name of their own")
