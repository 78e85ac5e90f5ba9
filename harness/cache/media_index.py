"""Media that were seen: what they are by path and fingerprint, so that unchanged files are not read again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from sqlalchemy import delete, select

from harness.cache.database import Transaction
from harness.cache.parts import StorePart, chunks
from harness.cache.tables import MEDIA, MEDIA_PLACE, AnyRow
from harness.media import READER_VERSION, Media
from harness.media_reading import Note, Stamp, stamp_of

_INODE_RANGE: Final = 1 << 64
_LARGEST: Final = (1 << 63) - 1


class MediaStore(StorePart):
    """The media index."""

    async def remembered(self, stamps: Mapping[Path, Stamp]) -> dict[Path, Media]:
        """Return what files are that have not changed since they were noted, in a few queries.

        Left out are files that are new, that differ in any part of the fingerprint, whose fingerprint was
        not settled when they were read (see `Stamp`), or that another version of `probe` read.
        """
        found: dict[Path, Media] = {}
        for part in chunks(list(stamps)):
            statement = (
                select(MEDIA_PLACE, MEDIA.c.mime, MEDIA.c.width, MEDIA.c.height, MEDIA.c.plain)
                .join_from(MEDIA_PLACE, MEDIA, MEDIA_PLACE.c.sha256 == MEDIA.c.sha256)
                .where(MEDIA_PLACE.c.path.in_([str(path) for path in part]))
                .where(MEDIA_PLACE.c.reader == READER_VERSION)
            )
            async with self._database.reading() as connection:
                rows = (await connection.execute(statement)).all()
            for row in rows:
                path, stamp = Path(row.path), _stamp(row)
                if stamps.get(path) == stamp and stamp.is_settled(row.remembered_at_us):
                    found[path] = Media(
                        row.sha256, row.mime, row.size, row.width, row.height, path, row.plain
                    )
        return found

    async def places(self, digests: Collection[str]) -> dict[str, Media]:
        """Return digest -> a medium where it was noted and still lies unchanged, in a few queries."""
        found: dict[str, Media] = {}
        for part in chunks(sorted(digests)):
            statement = select(MEDIA_PLACE.c.path).where(MEDIA_PLACE.c.sha256.in_(list(part)))
            async with self._database.reading() as connection:
                paths = [Path(path) for path in (await connection.execute(statement)).scalars()]
            stamps = {path: stamp for path in paths if (stamp := stamp_of(path)) is not None}
            known = await self.remembered(stamps)
            found |= {known[path].sha256: known[path] for path in sorted(known)}
        return found

    async def noted(self, digests: Collection[str]) -> dict[str, tuple[Path, ...]]:
        """Return digest -> every path at which such bytes were noted, in order; other bytes may lie there."""
        found: dict[str, list[Path]] = {}
        for part in chunks(sorted(digests)):
            columns = MEDIA_PLACE.c.sha256, MEDIA_PLACE.c.path
            statement = select(*columns).where(columns[0].in_(list(part))).order_by(*columns)
            async with self._database.reading() as connection:
                for sha256, path in (await connection.execute(statement)).all():
                    found.setdefault(sha256, []).append(Path(path))
        return {sha256: tuple(paths) for sha256, paths in found.items()}

    async def remember(self, notes: Iterable[Note]) -> None:
        """Note what files are, and where, in one commit; a medium without a path is not noted."""
        items = [note for note in notes if note.media.path is not None]
        if items:
            await self._writer.submit(_remember_all, items)

    async def forget(self, path: Path) -> None:
        """Drop what was noted of a file, so that it is read again."""
        await self._writer.submit(_forget_all, path)


def _stamp(row: AnyRow) -> Stamp:
    return Stamp(row.size, row.mtime_ns, row.ctime_ns, row.inode % _INODE_RANGE)


def _signed(inode: int) -> int:
    """Return an inode as databases take it: file systems use all 64 bits."""
    return inode if inode <= _LARGEST else inode - _INODE_RANGE


async def _remember_all(transaction: Transaction, given: Sequence[Sequence[Note]]) -> list[None]:
    media: dict[str, dict[str, object]] = {}
    places: dict[str, dict[str, object]] = {}
    for note in (note for notes in given for note in notes):
        one = note.media
        media[one.sha256] = {
            "sha256": one.sha256,
            "mime": one.mime,
            "size": one.size,
            "width": one.width,
            "height": one.height,
            "plain": one.plain,
        }
        places[str(one.path)] = {
            "path": str(one.path),
            "sha256": one.sha256,
            "size": note.stamp.size,
            "mtime_ns": note.stamp.mtime_ns,
            "ctime_ns": note.stamp.ctime_ns,
            "inode": _signed(note.stamp.inode),
            "reader": READER_VERSION,
            "remembered_at_us": note.read_at_us,
        }
    upsert = transaction.dialect.upsert
    # Updated too: a better reader of headers may have learned more about the same bytes.
    learned = ["mime", "width", "height", "plain"]
    await transaction.connection.execute(upsert(MEDIA, learned), list(media.values()))
    changed = [column.name for column in MEDIA_PLACE.columns if not column.primary_key]
    await transaction.connection.execute(upsert(MEDIA_PLACE, changed), list(places.values()))
    return [None] * len(given)


async def _forget_all(transaction: Transaction, paths: Sequence[Path]) -> list[None]:
    for path in paths:
        await transaction.connection.execute(delete(MEDIA_PLACE).where(MEDIA_PLACE.c.path == str(path)))
    return [None] * len(paths)
