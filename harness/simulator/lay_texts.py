"""Simulated lay texts about a medical image: three numbered parts, with the words of the expert if shown.

Wanted, without a schema, by a text that speaks of a `patient` and of `three numbered parts`, with an image or
an expert's description below a heading with `expert`. Nothing is looked for in the image: what a model says
of it alone is drawn by its digest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from harness.simulator.chance import draw, pick, whole
from harness.simulator.lay_terms import BODY_PARTS, KINDS, PATTERN, PLACES, SHOWN_BY, TERMS, kind_of_image
from harness.simulator.marked_texts import shown_below
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question

EXPERT: Final = r"\bexpert"
TECHNICAL: Final = 0.15
"""A model with a greater chance of findings without grounds also leaves expert terms as they are."""

Parts = tuple[str, str, str]

_WANTED: Final = re.compile(r"\b(?:three|3) numbered (?:parts|points|sections)\b", re.IGNORECASE)
_PATIENT: Final = re.compile(r"\bpatient", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_SIGHTS: Final = (
    "a lesion that is brighter than what lies around it", "a rounded opacity with a clear edge",
    "a dark spot with blurred edges", "a small cyst", "an area of edema", "tissue that looks uneven",
    "a nodule about as large as a pea", "crowded cells with dark nuclei", "a mild thickening of the wall",
)  # fmt: skip
_MEANINGS: Final = (
    "This may be a harmless finding, but it should be checked.",
    "This can point to an inflammation, which is often treatable.",
    "This could be a growth, and a further test will show of which kind.",
    "Such a change often heals with time; your doctor will watch it.",
)
_CLOSINGS: Final = (
    "Your doctor will explain what happens next.", "Please ask your doctor about anything that is unclear.",
    "It is best to talk about this with your doctor.", "Other tests may be needed to be sure.",
)  # fmt: skip
_REFUSAL: Final = "I'm sorry, but I can't interpret medical images for patients."


def is_wanted(question: Question) -> bool:
    """Tell whether a question without a schema wants a lay text, and shows anything to write it of."""
    text = question.text
    if _WANTED.search(text) is None or _PATIENT.search(text) is None:
        return False
    return question.images > 0 or shown_below(text, EXPERT) is not None


def lay_text(question: Question, skill: Skill) -> str:
    """Return a model's lay text in three numbered parts."""
    return "\n".join(f"{number}. {part}" for number, part in enumerate(_parts(question, skill), start=1))


def messy_lay_text(question: Question, skill: Skill) -> str:
    """Return it with talk around it or in markdown, without its numbers, nested in lists, or a refusal."""
    parts = _parts(question, skill)
    way = draw("lay", *question.identity)
    if way < 0.05:
        return _REFUSAL
    return pick(_WAYS, "wording", *question.identity)(parts)


def _parts(question: Question, skill: Skill) -> Parts:
    shown = shown_below(question.text, EXPERT)
    parts = _of_image(question) if shown is None else _of_caption(shown, question)
    said = tuple(_worded(part, question, skill) for part in parts)
    closing = pick(_CLOSINGS, "closing", *question.case)
    return (said[0], said[1], f"{said[2]} {closing}")


def _of_caption(caption: str, question: Question) -> Parts:
    """Return the caption's own sentences in three parts, its kind of image and part of the body before."""
    sentences = _SENTENCE_END.split(caption.strip())
    kind = kind_of_image(caption)
    body = next((body for body, mark in BODY_PARTS if re.search(mark, caption, re.I)), None)
    told = KINDS[kind] if kind else "a medical image"
    first = f"This is {told}. {f'It shows the {body}.' if body else sentences[0]}"
    seen = sentences[1] if len(sentences) > 1 else sentences[0]
    if question.images and draw("looked", *question.case) < 0.5:
        seen = f"The green box marks the area. {seen}"
    return (first, seen, " ".join(sentences[2:]) or pick(_MEANINGS, "meaning", *question.case))


def _of_image(question: Question) -> Parts:
    case = (question.seed, question.content, question.repeat)
    kind = pick([*SHOWN_BY], "kind", *case)
    body = pick(SHOWN_BY[kind], "body", *case)
    place, sight = pick(PLACES, "place", *case), pick(_SIGHTS, "sight", *question.case)
    size = whole(2, 25, "size", *question.case)
    return (
        f"This is {KINDS[kind]}. It shows the {body}.",
        f"The marked area is {place} and takes up about {size}% of it. It shows {sight}.",
        pick(_MEANINGS, "meaning", *question.case),
    )


def _worded(text: str, question: Question, skill: Skill) -> str:
    """Return a text with its expert terms in plain words, or with a definition behind them."""
    defined: set[str] = set()

    def reworded(found: re.Match[str]) -> str:
        term = TERMS[found[0].lower()]
        luck = draw("term", *question.case, found[0].lower())
        if skill.prior > TECHNICAL or luck > skill.weight + 0.2:
            return found[0]
        if luck < 0.5:
            return term.plain
        first = found[0].lower() not in defined
        defined.add(found[0].lower())
        return f"{found[0]} ({term.definition})" if first else found[0]

    return PATTERN.sub(reworded, text)


def _with_talk(parts: Parts) -> str:
    listed = "\n".join(f"{number}. {part}" for number, part in enumerate(parts, start=1))
    return f"Certainly! Here is an explanation for the patient:\n\n{listed}\n\nLet me know if you need more."


def _with_titles(parts: Sequence[str]) -> str:
    titles = ("What the image is", "What can be seen", "What it means")
    return "\n\n".join(
        f"**{number}. {title}**\n{part}"
        for number, (title, part) in enumerate(zip(titles, parts, strict=True), start=1)
    )


def _with_headings(parts: Parts) -> str:
    return "## Your image\n\n" + "\n\n".join(f"- {part}" for part in parts)


def _in_one(parts: Parts) -> str:
    return " ".join(parts)


_WAYS: Final[Sequence[Callable[[Parts], str]]] = (_with_talk, _with_titles, _with_headings, _in_one)
