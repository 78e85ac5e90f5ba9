"""Which free-text question about a case is asked, by the marks listed in `questions`; its answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.simulator import lay_texts, translating
from harness.simulator.attribute_answers import Attribute, answered, messily_answered
from harness.simulator.chance import draw
from harness.simulator.clinical_reports import messy_report, report, restated
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question
from harness.simulator.radiographs import BY_NAME
from harness.simulator.report_wordings import topics_of
from harness.simulator.restating import has_quotation, quoted_answer, without_quotation


@dataclass(frozen=True, slots=True)
class Report:
    """A clinical report of the radiograph is wanted."""


@dataclass(frozen=True, slots=True)
class Restating:
    """A quoted clinical report is to be restated in a fixed style."""

    report: str


@dataclass(frozen=True, slots=True)
class Translating:
    """A quoted Chinese text is to be put into English."""

    original: str


@dataclass(frozen=True, slots=True)
class LayText:
    """A medical image is to be explained to a patient."""


Asked: TypeAlias = Report | Restating | Translating | LayText | Attribute

_RESTATING: Final = re.compile(r"\b(?:restat|rewrit|rewrot|rephras|reword|normali[sz])", re.IGNORECASE)
_REPORT: Final = re.compile(r"\breports?\b", re.IGNORECASE)
_PANORAMIC: Final = re.compile(r"\bpanoramic\b|\bOPG\b|\borthopantomogra", re.IGNORECASE)
_ONE_SENTENCE: Final = re.compile(
    r"\b(?:one|single)\b[\w\s,-]{0,40}\bsentence\b(?!\s+(?:per|for|each|a|an|in each)\b)", re.IGNORECASE
)
_TEETH: Final = re.compile(
    r"\bFDI\b|\bwhich (?:\w+ ){0,2}teeth\b|\b(?:tooth|teeth) numbers?\b", re.IGNORECASE
)
_OPENINGS: Final = r"(?:No|None|There (?:is|are) no|Neither)\b"
_DENIALS: Final = (
    re.compile(
        rf"[\"\u201c\u201e\u00ab`]\s*(?P<said>{_OPENINGS}[^\"\u201d\u00bb`\n]{{3,200}}?)\s*[\"\u201d\u00bb`]"
    ),
    re.compile(rf"(?<!\w)['\u2018](?P<said>{_OPENINGS}[^\n]{{3,200}}?\.)['\u2019](?!\w)"),
    re.compile(rf"(?::|\bexactly)[ \t]*\n?[ \t]*(?P<said>{_OPENINGS}[^\n]{{3,200}}?\.)(?=\s|\Z)"),
)
_QUOTED: Final = re.compile(
    r"[\"\u201c\u201e\u00ab`]\s*(?P<said>[A-Z][^\"\u201d\u00bb`\n]{10,200}?\.)\s*[\"\u201d\u00bb`]"
)


def asked(question: Question) -> Asked | None:
    """Return what a question without a schema asks of a kind that is known; None for any other question."""
    if question.schema is not None:
        return None
    text = question.text
    if has_quotation(text):
        if translating.is_wanted(question):
            return Translating(quoted_answer(text))
        around = without_quotation(text)
        restating = _RESTATING.search(around) and _REPORT.search(around)
        return Restating(quoted_answer(text)) if restating else None
    if lay_texts.is_wanted(question):
        return LayText()
    if _ONE_SENTENCE.search(text) and (denial := _denial(text)) is not None:
        return _attribute(text, denial)
    if question.images and _PANORAMIC.search(text) and _REPORT.search(text):
        return Report()
    return None


def tidily(question: Question, skill: Skill) -> str | None:
    """Return a model's plain answer to a question of a known kind; None for any other question."""
    match asked(question):
        case Report():
            return report(question, skill)
        case Restating(quoted):
            return restated(quoted, question, skill)
        case Translating(original):
            return translating.translated(original)
        case LayText():
            return lay_texts.lay_text(question, skill)
        case Attribute() as attribute:
            return answered(attribute, question, skill)
        case _:
            return None


def messily(question: Question, skill: Skill) -> str | None:
    """Return an answer that leaves the form, in restating at times an empty one; None likewise."""
    match asked(question):
        case Report():
            return messy_report(question, skill)
        case Restating(quoted):
            silent = draw("stubborn", *question.case) < 0.06 or draw("mood", *question.identity) < 0.2
            return "" if silent else restated(quoted, question, skill)
        case Translating(original):
            return translating.messily_translated(original, question)
        case LayText():
            return lay_texts.messy_lay_text(question, skill)
        case Attribute() as attribute:
            return messily_answered(attribute, question, skill)
        case _:
            return None


def _denial(text: str) -> str | None:
    found = (mark.search(text) for mark in _DENIALS)
    return next((one["said"].strip() for one in found if one is not None), None)


def _attribute(text: str, denial: str) -> Attribute:
    topics = topics_of(denial)
    known_flag = bool(topics) and all(BY_NAME[name].kind == "flag" for name in topics)
    wants_teeth = not known_flag and _TEETH.search(text) is not None
    quoted = (found["said"] for found in _QUOTED.finditer(text))
    affirmation = next((said for said in quoted if not re.match(_OPENINGS, said)), None)
    return Attribute(denial, None if wants_teeth else affirmation, wants_teeth, topics)
