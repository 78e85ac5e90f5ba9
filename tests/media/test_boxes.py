"""The box of a region of interest: where it is drawn, on what, and what is said of one that cannot be."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from harness.errors import MediaError
from harness.image_conversion import convert
from harness.media import Media, check_box, load, probe
from harness.recipes import box_problem, line_width, read_recipe, roi_recipe

GREEN = (0, 255, 0)
RNG = np.random.default_rng(3)
NOISE = RNG.integers(1, 256, (48, 64, 3), dtype=np.uint8)
RED_CORNER = np.zeros((48, 64, 3), np.uint8)
RED_CORNER[:24, :32, 0] = 255


def made(tmp_path: Path, image: Image.Image, kind: str = "PNG", **options: Any) -> Media:
    path = tmp_path / f"a.{kind.lower()}"
    image.save(path, format=kind, **options)
    return probe(path)


def sent(media: Media, recipe: str) -> Image.Image:
    image = Image.open(io.BytesIO(load(media, recipe)))
    image.load()
    return image


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG")
    return target.getvalue()


@st.composite
def boxes(draw: st.DrawFn) -> tuple[int, int, tuple[int, int, int, int]]:
    width, height = draw(st.integers(1, 700)), draw(st.integers(1, 60))
    x0, y0 = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return width, height, (x0, y0, draw(st.integers(x0 + 1, width)), draw(st.integers(y0 + 1, height)))


@settings(max_examples=80, deadline=None)
@given(boxes(), st.sampled_from(["L", "RGB", "RGBA", "LA"]))
def test_drawing_changes_the_line_of_the_box_and_nothing_else(
    found: tuple[int, int, tuple[int, int, int, int]], mode: str
) -> None:
    width, height, box = found
    bands = {"L": (), "RGB": (3,), "RGBA": (4,), "LA": (2,)}[mode]
    before = RNG.integers(1, 255, (height, width, *bands), dtype=np.uint8)
    data = convert(png(before), "image/png", read_recipe(roi_recipe(box)))
    drawn = Image.open(io.BytesIO(data))
    colour = "RGBA" if mode.endswith("A") else "RGB"
    assert drawn.mode == colour
    x0, y0, x1, y1 = box
    line = max(2, round(max(width, height) / 256))
    rows, columns = np.mgrid[:height, :width]
    inside = (columns >= x0) & (columns < x1) & (rows >= y0) & (rows < y1)
    deep = (columns >= x0 + line) & (columns < x1 - line) & (rows >= y0 + line) & (rows < y1 - line)
    on_line = inside & ~deep
    pixels = np.asarray(drawn)
    assert (pixels[on_line] == (*GREEN, 255)[: pixels.shape[2]]).all()
    untouched = np.asarray(Image.fromarray(before).convert(colour))
    assert (pixels[~on_line] == untouched[~on_line]).all()


@pytest.mark.parametrize(
    ("longest", "width"), [(1, 2), (512, 2), (639, 2), (641, 3), (1024, 4), (4000, 16), (2560, 10)]
)
def test_the_line_grows_with_the_image(longest: int, width: int) -> None:
    assert line_width(longest, 1) == line_width(1, longest) == width


def test_a_box_in_a_jpeg_stays_a_jpeg_of_quality_95(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(RED_CORNER), "JPEG", quality=100, subsampling=0)
    image = sent(media, "roi:box=8,8,56,40")
    assert image.format == "JPEG"
    target = io.BytesIO()
    Image.fromarray(NOISE).save(target, "JPEG", quality=95)
    reference = Image.open(target)
    assert image.quantization == reference.quantization  # type: ignore[attr-defined] # of a JpegImageFile
    red, green, blue = image.getpixel((9, 30))  # type: ignore[misc] # RGB
    assert green > 230 and max(red, blue) < 30


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_box_is_counted_on_the_upright_image(tmp_path: Path, kind: str, orientation: int) -> None:
    """The same box on the same scene, however its file lies."""
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }  # fmt: skip
    upright = Image.fromarray(RED_CORNER)
    stored = upright if orientation == 1 else upright.transpose(undo[orientation])
    options: dict[str, Any] = {"lossless": True} if kind == "WEBP" else {}
    options |= {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    media = made(tmp_path, stored, kind, exif=turned(orientation), **options)
    expected = RED_CORNER.copy()
    expected[4:20, 40:42] = expected[4:20, 61:63] = expected[4:6, 40:63] = expected[18:20, 40:63] = GREEN
    image = sent(media, "roi:box=40,4,63,20+png")
    assert image.size == (64, 48)
    assert np.abs(np.asarray(image).astype(int) - expected).max() <= (12 if kind == "JPEG" else 0)
    check_box(media, (40, 4, 63, 20), "a")
    with pytest.raises(MediaError, match="which has 64 x 48 pixels"):
        check_box(media, (4, 40, 20, 63), "a")


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        (Image.new("1", (64, 48), 1), "PNG"),
        (Image.new("P", (64, 48)), "PNG"),
        (Image.new("P", (64, 48)), "GIF"),
        (Image.new("I;16", (64, 48), 40_000), "PNG"),
        (Image.new("I;16", (64, 48), 40_000), "TIFF"),
        (Image.new("CMYK", (64, 48)), "JPEG"),
        (Image.new("CMYK", (64, 48)), "TIFF"),
        (Image.new("LA", (64, 48)), "PNG"),
        (Image.new("RGBA", (64, 48)), "WEBP"),
        (Image.new("L", (64, 48)), "BMP"),
    ],
)
def test_a_box_is_drawn_in_green_on_all_images(tmp_path: Path, image: Image.Image, kind: str) -> None:
    media = made(tmp_path, image, kind)
    drawn = sent(media, "roi:box=8,8,56,40+png").convert("RGBA")
    assert {drawn.getpixel(at) for at in ((8, 20), (55, 39), (30, 9))} == {(*GREEN, 255)}
    assert drawn.getpixel((7, 20)) != drawn.getpixel((8, 20)) != drawn.getpixel((10, 20))
    on_white = sent(media, "roi:box=8,8,56,40+jpeg")
    red, green, blue = on_white.getpixel((8, 20))  # type: ignore[misc] # RGB
    assert green > 220 and max(red, blue) < 40


def test_a_palette_with_a_transparent_colour_keeps_it_beside_the_box(tmp_path: Path) -> None:
    image = Image.new("P", (64, 48), 1)
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.paste(0, (0, 0, 20, 48))
    drawn = sent(made(tmp_path, image, "PNG", transparency=0), "roi:box=8,8,56,40")
    assert [drawn.getpixel(at) for at in ((2, 2), (8, 20), (40, 20))] == [
        (255, 0, 0, 0), (0, 255, 0, 255), (0, 0, 255, 255)
    ]  # fmt: skip


def test_boxes_are_drawn_before_anything_is_scaled(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(np.zeros((480, 640, 3), np.uint8)))
    image = sent(media, "roi:box=320,240,640,480+roi:box=0,0,320,240+fit:max_side=64")
    pixels = np.asarray(image)
    assert image.size == (64, 48)
    assert pixels[12, 63, 1] == 0 and pixels[36, 63, 1] > 20 and pixels[12, 0, 1] > 20


@pytest.mark.parametrize(
    ("box", "says"),
    [
        ((0, 0, 65, 48), "leaves the image, which has 64 x 48 pixels; correct the box"),
        ((-1, 0, 5, 5), "the box -1,0,5,5 (x0,y0,x1,y1) leaves the image"),
        ((0, 0, 64, 49), "leaves the image"),
        ((5, 5, 5, 9), "the box 5,5,5,9 (x0,y0,x1,y1) is empty, on 64 x 48 pixels; x1 has to be above x0"),
        ((5, 9, 9, 5), "is empty"),
    ],
)
def test_a_box_that_the_image_does_not_have_is_refused(
    tmp_path: Path, box: tuple[int, int, int, int], says: str
) -> None:  # F16
    media = made(tmp_path, Image.fromarray(NOISE))
    with pytest.raises(MediaError) as caught:
        load(media, roi_recipe(box))
    assert says in str(caught.value) and "a.png" in str(caught.value)
    with pytest.raises(MediaError) as caught:
        check_box(media, box, "images/x.png")
    assert str(caught.value).startswith("cannot draw on image 'images/x.png': the box ")
    assert says in str(caught.value)


def test_the_whole_image_and_one_pixel_are_boxes(tmp_path: Path) -> None:
    assert box_problem((0, 0, 64, 48), 64, 48) is None
    media = made(tmp_path, Image.fromarray(NOISE))
    changed = (np.asarray(sent(media, "roi:box=63,47,64,48")) != NOISE).any(axis=2)
    assert changed.sum() == 1 and changed[47, 63]
    assert (np.asarray(sent(media, "roi:box=0,0,64,48"))[2:-2, 2:-2] == NOISE[2:-2, 2:-2]).all()


def test_a_box_is_checked_without_the_file_where_that_suffices(tmp_path: Path) -> None:
    media = Media("0" * 64, "image/jpeg", 1, 64, 48, tmp_path / "gone.jpg")
    check_box(media, (0, 0, 48, 48), "gone.jpg")
    with pytest.raises(MediaError, match="leaves the image"):
        check_box(media, (0, 0, 65, 65), "gone.jpg")
    with pytest.raises(MediaError, match=r"image 'gone.jpg' does not exist"):
        check_box(media, (0, 0, 64, 48), "gone.jpg")


def test_a_png_that_is_turned_by_its_metadata_is_checked_upright(tmp_path: Path) -> None:
    """Pillow heeds the orientation in XMP too, and so does a box."""
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", '<x tiff:Orientation="6"/>')
    media = made(tmp_path, Image.fromarray(NOISE), "PNG", pnginfo=info)
    check_box(media, (0, 60, 48, 64), "a")
    assert sent(media, "roi:box=0,60,48,64").size == (48, 64)
    with pytest.raises(MediaError, match="has 48 x 64 pixels"):
        check_box(media, (60, 0, 64, 48), "a")
