"""Parts that a format cannot carry, or not where they stand, are refused in words before anything is sent."""

from __future__ import annotations

import pytest
from wire_doubles import SCAN, model

from harness.beyond_limits import Beyond
from harness.errors import UnsupportedInputError
from harness.media import Media
from harness.messages import ImagePart, Message, Part, Request, TextPart, VideoPart
from harness.providers.base import get_adapter

CLIP = Media(sha256="c" * 64, mime="video/mp4", size=10, width=2, height=2)
ALL = ("text", "image", "video")


def refused(kind: str, *messages: Message) -> str:
    with pytest.raises(UnsupportedInputError) as caught:
        get_adapter(kind).build(Request(messages), model(kind, inputs=ALL, max_output_tokens=9))
    return str(caught.value)


@pytest.mark.parametrize("kind", ["openai-responses", "anthropic"])
def test_a_format_without_a_place_for_videos_says_so(kind: str) -> None:
    assert refused(kind, Message("user", (TextPart("look"), VideoPart(CLIP)))) == (
        f"the format '{kind}' has no place for a video; leave model 'm' out of this condition, or correct "
        "its inputs"
    )


@pytest.mark.parametrize("role", ["system", "assistant"])
@pytest.mark.parametrize("kind", ["openai", "openai-responses", "anthropic", "litellm"])
def test_an_image_stands_in_the_users_words_only(kind: str, role: str) -> None:
    question = Message("user", (TextPart("look"),))
    shown = Message(role, (TextPart("here"), ImagePart(SCAN)))  # type: ignore[arg-type]
    told = refused(kind, *((shown, question) if role == "system" else (question, shown)))
    assert told == f"an image can only stand in a user message, and this one is of '{role}'"


def test_a_video_stands_in_the_users_words_only() -> None:
    part: Part = VideoPart(CLIP)
    told = refused("openai", Message("system", (TextPart("here"), part)), Message("user", (TextPart("?"),)))
    assert told == "a video can only stand in a user message, and this one is of 'system'"


@pytest.mark.parametrize("kind", ["gemini", "anthropic"])
def test_system_text_is_not_moved_before_what_came_first(kind: str) -> None:  # F9
    turns = Message("user", (TextPart("?"),)), Message("system", (TextPart("be brief"),))
    assert refused(kind, *turns) == f"the format '{kind}' takes system text before all turns only"


def test_such_cases_are_counted_under_the_wire_format() -> None:
    found = Beyond()
    found.add("c1", UnsupportedInputError("no place for a video"))
    told = list(found.told("m", "cases"))
    assert told == ["m: cases beyond its wire format: 1; first: case 'c1': no place for a video"]
