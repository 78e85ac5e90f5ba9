"""Simulated verdicts: scores of 0 or 1 with a reason, for every property of a schema that is such a pair.

A dimension fails likelier the more labels the prompt lists as missing or as extra: which of them count, and
how much, goes by the dimension's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.simulator.chance import draw, pick
from harness.simulator.instances import Schema, resolve
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question

NO_REASON: Final = "N/A"
"""The reason of a dimension that did not fail."""

_PAIR: Final = frozenset({"score", "reason"})
_GROUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "neglect": (0.2, 0.0),
    "omission": (0.6, 0.0),
    "misinterpretation": (0.25, 0.25),
    "protocol": (0.15, 0.2),
    "hallucination": (0.0, 0.5),
}
"""Part of a dimension's name -> how much one missing and one extra label speak for its failing."""

_MISSING: Final = r"missing|missed|omitted|left out|expert chose"
_EXTRA: Final = r"extra|added|superfluous|surplus|(?:program|model) chose"
LISTS: Final = tuple(
    re.compile(
        rf"^(?=[^\n:]*label)[^\n:]*\b(?:{words})\b[^\n:]*:[ \t]*"
        r"(?P<listed>\S[^\n]*|(?:\n(?![^\n]*:[ \t]*$)[^\n]+)*)",
        re.IGNORECASE | re.MULTILINE,
    )
    for words in (_MISSING, _EXTRA)
)
"""Headings of missing and of extra labels, with what is listed below or behind them."""
_NOTHING: Final = re.compile(r"\W*(?:none|nothing|no labels?|n/a)?\W*", re.IGNORECASE)
_ENCLOSED: Final = re.compile(r"\([^()\n]*\)")


def verdict_names(schema: Schema) -> tuple[str, ...]:
    """Return the properties of a schema if all are objects with a score and a reason, else nothing."""
    names: Mapping[str, Any] = schema.get("properties", {})
    pairs = ({*resolve(part, schema).get("properties", ())} >= _PAIR for part in names.values())
    return tuple(names) if names and all(pairs) else ()


def judged(made: Mapping[str, Any], names: Sequence[str], question: Question, skill: Skill) -> dict[str, Any]:
    """Return a value of such a schema with the scores and reasons that the prompt's labels speak for."""
    missing, extra = (listed_labels(question.text, mark) for mark in LISTS)
    verdicts: dict[str, Any] = {}
    for name in names:
        by_missing, by_extra = _weights(name)
        grounds = by_missing * len(missing) + by_extra * len(extra)
        chance = skill.prior / 2 + skill.weight * grounds / (1 + grounds)
        failed = draw("verdict", *question.case, name) < chance
        reason = _reason(name, [*missing, *extra], question) if failed else NO_REASON
        kind = type(made[name]["score"])
        score = str(int(failed)) if kind is str else bool(failed) if kind is bool else int(failed)
        verdicts[name] = {**made[name], "score": score, "reason": reason}
    return verdicts


def listed_labels(text: str, mark: re.Pattern[str]) -> list[str]:
    """Return the labels of the last list in a text that its heading names; nothing for "none"."""
    found = [*mark.finditer(text)]
    listed = found[-1]["listed"].strip() if found else ""
    if _NOTHING.fullmatch(listed):
        return []
    try:
        parsed = json.loads(listed)
    except ValueError:
        parsed = None
    if isinstance(parsed, list):
        return [str(label) for label in parsed]
    lines = [line.strip("-*\u2022 \t") for line in listed.split("\n")]
    if len(lines) > 1:
        return [line for line in lines if line]
    return [label.strip() for label in _ENCLOSED.sub("", lines[0]).split(";") if label.strip()]


def _weights(name: str) -> tuple[float, float]:
    plain = name.casefold()
    return next((weights for word, weights in _GROUNDS.items() if word in plain), (0.2, 0.2))


def _reason(name: str, labels: Sequence[str], question: Question) -> str:
    about = pick(labels, "reason", *question.case, name) if labels else "a finding"
    return f"The reasoning does not account for what stands behind {about}; simulated."
