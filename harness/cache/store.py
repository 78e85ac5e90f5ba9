"""The store: opened, used by any number of tasks, closed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy.exc import SQLAlchemyError

from harness.cache.blobs import BlobStore
from harness.cache.claims import LEASE_S, RENEW_EVERY_S, ClaimHolder
from harness.cache.database import Database, Sleep
from harness.cache.derived import DerivedStore
from harness.cache.dialects import Fault, SqliteDialect
from harness.cache.files import (
    MOUNTS,
    check_file,
    create_file,
    network_file_system,
    ways_to_open,
)
from harness.cache.location import display, sqlite_path, store_url
from harness.cache.maintenance import MaintenanceStore
from harness.cache.media_index import MediaStore
from harness.cache.migrations import MIGRATIONS, Migration, prepare
from harness.cache.owner import Owner
from harness.cache.parts import Clock, now_us
from harness.cache.runs import RunStore
from harness.cache.units import UnitStore
from harness.errors import StoreError

__all__ = ["LEASE_S", "RENEW_EVERY_S", "ClaimHolder", "Store"]

logger = logging.getLogger(__name__)


class Store(UnitStore, RunStore, BlobStore, MediaStore, DerivedStore, MaintenanceStore):
    """Everything that was ever asked and answered.

    Open it with `Store.open`; it is an async context manager. Every write returns after its commit.
    Several processes may use one store at once.
    """

    def __init__(
        self,
        url: str,
        database: Database,
        *,
        clock: Clock = now_us,
        sleep: Sleep = asyncio.sleep,
        owner: Owner | None = None,
    ) -> None:
        super().__init__(database, clock=clock, sleep=sleep, owner=owner)
        self._url = url
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        create: bool = True,
        clock: Clock = now_us,
        warn: Callable[[str], None] = logger.warning,
        sleep: Sleep = asyncio.sleep,
        owner: Owner | None = None,
        mounts: Path = MOUNTS,
        migrations: Mapping[int, Migration] = MIGRATIONS,
    ) -> Self:
        """Open the store at a URL or path.

        A missing one is made, unless `create` is False; an older one is migrated after a backup; one that
        cannot be written is opened for reading (`read_only`). `warn` is told what the user should know.
        Raises StoreError, NotAStoreError (the file stays untouched), StoreVersionError (likewise).
        """
        url = store_url(url, base=Path.cwd())
        path = sqlite_path(url)
        if not path.exists() and not create:
            raise StoreError(f"there is no store at {display(url)!r}; give another place with --store")
        if create:
            create_file(path)
        check_file(path)
        kind = network_file_system(path, mounts=mounts)
        if kind is not None:
            warn(
                f"the store {display(url)!r} is on a network file system ({kind}): use it from one machine "
                "at a time, or keep it on a local disk"
            )
        database, backup = await _open_database(path, display(url), sleep, migrations)
        if backup is not None:
            warn(f"the store was brought up to date; the older one is kept as {str(backup)!r}")
        if database.access != "rw":
            warn(f"the store {display(url)!r} cannot be written: it is open for reading only")
        store = cls(url, database, clock=clock, sleep=sleep, owner=owner)
        store._start()
        return store

    @property
    def url(self) -> str:
        """Return the store's URL with an absolute path; show it with `display`."""
        return self._url

    def hurry(self) -> None:
        """Wait hardly at all for other processes from now on: this one is about to end."""
        self._database.hurry()

    async def close(self) -> None:
        """Give up our claims, commit what is queued, and close the file. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._stop_renewing()
        await self._release_all_ours()
        await self._writer.close()
        await self._database.close()

    async def __aenter__(self) -> Self:
        """Return the open store."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()

    def _start(self) -> None:
        if not self.read_only:
            self._writer.start()
            self._start_renewing()


async def _open_database(
    path: Path, place: str, sleep: Sleep, migrations: Mapping[int, Migration]
) -> tuple[Database, Path | None]:
    """Open by the best way that works, and make sure of the version."""
    dialect = SqliteDialect(path)
    *others, last = ways_to_open(path)
    for access in others:
        try:
            return await _prepared(Database(dialect, place, access, sleep=sleep), path, migrations)
        except StoreError as error:
            fault = None if error.__cause__ is None else dialect.fault(error.__cause__)
            if fault not in {Fault.READ_ONLY, Fault.UNREACHABLE}:
                raise
    return await _prepared(Database(dialect, place, last, sleep=sleep), path, migrations)


async def _prepared(
    database: Database, path: Path, migrations: Mapping[int, Migration]
) -> tuple[Database, Path | None]:
    try:
        return database, await prepare(database, path, migrations=migrations)
    except BaseException as error:
        await database.close()
        if isinstance(error, SQLAlchemyError):
            database.refuse(error)
        raise
