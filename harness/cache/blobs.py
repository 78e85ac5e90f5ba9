"""Blobs: prompts, schemas and case snapshots, by digest."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlalchemy import select

from harness.cache.database import Transaction
from harness.cache.parts import StorePart, chunks, off_the_loop
from harness.cache.tables import BLOB
from harness.canonical import PACK_LEVEL, pack, sha256_hex, unpack, unpacked_pieces
from harness.errors import StoreError


class BlobStore(StorePart):
    """The blobs."""

    async def put_blob(self, data: bytes) -> str:
        """Keep bytes and return their SHA-256; bytes that are there already are not kept twice."""
        return (await self.put_blobs([data]))[0]

    async def put_blobs(self, blobs: Iterable[bytes]) -> list[str]:
        """Keep many in one commit; return their SHA-256s in order."""
        given = list(blobs)
        digests = [sha256_hex(data) for data in given]
        await self._writer.submit(_put_all, list(zip(digests, given, strict=True)))
        return digests

    async def put_blob_pieces(self, sha256: str, pieces: Callable[[], Iterator[bytes]]) -> None:
        """Keep bytes that come in pieces, compressed as they come, unless they are kept already.

        `pieces` is called in a thread. Raises StoreError where they are not those of `sha256`.
        """
        async with self._database.reading() as connection:
            found = await connection.execute(select(BLOB.c.sha256).where(BLOB.c.sha256 == sha256))
            if found.first() is not None:
                return
        packed = await asyncio.to_thread(_pack_pieces, sha256, pieces)
        await self._writer.submit(_put_packed, (sha256, packed))

    async def blob_pieces(self, sha256: str) -> Iterator[bytes]:
        """Return the bytes of a digest in pieces, unpacked one by one, so that they are never there whole.

        Raises StoreError where they are missing, and the iterator at its end where they are damaged: use
        nothing of it before.
        """
        async with self._database.reading() as connection:
            found = await connection.execute(select(BLOB.c.data).where(BLOB.c.sha256 == sha256))
            row = found.first()
        if row is None:
            raise _missing(sha256)
        return _checked_pieces(sha256, row.data)

    async def get_blob(self, sha256: str) -> bytes:
        """Return the bytes of a digest. Raises StoreError where they are missing or damaged."""
        return (await self.get_blobs([sha256]))[sha256]

    async def get_blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Return digest -> bytes for all, in the order given.

        Raises StoreError where one is missing or damaged.
        """
        wanted = list(dict.fromkeys(digests))
        found: dict[str, bytes] = {}
        for part in chunks(wanted):
            async with self._database.reading() as connection:
                rows = (await connection.execute(select(BLOB).where(BLOB.c.sha256.in_(part)))).all()
            for row in rows:
                found[row.sha256] = _checked(row.sha256, row.data)
        for digest in wanted:
            if digest not in found:
                raise _missing(digest)
        return {digest: found[digest] for digest in wanted}


def unpacked_blob(digest: str, packed: bytes) -> bytes | None:
    """Return the bytes of a digest as they are kept in a row; None where they are damaged."""
    try:
        data = unpack(packed)
    except zlib.error:
        return None
    return data if sha256_hex(data) == digest else None


def _checked(digest: str, packed: bytes) -> bytes:
    data = unpacked_blob(digest, packed)
    if data is None:
        raise _damaged(digest)
    return data


def _checked_pieces(digest: str, packed: bytes) -> Iterator[bytes]:
    found = hashlib.sha256()
    try:
        for piece in unpacked_pieces(packed):
            found.update(piece)
            yield piece
    except zlib.error as error:
        raise _damaged(digest) from error
    if found.hexdigest() != digest:
        raise _damaged(digest)


def _missing(digest: str) -> StoreError:
    return StoreError(f"blob {digest} is not in the store; go back to a backup")


def _damaged(digest: str) -> StoreError:
    return StoreError(f"blob {digest} is damaged; go back to a backup of the store")


def _pack_pieces(sha256: str, pieces: Callable[[], Iterator[bytes]]) -> bytes:
    packer, found, packed = zlib.compressobj(PACK_LEVEL), hashlib.sha256(), bytearray()
    for piece in pieces():
        found.update(piece)
        packed += packer.compress(piece)
    if found.hexdigest() != sha256:
        raise StoreError(f"blob {sha256} changed while it was kept; run again")
    return bytes(packed + packer.flush())


async def _put_packed(transaction: Transaction, blobs: Sequence[tuple[str, bytes]]) -> list[None]:
    rows: list[dict[str, object]] = [{"sha256": digest, "data": packed} for digest, packed in blobs]
    await transaction.connection.execute(transaction.dialect.upsert(BLOB), rows)
    return [None] * len(blobs)


async def _put_all(transaction: Transaction, given: Sequence[Sequence[tuple[str, bytes]]]) -> list[None]:
    blobs = dict(pair for pairs in given for pair in pairs)

    def make() -> list[dict[str, object]]:
        return [{"sha256": digest, "data": pack(data)} for digest, data in blobs.items()]

    rows = await off_the_loop(make, sum(map(len, blobs.values())))
    if rows:
        await transaction.connection.execute(transaction.dialect.upsert(BLOB), rows)
    return [None] * len(given)
