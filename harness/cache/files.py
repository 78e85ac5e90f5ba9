"""The store's file on disk: recognised before anything touches it, created private."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from harness.cache.dialects import APPLICATION_ID, PRIVATE_MODE, Access
from harness.cache.tables import SCHEMA_VERSION
from harness.errors import NotAStoreError, StoreError, StoreVersionError

MOUNTS: Final = Path("/proc/mounts")

NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone",
        "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "pvfs2", "smb3",
        "smbfs", "virtiofs",
    }
)
"""File systems on which SQLite's locks and shared memory do not reach all machines."""

_WORD: Final = 0xFFFFFFFF
"""Numbers of the header have 32 bits; SQLite tells them with a sign."""

_PRIMARY: Final = 0xFF
"""The part of SQLite's codes of errors that says which kind it is."""


def create_file(path: Path) -> None:
    """Create an empty file that only its owner can read, and its folder; SQLite's side files take its mode.

    A file that holds anything is left alone. Raises StoreError.
    """
    path = path.resolve()  # a link to a file that is yet to be
    _check_no_orphan(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE_MODE))
        if path.stat().st_size == 0:
            path.chmod(PRIVATE_MODE)
    except OSError as error:
        raise StoreError(
            f"cannot create a store at {str(path)!r} ({error.strerror}); choose another place with --store"
        ) from error


def _check_no_orphan(path: Path) -> None:
    """Raise StoreError where a moved store left its last commits behind: a new store would erase them."""
    orphan = path.with_name(f"{path.name}-wal")
    try:
        is_new = not path.exists() or path.stat().st_size == 0
        if not is_new or not orphan.exists() or orphan.stat().st_size == 0:
            return
    except OSError:
        return
    raise StoreError(
        f"{str(orphan)!r} holds answers of a store that was moved or deleted; put that store back to "
        f"{str(path)!r}, or move this file away"
    )


def check_file(path: Path) -> None:
    """Refuse a file that is no store of ours, or a newer one, by its header alone: it stays untouched.

    Raises NotAStoreError, StoreVersionError, StoreError. An empty file is a store about to be made.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error.strerror) from error
    if path.is_dir():
        raise NotAStoreError(f"{str(path)!r} is a folder; give the file of a store with --store")
    if size == 0:
        return
    try:
        identity, version = _identity_and_version(path)
    except sqlite3.DatabaseError as error:
        code = error.sqlite_errorcode & _PRIMARY
        if code == sqlite3.SQLITE_CORRUPT:
            return  # its header is SQLite's: whoever opens it says what is damaged
        if code != sqlite3.SQLITE_NOTADB:
            denied = not os.access(path, os.R_OK)
            raise _unreadable(path, os.strerror(errno.EACCES) if denied else str(error)) from error
        identity, version = 0, 0
    if identity != APPLICATION_ID:
        raise NotAStoreError(f"{str(path)!r} is no store of this program; give another file with --store")
    check_version(version, path)


def _unreadable(path: Path, why: str | None) -> StoreError:
    return StoreError(f"cannot read the store {str(path)!r} ({why}); check its path")


def _identity_and_version(path: Path) -> tuple[int, int]:
    """Return the application id and the user version that the header of an SQLite file holds.

    SQLite reads them, as of a file that nobody changes: without a lock, a log or a side file. Opened and
    closed by ourselves, the file would lose every lock that this process has on it by other connections
    (https://www.sqlite.org/howtocorrupt.html, 2.2), and the next process to leave would take the log away
    from under them.
    """
    address = f"file:{quote(str(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        identity, version = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0]) & _WORD
            for name in ("application_id", "user_version")
        )
    return identity, version


def check_version(version: int, place: str | Path) -> None:
    """Raise StoreVersionError for a version that this program does not know yet."""
    if version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"the store {str(place)!r} has version {version}, written by a newer version of the program; "
            f"this one reads up to {SCHEMA_VERSION}: update it"
        )


def ways_to_open(path: Path) -> tuple[Access, ...]:
    """Return how a file may be opened, the best way first.

    A store that cannot be written is opened for reading. SQLite then needs its side files; where it
    cannot make them either, the file may be read as unchanging, but only if no log stands beside it that
    holds commits which the file itself lacks.
    """
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return ("rw",)
    return ways_to_read(path)


def ways_to_read(path: Path) -> tuple[Access, ...]:
    """Return how a file may be opened for reading only, the best way first."""
    log = path.with_name(f"{path.name}-wal")
    try:
        log_is_empty = log.stat().st_size == 0
    except FileNotFoundError:
        log_is_empty = True
    return ("ro", "immutable") if log_is_empty else ("ro",)


def ways_to_look(path: Path) -> tuple[Access, ...]:
    """Return how a file may be read that is to stay as it is, the best way first.

    As one that may write, SQLite takes its side files away again. Where a log holds commits, that would also
    fold them into the file: then they are left behind.
    """
    to_read = ways_to_read(path)
    log_is_empty = "immutable" in to_read
    return ("rw", *to_read) if log_is_empty and "rw" in ways_to_open(path) else to_read


def network_file_system(path: Path, *, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the network file system that holds a path, or None (also where nobody can say)."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place = path.resolve()
    found: tuple[int, str] = (-1, "")
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_mount_point(fields[1]))
        # The later of two mounts on one point hides the earlier.
        if place.is_relative_to(point) and len(point.parts) >= found[0]:
            found = (len(point.parts), fields[2])
    return found[1] if found[1] in NETWORK_FILE_SYSTEMS else None


def _mount_point(field: str) -> str:
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field
