"""Simulated answers to a question about one thing on a radiograph: one sentence, or what is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.simulator.chance import draw, pick
from harness.simulator.clinical_reports import bridges_text, teeth_text
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question
from harness.simulator.radiographs import YES, seen


@dataclass(frozen=True, slots=True)
class Attribute:
    """A question about one thing. `denial` is the sentence to use when it is not there, as it is quoted.

    `affirmation` is the quoted sentence for when it is, if there is one and no teeth are wanted. `topics` are
    those of the denial, none where it names nothing that is known here.
    """

    denial: str
    affirmation: str | None
    wants_teeth: bool
    topics: tuple[str, ...]


_DENIAL: Final = re.compile(
    r"(?:There (?:is|are) no|No) (?P<what>.+?)"
    r"(?: (?P<verb>is|are|was|were|has|have|shows?|carr(?:y|ies)) (?P<rest>.+?))?[.]?\s*"
)
_TOOTH: Final = re.compile(r"(?:permanent )?(?:(?P<kind>[\w -]+) )?(?:tooth|teeth)")
_PLURALS: Final[Mapping[str, str]] = {
    "is": "are", "was": "were", "has": "have", "shows": "show", "carries": "carry",
}  # fmt: skip
_NAMES: Final = (
    "central incisor", "lateral incisor", "canine", "first premolar", "second premolar", "first molar",
    "second molar", "third molar",
)  # fmt: skip
_QUADRANTS: Final = ("upper right", "upper left", "lower left", "lower right")


def answered(attribute: Attribute, question: Question, skill: Skill) -> str:
    """Return the one sentence that a model answers with."""
    places = _seen(attribute, question, skill)
    if not places:
        return attribute.denial
    if not attribute.wants_teeth:
        return attribute.affirmation or _affirmed(attribute.denial, "", False)
    if "X" in places[0]:
        return _affirmed(attribute.denial, bridges_text(places), len(places) > 1)
    style = pick(_STYLES, "style", question.model, question.view, *attribute.topics)
    return _affirmed(attribute.denial, style(places), len(places) > 1)


def messily_answered(attribute: Attribute, question: Question, skill: Skill) -> str:
    """Return the sentence in one of the ways that keep it readable, or what no reader can be sure of."""
    plain = answered(attribute, question, skill)
    stubborn = draw("stubborn", *question.case) < 0.125
    if not stubborn and draw("mood", *question.identity) < 0.45 + 0.2 * question.attempt:
        return pick(_READABLE, "wording", *question.identity)(plain)
    ways = _VAGUE_TEETH if attribute.wants_teeth else _VAGUE
    return pick(ways, "wording", *question.identity)(attribute, plain)


def _seen(attribute: Attribute, question: Question, skill: Skill) -> tuple[str, ...]:
    if attribute.topics:
        findings = seen(question, skill)
        places = [place for name in attribute.topics for place in findings[name]]
        return tuple(dict.fromkeys(places))
    case = (question.seed, question.model, question.view or question.content, question.repeat)
    if draw("unknown", *case, attribute.denial) >= 0.4:
        return ()
    teeth = [f"{jaw}{pick('12345678', 'unknown', *case, jaw)}" for jaw in "1234"]
    return tuple(teeth[: 1 + int(3 * draw("unknown", *case, "count"))]) if attribute.wants_teeth else YES


def _affirmed(denial: str, places: str, many: bool) -> str:
    """Return the opposite of a denial.

    "No caries is evident." -> "Caries is evident at tooth #36."; "No tooth is missing." -> "Tooth #38 is
    missing."; "No impacted tooth is evident." -> "Tooth #38 is impacted.".
    """
    found = _DENIAL.fullmatch(denial)
    at = f" at {places}" if places else ""
    if found is None:
        return f"Yes,{at or ' it is present'}."
    what, verb, rest = found["what"], found["verb"], found["rest"]
    if places and verb and (tooth := _TOOTH.fullmatch(what)):
        told = tooth["kind"] or rest
        return _capital(f"{places} {_PLURALS.get(verb, verb) if many else verb} {told}.")
    if verb is None:
        return f"There is {what}{at}." if denial.startswith("There") else _capital(f"{what} is evident{at}.")
    return _capital(f"{what} {verb} {rest}{at}.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _with_commas(teeth: Sequence[str]) -> str:
    return f"{'teeth' if len(teeth) > 1 else 'tooth'} {', '.join(teeth)}"


def _with_signs(teeth: Sequence[str]) -> str:
    return teeth_text(teeth).split(" ", 1)[1]


def _in_fdi(teeth: Sequence[str]) -> str:
    return f"FDI {_with_commas(teeth)}"


def _in_words(teeth: Sequence[str]) -> str:
    told = [f"the {_QUADRANTS[int(tooth[0]) - 1]} {_NAMES[int(tooth[1]) - 1]}" for tooth in teeth]
    return " and ".join([", ".join(told[:-1]), told[-1]] if told[1:] else told)


_STYLES: Final = (teeth_text, teeth_text, _with_commas, _with_signs, _in_fdi, _in_words)
_READABLE: Final[tuple[Callable[[str], str], ...]] = (
    lambda plain: plain,
    lambda plain: f"**{plain}**",
    lambda plain: f"Answer: {plain}",
    lambda plain: f"<think>The image is examined region by region.</think>\n{plain}",
)


def _refusing(attribute: Attribute, plain: str) -> str:
    return "I'm sorry, but I can't interpret medical images."


def _hedging(attribute: Attribute, plain: str) -> str:
    return f"It is difficult to say from this image, but possibly: {plain}"


def _contradicting(attribute: Attribute, plain: str) -> str:
    there = _affirmed(attribute.denial, "tooth #36" if attribute.wants_teeth else "", False)
    return f"{attribute.denial} {there}"


def _asking(attribute: Attribute, plain: str) -> str:
    return "Could you provide an image of higher resolution?"


def _ranging(attribute: Attribute, plain: str) -> str:
    return _affirmed(attribute.denial, "#36-38", True)


def _counting(attribute: Attribute, plain: str) -> str:
    return _affirmed(attribute.denial, "several molars", True)


def _of_another_notation(attribute: Attribute, plain: str) -> str:
    return _affirmed(attribute.denial, "tooth 19", False)


def _of_a_child(attribute: Attribute, plain: str) -> str:
    return _affirmed(attribute.denial, "tooth #75", False)


_VAGUE: Final = (_refusing, _hedging, _contradicting, _asking)
_VAGUE_TEETH: Final = (*_VAGUE, _ranging, _counting, _of_another_notation, _of_a_child)
