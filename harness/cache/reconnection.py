"""A server that was lost: waited for, and asked again once it is back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from harness.cache.dialects import Fault, StoreDialect

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

RECONNECT_S: Final = 30.0
"""Longest wait for a server. Claims that were renewed before it went must hold until it is back: a lease
less the time between two renewals is 40 s."""

IMPATIENT_S: Final = 3.0
"""The same for whoever has somebody waiting: for one look."""
MOST_LOOKS: Final = 40
READ_TRIES: Final = 3
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 1.0


class Reconnection:
    """Whether a lost server comes back, found out once for all who wait for it.

    Until `allowed`, nothing is waited for: a wrong address has to be told at once. Not `patient`: it is
    looked for once only, so that a page can say at once what is wrong.
    """

    def __init__(
        self,
        dialect: StoreDialect,
        engine: AsyncEngine,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        patient: bool = True,
    ) -> None:
        self._patient = patient
        self.allowed = False
        self.errors = dialect.errors
        self._dialect = dialect
        self._engine = engine
        self._sleep = sleep
        self._one_at_a_time = asyncio.Lock()
        self._given_up = False

    async def comes_back(self, error: BaseException) -> bool:
        """Wait until the server answers, RECONNECT_S and MOST_LOOKS at most.

        False where it does not, or was not lost.
        Once it did not come back, later calls look only once, so that a session ends soon.
        """
        if not self.allowed or self._dialect.fault(error) is not Fault.LOST:
            return False
        async with self._one_at_a_time:
            if self._patient:
                logger.warning("the store's server is lost; waiting for it")
            try:
                async with asyncio.timeout(RECONNECT_S if self._patient else IMPATIENT_S):
                    back = await self._answers(waiting=self._patient and not self._given_up)
            except TimeoutError:
                back = False
            self._given_up = not back
            return back

    async def _answers(self, *, waiting: bool) -> bool:
        pause_s = FIRST_PAUSE_S
        for _ in range(MOST_LOOKS if waiting else 1):
            try:
                async with self._engine.connect() as connection:
                    await connection.execute(select(1))
                return True
            except self.errors as error:
                if self._dialect.fault(error) is not Fault.LOST:
                    return True  # it says something else by now: whoever asks next is told
            if waiting:
                await self._sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return False


class PatientConnection(AsyncConnection):
    """A connection for reading: a statement whose server was lost is given again when it is back.

    Only for statements that change nothing, each a transaction of its own.
    """

    def __init__(self, engine: AsyncEngine, reconnection: Reconnection) -> None:
        super().__init__(engine)
        self._reconnection = reconnection

    async def start(self, is_ctxmanager: bool = False) -> AsyncConnection:
        """Connect, waiting for a lost server."""
        return await self._patiently(super().start, is_ctxmanager)

    async def execute(self, *arguments: Any, **options: Any) -> Any:
        """Execute a statement, again where its server was lost."""
        return await self._patiently(super().execute, *arguments, **options)

    async def _patiently(
        self, act: Callable[..., Awaitable[Result]], *arguments: Any, **options: Any
    ) -> Result:
        for _ in range(READ_TRIES - 1):
            try:
                return await act(*arguments, **options)
            except self._reconnection.errors as error:
                if not await self._reconnection.comes_back(error):
                    raise
            if self.sync_connection is not None:
                # The next statement takes another connection from the pool.
                await self.invalidate()
                await self.rollback()
        return await act(*arguments, **options)
