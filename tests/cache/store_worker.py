"""Works on a store in a process of its own; run by test_store_processes."""

import asyncio
import sys
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from store_examples import a_session, an_exchange

from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store
from harness.outcomes import UnitOutcome


def say(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def opened(path: str) -> Store:
    """Open a store; whatever it warns of is an error here, but for a test server that need not last."""
    return await Store.open(path, warn=lambda text: None if "fsync=off" in text else sys.exit(text))


async def append_for_ever(path: str) -> None:
    """Say the id of each exchange once it is committed."""
    async with await opened(path) as store:
        run, session = await a_session(store)
        numbers = count()

        async def writer() -> None:
            for number in numbers:
                link = (run, UnitId("m", "both", str(number)))
                say(await store.append(an_exchange(number), session=session, serve=True, link=link))

        async with asyncio.TaskGroup() as group:
            for _ in range(32):
                group.create_task(writer())


async def write_and_read(path: str, name: str, writers: str, each: str) -> None:
    """Do what a run does, from many tasks, while others poll."""
    async with await opened(path) as store:
        run, session = await a_session(store)

        async def writer(number: int) -> None:
            for turn in range(int(each)):
                exchange = an_exchange(f"{name} {number} {turn}")
                unit = UnitId("m", name, f"{number} {turn}")
                assert await store.claim(exchange.key)
                id = await store.append(exchange, session=session, serve=True, link=(run, unit), release=True)
                state = UnitState(unit, UnitOutcome.VALID)
                await store.finish_unit(run, state, [Link(id, "answer", 1, used=True)])
                assert exchange.key in await store.served([exchange.key])

        async with asyncio.TaskGroup() as group:
            for number in range(int(writers)):
                group.create_task(writer(number))
        say("done")


async def hold(path: str, key: str) -> None:
    """Claim a key, say so, and keep it until a line comes in."""
    async with await opened(path) as store:
        say(await store.claim(key))
        await asyncio.to_thread(sys.stdin.readline)


async def claim_all(path: str, count: str) -> None:
    """Say which of many keys this process got."""
    async with await opened(path) as store:
        keys = [str(n) for n in range(int(count))]
        say("ready")
        await asyncio.to_thread(sys.stdin.readline)
        got = await asyncio.gather(*(store.claim(key) for key in keys))
        say(" ".join(key for key, mine in zip(keys, got, strict=True) if mine))
        await asyncio.to_thread(sys.stdin.readline)


async def leave_open(path: str) -> None:
    """End without closing the store."""
    store = await opened(path)
    await store.put_blob(b"committed")
    say("left")


WORK = {
    work.__name__: work for work in (append_for_ever, write_and_read, hold, claim_all, leave_open)
}
asyncio.run(WORK[sys.argv[1]](*sys.argv[2:]))
