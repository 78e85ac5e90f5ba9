"""Many models examined, a few at a time, each in its own time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

from harness.doctor.examination import Terms, bounded, examine
from harness.doctor.findings import Examined
from harness.doctor.questions import draw_picture
from harness.pools.limits import PoolLimits, pool_name
from harness.pools.pool import Pool
from harness.providers.transport import Transport
from harness.sending import Sender
from harness.settings import Model

AT_ONCE: Final = 8
"""How many models are examined at the same time."""

OnExamined: TypeAlias = Callable[[Examined], None]


async def examine_all(
    models: Sequence[Model], keys: Mapping[str, str], terms: Terms, on_examined: OnExamined
) -> None:
    """Examine models; each is handed over in the order given, as soon as it and all before it are done.

    `keys`: variable -> API key; all are masked wherever they come back. Cancelled, it hands over what is
    finished, and stops at once.
    """
    found = [Examined(model) for model in models]
    done = [asyncio.Event() for _ in models]
    room = asyncio.Semaphore(AT_ONCE)
    with tempfile.TemporaryDirectory(prefix="harness-doctor-") as folder:
        picture = draw_picture(Path(folder))
        async with _sender(models, keys) as sender:
            pools = _pools(models, terms)

            async def work(place: int) -> None:
                async with room:
                    pool = pools[pool_name(models[place])]
                    await examine(found[place], sender, pool, picture, terms)
                done[place].set()

            told = 0
            try:
                async with asyncio.TaskGroup() as group:
                    for place in range(len(models)):
                        group.create_task(work(place), name=f"examine {models[place].name}")
                    for place, one in enumerate(found):
                        await done[place].wait()
                        told = place + 1
                        on_examined(one)
            except asyncio.CancelledError:
                for place in range(told, len(models)):
                    if done[place].is_set():
                        on_examined(found[place])
                raise


def _pools(models: Sequence[Model], terms: Terms) -> dict[str, Pool]:
    limits: dict[str, PoolLimits] = {}
    for model in models:
        own = PoolLimits.of(bounded(model, terms), terms.total_s)
        limits[pool_name(model)] = own.tightened(limits.get(pool_name(model), own))
    return {name: Pool(name, one) for name, one in limits.items()}


@asynccontextmanager
async def _sender(models: Sequence[Model], keys: Mapping[str, str]) -> AsyncIterator[Sender]:
    """Open connections, and the simulator where one of the models needs it."""
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(Transport())
        address = ""
        if any(model.simulated and not model.provider.base_url for model in models):
            from harness.simulator.server import ensure_simulator, stop_simulator

            stack.push_async_callback(stop_simulator)
            address = await ensure_simulator()
        yield Sender(transport, keys, lambda model: model.provider.base_url or address)
