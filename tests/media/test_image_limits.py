"""What is beyond a model, and what the recipes of a user make of it: nothing is changed unasked."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from harness.errors import ConfigError, MediaError, MediaLimitError
from harness.image_structure import read_structure
from harness.media import Media, load, probe
from harness.media_limits import AsSent, base64_bytes, choose_recipe
from harness.messages import ImagePart, Message, media_parts
from harness.plans import ModelPlan, with_recipes
from harness.recipes import read_recipe, recipe_version
from harness.settings import ImageLimits, ManyImages, Model, Provider, limits_of
from harness.settings_check import check_recipe

NOISE = np.random.default_rng(7).integers(0, 256, (300, 400, 3), dtype=np.uint8)
SMOOTH = Image.linear_gradient("L").resize((400, 300))


def made(tmp_path: Path, image: Image.Image, kind: str = "PNG", **options: Any) -> Media:
    path = tmp_path / f"a.{kind.lower()}"
    image.save(path, format=kind, **options)
    return probe(path)


def chosen(media: Media, wish: str, **limits: Any) -> AsSent:
    assert media.path is not None
    return choose_recipe(media, ImageLimits(**limits), media.path, wish, model="model 'm'")


def sent(media: Media, recipe: str) -> Image.Image:
    image = Image.open(io.BytesIO(load(media, recipe)))
    image.load()
    return image


# Without a recipe.


@pytest.mark.parametrize(
    ("image", "kind", "limit", "says"),
    [
        (SMOOTH, "BMP", "image.mime", "is image/bmp, model 'm' takes image/png, image/jpeg, image/webp"),
        (SMOOTH, "TIFF", "image.mime", "is image/tiff"),
        (SMOOTH, "GIF", "image.mime", "is image/gif"),
        (Image.new("I;16", (9, 9), 40_000), "PNG", "image.samples", "has 16-bit, CMYK or other samples"),
        (Image.new("CMYK", (9, 9)), "JPEG", "image.samples", "8-bit grey, palette and RGB"),
    ],
)
def test_nothing_is_converted_unless_the_user_says_so(
    tmp_path: Path, image: Image.Image, kind: str, limit: str, says: str
) -> None:  # F17
    media = made(tmp_path, image, kind)
    with pytest.raises(MediaLimitError, match=says) as caught:
        chosen(media, "original")
    assert caught.value.limit == limit
    assert "choose --image-recipe convert, or leave the model out" in str(caught.value)
    assert chosen(media, "convert").recipe == "png"


@pytest.mark.parametrize(
    ("limits", "limit", "says"),
    [
        ({"max_pixels": 119_999}, "image.max_pixels", "has 120,000 pixels, model 'm' takes 119,999"),
        ({"max_side": 399}, "image.max_side", "has 400 pixels on its longest side, model 'm' takes 399"),
        ({"max_bytes": 1000}, "image.max_bytes", "bytes, model 'm' takes 1,000"),
        ({"max_base64_bytes": 1000}, "image.max_base64_bytes", "bytes as base64, model 'm' takes 1,000"),
    ],
)
def test_a_limit_is_named_with_model_figure_and_way_out(
    tmp_path: Path, limits: dict[str, int], limit: str, says: str
) -> None:  # F17
    media = made(tmp_path, Image.fromarray(NOISE))
    with pytest.raises(MediaLimitError, match=says) as caught:
        chosen(media, "original", **limits)
    assert caught.value.limit == limit and f"({limit})" in str(caught.value)
    way = str(caught.value).split("--image-recipe ")[1].split(",")[0]
    found = chosen(media, way, **limits)
    assert found.recipe == way, "the way out that is told leads out"
    data = load(media, way)
    shape = read_structure(data)
    assert shape.width * shape.height <= limits.get("max_pixels", 120_000)
    assert max(shape.width, shape.height) <= limits.get("max_side", 400)
    assert len(data) <= limits.get("max_bytes", 10**9)
    assert base64_bytes(len(data)) <= limits.get("max_base64_bytes", 10**9)


def test_what_is_at_its_limits_goes_untouched(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    exact = {"max_pixels": 120_000, "max_side": 400, "max_bytes": media.size}
    assert chosen(media, "original", **exact) == AsSent("original", media.size, (400, 300))
    assert chosen(media, "original", max_base64_bytes=base64_bytes(media.size)).recipe == "original"


def test_a_request_with_many_images_takes_smaller_ones(tmp_path: Path) -> None:  # F17
    image = made(tmp_path, SMOOTH)
    many = ImageLimits(max_side=8000, many=ManyImages(more_than=20, max_side=399))
    provider = Provider(name="p", adapter="anthropic", image=many)
    plan = ModelPlan(Model(name="m", model="m", provider=provider), {})
    at_most, more = ((Message("user", (ImagePart(image),) * n),) for n in (20, 21))
    assert with_recipes(at_most, plan) == at_most
    with pytest.raises(MediaLimitError) as caught:
        with_recipes(more, plan)
    assert caught.value.limit == "image.many.max_side"
    assert (
        "has 400 pixels on its longest side, in a request with more than 20 images, model 'm' takes 399 "
        "(image.many.max_side); choose --image-recipe fit:max_side=399, or leave the model out"
    ) in str(caught.value)
    fitted = with_recipes(more, replace(plan, image_recipe="fit:max_side=399"))
    assert {part.recipe for part in media_parts(fitted)} == {"fit:max_side=399"}


# With one.


@pytest.mark.parametrize("bound", ["max_side=400", "max_pixels=120000", "max_bytes=10000000"])
def test_fit_leaves_alone_what_fits(tmp_path: Path, bound: str) -> None:
    assert chosen(made(tmp_path, Image.fromarray(NOISE)), f"fit:{bound}").recipe == "original"


def test_fit_converts_what_fits_but_is_not_taken(tmp_path: Path) -> None:
    media = made(tmp_path, SMOOTH, "BMP")
    assert chosen(media, "fit:max_side=400").recipe == "png"
    assert chosen(media, "fit:max_side=400", mime=("image/jpeg",)).recipe == "jpeg"
    assert chosen(media, "fit:max_bytes=1000000").recipe == "fit:max_bytes=1000000"


@pytest.mark.parametrize(
    ("recipe", "size"),
    [("fit:max_side=100", (100, 75)), ("fit:max_side=399", (399, 299)), ("fit:max_pixels=1200", (40, 30))],
)
def test_fit_scales_to_what_was_computed_before(
    tmp_path: Path, recipe: str, size: tuple[int, int]
) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    assert chosen(media, recipe) == AsSent(recipe, None, size)
    assert sent(media, recipe).size == size


@pytest.mark.parametrize(
    ("kind", "form"), [("JPEG", "JPEG"), ("PNG", "PNG"), ("WEBP", "PNG"), ("TIFF", "PNG")]
)
def test_fit_keeps_jpeg_and_makes_png_of_all_else(tmp_path: Path, kind: str, form: str) -> None:
    media = made(tmp_path, Image.fromarray(NOISE), kind)
    for recipe in ("fit:max_side=50", "fit:max_bytes=6000"):
        image = sent(media, recipe)
        assert image.format == form
        assert read_recipe(recipe).mime(media.mime) == f"image/{form.lower()}"


def test_a_form_that_the_model_does_not_take_is_not_made(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE), "JPEG")
    with pytest.raises(MediaLimitError, match="is image/jpeg by the recipe 'fit:max_side=50'"):
        chosen(media, "fit:max_side=50", mime=("image/png",))
    with pytest.raises(MediaLimitError, match="is image/png by the recipe 'png'"):
        chosen(media, "png", mime=("image/jpeg",))


def test_limits_count_what_is_sent_and_not_the_file(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE), "BMP")
    assert chosen(media, "fit:max_side=40", max_bytes=20_000, max_pixels=2000).recipe == "fit:max_side=40"
    with pytest.raises(MediaLimitError, match=r"has [0-9,]+ bytes as 'fit:max_side=200', model 'm' takes"):
        chosen(media, "fit:max_side=200", max_bytes=20_000)
    with pytest.raises(MediaLimitError, match="pixels as 'fit:max_bytes=200000', model 'm' takes 5,000"):
        chosen(media, "fit:max_bytes=200000", max_pixels=5000)


def test_a_bound_that_no_scaling_reaches_is_said(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="cannot be brought under 20 bytes"):
        load(made(tmp_path, SMOOTH), "fit:max_bytes=20")


def test_a_turned_image_is_fitted_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    media = made(tmp_path, SMOOTH, "JPEG", exif=exif)
    assert sent(media, "fit:max_side=100").size == (75, 100)


def test_every_image_is_converted_where_that_is_the_wish(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    assert [chosen(media, wish).recipe for wish in ("png", "jpeg:quality=40", "jpeg:quality=95")] == [
        "png", "jpeg:quality=40", "jpeg"
    ]  # fmt: skip
    assert len(load(media, "jpeg:quality=40")) < len(load(media, "jpeg"))


# Their names.


@pytest.mark.parametrize(
    "text",
    ["", "gif", "jpeg:quality=0", "jpeg:quality=101", "jpeg:95", "png:quality=3", "fit", "fit:max_side=0",
     "fit:max_side=010", "fit:max_side=-1", "fit:min_side=4", "convert:x=1", "fit:max_side=4 ", "Png"],
)  # fmt: skip
def test_a_recipe_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(MediaError, match=r"unknown recipe .* known: original, convert"):
        read_recipe(text)
    with pytest.raises(ConfigError, match="here image_recipe: unknown recipe"):
        check_recipe(text, "here")


def test_a_slip_is_pointed_out() -> None:
    with pytest.raises(MediaError, match="did you mean 'fit:max_side=N'"):
        read_recipe("fit:max_sides=2000")


def test_each_kind_has_a_version_and_a_wish_has_none() -> None:
    assert recipe_version("fit:max_side=9", {"fit": 3}) == 3
    assert recipe_version("jpeg:quality=9", {"jpeg": 2}) == 2
    with pytest.raises(ValueError, match="unknown recipe 'convert'"):
        recipe_version("convert")


@pytest.mark.parametrize("size", [(1, 5000), (5000, 1), (3, 3), (8192, 4096)])
@pytest.mark.parametrize("bound", ["max_side", "max_pixels"])
def test_no_side_vanishes_and_no_bound_is_passed(size: tuple[int, int], bound: str) -> None:
    for number in (1, 2, 7, 100, 4095, 40_000):
        found = read_recipe(f"fit:{bound}={number}").size(*size)
        assert found is not None
        assert min(found) >= 1
        assert (max(found) if bound == "max_side" else found[0] * found[1]) <= number


# Whose limits.


def test_a_models_limits_stand_before_its_providers_key_by_key() -> None:
    provider = Provider(
        name="p",
        adapter="openai",
        max_images=5,
        max_request_bytes=900,
        image=ImageLimits(max_bytes=100, max_side=8000, mime=("image/png",)),
    )
    found = limits_of(
        Model(name="m", model="m", provider=provider, max_images=3, image=ImageLimits(max_bytes=70))
    )
    assert (found.max_images, found.max_videos, found.max_request_bytes) == (3, None, 900)
    assert found.image == ImageLimits(max_bytes=70, max_side=8000, mime=("image/png",))
