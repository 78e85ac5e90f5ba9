"""What goes into the store and comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.canonical import JSON
from harness.messages import Purpose, RawReply, Usage
from harness.outcomes import ExchangeOutcome, UnitOutcome


@dataclass(frozen=True, slots=True, order=True)
class UnitId:
    """What a run must finish: case x condition x model x repeat (from 1)."""

    model: str
    condition: str
    case_id: str
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class NewExchange:
    """One HTTP round trip about to be committed.

    Times: `started_at_us` integer microseconds since 1970 UTC; `first_byte_s` and `total_s` seconds
    since the send. `request` is the canonical JSON of the body with media by digest. `status` 0 and an
    empty body when no answer arrived; `error` then says why. `masked` is True when a key that the
    server echoed was replaced in `body` or headers, or one that stood in the request's own headers.
    `media_sent`: source sha256 -> sha256 of the bytes sent.
    """

    key: str
    twin: str
    pool: str
    purpose: Purpose
    attempt: int
    repeat: int
    provider: str
    endpoint: str
    model: str
    adapter: str
    wire_revision: int
    request: bytes
    raw: RawReply
    outcome: ExchangeOutcome
    started_at_us: int
    total_s: float
    first_byte_s: float | None = None
    served_model: str | None = None
    usage: Usage = field(default_factory=Usage)
    maybe_billed: bool = False
    error: str | None = None
    masked: bool = False
    media_sent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A committed round trip."""

    id: int
    session: int
    data: NewExchange


@dataclass(frozen=True, slots=True)
class Link:
    """A unit's tie to one exchange, in the order in which they were linked."""

    exchange_id: int
    purpose: Purpose
    attempt: int
    used: bool = False


@dataclass(frozen=True, slots=True)
class UnitState:
    """How a unit ended in a run. `outcome` None: marked to be asked again and not finished since.

    Exchanges with an id up to `again_after` are evidence of earlier rounds: kept, linked, not read.
    """

    unit: UnitId
    outcome: UnitOutcome | None
    again_after: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LinkedUnit:
    """A unit with every exchange linked to it, in order."""

    state: UnitState
    links: tuple[tuple[Link, Exchange], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A manifest of what is wanted. `manifest` holds digests of blobs and all settings by value."""

    id: int
    name: str
    digest: str
    benchmark: str
    manifest: Mapping[str, JSON]
    created_at_us: int


@dataclass(frozen=True, slots=True)
class Session:
    """One invocation that worked on a run. `exit_code` None: it is running, or it was killed."""

    id: int
    run_id: int
    started_at_us: int
    ended_at_us: int | None
    exit_code: int | None
    info: Mapping[str, JSON]
