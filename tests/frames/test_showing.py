"""How each model gets a clip: as its file, as frames in its place, as images, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clip_examples import clip_bytes, written_clip
from wire_doubles import model

from harness.errors import MediaError, MediaLimitError, MediaReadError, UnsupportedInputError
from harness.estimates import input_tokens
from harness.identity import build
from harness.media import Media, load, probe
from harness.messages import Frame, ImagePart, Message, Part, Request, TextPart, VideoPart
from harness.plans import ModelPlan, with_recipes
from harness.providers.base import ADAPTERS
from harness.settings import ImageLimits, Model, VideoLimits

INPUTS = ("text", "image", "video")


@pytest.fixture
def clip(tmp_path: Path) -> Media:
    return probe(written_clip(tmp_path, frames=23))


@pytest.fixture
def other(tmp_path: Path) -> Media:
    return probe(written_clip(tmp_path, "other.mov", frames=12, container="mov"))


def taking(kind: str = "openai", video_format: str = "none", **fields: Any) -> Model:
    return model(kind, provider_fields={"video_format": video_format}, **{"inputs": INPUTS, **fields})


def shown(by: Model, *parts: Part, recipe: str = "original") -> tuple[Part, ...]:
    (message,) = with_recipes((Message("user", parts),), ModelPlan(by, {}, image_recipe=recipe))
    return message.parts


def images(media: Media, *indices: int) -> tuple[Part, ...]:
    return tuple(ImagePart(media, f"frame:index={index}") for index in indices)


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
def test_without_a_place_for_videos_frames_go_as_images(kind: str, clip: Media) -> None:
    by = taking(kind, inputs=("text", "image"), max_output_tokens=9)
    assert shown(by, TextPart("a"), VideoPart(clip, fps=2), TextPart("b")) == (
        TextPart("a"), *images(clip, 0, 5, 10, 15, 20), TextPart("b"),
    )  # fmt: skip
    build(Request((Message("user", shown(by, VideoPart(clip, fps=2))),)), by)


def test_each_frame_says_when_it_is_shown(clip: Media) -> None:
    parts = shown(taking("anthropic"), VideoPart(clip, fps=4))
    assert [part.frame for part in parts if isinstance(part, ImagePart)] == [
        Frame(0, 0), Frame(2, 0.2), Frame(5, 0.5), Frame(7, 0.7), Frame(10, 1), Frame(12, 1.2),
        Frame(15, 1.5),
        Frame(17, 1.7), Frame(20, 2), Frame(22, 2.2),
    ]  # fmt: skip


@pytest.mark.parametrize("fps", [None, 10, 25.5])
def test_a_rate_that_is_not_below_the_clips_own_shows_every_frame(fps: float | None, clip: Media) -> None:
    assert shown(taking(), VideoPart(clip, fps=fps)) == images(clip, *range(23))


def test_several_clips_keep_their_order(clip: Media, other: Media) -> None:
    parts = (TextPart("1"), VideoPart(other, fps=2), TextPart("2"), VideoPart(clip, fps=1))
    assert shown(taking(), *parts) == (
        TextPart("1"), *images(other, 0, 5, 10), TextPart("2"), *images(clip, 0, 10, 20)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("by", "fps", "native"),
    [
        (taking("gemini"), 2, True),
        (taking("gemini"), 24, True),
        (taking("gemini"), 24.5, False),
        (taking("gemini"), None, True),
        (taking(video_format="dashscope"), 2, True),
        (taking(video_format="video_url"), None, True),
        (taking(video_format="video_url"), 2, False),
        (taking(video_format="vllm"), None, True),
        (taking("gemini", inputs=("text", "image")), 2, False),
        (taking("simulator"), None, False),
    ],
)
def test_a_file_goes_where_a_provider_takes_it_at_that_rate(
    by: Model, fps: float | None, native: bool, clip: Media
) -> None:
    parts = shown(by, VideoPart(clip, fps=fps))
    assert (parts == (VideoPart(clip, fps=fps),)) is native
    assert native or all(isinstance(part, ImagePart) for part in parts)


def test_vllm_gets_our_frames_in_the_videos_place(clip: Media) -> None:
    (part,) = shown(taking(video_format="vllm"), VideoPart(clip, fps=2))
    assert part == VideoPart(clip, "frame:index=0,5,10,15,20", fps=2)
    assert isinstance(part, VideoPart) and part.frames is not None
    assert part.frames[1:3] == (Frame(5, 0.5), Frame(10, 1.0))
    # At its own rate and beyond, all of them, at the rate that they have.
    (part,) = shown(taking(video_format="vllm"), VideoPart(clip, fps=30))
    assert part == VideoPart(clip, "frame:index=" + ",".join(map(str, range(23))), fps=10)


def test_clips_of_other_rates_cannot_share_one_field_of_vllms(clip: Media, tmp_path: Path) -> None:
    slow = probe(written_clip(tmp_path, "slow.mp4", frames=8, rate=5))
    by = taking(video_format="vllm")
    parts = shown(by, VideoPart(clip, fps=2), VideoPart(slow, fps=2))
    assert build(Request((Message("user", parts),)), by)
    parts = shown(by, VideoPart(clip, fps=10), VideoPart(slow, fps=10))
    with pytest.raises(UnsupportedInputError, match="one frame rate for all videos"):
        build(Request((Message("user", parts),)), by)


def test_frames_count_as_images(clip: Media, other: Media) -> None:  # F16
    still = ImagePart(replace(clip, sha256="e" * 64, mime="image/png", path=None))
    by = taking(max_images=33)
    parts = (VideoPart(clip, fps=10), VideoPart(other, fps=8))
    assert len(shown(by, *parts)) == 33
    with pytest.raises(MediaLimitError) as caught:
        shown(by, still, *parts)
    assert caught.value.limit == "max_images"
    assert str(caught.value) == (
        "needs 33 frames of 2 clips and 1 other images; model 'm' takes 33 images (max_images); leave it out "
        "of this condition, or correct its max_images"
    )
    with pytest.raises(MediaLimitError, match="needs 23 frames of a clip; model 'm' takes 5 images"):
        shown(taking(max_images=5), VideoPart(clip))


def test_a_model_that_takes_neither_is_refused_by_name(clip: Media) -> None:  # F16
    by = taking(inputs=("text",))
    with pytest.raises(UnsupportedInputError, match="model 'm' takes no videos") as caught:
        build(Request((Message("user", shown(by, VideoPart(clip, fps=2))),)), by)
    assert caught.value.limit == "inputs"


def test_a_clip_beyond_a_models_videos_is_not_turned_into_images(clip: Media) -> None:
    # All cases of a condition are shown to a model in one way.
    with pytest.raises(MediaLimitError, match=r"video\.max_bytes"):
        shown(taking("gemini", video=VideoLimits(max_bytes=10)), VideoPart(clip, fps=2))


def test_the_wish_for_images_holds_for_frames(clip: Media) -> None:
    parts = shown(taking(), VideoPart(clip, fps=1), recipe="fit:max_side=48")
    assert parts == tuple(ImagePart(clip, f"frame:index={index}+fit:max_side=48") for index in (0, 10, 20))
    assert shown(taking(), VideoPart(clip, fps=1), recipe="convert") == images(clip, 0, 10, 20)
    assert shown(taking(), VideoPart(clip, fps=1), recipe="fit:max_bytes=9000") == images(clip, 0, 10, 20)
    small = shown(taking(), VideoPart(clip, fps=1), recipe="fit:max_bytes=1000")
    assert small == tuple(ImagePart(clip, f"frame:index={index}+fit:max_bytes=1000") for index in (0, 10, 20))
    assert len(load(clip, "frame:index=10+fit:max_bytes=1000")) <= 1000
    with pytest.raises(MediaLimitError, match=r"image\.max_bytes"):
        shown(taking(image=ImageLimits(max_bytes=1000)), VideoPart(clip, fps=1))
    with pytest.raises(MediaLimitError, match=r"image\.max_side"):
        shown(taking(image=ImageLimits(max_side=95)), VideoPart(clip, fps=1))


@pytest.mark.parametrize("fps", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("video_format", ["none", "vllm"])
def test_a_rate_that_is_none_is_refused(fps: float, video_format: str, clip: Media) -> None:
    with pytest.raises(UnsupportedInputError, match="give more than 0"):
        shown(taking(video_format=video_format), VideoPart(clip, fps=fps))


def test_more_frames_than_any_request_holds_are_refused(
    clip: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.frames.showing.MOST_FRAMES", 22)
    assert len(shown(taking(), VideoPart(clip, fps=9))) == 21
    with pytest.raises(MediaLimitError, match="more than 22 frames to show"):
        shown(taking(), VideoPart(clip))


def test_a_damaged_clip_is_an_error_of_the_case_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "scan-7.mp4"
    data = clip_bytes(20)
    at = data.index(b"stsz") + 12
    path.write_bytes(data[:at] + b"\x00\x00\x00\x15" + data[at + 4 :])
    with pytest.raises(MediaError, match=r"cannot use video '.*scan-7\.mp4': it has 21 frames by one table"):
        shown(taking(), VideoPart(probe(path), fps=2))


def test_a_frame_that_is_not_there_is_an_error_with_both_numbers(clip: Media) -> None:
    assert load(clip, "frame:index=22")
    with pytest.raises(MediaError, match=r"clip\.mp4' has 23 frames, and no frame 23"):
        load(clip, "frame:index=23")


def test_a_clip_that_is_gone_or_another_is_asked_again(clip: Media) -> None:
    assert clip.path is not None
    bytes_before = clip.path.read_bytes()
    clip.path.write_bytes(bytes_before + bytes(8))
    with pytest.raises(MediaReadError, match="has changed since it was read"):
        shown(taking(), VideoPart(clip, fps=2))
    clip.path.unlink()
    with pytest.raises(MediaReadError, match="cannot read video"):
        shown(taking(), VideoPart(clip, fps=2))


def test_estimates_know_the_frames_without_decoding_one(
    clip: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.frames.clips.decode_frames", None)
    still = input_tokens(Request((Message("user", (TextPart("a"),)),))).high

    def high(by: Model, fps: float) -> int:
        parts = TextPart("a"), *shown(by, VideoPart(clip, fps=fps))
        return input_tokens(Request((Message("user", parts),))).high

    assert high(taking(), 2) == still + 5 * 1_300
    assert high(taking(video_format="vllm"), 2) == still + 5 * 300
    assert high(taking(video_format="vllm"), 10) == still + 23 * 300
