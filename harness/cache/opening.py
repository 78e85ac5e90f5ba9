"""How a store is found at its place, made or refused, and opened: a file, or a schema of a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.cache.database import Database, Sleep
from harness.cache.dialects import Access, Fault, SqliteDialect
from harness.cache.files import check_file, create_file, network_file_system, ways_to_look, ways_to_open
from harness.cache.location import display, sqlite_path
from harness.cache.migrations import Migration, prepare
from harness.cache.postgres_address import is_postgres
from harness.errors import StoreError


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How a store is to be opened. `warn` is told what the user should know."""

    create: bool
    warn: Callable[[str], None]
    sleep: Sleep
    mounts: Path
    migrations: Mapping[int, Migration]
    only_read: bool = False
    """Leave it as it is: no store is made or migrated, and nothing can be written."""
    patient: bool = True
    """Wait for a server that is lost, for a bounded time."""


async def open_database(url: str, options: OpenOptions) -> Database:
    """Open the store at a URL that `store_url` made, by the best way that works, its version checked.

    Raises StoreError, NotAStoreError (what is there stays untouched), StoreVersionError (likewise),
    ConfigError where the driver is missing.
    """
    if is_postgres(url):
        from harness.cache.opening_postgres import open_postgres

        database, kept = await open_postgres(url, options)
    else:
        database, kept = await _open_file(url, options)
    if kept is not None:
        options.warn(f"the store was brought up to date; the older one is kept as {kept!r}")
    if database.only_read and not options.only_read:
        options.warn(f"the store {display(url)!r} cannot be written: it is open for reading only")
    return database


async def is_there(url: str) -> bool:
    """Tell whether there is a store at a URL; nothing is made. Raises StoreError where nobody can say."""
    if not is_postgres(url):
        return sqlite_path(url).exists()
    from harness.cache.opening_postgres import is_postgres_store

    return await is_postgres_store(url)


async def _open_file(url: str, options: OpenOptions) -> tuple[Database, str | None]:
    path = sqlite_path(url)
    if not path.exists() and not options.create:
        raise StoreError(
            f"there is no store at {display(url)!r}; give another place with --store, or run something first"
        )
    if options.create:
        create_file(path)
    check_file(path)
    kind = network_file_system(path, mounts=options.mounts)
    if kind is not None:
        options.warn(
            f"the store {display(url)!r} is on a network file system ({kind}): use it from one machine "
            "at a time, or keep it on a local disk"
        )
    dialect = SqliteDialect(path)
    *others, last = ways_to_look(path) if options.only_read else ways_to_open(path)

    def opened(access: Access) -> Database:
        return Database(dialect, display(url), access, sleep=options.sleep, only_read=options.only_read)

    for access in others:
        try:
            return await prepared(opened(access), options)
        except StoreError as error:
            fault = None if error.__cause__ is None else dialect.fault(error.__cause__)
            if fault not in {Fault.READ_ONLY, Fault.UNREACHABLE}:
                raise
    return await prepared(opened(last), options)


async def prepared(database: Database, options: OpenOptions) -> tuple[Database, str | None]:
    """Make sure of the version; return where an older store is kept. Closes the database if it fails."""
    try:
        return database, await prepare(
            database, migrations=options.migrations, only_read=options.only_read
        )
    except BaseException as error:
        await database.close()
        if isinstance(error, database.dialect.errors):
            database.refuse(error)
        raise
