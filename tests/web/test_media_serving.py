"""Media of cases are served as what they are, only while they are that, and nothing else ever is."""

from __future__ import annotations

import asyncio
import os
import struct
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from clip_examples import index_in, written_clip
from media_site import AS_IMAGE, AS_PAGE, case_with, media_site, opened, passed_off, saved
from PIL import Image

import harness.web.media.serving as serving
import harness.web.media.sound_files as sound_files
import harness.web.media.thumbnails as thumbnails
from harness.errors import StoreError
from harness.frames.clip_frames import keep_frames_in
from harness.media import Media, load, probe
from harness.web.media.serving import byte_range

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
BOX = {"roi": "10,5,20,15"}


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no picture, frame or fingerprint of another test's file."""
    monkeypatch.setattr(thumbnails, "_made", thumbnails._Made())
    monkeypatch.setattr(sound_files, "_known", sound_files._Known())
    keep_frames_in(None)


def words(response: httpx.Response) -> str:
    """Return what a response says that shows nothing; its status is that of what is not there."""
    assert response.status_code == 404
    assert response.headers["cache-control"] == "no-store"
    return response.text


async def only(folder: Path, media: Media, **asked: Any) -> httpx.Response:
    """Return the response to one request for the only medium of the only case."""
    async with media_site(folder, case_with(media)) as site:
        return await asyncio.wait_for(site.get(**asked), 30)


async def test_forms_are_small_large_and_whole(tmp_path: Path) -> None:
    media = saved(tmp_path, size=(4_000, 2_000))
    async with media_site(tmp_path, case_with(media)) as site:
        thumb, screen, whole = [await site.get(form=form) for form in ("thumb", "screen", "whole")]
        assert opened(thumb).size == (320, 160)
        assert opened(screen).size == (1_600, 800)
        assert [one.headers["content-type"] for one in (thumb, screen, whole)] == [
            "image/jpeg", "image/jpeg", "image/png",
        ]  # fmt: skip
        assert media.path is not None
        assert whole.content == media.path.read_bytes()
        assert (await site.get()).content == screen.content


async def test_headers_close_a_medium_and_name_nothing(tmp_path: Path) -> None:
    response = await only(tmp_path, saved(tmp_path, "Mrs Doe 1951.png"), form="whole")
    headers = response.headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"] == 'inline; filename="medium.png"'
    assert "sandbox" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "private, max-age=3600"
    assert "Doe" not in str(headers)


async def test_a_browser_that_has_a_picture_is_told_so(tmp_path: Path) -> None:
    media = saved(tmp_path)
    async with media_site(tmp_path, case_with(media)) as site:
        tag = (await site.get(form="thumb")).headers["etag"]
        again = await site.get(form="thumb", headers={**AS_IMAGE, "if-none-match": f'"x", W/{tag}'})
        assert (again.status_code, again.content) == (304, b"")
        other = await site.get(form="screen", headers={**AS_IMAGE, "if-none-match": tag})
        assert other.status_code == 200


async def test_an_image_turned_by_exif_stands_upright_in_small(tmp_path: Path) -> None:
    path = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("L", (40, 20), 90).save(path, exif=exif)
    assert opened(await only(tmp_path, probe(path), form="thumb")).size == (20, 40)


@pytest.mark.parametrize(
    ("name", "mode", "how"),
    [
        ("a.tif", "RGB", {}),
        ("a.bmp", "L", {}),
        ("a.png", "I;16", {}),
        ("b.tif", "I;16", {"compression": "tiff_lzw"}),
    ],
)
async def test_what_browsers_lack_is_shown_as_a_model_gets_it(
    tmp_path: Path, name: str, mode: str, how: dict[str, Any]
) -> None:
    media = saved(tmp_path, name, mode=mode, **how)
    whole = await only(tmp_path, media, form="whole")
    assert whole.headers["content-type"] == "image/png"
    assert whole.content == load(media, "png")
    assert opened(whole).mode in ("L", "RGB")


async def test_the_box_of_a_case_is_drawn_when_asked_for_and_only_then(tmp_path: Path) -> None:
    media = saved(tmp_path, mode="L")
    async with media_site(tmp_path, case_with(media, fields=BOX)) as site:
        marked, plain = [
            np.asarray(opened(await site.get(form=form)).convert("RGB")).astype(int)
            for form in ("marked", "screen")
        ]
    green = (marked[..., 1] - marked[..., 0] > 100) & (marked[..., 1] - marked[..., 2] > 100)
    rows, columns = np.nonzero(green)
    assert (columns.min(), rows.min(), columns.max(), rows.max()) == (10, 5, 19, 14)
    assert (plain[..., 0] == plain[..., 1]).all()


TRICKS: list[dict[str, Any]] = [
    {"role": "../../../../etc/passwd"}, {"role": "/etc/passwd"}, {"case": "../a"}, {"case": "/etc/passwd"},
    {"n": -1}, {"n": 1}, {"n": "0/../1"}, {"n": "9" * 30}, {"n": "\u0660"}, {"role": "IMAGE"},
    {"role": "image\0"}, {"case": "a\0"}, {"case": "\ud800"},
]  # fmt: skip


async def test_no_file_beside_the_media_of_the_case_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("secret")
    async with media_site(tmp_path, case_with(saved(tmp_path))) as site:
        assert (await site.get()).status_code == 200
        for trick in TRICKS:
            response = await site.get(headers=AS_PAGE, **trick)
            assert words(response) == "not shown: there is no such medium of a case\n", trick


async def test_a_store_that_cannot_be_read_is_not_told_as_a_medium_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise StoreError("the store is damaged")

    async with media_site(tmp_path, case_with(saved(tmp_path))) as site:
        monkeypatch.setattr(site.library, "stored", broken)
        found = await site.get(headers=AS_PAGE)
        assert (found.status_code, found.text) == (500, "not shown: the store is damaged\n")


async def test_a_question_that_names_no_medium_is_answered_in_words(tmp_path: Path) -> None:
    async with media_site(tmp_path, case_with(saved(tmp_path))) as site:
        for query in ("", "?run=test-run", "?run=nobody&case=a&role=image&n=0", "?path=/etc/passwd"):
            found = await site.client.get(f"/media/file{query}", headers=AS_PAGE)
            assert words(found) == "not shown: there is no such medium of a case\n"
        for path in ("/media/file/../../etc/passwd", "/media/%2e%2e/etc/passwd", "/media/"):
            assert (await site.client.get(path)).status_code == 404


@pytest.mark.parametrize(
    "asked", [{"form": "original"}, {"form": "thumb", "frame": "-1"}, {"frame": "1e3"}, {"frame": "\u0663"}]
)
async def test_an_unknown_form_is_answered_in_words(tmp_path: Path, asked: dict[str, Any]) -> None:
    response = await only(tmp_path, saved(tmp_path), headers=AS_PAGE, **asked)
    assert words(response) == "not shown: there is no such form of this medium\n"


def gone(path: Path, secret: Path) -> None:
    path.unlink()


def changed(path: Path, secret: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def swapped(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def a_folder(path: Path, secret: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path, secret: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_device(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def a_loop(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def emptied(path: Path, secret: Path) -> None:
    path.write_bytes(b"")


HAPPENINGS = {
    gone: "the file is no longer where the run read it",
    changed: "its bytes are no longer those that were asked about",
    swapped: "its bytes are no longer those that were asked about",
    a_folder: "what lies there now is no regular file",
    a_pipe: "what lies there now is no regular file",
    a_device: "what lies there now is no regular file",
    a_loop: "the file cannot be opened (Too many levels of symbolic links)",
    emptied: "its bytes are no longer those that were asked about",
}


@pytest.mark.parametrize("happen", HAPPENINGS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("kind", ["image", "clip"])
async def test_what_happened_to_a_file_since_the_run_ends_in_words(
    tmp_path: Path, happen: Any, kind: str
) -> None:
    secret = tmp_path / "secret.png"
    Image.new("L", (9, 9)).save(secret)
    media = saved(tmp_path) if kind == "image" else probe(written_clip(tmp_path))
    assert media.path is not None
    forms: list[dict[str, Any]] = [{"form": "thumb"}, {"form": "whole"}]
    if kind == "clip":
        forms = [{}, {"form": "thumb", "frame": 0}]
    async with media_site(tmp_path, case_with(media)) as site:
        happen(media.path, secret)
        for form in forms:
            response = await asyncio.wait_for(site.get(headers=AS_PAGE, **form), 30)
            assert HAPPENINGS[happen] in words(response)
            assert str(tmp_path) not in response.text
            assert response.headers["content-type"].startswith("text/plain")


async def test_a_medium_whose_place_nobody_noted_says_so(tmp_path: Path) -> None:
    media = saved(tmp_path)
    async with media_site(tmp_path, case_with(media), notes=[]) as site:
        assert "the file was not found where the run read it" in words(await site.get(headers=AS_PAGE))


async def test_of_several_places_the_one_that_still_holds_it_is_taken(tmp_path: Path) -> None:
    media = saved(tmp_path, "b.png")
    assert media.path is not None
    (tmp_path / "a.png").write_bytes(media.path.read_bytes())
    notes = [media, replace(media, path=tmp_path / "a.png")]
    async with media_site(tmp_path, case_with(media), notes=notes) as site:
        (tmp_path / "a.png").write_bytes(b"something else")
        assert (await site.get(form="whole")).content == media.path.read_bytes()


async def test_a_copy_put_back_in_place_is_shown_although_its_times_are_others(tmp_path: Path) -> None:
    media = saved(tmp_path)
    assert media.path is not None
    async with media_site(tmp_path, case_with(media)) as site:
        data = media.path.read_bytes()
        media.path.unlink()
        media.path.write_bytes(data)
        os.utime(media.path, (1, 1))
        assert (await site.get(form="whole")).content == data


def bomb() -> bytes:
    """A PNG of 60,000 x 60,000 pixels in a few bytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 1, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(7_501) * 100)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


HTML = b"<!doctype html><script>alert(1)</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


NO_IMAGES = [
    (HTML, "image/png"), (SVG, "image/svg+xml"), (SVG, "image/png"), (b"", "image/png"), (HTML, "text/html"),
    (b"\x89PNG\r\n\x1a\n" + HTML, "image/png"), (b"GIF89a" + HTML, "image/gif"), (b"%PDF-1.7", "image/jpeg"),
]  # fmt: skip


async def test_bytes_that_are_no_image_are_never_sent_whatever_the_store_calls_them(tmp_path: Path) -> None:
    media = [passed_off(tmp_path, str(n), data, mime) for n, (data, mime) in enumerate(NO_IMAGES)]
    async with media_site(tmp_path, case_with(*media)) as site:
        for n in range(len(media)):
            for form in ("thumb", "screen", "whole", "marked"):
                assert "script" not in words(await site.get(n=n, form=form, headers=AS_PAGE))


@pytest.mark.parametrize("data", [HTML, SVG, b"", b"\0\0\0\x18ftypheic" + HTML])
async def test_bytes_that_are_no_clip_are_never_sent_whatever_the_store_calls_them(
    tmp_path: Path, data: bytes
) -> None:
    media = passed_off(tmp_path, "a.mp4", data, "video/mp4")
    for asked in ({}, {"frame": 0}):
        async with media_site(tmp_path / str(len(asked)), case_with(media)) as site:
            assert "script" not in words(await site.get(headers=AS_PAGE, **asked))


@pytest.mark.parametrize("form", ["thumb", "screen", "marked"])
async def test_a_decompression_bomb_is_not_decoded(tmp_path: Path, form: str) -> None:
    begun = time.process_time()
    response = await only(
        tmp_path, passed_off(tmp_path, "a.png", bomb(), "image/png"), form=form, headers=AS_PAGE
    )
    assert "3,600,000,000 pixels, 89,478,485 are decoded at most" in words(response)
    assert time.process_time() - begun < 5


async def test_an_image_that_is_too_large_to_read_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "MAX_IMAGE_BYTES", 1_000)
    response = await only(tmp_path, saved(tmp_path, size=(400, 300)), headers=AS_PAGE)
    assert "1,000 are shown at most" in words(response)


async def test_an_image_of_20_mb_is_small_at_first_and_whole_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "noise.png"
    grey = np.random.default_rng(1).integers(0, 256, (4_600, 4_600), dtype=np.uint8)
    Image.fromarray(grey).save(path, compress_level=0)
    media = probe(path)
    assert media.size > 20_000_000
    async with media_site(tmp_path, case_with(media)) as site:
        thumb = await site.get(form="thumb")
        assert len(thumb.content) < 100_000
        assert len((await site.get(form="whole")).content) == media.size


async def test_a_damaged_picture_ends_in_words(tmp_path: Path) -> None:
    media = saved(tmp_path, "a.jpg", size=(400, 300))
    assert media.path is not None
    data = bytearray(media.path.read_bytes())
    data[200:260] = b"\xff\xc4" * 30
    response = await only(tmp_path, passed_off(tmp_path, "b.jpg", bytes(data), "image/jpeg"), headers=AS_PAGE)
    assert words(response).startswith("not shown: ")


async def test_where_a_picture_is_awaited_the_words_are_a_picture(tmp_path: Path) -> None:
    response = await only(tmp_path, passed_off(tmp_path, "a.png", HTML, "image/png"), form="thumb")
    assert response.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in response.headers["content-security-policy"]
    assert words(response).startswith("<svg ")
    assert "not shown: the file is no image" in response.text
    assert "<script" not in response.text


def test_words_in_a_picture_are_escaped_and_wrapped() -> None:
    drawn = serving._drawn('<script>alert("1")</script> & ' + "word " * 40)
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn
    assert drawn.count("<text ") == 8


async def test_a_picture_once_made_is_kept_and_a_changed_file_makes_no_other(tmp_path: Path) -> None:
    media = saved(tmp_path, size=(333, 222))
    assert media.path is not None
    async with media_site(tmp_path, case_with(media)) as site:
        before = await site.get(form="thumb")
        Image.new("RGB", (333, 222), "red").save(media.path)
        assert (await site.get(form="thumb")).content == before.content
        assert (await site.get(form="screen", headers=AS_PAGE)).status_code == 404


def test_kept_pictures_stay_below_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnails, "CACHE_BYTES", 1_000)
    kept = thumbnails._Made()
    for number in range(100):
        kept.put((str(number), "thumb", None, None), thumbnails.Picture(bytes(90), "image/jpeg"))
    kept.put(("large", "thumb", None, None), thumbnails.Picture(bytes(126), "image/jpeg"))
    there = [number for number in range(100) if kept.get((str(number), "thumb", None, None))]
    assert there == [*range(89, 100)]
    assert kept.get(("large", "thumb", None, None)) is None


async def test_a_file_is_read_anew_only_when_its_fingerprint_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = sound_files._check
    monkeypatch.setattr(sound_files, "RACY_NS", 0)
    monkeypatch.setattr(
        sound_files, "_check", lambda file, media: (read.append(media.sha256), real(file, media))
    )
    media = probe(written_clip(tmp_path))
    async with media_site(tmp_path, case_with(media)) as site:
        for _ in range(5):
            assert (await site.get()).status_code == 200
        assert len(read) == 1
        assert media.path is not None
        os.utime(media.path)
        assert (await site.get()).status_code == 200
        assert len(read) == 2


async def test_a_file_that_changed_a_moment_ago_is_read_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sound_files, "RACY_NS", 10**15)
    media = probe(written_clip(tmp_path))
    async with media_site(tmp_path, case_with(media)) as site:
        assert (await site.get()).status_code == 200
        stamp = sound_files._stamp(os.open(tmp_path / "clip.mp4", os.O_RDONLY))
        assert sound_files._known.get(stamp) is None


async def test_pictures_are_made_off_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    real = thumbnails.convert
    monkeypatch.setattr(
        thumbnails, "convert", lambda *args: (threads.append(threading.current_thread().name), real(*args))[1]
    )
    await only(tmp_path, saved(tmp_path, size=(51, 52)), form="thumb")
    (name,) = threads
    assert name.startswith("media")


async def test_a_picture_that_takes_long_is_promised_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_PATIENCE_S", 0.01)
    held = threading.Event()
    monkeypatch.setattr(serving, "picture", lambda *args, **named: held.wait(20))
    try:
        response = await only(tmp_path, saved(tmp_path), headers=AS_PAGE)
    finally:
        held.set()
    assert (response.status_code, response.text) == (
        503, "not shown: this picture takes long to make; ask again in a minute\n"
    )  # fmt: skip


@pytest.mark.skipif(not DATA.is_dir(), reason="real images are not at hand")
@pytest.mark.parametrize(
    "name", ["opg-brp-post-surgery.jpg", "cxr-nih-00000001_000.png", "pathology-ihc.png"]
)
async def test_real_images_are_shown(tmp_path: Path, name: str) -> None:
    media = probe(DATA / name)
    async with media_site(tmp_path, case_with(media)) as site:
        assert max(opened(await site.get(form="thumb")).size) == 320
        assert (await site.get(form="whole")).content == (DATA / name).read_bytes()


# Clips


@pytest.fixture
def clip(tmp_path: Path) -> Media:
    return probe(written_clip(tmp_path, frames=20))


async def test_a_clip_is_sent_whole_or_by_the_range_that_is_asked_for(tmp_path: Path, clip: Media) -> None:
    assert clip.path is not None
    data, size = clip.path.read_bytes(), clip.size
    asked = {
        None: (200, data, None),
        "bytes=0-0": (206, data[:1], f"bytes 0-0/{size}"),
        "bytes=10-19": (206, data[10:20], f"bytes 10-19/{size}"),
        "bytes=10-": (206, data[10:], f"bytes 10-{size - 1}/{size}"),
        "bytes=-5": (206, data[-5:], f"bytes {size - 5}-{size - 1}/{size}"),
        f"bytes=0-{size * 2}": (206, data, f"bytes 0-{size - 1}/{size}"),
        "bytes=-999999999": (206, data, f"bytes 0-{size - 1}/{size}"),
        f"bytes={size}-": (416, None, f"bytes */{size}"),
        "bytes=-0": (416, None, f"bytes */{size}"),
        "bytes=0-1,4-5": (416, None, f"bytes */{size}"),
        "bytes=9-2": (200, data, None),
        "bytes=x-y": (200, data, None),
        "bytes=" + "9" * 5_000 + "-": (200, data, None),
        "lines=1-2": (200, data, None),
    }
    async with media_site(tmp_path, case_with(clip)) as site:
        for header, (status, content, span) in asked.items():
            found = await site.get(headers={} if header is None else {"range": header})
            assert found.status_code == status, header
            assert found.headers.get("content-range") == span
            if content is not None:
                assert found.content == content, header
                assert found.headers["content-length"] == str(len(content))
                assert found.headers["accept-ranges"] == "bytes"
                assert found.headers["content-type"] == "video/mp4"


async def test_a_range_of_another_version_of_the_file_is_the_whole_file(tmp_path: Path, clip: Media) -> None:
    async with media_site(tmp_path, case_with(clip)) as site:
        tag = (await site.get()).headers["etag"]
        same = await site.get(headers={"range": "bytes=0-3", "if-range": tag})
        other = await site.get(headers={"range": "bytes=0-3", "if-range": '"another"'})
        assert (same.status_code, other.status_code) == (206, 200)


async def test_head_tells_the_length_and_sends_nothing(tmp_path: Path, clip: Media) -> None:
    async with media_site(tmp_path, case_with(clip)) as site:
        found = await site.client.head("/media/file?run=test-run&case=a&role=image&n=0")
        assert (found.status_code, found.headers["content-length"], found.content) == (
            200,
            str(clip.size),
            b"",
        )


def by_the_standard(header: str, size: int) -> tuple[int, int] | None:
    """Return a range as RFC 9110 words it, by trying every byte."""
    first, _, last = header.removeprefix("bytes=").partition("-")
    if not first:
        chosen = [*range(size)][-int(last) :] if int(last) else []
    elif last and int(last) < int(first):
        return None
    else:
        chosen = [at for at in range(size) if at >= int(first) and (not last or at <= int(last))]
    return (chosen[0], chosen[-1] + 1) if chosen else (0, 0)


def test_every_range_of_a_small_file_is_that_of_the_standard() -> None:
    ends = ["", *map(str, range(8))]
    for size in range(6):
        for first in ends:
            for last in ends:
                if first or last:
                    found = byte_range(f"bytes={first}-{last}", size)
                    expected = by_the_standard(f"bytes={first}-{last}", size)
                    if found is not None and found[0] >= found[1]:
                        found = (0, 0)
                    assert found == expected, (first, last, size)


async def test_a_clip_that_changes_while_it_is_sent_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_PIECE", 64)
    media = probe(written_clip(tmp_path))
    path = media.path
    assert path is not None
    data = path.read_bytes()
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if len(sent) == 4:
            path.write_bytes(bytes(len(data)))

    async def receive() -> Any:
        await asyncio.Event().wait()

    response = serving._FileResponse(media, (0, media.size), 200, {}, "video/mp4")
    await asyncio.wait_for(response({"type": "http"}, receive, send), 30)
    assert data.startswith(b"".join(sent))
    assert 64 <= len(b"".join(sent)) < 64 * 6


async def test_a_clip_is_no_longer_read_when_the_browser_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_PIECE", 64)
    media = probe(written_clip(tmp_path))
    sent: list[Any] = []
    leave = asyncio.Event()

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 3:
            leave.set()
            await asyncio.sleep(0)

    async def receive() -> Any:
        await leave.wait()
        return {"type": "http.disconnect"}

    response = serving._FileResponse(media, (0, media.size), 200, {}, "video/mp4")
    await asyncio.wait_for(response({"type": "http"}, receive, send), 30)
    assert len(sent) < 8


async def test_frames_of_a_clip_are_those_of_their_index(tmp_path: Path, clip: Media) -> None:
    async with media_site(tmp_path, case_with(clip)) as site:
        for index in (0, 7, 19):
            whole = await site.get(frame=index, form="whole")
            assert index_in(whole.content) == index
            assert whole.content == load(clip, f"frame:index={index}")
        thumb = await site.get(frame=3, form="thumb")
        assert opened(thumb).size == (96, 64)
        assert "20 frames, and no frame 20" in words(await site.get(frame=20, headers=AS_PAGE))


async def test_without_pyav_a_frame_says_what_is_missing_and_the_clip_is_sent(
    tmp_path: Path, clip: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "is_installed", lambda: False)
    async with media_site(tmp_path, case_with(clip)) as site:
        told = words(await site.get(frame=11, headers=AS_PAGE))
        assert "PyAV, which is not installed; pip install 'mllm-harness[video]'" in told
        assert (await site.get()).status_code == 200
