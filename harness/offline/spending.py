"""What sends cost as they read today, and what a session spent that could not say so at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from harness.budget import Spending
from harness.cache.rows import Exchange, NewExchange, Run, Session
from harness.cache.store import Store
from harness.costs import send_cost_usd
from harness.manifest import Manifest, read_manifest
from harness.offline.sends import read_cost_usd
from harness.offline.stored_run import models_of
from harness.providers.reading import read_exchange
from harness.settings import IMPORTED, Model, Price

_READ_AT_ONCE: Final = 100
"""Exchanges that are read in a thread at a time: an event loop that shows pages goes on meanwhile."""


async def spent_by_model(
    store: Store, run: Run, session: Session, sessions: Sequence[Session]
) -> dict[str, Spending]:
    """Return what a session's stored sends cost, by model, reformatters among them, at the session's prices.

    What was in flight when it was killed is not in it. `sessions` are all of the run's: the latest that knew
    a model gives what this one does not. An exchange that answers several models' units counts for the first
    of them. Imported answers cost nothing here. Raises StoreError where an exchange is damaged.
    """
    manifest = read_manifest(run.manifest)
    models: dict[str, Model] = {}
    for one in (*sessions, session):
        models |= models_of(one)
    spent: dict[str, Spending] = {}
    waiting: list[tuple[str | None, Exchange]] = []
    async for sent in store.sent_in_session(run.id, session.id):
        waiting.append(sent)
        if len(waiting) >= _READ_AT_ONCE:
            await asyncio.to_thread(_add, waiting, manifest, models, spent)
            waiting = []
    await asyncio.to_thread(_add, waiting, manifest, models, spent)
    return spent


def _add(
    many: Sequence[tuple[str | None, Exchange]],
    manifest: Manifest,
    models: Mapping[str, Model],
    spent: dict[str, Spending],
) -> None:
    for of_unit, exchange in many:
        data = exchange.data
        if data.adapter == IMPORTED:
            continue
        name = data.model if of_unit is None else manifest.asked_model(of_unit, data.purpose)
        spent.setdefault(name, Spending()).add(_cost_usd(data, models.get(name)))


def _cost_usd(data: NewExchange, model: Model | None) -> float | None:
    if model is not None:
        return read_cost_usd(data, read_exchange(data, model.provider), model.price)
    return send_cost_usd(data.usage, Price(), serves=data.outcome.serves, maybe_billed=data.maybe_billed)
