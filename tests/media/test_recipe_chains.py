"""Recipes of several stages: how they are written, what they come to, their version, where they are done."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from video_examples import mp4

from harness.cache.key import media_in, read_document, stored_document, wire_document
from harness.errors import ConfigError, MediaError, MediaLimitError
from harness.image_structure import read_structure
from harness.media import Media, load, probe
from harness.media_limits import AsSent, base64_bytes, choose_recipe
from harness.messages import ImagePart, MediaSlot, Message, WireRequest, media_parts
from harness.plans import ModelPlan, with_recipes
from harness.recipes import RECIPE_VERSIONS, chained, read_recipe, read_wish, recipe_version, roi_recipe
from harness.settings import ImageLimits, Model, Provider
from harness.settings_check import check_recipe

NOISE = np.random.default_rng(7).integers(0, 256, (300, 400, 3), dtype=np.uint8)
BOX = "roi:box=10,20,200,150"
VERIFIER = f"{BOX}+fit:max_side=1024+jpeg:quality=85"
CLIP = Media("a" * 64, "video/mp4", 5000, 640, 480, Path("clip.mp4"))


def made(tmp_path: Path, image: Image.Image, kind: str = "PNG", **options: Any) -> Media:
    path = tmp_path / f"a.{kind.lower()}"
    image.save(path, format=kind, **options)
    return probe(path)


def chosen(media: Media, wish: str, base: str = "original", **limits: Any) -> AsSent:
    assert media.path is not None
    return choose_recipe(media, ImageLimits(**limits), media.path, wish, base=base, model="model 'm'")


def sent(media: Media, recipe: str) -> Image.Image:
    image = Image.open(io.BytesIO(load(media, recipe)))
    image.load()
    return image


# How they are written.


@pytest.mark.parametrize(
    "text",
    ["original", "convert", VERIFIER, "frame:index=0", f"frame:index=17+{BOX}+fit:max_pixels=9+png",
     "roi:box=0,0,1,1+roi:box=5,6,7,8+convert", "fit:max_side=9+fit:max_bytes=9+jpeg:quality=1"],
)  # fmt: skip
def test_a_recipe_is_written_as_it_was_read(text: str) -> None:
    assert str(read_recipe(text)) == text


@pytest.mark.parametrize(
    "text",
    ["roi", "roi:box=1,2,3", "roi:box=1,2,3,4,5", "roi:box=01,2,3,4", "roi:box=1.5,2,3,4", "roi:box=1, 2,3,4",
     "roi:box=-0,2,3,4", "frame", "frame:index=-1", "frame:index=01", "frame:index=1,2", "png+", "+png",
     "png++png", "png + jpeg", "original+png", "fit:max_side=\u0663", "fit:max_side=9,9"],
)  # fmt: skip
def test_a_stage_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(MediaError, match=r"unknown recipe .* known: original, convert"):
        read_recipe(text)


@pytest.mark.parametrize(
    "text",
    ["png+jpeg", "jpeg+fit:max_side=9", f"fit:max_side=9+{BOX}", f"{BOX}+frame:index=1", "png+convert",
     "frame:index=1+frame:index=2", "fit:max_bytes=9+fit:max_side=9", "fit:max_bytes=9+fit:max_bytes=8"],
)  # fmt: skip
def test_an_order_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(MediaError, match="cannot follow each other so; put them in the order frame, roi"):
        read_recipe(text)


def test_a_wish_follows_what_a_benchmark_does() -> None:
    assert chained("original", "original") == "original"
    assert chained("original", VERIFIER) == chained(VERIFIER, "original") == VERIFIER
    assert chained(BOX, "fit:max_side=1024+jpeg:quality=85") == VERIFIER
    assert roi_recipe([10, 20, 200, 150]) == BOX
    with pytest.raises(MediaError, match="cannot follow"):
        chained("jpeg", "png")


@pytest.mark.parametrize("text", [BOX, "frame:index=1", f"{BOX}+png"])
def test_what_differs_from_case_to_case_is_no_wish_for_a_run(text: str) -> None:
    with pytest.raises(MediaError, match=r"cannot hold for all images of a run.*choose original, convert"):
        read_wish(text)
    with pytest.raises(ConfigError, match=r"here image_recipe: .* cannot hold for all"):
        check_recipe(text, "here")
    check_recipe("fit:max_side=1024+jpeg:quality=85", "here")


# Their version, and the keys.


def test_a_single_recipe_enters_the_key_as_ever() -> None:
    """Written down before there were chains: these bytes are hashed into the keys of stored answers."""
    for recipe in ("original", "png", "jpeg", "jpeg:quality=40", "fit:max_side=9", "fit:max_bytes=9"):
        wire = WireRequest("/x", {"image": MediaSlot(CLIP, recipe, prefix="data:")})
        medium = f'["{"a" * 64}","{recipe}",1]'
        assert wire_document(wire) == f'{{"image":{{"$media":{medium},"prefix":"data:"}}}}'.encode()


def test_a_chain_has_two_digits_for_each_stage() -> None:
    assert recipe_version(VERIFIER) == 10101
    assert recipe_version(VERIFIER, {"roi": 1, "fit": 2, "jpeg": 13}) == 10213
    with pytest.raises(ValueError, match="unknown recipe 'png\\+gif'"):
        recipe_version("png+gif")


@given(st.lists(st.sampled_from(sorted(RECIPE_VERSIONS)), min_size=1, max_size=6))
def test_the_version_changes_with_each_stage_and_never_otherwise(kinds: list[str]) -> None:  # F1
    recipe = "+".join(kinds)
    seen = set()
    names = sorted(set(kinds))
    for numbers in product((1, 2, 99), repeat=min(3, len(names))):
        versions = dict.fromkeys(RECIPE_VERSIONS, 1) | dict(zip(names, numbers, strict=False))
        version = recipe_version(recipe, versions)
        assert version not in seen
        seen.add(version)
        others = {kind: number + 50 for kind, number in versions.items() if kind not in kinds}
        assert recipe_version(recipe, versions | others) == version


def test_all_versions_have_at_most_two_digits() -> None:
    assert all(1 <= version <= 99 for version in RECIPE_VERSIONS.values())


def test_a_stored_request_tells_recipe_and_version_of_a_chain() -> None:
    wire = WireRequest("/x", {"image": MediaSlot(CLIP, f"frame:index=3+{BOX}")})
    body, _ = read_document(stored_document(wire_document(wire), {}))
    assert media_in(body) == [("a" * 64, f"frame:index=3+{BOX}", 101)]


# What they come to.


@pytest.mark.parametrize(
    ("recipe", "source", "mime"),
    [
        (BOX, "image/jpeg", "image/jpeg"),
        (BOX, "image/webp", "image/png"),
        (f"{BOX}+fit:max_side=9", "image/jpeg", "image/jpeg"),
        (VERIFIER, "image/png", "image/jpeg"),
        (f"{BOX}+png", "image/jpeg", "image/png"),
        ("frame:index=3", "video/mp4", "image/jpeg"),
        (f"frame:index=3+{BOX}+fit:max_side=9", "video/webm", "image/jpeg"),
        ("frame:index=3+png", "video/mp4", "image/png"),
    ],
)
def test_the_type_of_what_is_sent_is_known_before(recipe: str, source: str, mime: str) -> None:
    assert read_recipe(recipe).mime(source) == mime


def test_the_size_of_what_is_sent_is_known_before(tmp_path: Path) -> None:
    recipe = f"{BOX}+fit:max_side=100+fit:max_pixels=1200+jpeg"
    assert read_recipe(recipe).size(400, 300) == (40, 30)
    assert read_recipe("frame:index=3+fit:max_side=64").size(640, 480) == (64, 48)
    assert read_recipe("frame:index=3").size(0, 480) is None
    assert read_recipe("fit:max_bytes=10+jpeg").size(9, 9) is None
    assert sent(made(tmp_path, Image.fromarray(NOISE)), recipe).size == (40, 30)


def test_a_verifiers_image_is_scaled_and_encoded_once(tmp_path: Path) -> None:
    big = Image.linear_gradient("L").resize((1600, 1200))
    media = made(tmp_path, big)
    image = sent(media, "fit:max_side=1024+jpeg:quality=85")
    assert (image.format, image.size, image.mode) == ("JPEG", (1024, 768), "L")
    target = io.BytesIO()
    big.resize((1024, 768), Image.Resampling.LANCZOS).save(target, "JPEG", quality=85, subsampling=0)
    assert load(media, "fit:max_side=1024+jpeg:quality=85") == target.getvalue()


def test_bytes_are_bounded_in_the_form_that_is_sent(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    full = len(load(media, "jpeg:quality=30"))
    assert load(media, f"fit:max_bytes={full}+jpeg:quality=30") == load(media, "jpeg:quality=30")
    less = load(media, f"fit:max_bytes={full - 1}+jpeg:quality=30")
    assert len(less) < full and read_structure(less).width == 300


# What is done of them.


def test_of_a_chain_only_what_is_needed_is_done(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    assert chosen(media, "fit:max_side=400+fit:max_pixels=120000").recipe == "original"
    assert chosen(media, "fit:max_side=400+jpeg:quality=85").recipe == "jpeg:quality=85"
    assert chosen(media, "fit:max_side=100+fit:max_pixels=7500").recipe == "fit:max_side=100"
    assert chosen(media, "fit:max_side=399+convert").recipe == "fit:max_side=399"
    assert chosen(media, "fit:max_side=400+convert").recipe == "original"


def test_a_base_is_kept_and_the_wish_added_to_it(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    for wish in ("original", "convert", "fit:max_side=400", "fit:max_bytes=999999"):
        assert chosen(media, wish, BOX).recipe == BOX
    assert chosen(media, "fit:max_side=100", BOX) == AsSent(f"{BOX}+fit:max_side=100", None, (100, 75))
    assert chosen(media, "jpeg:quality=85", BOX).recipe == f"{BOX}+jpeg:quality=85"


def test_what_no_model_takes_can_be_sent_with_a_box(tmp_path: Path) -> None:
    for image, kind in ((Image.new("I;16", (300, 200)), "PNG"), (Image.fromarray(NOISE), "BMP")):
        assert chosen(made(tmp_path, image, kind), "original", BOX).recipe == BOX


def test_with_a_box_it_is_converted_where_the_model_takes_no_such_form(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    with pytest.raises(MediaLimitError, match=r"is image/png by the recipe 'roi.*--image-recipe convert"):
        chosen(media, "original", BOX, mime=("image/jpeg",))
    assert chosen(media, "convert", BOX, mime=("image/jpeg",)).recipe == f"{BOX}+jpeg"
    photo = made(tmp_path, Image.fromarray(NOISE), "JPEG")
    assert chosen(photo, "convert", BOX, mime=("image/png",)).recipe == f"{BOX}+png"
    assert chosen(photo, "convert", BOX).recipe == BOX


def test_bytes_after_a_box_are_counted_before_they_are_bounded(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    size = len(load(media, BOX))
    assert size != media.size
    assert chosen(media, f"fit:max_bytes={size}", BOX).recipe == BOX
    assert chosen(media, f"fit:max_bytes={size - 1}", BOX).recipe == f"{BOX}+fit:max_bytes={size - 1}"
    lossy = len(load(media, f"{BOX}+jpeg:quality=9"))
    assert chosen(media, f"fit:max_bytes={lossy}+jpeg:quality=9", BOX).recipe == f"{BOX}+jpeg:quality=9"


@pytest.mark.parametrize("limits", [{"max_bytes": 5000}, {"max_base64_bytes": 5000}, {"max_side": 99}])
def test_limits_hold_for_what_is_sent(tmp_path: Path, limits: dict[str, int]) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    with pytest.raises(MediaLimitError, match=r"as 'roi:box=10,20,200,150', model 'm' takes") as caught:
        chosen(media, "original", BOX, **limits)
    way = str(caught.value).split("--image-recipe ")[1].split(",")[0]
    found = chosen(media, way, BOX, **limits)
    assert found.recipe == f"{BOX}+{way}"
    data = load(media, found.recipe)
    assert len(data) <= limits.get("max_bytes", 10**9)
    assert base64_bytes(len(data)) <= limits.get("max_base64_bytes", 10**9)


def test_a_frame_is_judged_by_the_size_of_its_video() -> None:
    frame = "frame:index=4"
    assert chosen(CLIP, "original", frame) == AsSent(frame, None, (640, 480))
    assert chosen(CLIP, "fit:max_side=640", frame).recipe == frame
    assert chosen(CLIP, "fit:max_side=320", frame) == AsSent(f"{frame}+fit:max_side=320", None, (320, 240))
    assert chosen(CLIP, "convert", frame, mime=("image/png",)).recipe == f"{frame}+png"
    with pytest.raises(MediaLimitError, match="has 640 pixels on its longest side as 'frame:index=4'"):
        chosen(CLIP, "original", frame, max_side=600)


def test_messages_keep_what_a_benchmark_does_to_each_image(tmp_path: Path) -> None:
    media = made(tmp_path, Image.fromarray(NOISE))
    model = Model(name="m", model="m", provider=Provider(name="p", adapter="openai"))
    plan = ModelPlan(model, {}, image_recipe="fit:max_side=90")
    parts = (ImagePart(media), ImagePart(media, BOX), ImagePart(CLIP, "frame:index=2"))
    asked = with_recipes((Message("user", parts),), plan)
    assert [part.recipe for part in media_parts(asked)] == [
        "fit:max_side=90", f"{BOX}+fit:max_side=90", "frame:index=2+fit:max_side=90"
    ]  # fmt: skip


@pytest.mark.parametrize("recipe", ["png", BOX, "convert", f"{BOX}+convert"])
def test_what_is_for_images_is_not_done_to_videos(tmp_path: Path, recipe: str) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(mp4())
    with pytest.raises(MediaError, match=r"nothing can be sent by the recipe .*; this is a video"):
        load(probe(path), recipe)


def test_an_image_has_no_frames(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="nothing can be sent by the recipe 'frame:index=0'; this is an im"):
        load(made(tmp_path, Image.fromarray(NOISE)), "frame:index=0")
