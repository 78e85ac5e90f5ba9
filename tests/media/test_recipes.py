"""How media are sent: as they are, converted, or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from harness.errors import MediaError, MediaLimitError
from harness.media import Media, load, probe
from harness.media_limits import choose_recipe
from harness.recipes import read_recipe
from harness.settings import ImageLimits

ANY = ImageLimits()
GREY = np.linspace(0, 255, 60 * 40).reshape(40, 60).astype(np.uint8)


def made(tmp_path: Path, image: Image.Image, kind: str, **options: Any) -> Media:
    path = tmp_path / f"a.{kind.lower()}"
    image.save(path, format=kind, **options)
    return probe(path)


def sent(media: Media, recipe: str) -> Image.Image:
    image = Image.open(io.BytesIO(load(media, recipe)))
    image.load()
    return image


def chosen(media: Media, limits: ImageLimits = ANY, wish: str = "convert") -> str:
    assert media.path is not None
    return choose_recipe(media, limits, media.path, wish).recipe


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_type_that_the_model_takes_goes_as_it_is(tmp_path: Path, kind: str) -> None:
    media = made(tmp_path, Image.fromarray(GREY), kind)
    assert chosen(media) == chosen(media, wish="original") == "original"
    assert media.path is not None
    assert load(media, "original") == media.path.read_bytes()
    assert read_recipe("original").mime(media.mime) == media.mime


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "GIF"])
def test_other_types_become_png_with_the_same_pixels(tmp_path: Path, kind: str) -> None:  # F17
    media = made(tmp_path, Image.fromarray(GREY), kind)
    assert chosen(media) == "png"
    image = sent(media, "png")
    assert (image.format, read_recipe("png").mime(media.mime)) == ("PNG", "image/png")
    assert (np.asarray(image.convert("L")) == GREY).all()


def test_webp_becomes_png_where_the_model_does_not_take_it(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(GREY), "WEBP", lossless=True)
    assert chosen(media, ImageLimits(mime=("image/png",))) == "png"
    assert chosen(media, ImageLimits(mime=("image/jpeg",))) == "jpeg"
    assert sent(media, "jpeg").format == "JPEG"


def test_a_model_that_takes_no_type_of_ours_is_beyond_its_limits(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(GREY), "PNG")
    with pytest.raises(MediaLimitError, match="is image/png, the model takes image/avif"):
        chosen(media, ImageLimits(mime=("image/avif",)))


@pytest.mark.parametrize(("top", "shift"), [(65535, 8), (4095, 4), (1023, 2), (200, 0)])
def test_sixteen_bit_grey_is_shifted_into_eight(tmp_path: Path, top: int, shift: int) -> None:  # F17
    values = np.linspace(0, top, 2400).astype(np.uint16).reshape(40, 60)
    media = made(tmp_path, Image.fromarray(values), "PNG")
    assert chosen(media) == "png"
    image = sent(media, "png")
    assert image.mode == "L"
    assert (np.asarray(image) == values >> shift).all()


def test_cmyk_jpeg_becomes_rgb(tmp_path: Path) -> None:  # F17
    media = made(tmp_path, Image.new("CMYK", (60, 40), (0, 255, 255, 0)), "JPEG", quality=95)
    assert media.mime == "image/jpeg"
    assert chosen(media) == "png"
    image = sent(media, "png")
    red, green, blue = image.resize((1, 1)).tobytes()
    assert image.mode == "RGB"
    assert red > 240
    assert max(green, blue) < 15


@pytest.mark.parametrize(
    ("mode", "kind", "expected"),
    [
        ("1", "TIFF", "L"),
        ("P", "BMP", "RGB"),
        ("P", "GIF", "RGB"),
        ("RGBA", "TIFF", "RGBA"),
        ("LA", "TIFF", "LA"),
        ("I;16", "TIFF", "L"),
        ("CMYK", "TIFF", "RGB"),
    ],
)
def test_every_mode_ends_as_plain_eight_bits(tmp_path: Path, mode: str, kind: str, expected: str) -> None:
    image = Image.new(mode, (9, 7))
    if mode == "P":
        image.putpalette([10, 20, 30, 200, 100, 50])
    media = made(tmp_path, image, kind)
    assert sent(media, "png").mode == expected
    assert sent(media, "jpeg").mode in ("L", "RGB")


def test_float_pixels_have_no_agreed_grey_scale(tmp_path: Path) -> None:
    media = made(tmp_path, Image.new("F", (9, 7), 0.5), "TIFF")
    with pytest.raises(MediaError, match="no agreed grey scale; convert it to PNG"):
        load(media, "png")


def test_transparency_is_laid_on_white_in_jpeg(tmp_path: Path) -> None:
    media = made(tmp_path, Image.new("RGBA", (9, 7), (0, 0, 0, 0)), "PNG")
    assert sent(media, "jpeg").getpixel((4, 4)) == (255, 255, 255)


def test_a_converted_image_stands_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    media = made(tmp_path, Image.fromarray(GREY), "JPEG", exif=exif)
    assert sent(media, "png").size == (40, 60)
    assert sent(media, "png").getexif() == {}


@pytest.mark.parametrize("recipe", ["png", "jpeg"])
def test_conversion_depends_on_the_pixels_alone(tmp_path: Path, recipe: str) -> None:
    plain = made(tmp_path, Image.fromarray(GREY), "TIFF")
    first = load(plain, recipe)
    again = made(tmp_path, Image.fromarray(GREY), "PNG", dpi=(300, 300), icc_profile=b"x" * 200)
    assert load(again, recipe) == first


def test_too_many_pixels_or_bytes_are_beyond_a_model(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(GREY), "PNG")
    assert chosen(media, ImageLimits(max_pixels=2400, max_bytes=media.size)) == "original"
    says = (
        r"has 2,400 pixels, the model takes 2,399 \(image.max_pixels\); choose --image-recipe "
        "fit:max_pixels=2399, or leave the model out"
    )
    with pytest.raises(MediaLimitError, match=says):
        chosen(media, ImageLimits(max_pixels=2399))
    with pytest.raises(MediaLimitError, match=r"bytes, the model takes [0-9,]+ \(image.max_bytes\)"):
        chosen(media, ImageLimits(max_bytes=media.size - 1))


def test_bytes_are_counted_as_sent(tmp_path: Path) -> None:
    media = made(tmp_path, Image.new("RGB", (200, 200)), "BMP")
    assert chosen(media, ImageLimits(max_bytes=5_000)) == "png"
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (200, 200, 3), dtype=np.uint8))
    loud = made(tmp_path, noise, "BMP")
    with pytest.raises(MediaLimitError, match="bytes as 'png', the model takes 5,000"):
        chosen(loud, ImageLimits(max_bytes=5_000))


@pytest.mark.parametrize("recipe", ["original", "png", "jpeg", "jpeg:quality=50", "fit:max_side=9"])
def test_a_file_that_changed_is_never_sent(tmp_path: Path, recipe: str) -> None:  # F4
    media = made(tmp_path, Image.fromarray(GREY), "PNG")
    assert media.path is not None
    Image.fromarray(GREY[::-1]).save(media.path)
    with pytest.raises(MediaError, match=r"image '.*a.png' has changed since it was read"):
        load(media, recipe)


def test_a_lost_file_is_named(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(GREY), "PNG")
    assert media.path is not None
    media.path.unlink()
    with pytest.raises(MediaError, match=r"image '.*a.png' does not exist"):
        load(media, "original")
    with pytest.raises(MediaError, match=f"no file is known for the image with sha256 {media.sha256}"):
        load(Media(media.sha256, media.mime, media.size, 60, 40), "original")


def test_an_unknown_recipe_is_refused(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(GREY), "PNG")
    with pytest.raises(MediaError, match="unknown recipe 'gif'; known: original, convert, png"):
        load(media, "gif")


def test_a_damaged_middle_is_found_when_converting(tmp_path: Path) -> None:
    media = made(tmp_path, Image.new("CMYK", (60, 40)), "JPEG")
    assert media.path is not None
    data = media.path.read_bytes()
    at = data.index(b"\xff\xda")
    media.path.write_bytes(data[: at + 12] + b"\xff\xd9")
    with pytest.raises(MediaError, match="cannot be decoded"):
        load(probe(media.path), "png")
