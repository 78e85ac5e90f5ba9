"""Frames as JPEG: the right one by its number, the right greys, and nothing made of a damaged clip."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Collection
from random import Random
from typing import Any

import numpy as np
import pytest
from clip_examples import (
    ISO,
    MIMES,
    OTHERS,
    SIZE,
    Grey,
    clip_bytes,
    index_in,
    patched,
    picture,
    samples,
)
from PIL import Image

import harness.frames.decoding as decoding
from harness.errors import MediaReadError
from harness.frames.decoding import decode_frames, demuxed_timeline
from harness.frames.sampling import timeline
from harness.video_structure import BadVideoError


def frames_of(data: bytes, wanted: Collection[int], mime: str = "video/mp4") -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    decode_frames(data, mime, demuxed_timeline(data, mime), wanted, found.__setitem__)
    return found


@pytest.mark.parametrize("name", [*ISO, *OTHERS])
def test_a_frame_is_the_one_of_that_number(name: str) -> None:
    wanted = {**ISO, **OTHERS}[name]
    every = range(wanted["frames"])
    found = frames_of(clip_bytes(**wanted), every, MIMES[wanted.get("container", "mp4")])
    assert [index_in(found[index]) for index in every] == list(every)


def test_only_what_is_wanted_is_encoded_and_in_order() -> None:
    assert list(frames_of(clip_bytes(20), {15, 0, 5})) == [0, 5, 15]


@pytest.mark.parametrize("pixels", ["yuv420p", "yuvj420p", "yuv444p", "yuv420p10le"])
def test_grey_stays_grey(pixels: str) -> None:
    found = frames_of(clip_bytes(12, pixels=pixels, size=(256, 128)), {11})[11]
    rgb = samples(found).astype(int)
    assert np.abs(rgb[..., 0] - rgb[..., 2]).max() <= 4  # full-range yuv 4:2:0 has no exact grey
    # The ramp below, away from the stripes' edges, and from where it falls from white to black.
    ramp, made = picture(11, (256, 128))[80:].astype(int), rgb[80:, :, 1]
    away = np.abs(np.diff(ramp, axis=1, append=ramp[:, -1:])) < 100
    away &= np.roll(away, 8, axis=1) & np.roll(away, -8, axis=1)
    off = np.abs(made - ramp)[away]
    assert np.median(off) <= 1 and np.percentile(off, 99) <= 3
    stripes = rgb[8:56, :, 1]
    assert stripes.max() >= 253 and stripes.min() <= 2


def test_a_grey_format_makes_a_grey_jpeg() -> None:
    clip = clip_bytes(3, container="matroska", codec="ffv1", pixels="gray")
    with Image.open(io.BytesIO(frames_of(clip, {2}, MIMES["matroska"])[2])) as image:
        assert (image.mode, image.size) == ("L", SIZE)
        assert np.abs(np.asarray(image).astype(int) - picture(2))[40:, 8:].mean() < 2


def test_jpegs_are_not_subsampled_and_carry_nothing_else() -> None:
    (found,) = frames_of(clip_bytes(2), {0}).values()
    with Image.open(io.BytesIO(found)) as image:
        layers = image.layer  # type: ignore[attr-defined]
        assert image.mode == "RGB" and {(one[1], one[2]) for one in layers} == {(1, 1)}
        assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


@pytest.mark.parametrize(
    ("shown_as", "matrix"),
    [
        (lambda one: np.rot90(one, -1), (0, 1, -1, 0)),
        (lambda one: np.rot90(one, 2), (-1, 0, 0, -1)),
        (lambda one: np.rot90(one, 1), (0, -1, 1, 0)),
        (lambda one: one[:, ::-1], (-1, 0, 0, 1)),
        (lambda one: one[::-1], (1, 0, 0, -1)),
        (lambda one: one.swapaxes(0, 1), (0, 1, 1, 0)),
        (lambda one: np.rot90(one, 2).swapaxes(0, 1), (0, -1, -1, 0)),
        (lambda one: one, (1, 1, -1, 1)),
    ],
    ids=["90", "180", "270", "left-right", "top-bottom", "diagonal", "other diagonal", "no quarter"],
)
def test_a_clip_that_is_to_be_turned_or_mirrored_is_shown_so(
    shown_as: Callable[[Grey], Grey], matrix: tuple[int, int, int, int]
) -> None:
    """The matrix of a track header (ISO/IEC 14496-12, 8.3.2): (x, y) is shown at (ax + cy, bx + dy)."""
    a, b, c, d = (0x10000 * one for one in matrix)
    header = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 0x40000000)
    data = clip_bytes(2, b_frames=0)
    stored, shown = (samples(frames_of(one, {1})[1]) for one in (data, patched(data, b"tkhd", 40, header)))
    assert np.abs(shown.astype(int) - shown_as(stored)).mean() < 2


@pytest.mark.parametrize("said", [19, 21])
def test_a_clip_with_other_frames_than_its_index_says_is_refused(said: int) -> None:
    times = timeline([1024 * index for index in range(said)], 1024 * said, 10240)
    with pytest.raises(BadVideoError, match="frames"):
        decode_frames(clip_bytes(20), "video/mp4", times, {0}, lambda index, jpeg: None)


def test_frames_at_other_times_than_the_index_says_are_refused() -> None:
    starts = [1024 * index for index in range(20)]
    starts[7:] = [start + 1024 for start in starts[7:]]
    with pytest.raises(BadVideoError, match="frame 7 comes at another time"):
        decode_frames(clip_bytes(20), "video/mp4", timeline(starts, 99999, 10240), {0}, lambda *_: None)


def test_a_clip_whose_pictures_are_damaged_is_refused() -> None:
    data = clip_bytes(40, size=(256, 128))
    start = data.index(b"mdat") + 4
    refused = 0
    for share in (0.2, 0.4, 0.6, 0.8):
        at = start + int((data.index(b"moov") - start) * share)
        try:
            frames_of(data[:at] + bytes(200) + data[at + 200 :], range(40))
        except BadVideoError:
            refused += 1
    assert refused == 4


def test_errors_that_a_decoder_would_pass_over_are_refused() -> None:
    # Of MJPEG, FFmpeg shows what it can make out, and says nothing, unless it is told otherwise.
    data = clip_bytes(20, container="mov", codec="mjpeg", pixels="yuvj420p", size=(256, 128))
    chance, refused = Random(3), 0
    for _ in range(40):
        at = chance.randrange(data.index(b"mdat") + 704, data.index(b"moov") - 10)
        try:
            frames_of(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :], range(20), MIMES["mov"])
        except BadVideoError:
            refused += 1
    assert refused > 10


def test_huge_pictures_are_refused_before_one_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_FRAME_PIXELS", SIZE[0] * SIZE[1] - 1)
    with pytest.raises(BadVideoError, match="too many to decode safely"):
        frames_of(clip_bytes(3), {0})


def test_too_many_pixels_in_all_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_CLIP_PIXELS", 20 * SIZE[0] * SIZE[1] - 1)
    with pytest.raises(BadVideoError, match="20 frames of 96 x 64 pixels are too many to decode"):
        frames_of(clip_bytes(20), {0})


@pytest.mark.parametrize("data", [b"", b"#EXTM3U\nfile:///etc/passwd", bytes(2000), clip_bytes(3)[:300]])
@pytest.mark.parametrize("mime", sorted(set(MIMES.values())))
def test_what_is_no_clip_is_refused(data: bytes, mime: str) -> None:
    with pytest.raises(BadVideoError):
        frames_of(data, {0}, mime)


def test_without_pyav_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "is_installed", lambda: False)
    with pytest.raises(MediaReadError, match=r"pip install 'mllm-harness\[video\]'"):
        frames_of(clip_bytes(3), {0})


def test_a_decoder_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    real = decoding._check

    def looked(frame: Any, index: int, count: int) -> None:
        import threading

        seen.append(threading.active_count())
        real(frame, index, count)

    monkeypatch.setattr(decoding, "_check", looked)
    with decoding._opened(clip_bytes(3), "video/mp4") as (_, stream):
        assert stream.codec_context.thread_count == decoding.THREADS == 1
    frames_of(clip_bytes(3), {0})
    assert len(set(seen)) == 1
