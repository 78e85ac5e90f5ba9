"""When frames are shown: by the tables of MP4 and QuickTime, and by demuxing, against what PyAV decodes."""

from __future__ import annotations

import io
import struct
from fractions import Fraction

import av
import pytest
from clip_examples import ISO, MIMES, OTHERS, UNEVEN, clip_bytes, patched

from harness.frames.decoding import demuxed_timeline
from harness.frames.iso_times import MAX_FRAMES, iso_timeline
from harness.frames.sampling import Timeline
from harness.video_structure import BadVideoError


def seconds(times: Timeline) -> list[Fraction]:
    return [Fraction(start, times.scale) for start in times.starts]


def decoded(data: bytes) -> list[Fraction]:
    """Return when PyAV shows each frame, in seconds after the first."""
    with av.open(io.BytesIO(data)) as container:
        shown = [frame.pts * frame.time_base for frame in container.decode(video=0)]
    return [at - shown[0] for at in shown]


@pytest.mark.parametrize("name", ISO)
def test_tables_tell_what_a_decoder_shows(name: str) -> None:
    data = clip_bytes(**ISO[name])
    times = iso_timeline(data)
    assert times is not None
    assert seconds(times) == decoded(data) == seconds(demuxed_timeline(data, "video/mp4"))
    assert len(times.starts) == ISO[name]["frames"]
    if "times_ms" not in ISO[name]:
        assert times.even == ISO[name].get("rate", 10)
    else:
        assert times.even is None and seconds(times) == [Fraction(one, 1000) for one in UNEVEN]


@pytest.mark.parametrize("name", OTHERS)
def test_other_containers_are_demuxed(name: str) -> None:
    data, mime = clip_bytes(**OTHERS[name]), MIMES[OTHERS[name].get("container", "mp4")]
    if mime == "video/mp4":
        assert iso_timeline(data) is None
    times = demuxed_timeline(data, mime)
    assert seconds(times) == decoded(data)
    assert (len(times.starts), times.even) == (20, OTHERS[name].get("rate", 10))


def test_frames_that_an_edit_list_hides_are_not_counted_by_the_tables() -> None:
    data = clip_bytes(20, b_frames=0)
    media_time = struct.unpack(">i", data[data.index(b"elst") + 16 :][:4])[0]
    cut = patched(data, b"elst", 12, struct.pack(">i", media_time + 5 * 1024))
    assert iso_timeline(cut) is None
    assert seconds(demuxed_timeline(cut, "video/mp4")) == decoded(cut)
    assert len(decoded(cut)) == 15
    short = patched(data, b"elst", 8, struct.pack(">I", 1000))  # of 2000 ms
    assert iso_timeline(short) is None
    assert len(demuxed_timeline(short, "video/mp4").starts) == len(decoded(short)) < 20
    assert iso_timeline(patched(data, b"elst", 16, struct.pack(">I", 0x8000))) is None  # at half speed


@pytest.mark.parametrize(
    ("kind", "at", "value", "says"),
    [
        (b"stsz", 8, struct.pack(">I", 21), "another number by the next"),
        (b"stsz", 8, struct.pack(">I", 19), "another number by the next"),
        (b"stsz", 8, struct.pack(">I", 0), "no frames"),
        (b"stsz", 8, struct.pack(">I", 0xFFFFFFFF), "too many to take apart"),
        (b"stsz", 4, struct.pack(">II", 5000, 20), "larger than the file"),
        (b"stts", 4, struct.pack(">I", 0x10000000), "cut short or damaged"),
        (b"mdhd", 12, struct.pack(">I", 0), "clock stands still"),
        (b"stbl", -4, b"free", "cut short or damaged"),
    ],
)  # fmt: skip
def test_damaged_tables_are_refused(kind: bytes, at: int, value: bytes, says: str) -> None:
    with pytest.raises(BadVideoError, match=says):
        iso_timeline(patched(clip_bytes(20), kind, at, value))


def test_a_table_of_millions_of_frames_costs_nothing() -> None:
    # One entry of a few bytes may speak of 2^32 frames.
    bomb = patched(clip_bytes(20), b"stsz", 4, struct.pack(">II", 1, 0xFFFFFFF0))
    with pytest.raises(BadVideoError, match=f"{MAX_FRAMES:,} are allowed"):
        iso_timeline(bomb)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_clip_that_is_cut_short_is_refused(share: float) -> None:
    data = clip_bytes(20, options=(("movflags", "faststart"),))
    with pytest.raises(BadVideoError):
        iso_timeline(data[: int(len(data) * share)])
