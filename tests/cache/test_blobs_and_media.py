from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from harness.cache.store import Store
from harness.canonical import sha256_hex
from harness.errors import StoreError
from harness.media import Media

MEDIA = Media("1" * 64, "image/png", 100, 30, 20, Path("/data/one \udcff.png"))
PATH = Path("/data/one \udcff.png")
LONG_AGO_NS = 1_600_000_000_000_000_001


@pytest.mark.parametrize("data", [b"", b"prompt", bytes(range(256)) * 4_000], ids=len)
async def test_a_blob_comes_back_by_its_digest(store: Store, data: bytes) -> None:
    digest = await store.put_blob(data)
    assert (digest, await store.get_blob(digest)) == (sha256_hex(data), data)


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


async def test_a_damaged_blob_is_never_given_out(store: Store) -> None:
    one, two = await store.put_blobs([b"one", b"two"])
    async with store._database.writing() as transaction:
        swap = "UPDATE blob SET data = (SELECT data FROM blob WHERE sha256 = :two) WHERE sha256 = :one"
        await transaction.connection.execute(text(swap), {"one": one, "two": two})
    with pytest.raises(StoreError, match=f"blob {one} is damaged"):
        await store.get_blob(one)


async def test_an_unchanged_file_is_remembered(store: Store) -> None:
    await store.remember_media(MEDIA, LONG_AGO_NS)
    assert await store.remembered_media(PATH, 100, LONG_AGO_NS) == MEDIA


async def test_a_changed_file_is_not_remembered(store: Store) -> None:  # F4
    await store.remember_media(MEDIA, LONG_AGO_NS)
    assert await store.remembered_media(PATH, 101, LONG_AGO_NS) is None
    assert await store.remembered_media(PATH, 100, LONG_AGO_NS + 1) is None
    assert await store.remembered_media(Path("/data/other.png"), 100, LONG_AGO_NS) is None


async def test_a_file_changed_just_before_it_was_read_is_read_again(place: str) -> None:  # F4
    now_us = 1_700_000_000_000_000
    async with await Store.open(place, clock=lambda: now_us) as store:
        for age_s, known in ((0, False), (1.9, False), (2, True), (-5, False)):
            changed_ns = now_us * 1_000 - int(age_s * 1e9)
            await store.remember_media(MEDIA, changed_ns)
            assert (await store.remembered_media(PATH, 100, changed_ns) is not None) is known


async def test_a_file_with_new_bytes_is_remembered_by_those(store: Store) -> None:  # F4
    await store.remember_media(MEDIA, LONG_AGO_NS)
    new = replace(MEDIA, sha256="2" * 64, size=200)
    await store.remember_media(new, LONG_AGO_NS + 1)
    assert await store.remembered_media(PATH, 200, LONG_AGO_NS + 1) == new
    assert await store.remembered_media(PATH, 100, LONG_AGO_NS) is None


async def test_one_image_in_two_places_is_one_medium(store: Store) -> None:  # F4
    copy = replace(MEDIA, path=Path("/data/copy.png"))
    await store.remember_all_media([(MEDIA, LONG_AGO_NS), (copy, LONG_AGO_NS)])
    stamps = {path: (100, LONG_AGO_NS) for path in (PATH, Path("/data/copy.png"), Path("/data/none.png"))}
    assert await store.remembered(stamps) == {PATH: MEDIA, Path("/data/copy.png"): copy}
    assert (await store.stats())["media"] == 1


async def test_a_medium_without_a_file_is_not_remembered(store: Store) -> None:
    await store.remember_media(replace(MEDIA, path=None), LONG_AGO_NS)
    assert (await store.stats())["media"] == 0
