"""Media that were seen: their digests by path, so that unchanged files are not read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy import select

from harness.cache.database import Transaction
from harness.cache.parts import StorePart, chunks
from harness.cache.tables import MEDIA, MEDIA_PLACE
from harness.media import Media

SETTLED_AFTER_US: Final = 2_000_000
"""A file changed this short before it was read may change again within its file system's clock tick."""

Stamp: TypeAlias = tuple[int, int]
"""Size in bytes, and time of last change in nanoseconds."""


@dataclass(frozen=True, slots=True)
class _Seen:
    media: Media
    mtime_ns: int
    now_us: int


class MediaStore(StorePart):
    """The media index."""

    async def remembered_media(self, path: Path, size: int, mtime_ns: int) -> Media | None:
        """Return what a file was when we last read it, None if it is new or has changed since."""
        return (await self.remembered({path: (size, mtime_ns)})).get(path)

    async def remembered(self, stamps: Mapping[Path, Stamp]) -> dict[Path, Media]:
        """Return the same for many files in a few queries; files that are new or changed are left out."""
        found: dict[Path, Media] = {}
        for part in chunks(list(stamps)):
            statement = (
                select(MEDIA_PLACE, MEDIA.c.mime, MEDIA.c.width, MEDIA.c.height)
                .join_from(MEDIA_PLACE, MEDIA, MEDIA_PLACE.c.sha256 == MEDIA.c.sha256)
                .where(MEDIA_PLACE.c.path.in_([str(path) for path in part]))
            )
            async with self._database.reading() as connection:
                rows = (await connection.execute(statement)).all()
            for row in rows:
                path = Path(row.path)
                settled = row.mtime_ns // 1000 + SETTLED_AFTER_US <= row.remembered_at_us
                if settled and stamps.get(path) == (row.size, row.mtime_ns):
                    found[path] = Media(row.sha256, row.mime, row.size, row.width, row.height, path)
        return found

    async def remember_media(self, media: Media, mtime_ns: int) -> None:
        """Note what a file is. `mtime_ns` must be from before its bytes were read; no path, no note."""
        await self.remember_all_media([(media, mtime_ns)])

    async def remember_all_media(self, seen: Iterable[tuple[Media, int]]) -> None:
        """Note many files in one commit."""
        now = self._clock()
        items = [_Seen(media, mtime_ns, now) for media, mtime_ns in seen if media.path is not None]
        if items:
            await self._writer.submit(_remember_all, items)


async def _remember_all(transaction: Transaction, given: Sequence[Sequence[_Seen]]) -> list[None]:
    media: dict[str, dict[str, object]] = {}
    places: dict[str, dict[str, object]] = {}
    for seen in (item for items in given for item in items):
        one = seen.media
        media[one.sha256] = {
            "sha256": one.sha256,
            "mime": one.mime,
            "size": one.size,
            "width": one.width,
            "height": one.height,
        }
        places[str(one.path)] = {
            "path": str(one.path),
            "sha256": one.sha256,
            "size": one.size,
            "mtime_ns": seen.mtime_ns,
            "remembered_at_us": seen.now_us,
        }
    upsert = transaction.dialect.upsert
    # Updated too: a better reader of headers may have learned more about the same bytes.
    await transaction.connection.execute(upsert(MEDIA, ["mime", "width", "height"]), list(media.values()))
    await transaction.connection.execute(
        upsert(MEDIA_PLACE, ["sha256", "size", "mtime_ns", "remembered_at_us"]), list(places.values())
    )
    return [None] * len(given)
