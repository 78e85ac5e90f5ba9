"""Claims: which requests are being asked right now, by any process on this store."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import bindparam, delete, func, select, update

from harness.cache.database import Database, Sleep, Transaction
from harness.cache.owner import Owner, this_process
from harness.cache.parts import Clock, StorePart, chunks
from harness.cache.tables import CLAIM, SERVED, AnyRow
from harness.errors import StoreError
from harness.moments import now_us

logger = logging.getLogger(__name__)

LEASE_S: Final = 60
ALIVE_GRACE_S: Final = 1_800
"""How long after its lease a process on this machine that is alive keeps a claim, in seconds."""
RENEW_EVERY_S: Final = 20


@dataclass(frozen=True, slots=True)
class ClaimHolder:
    """Who asks a request right now. `ours`: this very store object; `expires_at_us` unless renewed."""

    owner: Owner
    expires_at_us: int
    ours: bool


@dataclass(frozen=True, slots=True)
class ClaimedBy:
    """Who claims how many requests; `held` False: anyone may take them over."""

    owner: Owner
    keys: int
    held: bool


@dataclass(frozen=True, slots=True)
class _Wanted:
    key: str
    token: str
    owner: bytes
    now_us: int
    unless_served_after: int | None


class ClaimStore(StorePart):
    """The claims."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock = now_us,
        sleep: Sleep = asyncio.sleep,
        owner: Owner | None = None,
    ) -> None:
        super().__init__(database, clock=clock)
        self._token = uuid.uuid4().hex
        self._owner = (owner or this_process()).document()
        self._held: set[str] = set()
        self._doubtful: set[str] = set()
        self._beat_us = clock()
        self._sleep = sleep
        self._renewer: asyncio.Task[None] | None = None

    async def claim(self, key: str, *, unless_served_after: int | None = None) -> bool:
        """Take the right to ask a request; False while anyone holds it, this store object included.

        The lease of 60 s is renewed until `release`, or `append(release=True)`. A lapsed claim, or one
        whose owner process on this machine is dead, is taken over at once. With `unless_served_after` it
        is also refused where an exchange with a higher id answers the key by now: so an answer that came
        in between our look-up and our claim is not paid for again.
        """
        wanted = _Wanted(key, self._token, self._owner, self._clock(), unless_served_after)
        taken: bool = await self._writer.submit(_claim_all, wanted, on_orphan=partial(self._orphaned, key))
        if taken:
            self._held.add(key)
        return taken

    async def release(self, key: str) -> None:
        """Give up our claim on a key; without one, nothing happens."""
        if key in self._held:
            await self._writer.submit(release_all, (key, self._token))
            self._held.discard(key)

    async def still_claimed(self, key: str) -> bool:
        """Tell whether a claim of ours holds; False where it lapsed, while this process slept, and was taken.

        One that lapsed and was not taken is ours again: that was a clock that was set, or nobody came by.
        Costs a query only after a time without renewals that was longer than the lease.
        """
        self._beat()
        if key not in self._doubtful:
            return True
        await self.renew_claims()  # first, so that nobody takes it after we have looked
        async with self._database.reading() as connection:
            row = (await connection.execute(_SELECT.where(CLAIM.c.key == key))).one_or_none()
        if row is None or row.token != self._token:
            return False
        self._doubtful.discard(key)
        return True

    async def claims(self, keys: Iterable[str]) -> set[str]:
        """Return those keys that are being asked right now, by anyone."""
        found: set[str] = set()
        for part in chunks(list(dict.fromkeys(keys))):
            async with self._database.reading() as connection:
                rows = (await connection.execute(_SELECT.where(CLAIM.c.key.in_(part)))).all()
            found.update(row.key for row in rows if not _is_free(row, self._clock()))
        return found

    async def claim_holder(self, key: str) -> ClaimHolder | None:
        """Return who asks a request right now, None when it may be claimed."""
        async with self._database.reading() as connection:
            row = (await connection.execute(_SELECT.where(CLAIM.c.key == key))).one_or_none()
        if row is None or _is_free(row, self._clock()):
            return None
        return ClaimHolder(_owner(row), row.expires_at_us, row.token == self._token)

    async def claimed_by(self) -> Sequence[ClaimedBy]:
        """Return who claims how many requests of this store, and whether these claims hold; most first."""
        statement = select(
            CLAIM.c.token,
            CLAIM.c.owner,
            func.count().label("keys"),
            func.max(CLAIM.c.expires_at_us).label("last"),
        ).group_by(CLAIM.c.token, CLAIM.c.owner)
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        now = self._clock()
        found = [ClaimedBy(_owner(row), row.keys, _holds(_owner(row), row.last, now)) for row in rows]
        return sorted(found, key=lambda one: -one.keys)

    def _beat(self) -> None:
        """Note that this process runs; after a pause longer than a lease, every claim is in doubt."""
        now = self._clock()
        if now - self._beat_us > LEASE_S * 1_000_000:
            self._doubtful |= self._held
        self._beat_us = max(now, self._beat_us)

    async def renew_claims(self) -> None:
        """Prolong all our leases; the store does so by itself every 20 s."""
        self._beat()
        if self._held:
            await self._writer.submit(_renew_all, (self._token, self._clock()))

    def _start_renewing(self) -> None:
        self._renewer = asyncio.create_task(self._keep_renewing(), name="store-claims")

    async def _stop_renewing(self) -> None:
        if self._renewer is not None:
            self._renewer.cancel()
            await asyncio.wait([self._renewer])

    async def _keep_renewing(self) -> None:
        while True:
            await self._sleep(RENEW_EVERY_S)
            try:
                await self.renew_claims()
            except StoreError as error:
                # Whoever writes next meets the same fault and says so; the lease lapses at worst.
                logger.warning("claims were not renewed: %s", type(error).__name__)

    async def _release_all_ours(self) -> None:
        if self._held:
            try:
                await self._writer.submit(_release_token, self._token)
            except StoreError as error:
                logger.warning("claims were not given up: %s", type(error).__name__)
            self._held.clear()

    def _orphaned(self, key: str, taken: bool) -> None:
        """Give up a claim whose asker was cancelled before it learned of it."""
        if taken:
            self._writer.enqueue(release_all, (key, self._token))


_SELECT = select(CLAIM.c.key, CLAIM.c.token, CLAIM.c.owner, CLAIM.c.expires_at_us)

_RELEASE = delete(CLAIM).where(CLAIM.c.key == bindparam("held_key"), CLAIM.c.token == bindparam("held_token"))


def _is_free(row: AnyRow, now: int) -> bool:
    """Tell whether a claim may be taken: its owner is dead, or its lease is over.

    A lease that seems over may be a clock that was set: an owner that certainly lives keeps it for a while.
    """
    return not _holds(_owner(row), row.expires_at_us, now)


def _holds(owner: Owner, expires_at_us: int, now: int) -> bool:
    if owner.is_dead():
        return False
    grace_us = ALIVE_GRACE_S * 1_000_000 if owner.is_alive() else 0
    return expires_at_us + grace_us > now


def free_claims(rows: Iterable[AnyRow], now: int) -> list[str]:
    """Return the keys of those claims (rows of the table) that anyone may take."""
    return [row.key for row in rows if _is_free(row, now)]


def _owner(row: AnyRow) -> Owner:
    return Owner(**json.loads(row.owner))


async def _claim_all(transaction: Transaction, wanted: Sequence[_Wanted]) -> list[bool]:
    keys = list({item.key for item in wanted})
    held: set[str] = set()
    answered: dict[str, int] = {}
    now = max(item.now_us for item in wanted)
    rows = (await transaction.connection.execute(_SELECT.where(CLAIM.c.key.in_(keys)))).all()
    held.update(row.key for row in rows if not _is_free(row, now))
    if any(item.unless_served_after is not None for item in wanted):
        statement = select(SERVED.c.key, SERVED.c.exchange_id).where(SERVED.c.key.in_(keys))
        answered = {row.key: row.exchange_id for row in await transaction.connection.execute(statement)}
    results = []
    taken: list[dict[str, object]] = []
    for item in wanted:
        after = item.unless_served_after
        free = item.key not in held and (after is None or answered.get(item.key, 0) <= after)
        results.append(free)
        if free:
            held.add(item.key)
            taken.append(_row(item))
    if taken:
        await transaction.connection.execute(
            transaction.dialect.upsert(CLAIM, ["token", "owner", "expires_at_us"]), taken
        )
    return results


def _row(item: _Wanted) -> dict[str, object]:
    return {
        "key": item.key,
        "token": item.token,
        "owner": item.owner,
        "expires_at_us": item.now_us + LEASE_S * 1_000_000,
    }


async def release_all(transaction: Transaction, held: Sequence[tuple[str, str]]) -> list[None]:
    """Delete claims given as (key, token)."""
    rows = [{"held_key": key, "held_token": token} for key, token in held]
    await transaction.connection.execute(_RELEASE, rows)
    return [None] * len(held)


async def _release_token(transaction: Transaction, tokens: Sequence[str]) -> list[None]:
    await transaction.connection.execute(delete(CLAIM).where(CLAIM.c.token.in_(tokens)))
    return [None] * len(tokens)


async def _renew_all(transaction: Transaction, renewals: Sequence[tuple[str, int]]) -> list[None]:
    for token, now in renewals:
        ours = update(CLAIM).where(CLAIM.c.token == token)
        await transaction.connection.execute(ours.values(expires_at_us=now + LEASE_S * 1_000_000))
    return [None] * len(renewals)
