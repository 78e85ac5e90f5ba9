"""What `explain` says that a model was shown: images, clips, and which of their frames."""

from __future__ import annotations

from typing import Any

from harness.explaining.media_sentences import media_lines

IMAGE: dict[str, Any] = {"sha256": "a" * 64, "mime": "image/png", "bytes": 12345, "recipe": "original"}
CLIP: dict[str, Any] = {"sha256": "b" * 64, "mime": "video/mp4", "bytes": 7000, "recipe": "original"}


def frame(index: int, clip: str = "b") -> dict[str, Any]:
    shown = {"index": index, "time_s": index / 10}
    return {**CLIP, "sha256": clip * 64, "recipe": f"frame:index={index}", "frame": shown}


def test_an_image_is_named_with_its_size_and_recipe() -> None:
    (line,) = media_lines([IMAGE])
    assert line == "shown: image aaaaaaaaaaaa (12,345 bytes), original"


def test_frames_of_one_clip_stand_together_and_clips_apart() -> None:
    shown = [frame(0), frame(5), frame(10), frame(0, "c")]
    assert list(media_lines(shown)) == [
        "shown: clip bbbbbbbbbbbb as 3 images: frames 0, 5, 10, from 0 to 1 s",
        "shown: clip cccccccccccc as 1 image: frame 0, at 0 s",
    ]


def test_of_many_frames_the_first_and_the_last_are_named() -> None:
    (line,) = media_lines([frame(index) for index in range(0, 60, 5)])
    assert line == "shown: clip bbbbbbbbbbbb as 12 images: frames 0, 5, 10, 15, ..., 55, from 0 to 5.5 s"


def test_a_clip_that_was_shown_whole_says_who_chose_its_frames() -> None:
    known = {"fps": 2, "sampled_by": "harness", "frames": [{"index": 0, "time_s": 0.0}]}
    unknown = {"fps": None, "sampled_by": "provider", "frames": None}
    first, second = media_lines([{**CLIP, "clip": known}, {**CLIP, "clip": unknown}])
    assert first == (
        "shown: clip bbbbbbbbbbbb (7,000 bytes) as a video, at 2 frames per second, frame 0, at 0 s"
    )
    assert second == (
        "shown: clip bbbbbbbbbbbb (7,000 bytes) as a video, at its own rate; its provider chose the frames, "
        "and which is not known"
    )
