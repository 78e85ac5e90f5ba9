"""The one task that writes: it commits whatever has queued up in one transaction."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from harness.cache.database import CommitUnknownError, Database, Sleep, StoreGoneError, Transaction
from harness.cache.dialects import Fault
from harness.errors import HarnessError, StoreError

logger = logging.getLogger(__name__)

MAX_GROUP: Final = 256
LOST_TRIES: Final = 5
"""How often a group is written again whose server was lost meanwhile and came back."""

Item = TypeVar("Item")
Result = TypeVar("Result")

Apply: TypeAlias = Callable[[Transaction, Sequence[Item]], Awaitable[Sequence[Result]]]
"""Writes many items of one kind and returns one result for each, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class _Op:
    apply: Apply[Any, Any]
    item: Any
    done: asyncio.Future[Any]
    on_orphan: Callable[[Any], None] | None
    alone: bool
    light: bool


class Writer:
    """Group commit: while one transaction is flushed to disk, the next one's entries gather.

    An entry is written even if whoever submitted it is cancelled meanwhile: it may have been paid for.
    `gather_s` is how long a group waits for more before it is written: under load, a commit for each entry
    costs twice the CPU of an exchange.
    """

    def __init__(self, database: Database, *, sleep: Sleep = asyncio.sleep) -> None:
        self.gather_s = 0.0
        self._sleep = sleep
        self._database = database
        self._queue: deque[_Op] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._stopped = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task; `close` ends it."""
        self._task = asyncio.create_task(self._work(), name="store-writer")

    async def submit(
        self,
        apply: Apply[Item, Result],
        item: Item,
        *,
        on_orphan: Callable[[Result], None] | None = None,
        alone: bool = False,
        light: bool = False,
    ) -> Result:
        """Write an entry and return its result after the commit.

        Entries of one `apply` that wait at the same time are given to it together, in order; it must be
        the same function each time. `on_orphan` gets the result when the caller was cancelled but the
        entry was committed. `alone`: in a transaction of its own, and `apply` is called once at most.
        `light`: nobody misses it, so that where nothing else is to be written it is tried once, and its
        failure is nobody else's.
        Raises StoreError when it was not committed, CommitUnknownError when nobody can say, and what `apply`
        raises.
        """
        done = self.enqueue(apply, item, on_orphan=on_orphan, alone=alone, light=light)
        try:
            return await done
        except asyncio.CancelledError:
            committed = done.done() and not done.cancelled() and done.exception() is None
            if on_orphan is not None and committed:
                on_orphan(done.result())
            raise

    def enqueue(
        self,
        apply: Apply[Item, Result],
        item: Item,
        *,
        on_orphan: Callable[[Result], None] | None = None,
        alone: bool = False,
        light: bool = False,
    ) -> asyncio.Future[Result]:
        """Queue an entry without waiting for it. Raises StoreError where nothing can be written."""
        self._database.writable()
        if self._task is None or self._task.done() or self._stopped:
            raise StoreError(f"the store {self._database.place!r} is closed")
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.append(_Op(apply, item, done, on_orphan, alone, light))
        self._wake.set()
        return done

    async def close(self) -> None:
        """Commit what is queued, then stop."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        try:
            while not (self._closing and not self._queue):
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    if self.gather_s and not self._closing and len(self._queue) < MAX_GROUP // 2:
                        await self._sleep(self.gather_s)
                    await self._write(self._next_group())
        finally:
            self._stopped = True
            self._fail_queue(StoreError(f"the store {self._database.place!r} is closed"))

    def _next_group(self) -> list[_Op]:
        group = [self._queue.popleft()]
        while self._queue and len(group) < MAX_GROUP and not (group[0].alone or self._queue[0].alone):
            group.append(self._queue.popleft())
        return group

    async def _write(self, group: Sequence[_Op]) -> None:
        """Commit a group; when it fails for the sake of one entry, commit the others one by one."""
        light = all(op.light for op in group)
        try:
            error = await self._commit(group, patient=not light)
            for _ in range(0 if group[0].alone or light else LOST_TRIES):
                if error is None or not await self._database.comes_back(error):
                    break
                # Nothing of the group was committed; it was paid for, and is still at hand.
                error = await self._commit(group)
            if error is None:
                return
            if light:
                _fail(group, self._as_harness_error(error))
            elif self._fails_everything(error):
                logger.error("the store cannot be written: %s", type(error).__name__)
                shown = self._as_harness_error(error)
                _fail(group, shown)
                self._fail_queue(shown)
            elif len(group) == 1:
                _fail(group, self._as_harness_error(error))
            else:
                for op in group:
                    await self._write([op])
        finally:
            # Cancelled in mid-transaction: nobody may wait for ever, and what was begun may have been made.
            place = self._database.place
            _fail(
                group,
                CommitUnknownError(
                    f"the store {place!r} was closed in the middle of a commit, so the last answers may be "
                    "in it or not; run the same command again: it looks first, and asks only for what is "
                    "missing"
                ),
            )

    async def _commit(self, group: Sequence[_Op], *, patient: bool = True) -> Exception | None:
        kinds: dict[Apply[Any, Any], list[_Op]] = {}
        for op in group:
            kinds.setdefault(op.apply, []).append(op)

        async def work(transaction: Transaction) -> list[tuple[_Op, Any]]:
            results: list[tuple[_Op, Any]] = []
            for apply, ops in kinds.items():
                answers = await apply(transaction, [op.item for op in ops])
                results += zip(ops, answers, strict=True)
            return results

        try:
            results = await self._database.write(work, patient=patient)
        except Exception as error:  # noqa: BLE001  whatever one entry does, the writer must go on
            return error
        for op, result in results:
            _resolve(op, result)
        return None

    def _fails_everything(self, error: Exception) -> bool:
        if isinstance(error, StoreGoneError | CommitUnknownError):
            return True
        of_one = {Fault.REFUSED, Fault.NO_MEMORY}
        return not isinstance(error, HarnessError) and self._database.fault(error) not in of_one

    def _as_harness_error(self, error: Exception) -> HarnessError:
        if isinstance(error, HarnessError):
            return error
        shown = self._database.as_store_error(error)
        shown.__cause__ = error
        return shown

    def _fail_queue(self, error: HarnessError) -> None:
        _fail(self._queue, error)
        self._queue.clear()


def _resolve(op: _Op, result: Any) -> None:
    if not op.done.done():
        op.done.set_result(result)
    elif op.on_orphan is not None and op.done.cancelled():
        op.on_orphan(result)


def _fail(ops: Sequence[_Op] | deque[_Op], error: HarnessError) -> None:
    for op in ops:
        if not op.done.done():
            # One object for each: raising changes an exception's traceback.
            own = type(error)(*error.args)
            own.__cause__ = error.__cause__
            op.done.set_exception(own)
