"""The store: opened, used by any number of tasks, closed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.cache.backup import BackupStore
from harness.cache.blobs import BlobStore
from harness.cache.claims import LEASE_S, RENEW_EVERY_S, ClaimHolder
from harness.cache.database import Database, Sleep
from harness.cache.derived import DerivedStore
from harness.cache.evidence import EvidenceStore
from harness.cache.files import MOUNTS
from harness.cache.grades import GradeStore
from harness.cache.gradings import GradingStore
from harness.cache.imported import ImportedStore
from harness.cache.live_sessions import LiveSessionStore
from harness.cache.location import store_url
from harness.cache.maintenance import MaintenanceStore
from harness.cache.media_index import MediaStore
from harness.cache.merge import MergeStore
from harness.cache.migrations import MIGRATIONS, Migration
from harness.cache.neighbours import NeighbourStore
from harness.cache.one_unit import OneUnitStore
from harness.cache.opening import OpenOptions, open_database
from harness.cache.owner import Owner
from harness.cache.parts import Clock
from harness.cache.runs import RunStore
from harness.cache.stored_scores import StoredScoreStore
from harness.cache.unit_glances import GlanceStore
from harness.cache.unit_marks import UnitMarkStore
from harness.cache.units import UnitStore
from harness.cache.verification import VerifyStore
from harness.cache.witness import WitnessStore
from harness.moments import now_us

__all__ = ["LEASE_S", "RENEW_EVERY_S", "ClaimHolder", "Store"]

logger = logging.getLogger(__name__)


class Store(
    GlanceStore,
    UnitStore,
    UnitMarkStore,
    OneUnitStore,
    ImportedStore,
    RunStore,
    BlobStore,
    MediaStore,
    DerivedStore,
    StoredScoreStore,
    EvidenceStore,
    GradeStore,
    GradingStore,
    LiveSessionStore,
    MaintenanceStore,
    NeighbourStore,
    MergeStore,
    BackupStore,
    VerifyStore,
    WitnessStore,
):
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
        only_read: bool = False,
        patient: bool = True,
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
        `only_read`: it is left as it is, neither made, migrated nor written. Not `patient`, of a store that
        is only read: a server that is lost is told at once, instead of waited for.
        Raises StoreError, NotAStoreError (what is there stays untouched), StoreVersionError (likewise).
        """
        url = store_url(url, base=Path.cwd())
        options = OpenOptions(
            create=create and not only_read,
            warn=warn,
            sleep=sleep,
            mounts=mounts,
            migrations=migrations,
            only_read=only_read,
            patient=patient,
        )
        database = await open_database(url, options)
        store = cls(url, database, clock=clock, sleep=sleep, owner=owner)
        store._start()
        return store

    @property
    def url(self) -> str:
        """Return the store's URL with an absolute path; it may hold a password: show it with `display`."""
        return self._url

    def gather(self, seconds: float) -> None:
        """Let each commit wait so long for others to join it; 0, as at first: for none."""
        self._writer.gather_s = seconds

    def hurry(self) -> None:
        """Wait hardly at all for other processes from now on: this one is about to end."""
        self.gather(0.0)
        self._database.hurry()

    async def close(self) -> None:
        """Give up our claims, commit what is queued, and close the database. A second call does nothing."""
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


async def bring_up_to_date(path: Path) -> None:
    """Migrate a copy of a store to the version of this program. Raises StoreError."""
    # Whoever made the copy has the original: where the copy's backup is concerns nobody.
    async with await Store.open(str(path), create=False, warn=lambda told: None):
        pass
