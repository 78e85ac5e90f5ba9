"""A consistent copy of the store, whole or not there at all."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.database import Database
from harness.cache.dialects import Fault, SqliteDialect
from harness.cache.migrations import stored_version
from harness.cache.parts import StorePart
from harness.cache.tables import EXCHANGE, RUN, SCHEMA_VERSION
from harness.errors import ConfigError, StoreError


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy that was made and looked at: its size in bytes, and what it holds."""

    path: Path
    size: int
    runs: int
    exchanges: int


class BackupStore(StorePart):
    """Copying the store."""

    async def backup(self, target: Path) -> Backup:
        """Copy the store, as its last commit left it, to a file that only its owner can read.

        A run may be at work meanwhile. The copy gets its name only when it is complete, checked by the
        database itself and flushed to disk; else nothing is left behind. Restoring it is opening it. Raises
        ConfigError where the target exists or its folder does not, StoreError where the copy fails.
        """
        _check_target(target)
        with _temporary(target) as copy:
            async with self._database.reading() as connection:
                at_least = await _counts(connection)
                await self._copy(connection, copy, target)
            runs, exchanges = await _checked(copy, at_least)
            await asyncio.to_thread(_publish, copy, target)
            return Backup(target, (await asyncio.to_thread(target.stat)).st_size, runs, exchanges)

    async def _copy(self, connection: AsyncConnection, copy: Path, target: Path) -> None:
        try:
            await self._database.dialect.backup(connection, copy)
        except SQLAlchemyError as error:
            # The copy is an SQLite file, whatever the store is.
            if SqliteDialect(copy).fault(error) not in {Fault.FULL, Fault.UNREACHABLE}:
                raise
            raise StoreError(
                f"the backup {str(target)!r} cannot be written ({getattr(error, 'orig', error)}); nothing is "
                "left of it; free some space, or choose another place; if there is enough, look at the store "
                "with `harness store verify`"
            ) from error


def _check_target(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise ConfigError(f"{str(target)!r} exists already, and nothing is overwritten; give another name")
    if not target.parent.is_dir():
        raise ConfigError(f"there is no folder {str(target.parent)!r}; make it first")


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Give an empty private file beside the target; it and what SQLite puts beside it are gone at the end."""
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise StoreError(
            f"cannot write into {str(target.parent)!r} ({error.strerror}); choose another place"
        ) from error
    os.close(handle)
    copy = Path(name)
    try:
        yield copy
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


async def _counts(connection: AsyncConnection) -> tuple[int, int]:
    """Return how many runs and exchanges there are."""
    found = [
        int((await connection.execute(select(func.count()).select_from(table))).scalar_one())
        for table in (RUN, EXCHANGE)
    ]
    return found[0], found[1]


async def _checked(copy: Path, at_least: tuple[int, int]) -> tuple[int, int]:
    """Return what the copy holds. Raises StoreError where it is unsound or lacks anything."""
    dialect = SqliteDialect(copy)
    database = Database(dialect, str(copy), "ro")
    try:
        async with database.reading() as connection:
            problems = await dialect.integrity_problems(connection)
            version = await stored_version(connection)
            counts = await _counts(connection)
    finally:
        await database.close()
    if problems or version != SCHEMA_VERSION or any(map(int.__lt__, counts, at_least)):
        what = problems[0] if problems else "it lacks entries of the store"
        raise StoreError(
            f"the copy is not sound ({what}) and was deleted; look at the store with `harness store verify`"
        )
    return counts


def _publish(copy: Path, target: Path) -> None:
    """Flush the copy and give it its name, unless another file has got it meanwhile."""
    try:
        with copy.open("rb") as file:
            os.fsync(file.fileno())
        _name(copy, target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except FileExistsError as error:
        raise ConfigError(f"{str(target)!r} was made meanwhile; give another name") from error
    except OSError as error:
        raise StoreError(
            f"cannot write the backup {str(target)!r} ({error.strerror}); choose another place"
        ) from error


def _name(copy: Path, target: Path) -> None:
    try:
        target.hardlink_to(copy)  # unlike a rename, never replaces a file
    except FileExistsError:
        raise
    except OSError:
        # A file system without links.
        if target.exists():
            raise FileExistsError from None
        copy.replace(target)
