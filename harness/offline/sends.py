"""The sends behind a unit as they read today: what each meant, took and cost, for records and sums alike."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from harness.cache.rows import Exchange, Link, NewExchange
from harness.costs import send_cost_usd
from harness.imports.documents import BadRowError
from harness.imports.stated import Stated
from harness.messages import Fault, Purpose, Reply, Usage
from harness.offline.replay import ReplayedUnit
from harness.offline.stored_run import StoredRun
from harness.providers.imported import state_of
from harness.providers.reading import read_exchange
from harness.settings import IMPORTED, Price

_NOT_TOLD: Final = Usage()
_NOTHING_STATED: Final = Stated(None)


class Send(NamedTuple):
    """One linked exchange as it reads today.

    `send` counts from 1 within its ask. `paid_here`: a session of this run sent it. `usage` is what the
    answer gives today, else what was stored with it. `cost_usd` US dollars; None: a price or a token count is
    unknown. `latency_s` seconds from the send to the end of the answer, `asked_at_us` when that was
    (microseconds since 1970 UTC); None of an imported answer whose file does not say.
    """

    link: Link
    exchange: Exchange
    send: int
    reading: Reply | Fault
    used: bool
    paid_here: bool
    usage: Usage
    cost_usd: float | None
    latency_s: float | None
    asked_at_us: int | None


class SendReader:
    """Reads the sends of one run's units."""

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored
        self._sessions: Set[int] = stored.session_models.keys()

    def sends(self, replayed: ReplayedUnit) -> Iterator[Send]:
        """Yield every linked exchange in order, earlier rounds and failed sends included.

        Raises StoreError where the store does not keep with which settings a model was asked.
        """
        used = {ask.exchange_id for ask in replayed.result.used}
        counts: dict[tuple[str, int], int] = {}
        for link, exchange in replayed.links:
            ask = link.purpose, link.attempt
            number = counts[ask] = counts.get(ask, 0) + 1
            data = exchange.data
            model = self._asked(replayed, data.purpose)
            reading = replayed.read.get(exchange.id)
            if reading is None:
                reading = read_exchange(data, self._stored.provider(model))
            usage = usage_of(data, reading)
            if data.adapter == IMPORTED:
                stated = _stated(data)
                yield Send(
                    link, exchange, number, reading, exchange.id in used, False, usage,
                    stated.cost_usd, stated.total_s, stated.started_at_us,
                )  # fmt: skip
            else:
                cost = _cost_usd(usage, reading, self._stored.price(model, exchange.session))
                yield Send(
                    link, exchange, number, reading, exchange.id in used,
                    exchange.session in self._sessions, usage, cost, data.total_s, data.started_at_us,
                )  # fmt: skip

    def _asked(self, replayed: ReplayedUnit, purpose: Purpose) -> str:
        model = replayed.unit.model
        return model if purpose == "answer" else self._stored.manifest.asked_model(model, purpose)


def usage_of(exchange: NewExchange, reading: Reply | Fault) -> Usage:
    """Return the tokens that an answer gives today, else those that were stored with it."""
    return exchange.usage if reading.usage == _NOT_TOLD else reading.usage


def read_cost_usd(exchange: NewExchange, reading: Reply | Fault, price: Price) -> float | None:
    """Return US dollars for a stored send, by what it means today; None: nobody knows."""
    return _cost_usd(usage_of(exchange, reading), reading, price)


def _cost_usd(usage: Usage, reading: Reply | Fault, price: Price) -> float | None:
    maybe_billed = reading.maybe_billed if isinstance(reading, Fault) else False
    return send_cost_usd(usage, price, serves=reading.outcome.serves, maybe_billed=maybe_billed)


def _stated(data: NewExchange) -> Stated:
    """Return what an imported row says beside its answer: nothing, where today's reader cannot read it."""
    try:
        return state_of(data.raw)
    except BadRowError:
        return _NOTHING_STATED
