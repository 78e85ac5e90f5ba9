"""What a session at work says of itself, for those who watch: counts, waits and money, no text of a case."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.cache.owner import Owner
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.outcomes import UnitOutcome

if TYPE_CHECKING:
    from harness.budget import Budget
    from harness.pools.pool import Pool

MOST_MODELS: Final = 200
"""Models, and pools, that are told one by one; the totals are always of all."""
MOST_CHARACTERS: Final = 300
"""Most of a name, or of why a pool waits or is closed."""
RECENT_S: Final = 60.0
"""The time over which the rate is taken."""


class _Told(BaseModel):
    # Told by another version, perhaps: what is not known here is passed over.
    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class ToldPool(_Told):
    """A pool. Times in seconds from the moment at which it was told; `failures`: sends by outcome."""

    name: str
    models: tuple[str, ...] = ()
    in_flight: int = 0
    limit: int = 0
    waiting: int = 0
    backing_off: dict[str, int] = Field(default_factory=dict)
    held_s: float | None = None
    held_why: str | None = None
    closed: str | None = None
    closed_s: float | None = None
    connected: bool = True
    sends: int = 0
    ok: int = 0
    retries: int = 0
    failures: dict[str, int] = Field(default_factory=dict)


class ToldModel(_Told):
    """The units of a model in this session: how many were open at its start, and how they ended since."""

    open: int = 0
    done: int = 0
    outcomes: dict[str, int] = Field(default_factory=dict)


class ToldOwner(_Told):
    """The process that a session is: see `harness.cache.owner`."""

    host: str
    boot: str
    pid: int
    started: str


class LiveState(_Told):
    """All that a session tells; `kind`: it asks models, or imports answers.

    `done` of `open` units ended so far, `recent_done` of them in the last `recent_s` seconds. `claim_waits`:
    model -> asks that wait for another process. `causes`: why requests were sent again. `spent_by_model` is
    as a session keeps it at its end (`Spending.to_json`); `max_usd` is `--max-cost`, `stopped` where that
    was reached, in words.
    """

    kind: Literal["sweep", "import"] = "sweep"
    owner: ToldOwner | None = None
    stopping: bool = False
    open: int = 0
    done: int = 0
    recent_done: int = 0
    recent_s: float = 0.0
    models: int = 0
    by_model: dict[str, ToldModel] = Field(default_factory=dict)
    pools: tuple[ToldPool, ...] = ()
    claim_waits: dict[str, int] = Field(default_factory=dict)
    in_flight: int = 0
    sends: int = 0
    served: int = 0
    causes: dict[str, int] = Field(default_factory=dict)
    usd: float = 0.0
    unknown_cost: int = 0
    at_most_usd: float | None = None
    counted_usd: float = 0.0
    spent_by_model: dict[str, dict[str, Any]] = Field(default_factory=dict)
    max_usd: float | None = None
    max_usd_by_model: dict[str, float] = Field(default_factory=dict)
    stopped: tuple[str, ...] = ()
    answers: int = 0

    def owned_by(self) -> Owner | None:
        """Return the process that told it."""
        return None if self.owner is None else Owner(**self.owner.model_dump())


def read_state(state: Mapping[str, JSON] | None) -> LiveState | None:
    """Return what a session told; None where it is damaged, or in a form that is not known here."""
    try:
        return LiveState.model_validate(state)
    except ValidationError:
        return None


class Tally:
    """Counts the units of a session that ended: `unit_done` is called with each."""

    def __init__(self, open_by_model: Mapping[str, int]) -> None:
        self.open = {name: count for name, count in open_by_model.items() if count}
        self._outcomes: dict[str, Counter[UnitOutcome]] = {name: Counter() for name in self.open}
        self._looks: deque[tuple[float, int]] = deque()

    def unit_done(self, unit: UnitId, outcome: UnitOutcome) -> None:
        """Count a unit."""
        self._outcomes[unit.model][outcome] += 1

    def done(self, model: str) -> int:
        """Return how many units of a model ended; those that nobody asked are open still."""
        outcomes = self._outcomes[model]
        return outcomes.total() - outcomes[UnitOutcome.NOT_ATTEMPTED]

    @property
    def total(self) -> int:
        """How many units ended."""
        return sum(map(self.done, self.open))

    def told(self) -> dict[str, ToldModel]:
        """Return the counts by model."""
        return {
            _cut(name): ToldModel(
                open=count,
                done=self.done(name),
                outcomes={one.value: n for one, n in sorted(self._outcomes[name].items())},
            )
            for name, count in list(self.open.items())[:MOST_MODELS]
        }

    def recent(self, now_s: float) -> tuple[int, float]:
        """Return how many units ended in how many seconds up to now: at most the last `RECENT_S`."""
        self._looks.append((now_s, self.total))
        while len(self._looks) > 2 and now_s - self._looks[1][0] >= RECENT_S:
            self._looks.popleft()
        began_s, before = self._looks[0]
        return self.total - before, now_s - began_s


@dataclass(frozen=True, slots=True)
class Observed:
    """What a session's words are made of; `counts` of its client: sends, asks served, causes of retries."""

    pools: Mapping[str, Pool]
    budget: Budget
    claim_waits: Mapping[str, int]
    sends: int
    served: int
    causes: Mapping[str, int]
    tally: Tally


def live_state(seen: Observed, owner: Owner, *, elapsed_s: float, stopping: bool) -> Mapping[str, JSON]:
    """Return what a session tells `elapsed_s` seconds after its start. Nothing of a case, a key or an answer.

    Why a pool is closed may be in a provider's words, in which keys were masked as in its stored answer.
    """
    spent = seen.budget.spending()
    recent_done, recent_s = seen.tally.recent(elapsed_s)
    pools = _pools(seen.pools)
    limit = seen.budget.limit
    state = LiveState(
        owner=ToldOwner(**asdict(owner)),
        stopping=stopping,
        open=sum(seen.tally.open.values()),
        done=seen.tally.total,
        recent_done=recent_done,
        recent_s=recent_s,
        models=len(seen.tally.open),
        by_model=seen.tally.told(),
        pools=tuple(pools[:MOST_MODELS]),
        claim_waits={_cut(name): n for name, n in list(seen.claim_waits.items())[:MOST_MODELS] if n},
        in_flight=sum(pool.in_flight for pool in pools),
        sends=seen.sends,
        served=seen.served,
        causes=dict(sorted(seen.causes.items())),
        usd=spent.usd,
        unknown_cost=spent.unknown,
        at_most_usd=spent.at_most_usd,
        counted_usd=seen.budget.counted_usd,
        spent_by_model={
            _cut(name): dict(one.to_json())
            for name, one in sorted(seen.budget.by_model.items())[:MOST_MODELS]
        },
        max_usd=limit.total,
        max_usd_by_model={_cut(name): most for name, most in (limit.by_model or {}).items()},
        stopped=tuple(_cut(told) for told in list(seen.budget.stopped.values())[:MOST_MODELS]),
    )
    return state.model_dump(mode="json", exclude_defaults=True)


def import_state(owner: Owner, *, answers: int) -> Mapping[str, JSON]:
    """Return what an import tells: how many answers it has read."""
    state = LiveState(kind="import", owner=ToldOwner(**asdict(owner)), answers=answers)
    return state.model_dump(mode="json", exclude_defaults=True)


def _pools(pools: Mapping[str, Pool]) -> list[ToldPool]:
    """Return each pool once, with the models that share it."""
    shared: dict[str, tuple[Pool, list[str]]] = {}
    for model, pool in pools.items():
        shared.setdefault(pool.name, (pool, []))[1].append(_cut(model))
    return [_pool(pool, models) for pool, models in shared.values()]


def _pool(pool: Pool, models: list[str]) -> ToldPool:
    status = pool.status()
    return ToldPool(
        name=_cut(status.name),
        models=tuple(models[:MOST_MODELS]),
        in_flight=status.in_flight,
        limit=status.limit,
        waiting=status.waiting,
        backing_off={_cut(why): count for why, count in sorted(status.backing_off_for.items())},
        held_s=_finite(status.held_until_s),
        held_why=None if status.held_why is None else _cut(status.held_why),
        closed=None if status.closed is None else _cut(status.closed),
        closed_s=_finite(status.closed_until_s),
        connected=status.connected,
        sends=status.sends,
        ok=status.ok,
        retries=status.retries,
        failures={one.value: count for one, count in sorted(status.failures.items())},
    )


def _finite(seconds: float | None) -> float | None:
    return None if seconds is None or not math.isfinite(seconds) else seconds


def _cut(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")  # a provider may send halves of characters
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
