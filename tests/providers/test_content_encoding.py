"""Encodings of answers, undone piece by piece."""

from __future__ import annotations

import gzip
import zlib

import pytest

from harness.providers.content_encoding import decoder_for

TEXT = b'{"answer": "' + b"ab" * 5000 + b'"}'


def raw_deflate(data: bytes) -> bytes:
    """Return what some servers call deflate: the bare format, without its header."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def undone(content_encoding: str, data: bytes, piece: int = 7) -> bytes:
    decoder = decoder_for(content_encoding)
    assert decoder is not None
    pieces = [data[start : start + piece] for start in range(0, len(data), piece)]
    return b"".join([*map(decoder.decode, pieces), decoder.flush()])


@pytest.mark.parametrize(
    ("content_encoding", "data"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("GZIP ", gzip.compress(TEXT, mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT), mtime=0)),
    ],
)
def test_an_encoding_is_undone(content_encoding: str, data: bytes) -> None:
    assert undone(content_encoding, data) == TEXT


@pytest.mark.parametrize("content_encoding", ["identity", "br", ""])
def test_what_is_not_known_is_left_as_it_came(content_encoding: str) -> None:
    assert decoder_for(content_encoding) is None


def test_of_a_cut_answer_the_part_that_came_is_kept() -> None:
    part = undone("gzip", gzip.compress(TEXT, 0)[:200])
    assert len(part) > 100 and TEXT.startswith(part)


CUT = gzip.compress(TEXT, mtime=0)[:30]


@pytest.mark.parametrize("data", [b"\x1f\x8b" + b"\xff" * 40, CUT + b"\xff" * 9])
def test_garbage_raises(data: bytes) -> None:
    with pytest.raises(zlib.error):
        undone("gzip", data, piece=100)
