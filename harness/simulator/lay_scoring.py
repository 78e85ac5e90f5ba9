"""Simulated scores of lay texts: how many of the expert's terms and words come back, and a reading of form.

Two forms, known by their schemas. The verifier's has `scores`, an object of whole numbers from 0 to 2, with
`total_score` and `verdict`; the evaluator's is an object of nothing but numbers from 0 to 1. The texts stand
below headings with `expert` and `lay text`, or in `<expert>` and `<lay>`. Verdicts and totals follow from the
scores, but for a few, so that what counts contradictions has something to count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from harness.simulator.chance import draw
from harness.simulator.instances import Schema, kind_of, resolve
from harness.simulator.lay_terms import PATTERN, TERMS, kind_of_image
from harness.simulator.marked_texts import shown_below
from harness.simulator.opinions import Skill, words
from harness.simulator.questions import Question

MOST: Final = 2
SLIPS: Final = 0.1
"""Share of verdicts that do not follow from the scores; half as many totals."""

_TAGGED: Final = r"<{0}>(.*?)</{0}>"
_LONG_WORD: Final = re.compile(r"[^\W\d_]{11,}")
_VERDICTS: Final = ("PASS", "REVISE", "FAIL")


def wants_verdict(schema: Schema) -> bool:
    """Tell whether a schema is the verifier's."""
    parts: Mapping[str, Any] = schema.get("properties", {})
    return {"scores", "total_score", "verdict"} <= {*parts} and bool(_properties(parts["scores"], schema))


def wants_shares(schema: Schema) -> bool:
    """Tell whether a schema wants nothing but several numbers from 0 to 1."""
    parts = [resolve(part, schema) for part in schema.get("properties", {}).values()]
    bounds = [(kind_of(part), part.get("minimum"), part.get("maximum")) for part in parts]
    return len(parts) > 1 and all(bound == ("number", 0, 1) for bound in bounds)


def verified(made: Mapping[str, Any], question: Question, skill: Skill) -> dict[str, Any]:
    """Return a value of the verifier's schema that fits the two texts."""
    expert, lay = _texts(question.text)
    scores = {
        name: min(MOST, int(_share(name, expert, lay, question, skill) * (MOST + 1)))
        for name in made["scores"]
    }
    total = sum(scores.values())
    verdict = _verdict(total, MOST * len(scores))
    if draw("verdict", *question.case) < SLIPS:
        verdict = _VERDICTS[(_VERDICTS.index(verdict) + 1) % len(_VERDICTS)]
    low = [f"{name} is not fully met" for name, score in scores.items() if score < MOST]
    mistaken = draw("expert", *question.case) < skill.prior
    told = {
        "scores": scores,
        "total_score": max(0, total - int(draw("total", *question.case) < SLIPS / 2)),
        "verdict": verdict,
        "fail_reasons": low if verdict != "PASS" else [],
        "revised_lay_caption": "" if verdict == "PASS" else f"{lay.strip()} Please ask your doctor.",
        "expert_error": mistaken,
        "expert_error_reason": "The stated side does not fit the image." if mistaken else "",
        "brief_note": "This judgement is simulated and says nothing about the text.",
    }
    return {name: told.get(name, value) for name, value in made.items()}


def valued(made: Mapping[str, Any], question: Question, skill: Skill) -> dict[str, float]:
    """Return the numbers from 0 to 1 that the two texts speak for, with four decimals."""
    expert, lay = _texts(question.text)
    return {name: round(_share(name, expert, lay, question, skill), 4) for name in made}


def _texts(text: str) -> tuple[str, str]:
    """Return the expert's and the lay text; empty where there is none."""
    found = []
    for tag, heading in (("expert", r"\bexpert"), ("lay", r"\blay (?:text|caption)")):
        tagged = re.search(_TAGGED.format(tag), text, re.DOTALL)
        found.append(tagged[1] if tagged else shown_below(text, heading) or "")
    return found[0], found[1]


def _share(name: str, expert: str, lay: str, question: Question, skill: Skill) -> float:
    """Return how far one criterion is met, from 0 to 1."""
    noise = draw("criterion", *question.case, name)
    if "readab" in name:
        met = 1 - min(1.0, 12 * len(_LONG_WORD.findall(lay)) / (1 + len(words(lay))) / 2)
    elif "modal" in name:
        met = 1.0 if kind_of_image(expert) in (None, kind_of_image(lay)) else 0.2
    else:
        met = _kept(expert, lay)
    weight = min(0.7, skill.weight)
    return min(1.0, weight * (0.1 + 0.9 * met) + (1 - weight) * noise)


def _kept(expert: str, lay: str) -> float:
    """Return the share of the expert's terms that a lay text has, as they are or in plain words."""
    wanted = {found[0].lower() for found in PATTERN.finditer(expert)}
    said = lay.casefold()
    terms = [term in said or TERMS[term].plain.casefold() in said for term in wanted]
    own, told = set(words(expert)), set(words(lay))
    shared = len(own & told) / len(own) if own else 0.0
    return (sum(terms) / len(terms) + shared) / 2 if terms else shared


def _verdict(total: int, most: int) -> str:
    return "PASS" if total == most else "REVISE" if total >= most * 0.7 else "FAIL"


def _properties(part: object, root: Schema) -> Mapping[str, Any]:
    found: Mapping[str, Any] = resolve(part, root).get("properties", {})
    return found
