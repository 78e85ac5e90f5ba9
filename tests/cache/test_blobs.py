from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from harness.cache.store import Store
from harness.canonical import pack, sha256_hex
from harness.errors import StoreError


@pytest.mark.parametrize("data", [b"", b"prompt", bytes(range(256)) * 4_000], ids=len)
async def test_a_blob_comes_back_by_its_digest(store: Store, data: bytes) -> None:
    digest = await store.put_blob(data)
    assert (digest, await store.get_blob(digest)) == (sha256_hex(data), data)
    assert b"".join(await store.blob_pieces(digest)) == data


async def test_a_blob_is_kept_once(store: Store) -> None:
    await asyncio.gather(*(store.put_blob(b"same") for _ in range(5)))
    await store.put_blob(b"same")
    assert (await store.stats())["blobs"] == 1


async def test_many_blobs_go_in_and_out_together(store: Store) -> None:
    given = [f"case {n}".encode() for n in range(1_200)]
    digests = await store.put_blobs(given)
    assert list((await store.get_blobs(digests)).values()) == given
    assert await store.put_blobs([]) == []
    assert await store.get_blobs([]) == {}


async def test_a_missing_blob_is_named(store: Store) -> None:
    with pytest.raises(StoreError, match=f"blob {'0' * 64} is not in the store"):
        await store.get_blob("0" * 64)
    with pytest.raises(StoreError, match=f"blob {'0' * 64} is not in the store"):
        await store.blob_pieces("0" * 64)


async def test_a_damaged_blob_is_never_given_out(store: Store) -> None:
    one, two = await store.put_blobs([b"one", b"two"])
    async with store._database.writing() as transaction:
        swap = "UPDATE blob SET data = (SELECT data FROM blob WHERE sha256 = :two) WHERE sha256 = :one"
        await transaction.connection.execute(text(swap), {"one": one, "two": two})
    with pytest.raises(StoreError, match=f"blob {one} is damaged"):
        await store.get_blob(one)
    with pytest.raises(StoreError, match=f"blob {one} is damaged"):
        list(await store.blob_pieces(one))


@pytest.mark.parametrize("damage", [b"", b"no zlib", pack(b"another " * 40)[:20]])
async def test_a_cut_blob_is_told_in_pieces_too(store: Store, damage: bytes) -> None:
    digest = await store.put_blob(b"one " * 50)
    async with store._database.writing() as transaction:
        change = "UPDATE blob SET data = :damage"
        await transaction.connection.execute(text(change), {"damage": damage})
    with pytest.raises(StoreError, match=f"blob {digest} is damaged"):
        list(await store.blob_pieces(digest))


async def test_a_blob_in_pieces_is_the_same_blob(store: Store) -> None:
    pieces = [b"head", b"", *(f"\n{number}".encode() for number in range(3_000))]
    digest = sha256_hex(b"".join(pieces))
    await store.put_blob_pieces(digest, lambda: iter(pieces))
    assert await store.get_blob(digest) == b"".join(pieces)


async def test_a_blob_that_is_there_is_not_made_again(store: Store) -> None:
    digest = await store.put_blob(b"there")
    await store.put_blob_pieces(digest, lambda: pytest.fail("it was made again"))
    assert (await store.stats())["blobs"] == 1


async def test_pieces_of_another_blob_are_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="changed while it was kept"):
        await store.put_blob_pieces(sha256_hex(b"wanted"), lambda: iter([b"other"]))
    assert (await store.stats())["blobs"] == 0
