"""Videos on the wire: how each format carries one, and where it is refused."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer
from video_examples import mp4
from wire_doubles import ask, model, plain

from harness.cache.key import media_in, read_document
from harness.errors import MediaLimitError, UnsupportedInputError
from harness.estimates import input_tokens
from harness.identity import build
from harness.media import Media, probe
from harness.messages import ImagePart, Message, Request, TextPart, VideoPart, WireRequest
from harness.plans import ModelPlan, with_recipes
from harness.providers.base import get_adapter
from harness.providers.transport import Transport
from harness.sending import Sender
from harness.settings import Model, VideoLimits

CLIP = Media("c" * 64, "video/mp4", 100, 64, 48, duration_s=10.0)
OTHER = replace(CLIP, sha256="d" * 64)
INPUTS = ("text", "image", "video")


def shown(*parts: Any) -> Request:
    return Request((Message("user", (TextPart("what moves?"), *parts)),))


def taking(kind: str = "openai", video_format: str = "video_url", **fields: Any) -> Model:
    return model(kind, provider_fields={"video_format": video_format}, **{"inputs": INPUTS, **fields})


def built(asked: Request, by: Model) -> WireRequest:
    return get_adapter(by.provider.adapter).build(asked, by)


def openai_parts(wire: WireRequest) -> Any:
    return plain(wire.body)["messages"][0]["content"]


@pytest.mark.parametrize("video_format", ["video_url", "vllm", "dashscope"])
def test_openais_format_carries_a_video_as_a_data_url(video_format: str) -> None:
    wire = built(shown(VideoPart(CLIP)), taking(video_format=video_format))
    assert openai_parts(wire) == [
        {"type": "text", "text": "what moves?"},
        {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,<original:{'c' * 64}>"}},
    ]
    assert set(wire.body) == {"model", "messages"}


def test_vllm_takes_one_frame_rate_for_the_request() -> None:
    by = taking(video_format="vllm")
    wire = built(shown(VideoPart(CLIP, fps=10.0), VideoPart(OTHER, fps=10)), by)
    assert plain(wire.body["media_io_kwargs"]) == {"video": {"fps": 10, "num_frames": -1}}
    for other in (None, 2.0):
        with pytest.raises(UnsupportedInputError, match="one frame rate for all videos"):
            built(shown(VideoPart(CLIP, fps=10), VideoPart(OTHER, fps=other)), by)
    with pytest.raises(UnsupportedInputError, match="'media_io_kwargs' is given twice"):
        built(replace(shown(VideoPart(CLIP, fps=2)), params={"media_io_kwargs": {}}), by)


def test_dashscope_takes_a_frame_rate_for_each_video() -> None:
    wire = built(shown(VideoPart(CLIP, fps=2), VideoPart(OTHER, fps=0.5)), taking(video_format="dashscope"))
    assert [part.get("fps") for part in openai_parts(wire)] == [None, 2, 0.5]


def test_gemini_carries_a_video_inline_with_its_frame_rate() -> None:
    clip = replace(CLIP, mime="video/quicktime")
    wire = built(shown(VideoPart(clip, fps=10.0), VideoPart(OTHER)), taking("gemini", "none"))
    assert plain(wire.body["contents"])[0]["parts"][1:] == [
        {
            "inlineData": {"mimeType": "video/mov", "data": f"<original:{'c' * 64}>"},
            "videoMetadata": {"fps": 10},
        },
        {"inlineData": {"mimeType": "video/mp4", "data": f"<original:{'d' * 64}>"}},
    ]


@pytest.mark.parametrize("fps", [0.0, -1.0, 24.1, float("nan"), float("inf")])
def test_a_frame_rate_that_gemini_does_not_take_is_refused(fps: float) -> None:
    with pytest.raises(UnsupportedInputError, match="give more than 0, at most 24"):
        built(shown(VideoPart(CLIP, fps=fps)), taking("gemini"))


@pytest.mark.parametrize(
    ("by", "fps", "says", "limit"),
    [
        (taking(video_format="none"), None, "provider 'p' is not known to take videos", "video_format"),
        (taking(), 2.0, "takes no frames per second for a video", "video_format"),
        (taking(inputs=("text", "image")), None, "model 'm' takes no videos", "inputs"),
        (taking("gemini", inputs=("text",)), None, "model 'm' takes no videos", "inputs"),
        (taking("simulator", "none"), None, "not known to take videos", "video_format"),
    ],
)
def test_a_video_where_none_is_taken_is_refused_and_not_dropped(
    by: Model, fps: float | None, says: str, limit: str
) -> None:  # F16
    with pytest.raises(UnsupportedInputError, match=says) as caught:
        built(shown(VideoPart(CLIP, fps=fps)), by)
    assert caught.value.limit == limit


@pytest.mark.parametrize("kind", ["openai", "gemini"])
def test_more_videos_than_a_model_takes_are_refused_and_not_cut(kind: str) -> None:  # F16
    by = taking(kind, max_videos=1)
    assert built(shown(VideoPart(CLIP)), by)
    with pytest.raises(UnsupportedInputError, match="takes 1 videos, the request has 2") as caught:
        built(shown(VideoPart(CLIP), VideoPart(OTHER)), by)
    assert caught.value.limit == "max_videos"


@pytest.mark.parametrize("part", [ImagePart(CLIP), VideoPart(replace(CLIP, mime="image/png"))])
def test_a_medium_in_the_place_of_another_kind_is_refused(part: Any) -> None:
    with pytest.raises(UnsupportedInputError, match="in the place of another kind"):
        built(shown(part), taking())


@pytest.mark.parametrize("kind", ["openai", "gemini"])
def test_whatever_changes_what_is_seen_of_a_video_changes_the_key(kind: str) -> None:  # F1
    by = taking(kind, "vllm")
    asked = [
        shown(VideoPart(CLIP)),
        shown(VideoPart(CLIP, fps=2)),
        shown(VideoPart(CLIP, fps=10)),
        shown(VideoPart(OTHER)),
        shown(VideoPart(CLIP), VideoPart(CLIP)),
        shown(),
    ]
    keys = [build(one, by).key for one in asked]
    assert len(set(keys)) == len(asked)
    same = (VideoPart(replace(CLIP, path=Path("b.mp4"), duration_s=None)), VideoPart(CLIP, fps=2.0))
    assert [build(shown(part), by).key for part in same] == keys[:2]


def test_the_stored_request_holds_a_video_by_digest() -> None:
    body, _ = read_document(build(shown(VideoPart(CLIP)), taking()).document)
    assert media_in(body) == [("c" * 64, "original", 1)]


def test_frames_are_counted_in_estimates() -> None:
    still = input_tokens(ask("what moves?")).high
    assert input_tokens(shown(VideoPart(CLIP))).high == still + 21 * 300
    assert input_tokens(shown(VideoPart(CLIP, fps=10))).high == still + 101 * 300
    unknown = replace(CLIP, duration_s=None)
    assert input_tokens(shown(VideoPart(unknown, fps=1))).high == still + 61 * 300


# Over the wire.


@pytest.fixture
def clip(tmp_path: Path) -> Media:
    path = tmp_path / "clip.mp4"
    path.write_bytes(mp4(pictures=bytes(range(256)) * 40))
    return probe(path)


@pytest.mark.parametrize("kind", ["openai", "gemini"])
async def test_a_video_arrives_byte_for_byte(clip: Media, kind: str) -> None:
    assert clip.path is not None
    with ScriptedServer() as server:
        async with Transport() as transport:
            there = {"base_url": f"{server.url}/v1", "video_format": "vllm"}
            by = model(kind, provider_fields=there, inputs=INPUTS)
            asked = shown(VideoPart(clip, fps=4))
            exchange, _ = await Sender(transport, {}).send(by, asked, build(asked, by), pool="p")
    (arrival,) = server.arrivals
    if kind == "openai":
        url = arrival.json["messages"][0]["content"][1]["video_url"]["url"]
        assert arrival.json["media_io_kwargs"] == {"video": {"fps": 4, "num_frames": -1}}
        kept, text = url.split(";base64,")
        assert kept == "data:video/mp4"
    else:
        part = arrival.json["contents"][0]["parts"][1]
        assert (part["videoMetadata"], part["inlineData"]["mimeType"]) == ({"fps": 4}, "video/mp4")
        text = part["inlineData"]["data"]
    assert base64.b64decode(text) == clip.path.read_bytes()
    assert exchange.media_sent == {clip.sha256: clip.sha256}


def test_a_video_is_checked_against_the_models_limits_before_it_is_sent(clip: Media) -> None:
    messages = shown(VideoPart(clip)).messages
    by = taking(video=VideoLimits(max_bytes=clip.size))
    assert with_recipes(messages, ModelPlan(by, {}, image_recipe="fit:max_side=9")) == messages
    small = taking(video=VideoLimits(max_bytes=clip.size - 1))
    with pytest.raises(MediaLimitError, match=r"model 'm' takes [0-9,]+ \(video.max_bytes\)"):
        with_recipes(messages, ModelPlan(small, {}))


async def test_a_request_too_large_in_all_is_not_sent(clip: Media) -> None:
    messages = shown(VideoPart(clip)).messages
    text = (clip.size + 2) // 3 * 4
    with pytest.raises(MediaLimitError, match="in all, model 'm' takes") as caught:
        with_recipes(messages, ModelPlan(taking(max_request_bytes=text - 1), {}))
    assert caught.value.limit == "max_request_bytes"
    # What is around the media is known exactly when the body is made: still nothing goes out.
    with ScriptedServer() as server:
        by = model(
            "openai",
            provider_fields={"base_url": server.url, "video_format": "vllm", "max_request_bytes": text + 5},
            inputs=INPUTS,
        )
        asked = Request(with_recipes(messages, ModelPlan(by, {})))
        async with Transport() as transport:
            with pytest.raises(MediaLimitError, match="in all, model 'm' takes"):
                await Sender(transport, {}).send(by, asked, build(asked, by), pool="p")
    assert server.arrivals == []
