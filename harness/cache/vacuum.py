"""Throwing out what nothing refers to, and giving the space back; exchanges are never touched."""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import delete, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.claims import free_claims
from harness.cache.database import Database
from harness.cache.dialects import Fault, SqliteDialect
from harness.cache.exchange_rows import unpacked_json
from harness.cache.parts import Clock, chunks
from harness.cache.tables import BLOB, CLAIM, DERIVED, MEDIA, RUN, SESSION, SESSION_LIVE
from harness.canonical import JSON, unpack
from harness.errors import StoreError
from harness.moments import now_us

WAIT_S: Final = 2.0
"""How long another process may take to let go of the file."""

_DIGEST: Final = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What was thrown out, and the file's size in bytes before and after."""

    bytes_before: int
    bytes_after: int
    claims: int
    blobs: int
    media: int
    derived: int

    def to_json(self) -> Mapping[str, JSON]:
        """Return it as `--json` prints it."""
        return asdict(self)


async def vacuum(path: Path, *, derived: bool, clock: Clock = now_us) -> Vacuumed:
    """Delete lapsed claims, blobs and kept bytes that no run refers to, and compact the file of a store.

    With `derived` also records and scores, which `harness score` makes anew. Deletes in one commit; where the
    file cannot be compacted after it, it stays sound. Raises StoreError where another process has it open.
    """
    dialect = SqliteDialect(path, busy_timeout_s=WAIT_S)
    database = Database(dialect, str(path), "rw")
    before = _size(path)
    try:
        async with database.writable().connect() as connection:
            await dialect.take_alone(connection)
            try:
                async with connection.begin():
                    counts = await _clean(connection, derived=derived, now=clock())
                await dialect.compact(connection)
            finally:
                await dialect.let_others_in(connection)
    except (SQLAlchemyError, sqlite3.Error) as error:
        if database.fault(error) is Fault.BUSY:
            raise StoreError(
                f"the store {str(path)!r} is in use by another process; try again when it has ended"
            ) from error
        database.refuse(error)
    finally:
        await database.close()
    return Vacuumed(before, _size(path), **counts)


def _size(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


async def _clean(connection: AsyncConnection, *, derived: bool, now: int) -> dict[str, int]:
    counts = {"claims": await _drop_claims(connection, now), "derived": 0}
    if derived:
        for table in DERIVED:
            counts["derived"] += (await connection.execute(delete(table))).rowcount
    # What a session said that ended since; the word of one that was killed is the last that is known of it.
    ended = select(SESSION.c.id).where(SESSION.c.ended_at_us.is_not(None))
    await connection.execute(delete(SESSION_LIVE).where(SESSION_LIVE.c.session_id.in_(ended)))
    referred = await _referred(connection)
    kept = set((await connection.execute(select(BLOB.c.sha256))).scalars())
    unused = sorted(kept - referred)
    for part in chunks(unused):
        await connection.execute(delete(BLOB).where(BLOB.c.sha256.in_(part)))
    with_bytes = (await connection.execute(select(MEDIA.c.sha256).where(MEDIA.c.data.is_not(None)))).scalars()
    bare = sorted(set(with_bytes) - referred)
    for part in chunks(bare):
        await connection.execute(update(MEDIA).where(MEDIA.c.sha256.in_(part)).values(data=None))
    return {**counts, "blobs": len(unused), "media": len(bare)}


async def _drop_claims(connection: AsyncConnection, now: int) -> int:
    """Delete claims that anyone may take. Raises StoreError where one is held, as by another machine."""
    rows = (await connection.execute(select(CLAIM))).all()
    free = free_claims(rows, now)
    if len(free) < len(rows):
        raise StoreError(
            f"{len(rows) - len(free)} requests are being asked right now by another process; try again when "
            "it has ended"
        )
    await connection.execute(delete(CLAIM))
    return len(free)


async def _referred(connection: AsyncConnection) -> set[str]:
    """Return every digest that a run's manifest or a session names, or a blob that they lead to.

    Found by its form wherever it stands, so that no new kind of reference can be overlooked.
    """
    found: set[str] = set()
    for column in (RUN.c.manifest, SESSION.c.info):
        for packed in (await connection.execute(select(column))).scalars():
            found |= _digests(str(unpacked_json(packed)).encode("ascii", "backslashreplace"))
    ahead = set(found)
    while ahead:
        digest = ahead.pop()
        data = (await connection.execute(select(BLOB.c.data).where(BLOB.c.sha256 == digest))).scalar()
        new = set() if data is None else _digests_in(data) - found
        found |= new
        ahead |= new
    return found


def _digests_in(packed: bytes) -> set[str]:
    try:
        return _digests(unpack(packed))
    except zlib.error:
        return set()


def _digests(data: bytes) -> set[str]:
    return {one.decode("ascii") for one in _DIGEST.findall(data)}

