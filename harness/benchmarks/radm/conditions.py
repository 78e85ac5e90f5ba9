"""What each condition of RadM-Bench shows of a case, of which cases it is asked, and the messages it makes.

Conditions are the paper's four ("Model Selection and Configuration") and its cross-language control. A volume
is shown as its clips, whatever the model: who cannot take a clip is shown its frames, by rules that are no
benchmark's. Volume conditions show no key images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness.benchmarks.base import Case, Prompt
from harness.benchmarks.prompts import check_placeholders, placeholders, render
from harness.benchmarks.radm.cases import CLIP, IMAGE
from harness.benchmarks.radm.sections import PARTS, parts_of
from harness.errors import ConfigError, MediaError, UnknownNameError
from harness.media import Media
from harness.messages import ImagePart, Message, Part, TextPart, VideoPart

TEXT: Final = "text"
TEXT_IMAGES: Final = "text_images"
TEXT_VOLUME_FPS2: Final = "text_volume_fps2"
TEXT_VOLUME_FPS10: Final = "text_volume_fps10"
TEXT_TRANSLATED: Final = "text_translated"


@dataclass(frozen=True, slots=True)
class Condition:
    """`history` is the case's field that is shown, `fps` how many frames a second of clips are.

    `fields`: what the user part of a prompt may name; {history} it must.
    """

    prompt: str
    fields: frozenset[str] = frozenset({"history"})
    history: str = "history"
    role: str | None = None
    fps: int | None = None


CONDITIONS: Final[Mapping[str, Condition]] = MappingProxyType(
    {
        TEXT_IMAGES: Condition("radm-text-images-v1", frozenset({"history", "images"}), role=IMAGE),
        TEXT: Condition("radm-text-v1"),
        TEXT_VOLUME_FPS2: Condition(
            "radm-text-volume-v1", frozenset({"history", "clips", "fps"}), role=CLIP, fps=2
        ),
        TEXT_VOLUME_FPS10: Condition(
            "radm-text-volume-v1", frozenset({"history", "clips", "fps"}), role=CLIP, fps=10
        ),
        TEXT_TRANSLATED: Condition("radm-text-v1", history="history_en"),
    }
)
"""The main one first."""

PARTIAL: Final = frozenset({TEXT_IMAGES, TEXT_VOLUME_FPS2, TEXT_VOLUME_FPS10, TEXT_TRANSLATED})
"""Those that some cases cannot be asked."""

_COUNTED: Final = {IMAGE: "images", CLIP: "videos"}
"""Role -> where a case's reference says how many media of it there are."""
_CLIP_LABELS: Final = {"en": "Clip {number} of {count}:", "zh": "第{number}段，共{count}段："}  # noqa: RUF001


def known(condition: str) -> Condition:
    """Return a condition. Raises UnknownNameError."""
    if condition not in CONDITIONS:
        raise UnknownNameError(
            f"unknown condition {condition!r} of radm; known: {', '.join(CONDITIONS)}; correct --conditions"
        )
    return CONDITIONS[condition]


def asks(case: Case, condition: str) -> bool:
    """Tell whether a case has what a condition shows; of broken media too, whose case ends as `case_error`.

    The cross-language control is about Chinese histories with an English translation.
    """
    wanted = known(condition)
    if wanted.history not in case.fields:
        return False
    if condition == TEXT_TRANSLATED and case.reference["language"] != "zh":
        return False
    return wanted.role is None or bool(case.reference[_COUNTED[wanted.role]])


def check_prompt(prompt: Prompt, condition: str) -> None:
    """Raise ConfigError where a prompt lacks a part or a placeholder, or names what is not shown."""
    wanted, parts = known(condition), parts_of(prompt)
    for name in _needed(condition):
        if name not in parts:
            raise ConfigError(
                f"prompt {prompt.id!r} lacks the section '=== {name}', which condition {condition!r} shows; "
                "write it, or take all sections out to show one text in every language"
            )
    for name in PARTS:
        if name not in parts:
            continue
        part = _part(prompt, parts[name])
        check_placeholders(part, wanted.fields if name.endswith("user") else frozenset())
        if name in _needed(condition) and "history" not in placeholders(part):
            where = f" in section '=== {name}'" if "===" in prompt.text else ""
            raise ConfigError(
                f"prompt {prompt.id!r} lacks {{history}}{where}; put it where the clinical history goes"
            )


def messages(case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
    """Return the system turn, if the prompt has one, and the user turn: text, then media in order.

    Raises ConfigError where the prompt cannot serve the condition, MediaError rather than ask without a
    medium that belongs to it.
    """
    check_prompt(prompt, condition)
    wanted, parts = known(condition), parts_of(prompt)
    language = "en" if condition == TEXT_TRANSLATED else str(case.reference["language"])
    shown = case.media.get(wanted.role, ()) if wanted.role is not None else ()
    if wanted.role is not None and not shown:
        raise MediaError(f"case {case.id!r} has no usable {wanted.role}: {case.problem or 'none was loaded'}")
    count = str(len(shown))
    values = {"history": case.fields[wanted.history], "images": count, "clips": count, "fps": str(wanted.fps)}
    text = render(_part(prompt, parts[f"{language} user"]), {name: values[name] for name in wanted.fields})
    system = parts.get(f"{language} system")
    user = Message("user", (TextPart(text), *_media_parts(shown, wanted, language)))
    if system is None:
        return (user,)
    return (Message("system", (TextPart(render(_part(prompt, system), {})),)), user)


def _needed(condition: str) -> tuple[str, ...]:
    return ("en user",) if condition == TEXT_TRANSLATED else ("en user", "zh user")


def _part(prompt: Prompt, text: str) -> Prompt:
    return Prompt(prompt.id, prompt.sha256, text)


def _media_parts(shown: tuple[Media, ...], wanted: Condition, language: str) -> Iterator[Part]:
    for number, media in enumerate(shown, start=1):
        if wanted.role == IMAGE:
            yield ImagePart(media)
        else:
            yield TextPart(_CLIP_LABELS[language].format(number=number, count=len(shown)))
            yield VideoPart(media, fps=wanted.fps)
