"""What a file is, by its bytes; what is refused, and why it says so."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.errors import MediaError
from harness.media import MAX_PIXELS, Media, probe

PHOTO = Image.radial_gradient("L").resize((64, 48)).convert("RGB")


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    target = io.BytesIO()
    image.save(target, format=kind, **options)
    return target.getvalue()


def file(tmp_path: Path, data: bytes, name: str = "a.png") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


@pytest.mark.parametrize(
    ("kind", "mime"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("WEBP", "image/webp"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
    ],
)
def test_the_type_comes_from_the_bytes_and_not_from_the_name(
    tmp_path: Path, kind: str, mime: str
) -> None:  # F17
    data = saved(PHOTO, kind)
    path = file(tmp_path, data, "a.png")
    assert probe(path) == Media(hashlib.sha256(data).hexdigest(), mime, len(data), 64, 48, path)


@pytest.mark.parametrize("options", [{"lossless": True}, {"exif": b"Exif\0\0"}, {}])
def test_all_three_forms_of_webp_are_read(tmp_path: Path, options: dict[str, Any]) -> None:
    found = probe(file(tmp_path, saved(PHOTO.convert("RGBA") if options else PHOTO, "WEBP", **options)))
    assert (found.width, found.height) == (64, 48)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_png_mode_is_read(tmp_path: Path, mode: str) -> None:
    assert probe(file(tmp_path, saved(Image.new(mode, (7, 5)), "PNG"))).width == 7


@pytest.mark.parametrize(
    "options", [{"progressive": True}, {"exif": b"Exif\0\0" + b"\xff\xd9" * 9}, {"quality": 1}]
)
def test_jpeg_forms_are_read(tmp_path: Path, options: dict[str, Any]) -> None:
    assert probe(file(tmp_path, saved(PHOTO, "JPEG", **options))).height == 48


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, -1])
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, kind: str, share: float) -> None:  # F16
    data = saved(PHOTO, kind)
    path = file(tmp_path, data[: int(share * len(data)) if share > 0 else -1])
    if kind == "TIFF" and share == -1:
        pytest.skip("the last byte of a TIFF belongs to nothing that is read")
    why = "cut short" if kind == "PNG" else ""
    with pytest.raises(MediaError, match=rf"cannot use image '.*a.png': .*{why}"):
        probe(path)


def test_a_cut_jpeg_with_a_thumbnail_is_not_taken_for_whole(tmp_path: Path) -> None:  # F16
    thumbnail = saved(PHOTO.resize((8, 8)), "JPEG")
    data = saved(PHOTO, "JPEG", exif=b"Exif\0\0" + thumbnail)
    with pytest.raises(MediaError, match="its end mark is missing"):
        probe(file(tmp_path, data[:-20]))


def test_what_follows_the_end_mark_does_no_harm(tmp_path: Path) -> None:
    for kind in ("PNG", "JPEG"):
        assert probe(file(tmp_path, saved(PHOTO, kind) + b"\0trailer")).width == 64


def test_a_png_with_a_flipped_bit_is_refused(tmp_path: Path) -> None:
    data = bytearray(saved(PHOTO, "PNG"))
    data[len(data) // 2] ^= 1
    with pytest.raises(MediaError, match="a checksum is wrong"):
        probe(file(tmp_path, bytes(data)))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the file is empty"),
        (b"hello", "no image that can be sent"),
        (b"\0" * 128 + b"DICM", "a DICOM file"),
        (b"%PDF-1.7", "a PDF file"),
        (b"<!DOCTYPE html>", "a web page"),
        (b"\0\0\0\x20ftypheic", "a HEIC, AVIF or video file"),
        (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer"),
        (b"\x89PNG\r\n\x1a\n", "cut short"),
        (b"\xff\xd8\xff\xe0", "cut short"),
        (b"\xff\xd8\xff\xd9", "ends before its pixels"),
        (b"GIF89a", "cut short"),
        (b"BM" + b"\0" * 40, "cannot be decoded"),
        (b"II*\0", "cannot be decoded"),
        (b"RIFF\x04\0\0\0WEBP", "WebP"),
    ],
)
def test_what_is_no_image_is_refused_with_the_reason(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(MediaError, match=says):
        probe(file(tmp_path, data))


@pytest.mark.parametrize(
    ("kind", "options"), [("GIF", {}), ("WEBP", {}), ("TIFF", {}), ("PNG", {"default_image": False})]
)
def test_a_moving_image_is_refused(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    more = [PHOTO.rotate(90), PHOTO.rotate(180)]
    data = saved(PHOTO, kind, save_all=True, append_images=more, **options)
    with pytest.raises(MediaError, match="one still image"):
        probe(file(tmp_path, data))


@pytest.mark.parametrize("kind", [0xC3, 0xC9])
def test_a_jpeg_that_no_model_reads_is_refused(tmp_path: Path, kind: int) -> None:
    data = bytearray(saved(PHOTO, "JPEG"))
    data[data.index(b"\xff\xc0") + 1] = kind
    with pytest.raises(MediaError, match="lossless, arithmetic or 12-bit"):
        probe(file(tmp_path, bytes(data)))


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    side = int(MAX_PIXELS**0.5) + 1
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )
    with pytest.raises(MediaError, match="too many to decode safely"):
        probe(file(tmp_path, data))
    bomb = bytearray(saved(Image.new("1", (8, 8)), "BMP"))
    bomb[18:26] = struct.pack("<ii", side, side)
    with pytest.raises(MediaError, match="too many to decode safely"):
        probe(file(tmp_path, bytes(bomb)))


def test_a_png_of_no_size_is_refused(tmp_path: Path) -> None:
    head = struct.pack(">IIBBBBB", 0, 5, 8, 0, 0, 0, 0)
    with pytest.raises(MediaError, match="header is damaged"):
        probe(file(tmp_path, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")))


def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"file '.*gone.png' does not exist"):
        probe(tmp_path / "gone.png")
    with pytest.raises(MediaError, match="is no regular file"):
        probe(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MediaError, match="is no regular file"):
        probe(tmp_path / "pipe")
    with pytest.raises(MediaError, match="cannot read file"):
        probe(tmp_path / "a\0b")


def test_a_name_may_stand_for_the_path_in_messages(tmp_path: Path) -> None:
    with pytest.raises(MediaError) as caught:
        probe(file(tmp_path, b"x"), name="images/a.png")
    assert str(caught.value).startswith("cannot use image 'images/a.png': ")
    assert str(tmp_path) not in str(caught.value)


def test_the_same_bytes_under_two_names_are_the_same_medium(tmp_path: Path) -> None:  # F4
    data = saved(PHOTO, "PNG")
    assert probe(file(tmp_path, data, "a.png")).sha256 == probe(file(tmp_path, data, "b.jpg")).sha256
