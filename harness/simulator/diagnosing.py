"""Simulated ranked diagnoses: chosen by words of the history, in the prompt's language, plus noise.

Wanted where a schema has one property, with `diagnos` in its name, that is a list of as many texts as it has
to have. The history is what stands below a heading with `history` or 病史; without one, all of the text.
Media are not looked at: another image is other noise, and with any a model goes by its grounds a little more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from harness.simulator import wordings
from harness.simulator.chance import draw, pick
from harness.simulator.differentials import REGIONS, Diagnosis
from harness.simulator.instances import Schema, kind_of, resolve
from harness.simulator.marked_texts import shown_below
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question

HISTORY: Final = "history|病史"
HAN: Final = re.compile("[\u4e00-\u9fff]")

_LATIN: Final = re.compile("[A-Za-z]")
_SIDES: Final = re.compile("left|right|[左右]", re.IGNORECASE)
_CHINESE_SIDES: Final = {"left": "左", "right": "右", "左": "左", "右": "右"}
_ENGLISH_SIDES: Final = {"left": "left ", "right": "right ", "左": "left ", "右": "right "}


def wanted_list(schema: Schema) -> tuple[str, int] | None:
    """Return name and length of the one ranked list that a schema wants; None for any other schema."""
    parts: Mapping[str, Any] = schema.get("properties", {})
    if len(parts) != 1:
        return None
    ((name, inner),) = parts.items()
    part = resolve(inner, schema)
    count = part.get("minItems", 0)
    texts = kind_of(part) == "array" and kind_of(resolve(part.get("items", {}), schema)) == "string"
    return (name, count) if texts and count > 1 and "diagnos" in name.lower() else None


def ranked(question: Question, skill: Skill, count: int) -> list[str]:
    """Return so many diagnoses, the likeliest first, in the language that the question is put in."""
    history = shown_below(question.text, HISTORY) or question.text
    chinese = in_chinese(question.text)
    side = _SIDES.search(history)
    order = sorted(_points(history, question, skill).items(), key=lambda one: -one[1])
    return [_named(known, side, chinese, question) for known, _ in order[:count]]


def in_chinese(text: str) -> bool:
    """Tell whether a text has more Chinese characters than Latin letters."""
    return len(HAN.findall(text)) > len(_LATIN.findall(text))


def messily_ranked(made: Mapping[str, Any], question: Question, skill: Skill) -> str:
    """Return the list in a form that spoils it or can be read all the same: fenced, in prose, four, six."""
    ((name, diagnoses),) = made.items()
    more = ranked(question, skill, len(diagnoses) + 1)
    if draw("stubborn", *question.case) < 0.125:
        return pick(_WITHOUT_JSON, "wording", *question.identity)(diagnoses)
    if draw("mood", *question.identity) < 0.45 + 0.2 * question.attempt:
        return pick(wordings.USABLE, "wording", *question.identity)(made)
    ways: Sequence[Callable[[], str]] = (
        lambda: wordings.clean({name: more}),
        lambda: wordings.clean({name: diagnoses[:-1]}),
        lambda: wordings.trailing_comma(made),
        lambda: wordings.python_literal(made),
        lambda: json.dumps(diagnoses, ensure_ascii=False),
    )
    return pick(ways, "wording", *question.identity)()


def _points(history: str, question: Question, skill: Skill) -> dict[Diagnosis, float]:
    told = history.casefold()
    looked = 0.4 if question.images or question.videos else 0.0
    person = (question.seed, question.model, history, question.repeat)
    points: dict[Diagnosis, float] = {}
    for region in REGIONS:
        near = 2.0 * min(_hits(region.words, told), 2)
        for known in region.diagnoses:
            grounds = near + (1.5 * min(_hits(known.cues, told), 3) if near else 0.0)
            name = known.english[1]
            noise = 5.0 * draw("held", *person, name) + 1.5 * draw("seen", *question.case, name)
            points[known] = max(points.get(known, 0.0), (skill.weight + looked) * grounds + noise)
    return points


def _hits(words: Sequence[str], told: str) -> int:
    """Return how many words a text has: Chinese ones anywhere, others at the beginning of a word."""
    return sum(
        bool(word in told if HAN.match(word) else re.search(rf"\b{re.escape(word)}", told)) for word in words
    )


def _named(known: Diagnosis, side: re.Match[str] | None, chinese: bool, question: Question) -> str:
    names = known.chinese if chinese else known.english
    short = draw("short", *question.case, known.english[0]) < 0.35
    sides = _CHINESE_SIDES if chinese else _ENGLISH_SIDES
    return names[0] if short else names[1].replace("{side}", sides[side[0].lower()] if side else "")


def _numbered(diagnoses: Sequence[str]) -> str:
    listed = "\n".join(f"{rank}. {one}" for rank, one in enumerate(diagnoses, start=1))
    return f"My ranking, the most likely first:\n{listed}"


def _told(diagnoses: Sequence[str]) -> str:
    return f"I think of {diagnoses[0]} first; {', '.join(diagnoses[1:-1])} or {diagnoses[-1]} come after it."


_WITHOUT_JSON: Final = (_numbered, _told)
