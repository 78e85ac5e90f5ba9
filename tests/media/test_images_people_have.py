"""What becomes of images as people have them: they go as they are, need `convert`, or are told apart.

A case whose image is refused here ends as `case_error` with this sentence.
"""

from __future__ import annotations

import gzip
import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from video_examples import mp4

from harness.errors import MediaError, MediaLimitError
from harness.media import MAX_BYTES, Media, check_box, load, of_kind, probe
from harness.media_limits import choose_recipe
from harness.settings import ImageLimits

PHOTO = Image.radial_gradient("L").resize((64, 48)).convert("RGB")
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
GREY_16 = np.linspace(0, 65535, 64 * 48).astype(np.uint16).reshape(48, 64)
PACKED_BOMB = zlib.compress(bytes(100_000_000))
"""Under 100 kB."""


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    target = io.BytesIO()
    image.save(target, format=kind, **options)
    return target.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    width: int, height: int, pixels: bytes, *more: bytes, depth: int = 8, colour: int = 0, interlace: int = 0
) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    parts = [chunk(b"IHDR", head), *more, chunk(b"IDAT", zlib.compress(pixels)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def interlaced(value: int) -> bytes:
    """Return an Adam7 PNG of 8 x 8 pixels of one grey."""
    passes = ((1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4))
    lines = (b"\0" + bytes([value]) * width for width, rows in passes for _ in range(rows))
    return png(8, 8, b"".join(lines), interlace=1)


def exif(orientation: int = 6) -> Image.Exif:
    found = Image.Exif()
    found[0x0112] = orientation
    return found


def file(tmp_path: Path, data: bytes, name: str = "scan.png") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def chosen(media: Media, wish: str) -> str:
    assert media.path is not None
    return choose_recipe(media, ImageLimits(), media.path, wish).recipe


def sent(media: Media, recipe: str) -> Image.Image:
    image = Image.open(io.BytesIO(load(media, recipe)))
    image.load()
    return image


# As they are.


@pytest.mark.parametrize(
    "data",
    [
        saved(PHOTO, "PNG"),
        saved(PHOTO.convert("1"), "PNG"),
        saved(PHOTO.convert("P"), "PNG", transparency=0),
        saved(PHOTO.convert("P"), "PNG", transparency=bytes(range(256))),
        saved(PHOTO.convert("L"), "PNG", transparency=3),
        interlaced(7),
        saved(PHOTO, "JPEG"),
        saved(PHOTO, "JPEG", progressive=True),
        saved(PHOTO, "JPEG") + bytes(5000),
        saved(PHOTO, "WEBP"),
        saved(PHOTO, "WEBP", lossless=True),
        *(saved(PHOTO, kind, exif=exif()) for kind in ("PNG", "JPEG", "WEBP")),
    ],
)
def test_what_all_models_read_goes_as_it_is_and_can_be_converted(tmp_path: Path, data: bytes) -> None:  # F17
    media = probe(file(tmp_path, data, "misnamed.tiff"))
    assert chosen(media, "original") == chosen(media, "convert") == "original"
    assert load(media, "original") == data
    assert sent(media, "png").mode in ("L", "LA", "RGB", "RGBA")
    assert sent(media, "roi:box=1,1,7,7+fit:max_side=8+jpeg").format == "JPEG"


def test_an_interlaced_png_has_all_its_pixels(tmp_path: Path) -> None:
    media = probe(file(tmp_path, interlaced(7)))
    assert (np.asarray(sent(media, "png")) == 7).all()


# With `convert`.


@pytest.mark.parametrize(
    ("data", "mode"),
    [
        (saved(PHOTO, "BMP"), "RGB"),
        (saved(PHOTO.convert("P"), "BMP"), "RGB"),
        (saved(PHOTO, "GIF"), "RGB"),
        *((saved(PHOTO, "TIFF", compression=how), "RGB") for how in
          ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg")),
        (saved(PHOTO.convert("1"), "TIFF", compression="group4"), "L"),
        (saved(PHOTO, "TIFF", big_tiff=True), "RGB"),
        (saved(Image.fromarray(GREY_16), "PNG"), "L"),
        (saved(Image.fromarray(GREY_16), "TIFF"), "L"),
        (saved(Image.fromarray(GREY_16), "TIFF", compression="tiff_lzw"), "L"),
        (saved(PHOTO.convert("CMYK"), "JPEG"), "RGB"),
        (png(4, 4, (b"\0" + b"\x12\x34\x56\x78\x9a\xbc" * 4) * 4, depth=16, colour=2), "RGB"),
    ],
)  # fmt: skip
def test_what_models_do_not_read_alike_needs_convert(tmp_path: Path, data: bytes, mode: str) -> None:  # F17
    media = probe(file(tmp_path, data))
    with pytest.raises(MediaLimitError, match="choose --image-recipe convert, or leave the model out"):
        chosen(media, "original")
    assert chosen(media, "convert") == "png"
    image = sent(media, "png")
    assert (image.mode, image.size) == (mode, (media.width, media.height))


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate"])
def test_tiff_of_16_bits_keeps_its_upper_8(tmp_path: Path, compression: str) -> None:
    media = probe(file(tmp_path, saved(Image.fromarray(GREY_16), "TIFF", compression=compression)))
    assert (np.asarray(sent(media, "png")) == GREY_16 >> 8).all()


def test_colour_of_16_bits_keeps_its_upper_8(tmp_path: Path) -> None:
    pixels = (b"\0" + b"\x12\x34\x56\x78\x9a\xbc" * 4) * 4
    media = probe(file(tmp_path, png(4, 4, pixels, depth=16, colour=2)))
    assert sent(media, "png").getpixel((1, 1)) == (0x12, 0x56, 0x9A)


def test_the_inks_of_adobes_cmyk_are_stored_inverted(tmp_path: Path) -> None:
    """Adobe's JPEGs (APP14) hold 255 for no ink; read straight, a white film would be black."""
    data = saved(Image.new("CMYK", (16, 16), (0, 0, 0, 0)), "JPEG", quality=95)
    assert b"\xff\xee\x00\x0eAdobe" in data
    assert sent(probe(file(tmp_path, data)), "png").getpixel((8, 8)) == (255, 255, 255)


@pytest.mark.parametrize("big_endian", [False, True])
def test_grey_of_16_bits_that_is_stored_inverted_is_no_negative(tmp_path: Path, big_endian: bool) -> None:
    """PhotometricInterpretation 0 (TIFF 6.0, section 4): 0 is white. Pillow heeds it up to 8 bits only."""
    data = saved(Image.fromarray(GREY_16), "TIFF", tiffinfo={262: 0})
    says = "it cannot be decoded" if big_endian else "its 16-bit grey is stored inverted .WhiteIsZero."
    with pytest.raises(MediaError, match=f"image 'scan.png': {says}"):
        probe(file(tmp_path, _big_endian(data) if big_endian else data), name="scan.png")


def test_grey_of_8_bits_that_is_stored_inverted_is_turned_around(tmp_path: Path) -> None:
    data = saved(Image.new("L", (8, 8), 200), "TIFF", tiffinfo={262: 0})
    assert bytes([55] * 64) in data
    assert sent(probe(file(tmp_path, data)), "png").getpixel((3, 3)) == 200


def _big_endian(data: bytes) -> bytes:
    """Return a classic TIFF with the order of its bytes turned around, for short tags alone."""
    start = struct.unpack("<I", data[4:8])[0]
    count = struct.unpack("<H", data[start : start + 2])[0]
    out = bytearray(b"MM\0*" + struct.pack(">I", start) + data[8:])
    out[start : start + 2] = struct.pack(">H", count)
    for number in range(count):
        at = start + 2 + 12 * number
        tag, kind, n, value = struct.unpack("<HHII", data[at : at + 12])
        packed = struct.pack(">HH", value, 0) if kind == 3 and n == 1 else struct.pack(">I", value)
        out[at : at + 12] = struct.pack(">HHI", tag, kind, n) + packed
    return bytes(out)


# Not at all.


def nifti(order: str = "<") -> bytes:
    return struct.pack(f"{order}i", 348) + bytes(340) + b"n+1\0" + bytes(100)


TWO: dict[str, Any] = {"save_all": True, "append_images": [PHOTO.rotate(90)]}
BY_CONVERT = "make an image of it by `harness data convert`"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the file is empty; replace the file"),
        (bytes(128) + b"DICM" + b"\2\0\0\0UL", f"it is a DICOM file; {BY_CONVERT}"),
        (b"II*\0" + bytes(124) + b"DICM", f"it is a DICOM file; {BY_CONVERT}"),
        (b"\x08\0\x05\0CS\x0a\0ISO_IR 100", f"it is a DICOM file without its preamble; {BY_CONVERT}"),
        (b"\x08\0\x05\0\x0a\0\0\0ISO_IR 100", f"it is a DICOM file without its preamble; {BY_CONVERT}"),
        (nifti(), f"it is a NIfTI volume; {BY_CONVERT}"),
        (nifti(">"), f"it is a NIfTI volume; {BY_CONVERT}"),
        (struct.pack("<i", 540) + b"n+2\0\r\n\x1a\n" + bytes(600), f"it is a NIfTI volume; {BY_CONVERT}"),
        (gzip.compress(nifti(), mtime=0), f"it is a NIfTI volume; {BY_CONVERT}"),
        (gzip.compress(b"what else", mtime=0), "it is a gzip file; unpack it"),
        (b"\x1f\x8bcut", "it is a gzip file; unpack it"),
        (b"PK\x03\x04", "it is a zip file; unpack it"),
        (b"<!doctype html><html>", "it is a web page; download the file again"),
        (b"\xef\xbb\xbf\r\n  <HTML lang='zh'>", "it is a web page; download the file again"),
        (b"<?xml version='1.0'?><Error><Code>NoSuchKey", "it is an XML text; download the file again"),
        (b"<?xml version='1.0'?>\n<svg xmlns='x'>", "it is an SVG file; convert it to PNG"),
        (b'{"error": "not found"}', "it is text, and no image that can be sent; replace the file"),
        (b"data:image/png;base64,iVBORw0KGgo", "an image as base64 text; decode it into a file of bytes"),
        (b"iVBORw0KGgoAAAA", "an image as base64 text; decode it into a file of bytes"),
        (b"version https://git-lfs.github.com/spec/v1", "not the file itself; fetch it with `git lfs pull`"),
        (b"\x93NUMPY\x01\0", "it is a NumPy array; convert it to PNG"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "it is a JPEG 2000 file; convert it to PNG"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", "it is a JPEG XL file; convert it to PNG"),
        (b"\0\1\2\3\4\5\6\7", "its bytes are no image that can be sent; convert it to PNG"),
        (saved(PHOTO, "JPEG")[:-200], "the JPEG is cut short: its end mark is missing; replace the file"),
        (saved(PHOTO, "PNG")[:-30], "the PNG is cut short; replace the file"),
        (saved(PHOTO, "GIF", **TWO), "it is an animation of 2 frames; give one still image"),
        (saved(PHOTO, "PNG", **TWO), "it is an animation of 2 frames; give one still image"),
        (saved(PHOTO, "WEBP", **TWO), "it is an animation; give one still image"),
        (saved(PHOTO, "TIFF", **TWO), "it has 2 pages; give one still image"),
        (png(60_000, 60_000, bytes(999)), "60000 x 60000 pixels are too many to decode safely"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_named_with_what_to_do(tmp_path: Path, data: bytes, says: str) -> None:  # F16
    path = file(tmp_path, data, "scan.jpg")
    with pytest.raises(MediaError) as caught:
        probe(path, name="images/scan.jpg")
    assert str(caught.value).startswith("cannot use image 'images/scan.jpg': ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "what"),
    [("ct-CT_small.dcm", "DICOM"), ("mr-emri_small-10frames.dcm", "DICOM"), ("mr-example4d.nii.gz", "NIfTI")],
)
def test_real_volumes_are_told_from_images(tmp_path: Path, name: str, what: str) -> None:
    source = SHARED / name
    if not source.exists():
        pytest.skip(f"there is no {name} beside the project")
    with pytest.raises(MediaError, match=f"a {what} .*; make an image of it by `harness data convert`"):
        probe(source, name="scan.png")


def test_a_video_where_an_image_is_wanted_is_named(tmp_path: Path) -> None:  # F16
    media = probe(file(tmp_path, mp4(), "scan.png"))
    with pytest.raises(MediaError, match=r"'scan.png' is video/mp4, and the case wants an image here"):
        of_kind(media, "image", "scan.png")


def test_a_file_of_half_a_gigabyte_is_never_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.png"
    with path.open("wb") as sparse:
        sparse.truncate(MAX_BYTES + 1)
    with pytest.raises(MediaError, match=r"huge.png' is 536,870,913 bytes, 536,870,912 are allowed"):
        probe(path)


@pytest.mark.parametrize("kind", [b"iCCP", b"zTXt"])
def test_metadata_that_unpack_to_a_bomb_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = file(tmp_path, png(8, 8, bytes(72), chunk(kind, b"x\0\0" + PACKED_BOMB)))
    with pytest.raises(MediaError, match="its metadata unpack to more than is safe; save it anew without"):
        probe(path)


def test_more_pixels_than_a_png_says_it_has_do_no_harm(tmp_path: Path) -> None:
    path = file(tmp_path, png(8, 8, b"", chunk(b"IDAT", PACKED_BOMB)))
    assert (np.asarray(sent(probe(path), "png")) == 0).all()


@pytest.mark.parametrize("pixels", [bytes(72), b""])
def test_pixels_that_are_missing_are_found_when_converting(tmp_path: Path, pixels: bytes) -> None:  # F16
    media = probe(file(tmp_path, png(800, 800, pixels)))
    with pytest.raises(MediaError, match=r"cannot use image '.*scan.png': it cannot be decoded .*; replace"):
        load(media, "roi:box=1,1,9,9+png")


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's remarks on odd tags, which the program drops
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_damaged_exif_says_nothing_and_stops_nothing(tmp_path: Path, kind: str) -> None:
    found = exif()
    found[0x010E] = "a description"
    sound, rng = found.tobytes(), random.Random(5)
    sizes = set()
    for _ in range(150):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(6, len(sound))] = rng.choice([0, 1, 2, 255, rng.randrange(256)])
        cut = bytes(damaged[: rng.choice([len(sound), rng.randrange(6, len(sound))])])
        media = probe(file(tmp_path, saved(PHOTO, kind, exif=cut)))
        image = sent(media, "png")
        check_box(media, (0, 0, *image.size), "scan.png")
        sizes.add(image.size)
    assert sizes == {(64, 48), (48, 64)}, "some orientations could be read, others could not"
