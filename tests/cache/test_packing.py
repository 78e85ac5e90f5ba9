"""What the store keeps packed comes back as it was, large or small, and damage is told."""

from __future__ import annotations

import random
import tracemalloc
import zlib

import pytest

from harness.canonical import pack, unpack, unpacked_pieces

LARGE = random.Random(1).randbytes(2_500_000) + b"a" * 1_000_000


@pytest.mark.parametrize("data", [b"", b"x" * 10_000_000, LARGE])
def test_what_was_packed_comes_back(data: bytes) -> None:
    assert unpack(pack(data)) == data


@pytest.mark.parametrize("place", [-5, 1_000_000, 1_999_999])
def test_a_cut_or_changed_large_one_is_told(place: int) -> None:
    packed = pack(LARGE)
    assert len(packed) > 2_000_000
    with pytest.raises(zlib.error):
        unpack(packed[:place])
    with pytest.raises(zlib.error):
        unpack(packed[:place] + bytes([packed[place] ^ 1]) + packed[place:][1:])


@pytest.mark.parametrize("data", [b"", b"x" * 3_000_000, LARGE])
def test_pieces_are_the_whole_none_of_them_large(data: bytes) -> None:
    pieces = list(unpacked_pieces(pack(data)))
    assert b"".join(pieces) == data
    assert all(0 < len(piece) <= 1_000_000 for piece in pieces)


def test_a_large_one_is_never_in_memory_twice() -> None:
    packed = pack(LARGE * 8)
    tracemalloc.start()
    data = unpack(packed)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(data) == len(LARGE) * 8
    assert peak < 1.6 * len(data)
