"""What this session may spend: nothing is sent that could go over it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from harness.canonical import JSON
from harness.costs import output_limit, reserve_usd, send_cost_usd
from harness.errors import BudgetReachedError, ConfigError
from harness.messages import Usage
from harness.settings import Model


@dataclass(frozen=True, slots=True)
class MaxCost:
    """`--max-cost`: USD for the whole session, and for single models (None: no limit)."""

    total: float | None = None
    by_model: Mapping[str, float] | None = None


@dataclass(slots=True)
class Reservation:
    """The most that one send may cost, in USD, until its usage is known; None: it has no price."""

    model: Model
    amount: float | None
    spent: float | None = None
    cost: float | None = 0.0

    def settle(self, usage: Usage, *, billed: bool) -> None:
        """Replace the reservation by what was really used.

        `cost` is None where nobody knows it, as where the provider gave no usage for a send that may have
        been billed. The reservation counts in full then.
        """
        self.cost = send_cost_usd(usage, self.model.price, serves=billed, maybe_billed=billed)
        self.spent = self.amount if self.cost is None else self.cost


@dataclass(slots=True)
class Spending:
    """What sends of a session cost, in USD, as far as it is known, and how many have no cost.

    `unknown_usd` is the most that those of unknown cost may have cost, but for `unbounded` of them: their
    model has no price or no output limit.
    """

    usd: float = 0.0
    sends: int = 0
    unknown: int = 0
    unknown_usd: float = 0.0
    unbounded: int = 0

    def add(self, cost: float | None, most: float | None = None) -> None:
        """Add a send; None: nobody knows what it cost, `most` at most (None: nor that)."""
        self.sends += 1
        self.usd += cost or 0.0
        if cost is None:
            self.unknown += 1
            self.unknown_usd += most or 0.0
            self.unbounded += most is None

    @property
    def at_most_usd(self) -> float | None:
        """What all these sends cost at most; None: nobody knows."""
        return None if self.unbounded else self.usd + self.unknown_usd

    def told(self) -> str:
        """Return it in words: what is known apart from what is not."""
        if not self.unknown:
            return f"${self.usd:.4f}"
        sends = "1 send" if self.unknown == 1 else f"{self.unknown} sends"
        most = "" if self.unbounded else f", ${self.unknown_usd:.4f} more at most"
        return f"${self.usd:.4f}; {sends} of unknown cost{most}"

    def to_json(self) -> Mapping[str, JSON]:
        """Return it as it is kept with the session; the sum is null where a part is unknown."""
        return {
            "usd": None if self.unknown else self.usd,
            "known_usd": self.usd,
            "sends": self.sends,
            "unknown": self.unknown,
            "at_most_usd": self.at_most_usd,
        }


def summed(spendings: Iterable[Spending]) -> Spending:
    """Return what the sends of all of them cost."""
    counted = list(spendings)
    return Spending(
        math.fsum(one.usd for one in counted),
        sum(one.sends for one in counted),
        sum(one.unknown for one in counted),
        math.fsum(one.unknown_usd for one in counted),
        sum(one.unbounded for one in counted),
    )


NOTHING_SENT: Mapping[str, JSON] = {
    "sends": 0, "cut_off": 0, "spent_usd": 0.0, "unknown_cost_sends": 0, "at_most_usd": 0.0
}  # fmt: skip
"""What is kept of a session that sent nothing."""


class Budget:
    """Counts what a session has spent and reserved; waits for reservations to settle before it refuses."""

    def __init__(self, limit: MaxCost) -> None:
        self._limit = limit
        self._spent: dict[str, float] = {}
        self._reserved: dict[str, float] = {}
        self._freed = asyncio.Event()
        self._waiting = 0
        self.by_model: dict[str, Spending] = {}
        """Model, reformatters among them -> what its sends cost."""
        self.unpriced: set[str] = set()
        """Models that were asked without a known price."""
        self.stopped: dict[str | None, str] = {}
        """The limits that were reached, by model (None: of all), and in words."""

    @property
    def limit(self) -> MaxCost:
        """What may be spent."""
        return self._limit

    @property
    def reached(self) -> bool:
        """Whether anything was not sent because of a limit."""
        return bool(self.stopped)

    @property
    def counted_usd(self) -> float:
        """What counts against the limits: what sends cost, or their reservations where that is unknown."""
        return sum(self._spent.values())

    def spending(self, *, but: Collection[str] = ()) -> Spending:
        """Return what the sends of all models cost, without those of `but`."""
        return summed(one for name, one in self.by_model.items() if name not in but)

    def check(self, model: Model, input_tokens: int, params: Mapping[str, JSON]) -> None:
        """Raise ConfigError where a model under a limit has no price or no output limit to reserve by."""
        if not self._limits(model.name) or reserve_usd(model, input_tokens, params) is not None:
            return
        missing = "a price" if model.price.input is None or model.price.output is None else "an output limit"
        raise ConfigError(
            f"--max-cost needs {missing} for model {model.name!r}; give "
            + (
                "price = { input = .., output = .. }"
                if missing == "a price"
                else "params = { max_tokens = .. } (or --param max_tokens=N)"
            )
            + f" in [models.{model.name!r}] of harness.toml, or leave --max-cost out"
        )

    @asynccontextmanager
    async def reserve(
        self, model: Model, input_tokens: int, params: Mapping[str, JSON]
    ) -> AsyncIterator[Reservation]:
        """Hold the most that a send may cost while it runs. Raises BudgetReachedError."""
        amount = reserve_usd(model, input_tokens, params)
        if model.price.input is None or model.price.output is None:
            self.unpriced.add(model.name)
        held = amount or 0.0
        await self._wait_for_room(model, held, params)
        reservation = Reservation(model, amount)
        try:
            yield reservation
        finally:
            self._reserved[model.name] -= held
            self._spent[model.name] = self._spent.get(model.name, 0.0) + (reservation.spent or 0.0)
            self._book(reservation)
            if self._waiting:
                self._freed.set()
                self._freed = asyncio.Event()

    def _book(self, reservation: Reservation) -> None:
        if reservation.spent is None and reservation.cost is not None:
            return  # nothing was sent
        booked = self.by_model.setdefault(reservation.model.name, Spending())
        booked.add(reservation.cost, reservation.amount)

    async def _wait_for_room(self, model: Model, amount: float, params: Mapping[str, JSON]) -> None:
        name = model.name
        while True:
            refused = next((limit for limit in self._limits(name) if self._over(limit, amount)), None)
            if refused is None:
                self._reserved[name] = self._reserved.get(name, 0.0) + amount
                return
            scope, _ = refused
            if not self._held(scope):
                told = self._refusal(refused, model, amount, params)
                self.stopped.setdefault(scope, told)
                raise BudgetReachedError(told)
            self._waiting += 1
            try:
                await self._freed.wait()
            finally:
                self._waiting -= 1

    def _refusal(
        self, refused: tuple[str | None, float], model: Model, amount: float, params: Mapping[str, JSON]
    ) -> str:
        scope, limit = refused
        used = self._used(scope)
        counted = self.spending() if scope is None else self.by_model.get(scope, Spending())
        spent = f"{counted.told()} spent, and one" if used else "one"
        return (
            f"--max-cost {limit:g} USD{'' if scope is None else f' for {scope!r}'} is reached: {spent} "
            f"request of {model.name!r} may cost ${amount:.4f} (its output limit is "
            f"{output_limit(model, params)} tokens), more than the ${max(limit - used, 0.0):.4f} left; "
            "lower max_tokens (--param max_tokens=N) or raise --max-cost"
        )

    def _limits(self, name: str) -> list[tuple[str | None, float]]:
        limits: list[tuple[str | None, float]] = []
        if self._limit.total is not None:
            limits.append((None, self._limit.total))
        if name in (self._limit.by_model or {}):
            limits.append((name, (self._limit.by_model or {})[name]))
        return limits

    def _over(self, limit: tuple[str | None, float], amount: float) -> bool:
        scope, most = limit
        return self._used(scope) + self._held(scope) + amount > most + 1e-12

    def _used(self, scope: str | None) -> float:
        return self.counted_usd if scope is None else self._spent.get(scope, 0.0)

    def _held(self, scope: str | None) -> float:
        held = sum(self._reserved.values()) if scope is None else self._reserved.get(scope, 0.0)
        return held if held > 1e-12 else 0.0
