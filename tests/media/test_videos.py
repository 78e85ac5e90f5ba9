"""Videos: what their containers say, without decoding a picture."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from video_examples import avi, box, fragmented, large_box, matroska, mp4, track

from harness.benchmarks.base import Case
from harness.benchmarks.case_files import Fields, Reader
from harness.benchmarks.case_loading import CaseForm, CheckedLines
from harness.cache.store import Store
from harness.canonical import JSON
from harness.errors import MediaChangedError, MediaError, MediaLimitError
from harness.media import Media, duration_of, load, probe
from harness.media_limits import check_video
from harness.media_reading import MediaReader, Note
from harness.settings import VideoLimits
from harness.snapshot import decode_case, encode_case
from harness.video_structure import BadVideoError, read_video, sniff_video

SOUND = {
    "mp4": (mp4(), "video/mp4", (64, 48), 2.0),
    "mp4, index first": (mp4(index_first=True, pictures=bytes(500)), "video/mp4", (64, 48), 2.0),
    "mp4, 64-bit times": (mp4(long=True, units=1 << 33, scale=1 << 30), "video/mp4", (64, 48), 8.0),
    "mp4, in fragments": (fragmented(1800), "video/mp4", (64, 48), 3.0),
    "mp4, of unknown length": (mp4(units=0), "video/mp4", (64, 48), None),
    "mp4, large box": (mp4() + large_box(b"free", b"x"), "video/mp4", (64, 48), 2.0),
    "mov": (mp4(brand=b"qt  "), "video/quicktime", (64, 48), 2.0),
    "mov without a type": (mp4()[20:], "video/quicktime", (64, 48), 2.0),
    "3gp": (mp4(brand=b"3gp5"), "video/3gpp", (64, 48), 2.0),
    "webm": (matroska(), "video/webm", (320, 240), 3.0),
    "webm, live": (matroska(unknown=True), "video/webm", (320, 240), 3.0),
    "mkv": (matroska(b"matroska"), "video/x-matroska", (320, 240), 3.0),
    "avi": (avi(), "video/x-msvideo", (32, 24), 2.0),
}


def written(tmp_path: Path, data: bytes, name: str = "clip.mp4") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", SOUND)
def test_a_container_tells_type_size_and_length(tmp_path: Path, name: str) -> None:
    data, mime, size, seconds = SOUND[name]
    path = written(tmp_path, data, "clip.bin")
    found = probe(path)
    assert (found.mime, (found.width, found.height), found.size) == (mime, size, len(data))
    assert (found.duration_s, duration_of(path)) == (seconds, seconds)
    assert (found.sha256, found.kind) == (hashlib.sha256(data).hexdigest(), "video")
    assert load(found, "original") == data


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_file_that_is_cut_is_refused_or_says_no_more_than_before(
    tmp_path: Path, name: str, share: float
) -> None:  # F16
    data = SOUND[name][0]
    path = written(tmp_path, data[: int(len(data) * share)])
    if name in ("webm, live", "mp4, in fragments", "mp4, large box") and share > 0.9:
        return  # whatever their last part is, these have no place that says how long they are
    with pytest.raises(MediaError, match=r"cannot use|no image that can be sent"):
        probe(path)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (mp4(tracks=track(b"soun")), "it has no video track"),
        (box(b"ftyp", b"isom", bytes(4)) + box(b"mdat", b"x"), "no index"),
        (box(b"ftyp", b"isom", bytes(4)) + box(b"moov", b""), "holds no pictures"),
        (matroska(video=False), "it has no video track"),
        (b"\x1aE\xdf\xa3" + bytes(40), "damaged|cut short|no segment"),
        (avi()[:-9], "the AVI is cut short"),
    ],
)
def test_what_is_no_sound_video_is_refused_with_the_reason(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(MediaError, match=says) as caught:
        probe(written(tmp_path, data))
    assert "video '" in str(caught.value) and "; replace the file" in str(caught.value)


@pytest.mark.parametrize("brand", [b"heic", b"avif", b"mif1"])
def test_a_still_image_in_the_same_boxes_is_no_video(tmp_path: Path, brand: bytes) -> None:
    with pytest.raises(MediaError, match="a HEIC, AVIF or video file"):
        probe(written(tmp_path, mp4(brand=brand)))


@given(data=st.binary(max_size=300), at=st.integers(0, 400), name=st.sampled_from(sorted(SOUND)))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes, at: int, name: str) -> None:
    sound = SOUND[name][0]
    for mixed in (sound[:12] + data, sound[:at] + data + sound[at + len(data) :]):
        assert sniff_video(mixed) is None or isinstance(sniff_video(mixed), str)
        try:
            found = read_video(mixed)
        except BadVideoError as refused:
            assert str(refused)
        else:
            assert found.duration_s is None or found.duration_s > 0


def test_a_video_that_changed_is_never_sent(tmp_path: Path) -> None:  # F4
    path = written(tmp_path, mp4())
    found = probe(path)
    path.write_bytes(mp4(pictures=b"others"))
    with pytest.raises(MediaChangedError, match=r"video '.*clip.mp4' has changed since it was read"):
        load(found, "original")


@pytest.mark.parametrize("recipe", ["png", "fit:max_side=10"])
def test_no_recipe_changes_a_video(tmp_path: Path, recipe: str) -> None:
    with pytest.raises(MediaError, match="this is a video"):
        load(probe(written(tmp_path, mp4())), recipe)


def test_a_video_beyond_a_model_is_named_with_the_limit() -> None:
    clip = Media("1" * 64, "video/x-matroska", 2000, 8, 8, Path("a.mkv"))
    check_video(clip, VideoLimits(), "model 'm'")
    check_video(clip, VideoLimits(max_bytes=2000, mime=("video/x-matroska",)), "model 'm'")
    with pytest.raises(MediaLimitError, match=r"video 'a.mkv' has 2,000 bytes, model 'm' takes 1,999") as one:
        check_video(clip, VideoLimits(max_bytes=1999), "model 'm'")
    with pytest.raises(MediaLimitError, match=r"is video/x-matroska, model 'm' takes video/mp4") as two:
        check_video(clip, VideoLimits(mime=("video/mp4",)), "model 'm'")
    assert (one.value.limit, two.value.limit) == ("video.max_bytes", "video.mime")


# In case files, snapshots and the store.


def clips_of(value: JSON) -> list[str]:
    assert isinstance(value, dict)
    return [str(value["image"]), str(value["video"])]


FORM = CaseForm(
    Fields(("id", "image", "video")),
    lambda value: iter(()),
    clips_of,
    lambda value, media: Case(
        str(value["id"]),
        {},
        {"all": tuple(one for one in media if isinstance(one, Media))},
        {},
        problem="; ".join(str(one) for one in media if isinstance(one, MediaError)) or None,
    ),
    kinds=lambda value: ["image", "video"],
)


def loaded(folder: Path, reader: MediaReader, form: CaseForm = FORM) -> Case:
    line = {"id": "a", "image": "a.png", "video": "a.mp4"}
    (folder / "cases.jsonl").write_text(json.dumps(line), encoding="utf-8")
    lines = CheckedLines(form)
    lines.read(Reader(folder))
    return lines.cases(folder, reader)[0]


def test_a_case_with_the_wrong_kind_of_file_is_a_case_error(tmp_path: Path) -> None:  # F16
    written(tmp_path, mp4(), "a.png")
    written(tmp_path, mp4(units=600), "a.mp4")
    problem = loaded(tmp_path, MediaReader()).problem
    assert problem == "'a.png' is video/mp4, and the case wants an image here; correct the case"
    images_only = loaded(tmp_path, MediaReader(), replace(FORM, kinds=None)).problem
    assert images_only is not None and "'a.mp4' is video/mp4" in images_only


async def test_a_video_that_the_store_knows_is_the_same_video(tmp_path: Path) -> None:
    path = written(tmp_path, mp4(), "a.mp4")
    async with await Store.open(f"sqlite+aiosqlite:///{tmp_path / 's.sqlite3'}") as store:
        with MediaReader(clock=lambda: 1 << 52) as reader:
            (note,) = reader.read([(path, "a.mp4")])
        assert isinstance(note, Note)
        await store.remember([note])
        remembered = await store.remembered({path: note.stamp})
    with MediaReader(lambda stamps: remembered) as reader:
        (known,) = reader.read([(path, "a.mp4")])
    assert isinstance(known, Media)
    assert (reader.counts.known, reader.counts.read) == (1, 0)
    assert known == note.media and known.duration_s == note.media.duration_s == 2.0


def test_a_snapshot_holds_a_video_as_it_holds_an_image() -> None:
    clip = Media("1" * 64, "video/mp4", 10, 8, 6, duration_s=2.0)
    case = Case("a", {}, {"clip": (clip,)}, {})
    assert b"duration" not in encode_case(case), "what an older program would not know"
    assert decode_case(encode_case(case)) == case
