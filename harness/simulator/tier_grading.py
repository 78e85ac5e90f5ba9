"""Simulated tiers of ranked diagnoses: 0 to 3 by the words that each shares with the final diagnosis.

Wanted where a schema has one property, a list of so many objects with `tier` and `reason`. The final
diagnosis stands below a heading with `final diagnosis`, the candidates below headings with `candidate N`. A
disease of the simulator's own list counts in both languages. Crude, and now and then one tier off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from harness.simulator.chance import draw
from harness.simulator.diagnosing import HAN
from harness.simulator.differentials import REGIONS
from harness.simulator.instances import Schema, kind_of, resolve
from harness.simulator.marked_texts import shown_below
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question

HIGHEST: Final = 3

_ENTRY: Final = frozenset({"tier", "reason"})
# Where it is says nothing of what it is; most of it is no word of its own in Chinese.
_PLACES: Final = frozenset(
    {"abdominal", "acute", "bone", "both", "brain", "breast", "cell", "cells", "distal", "due", "gland",
     "head", "hepatic", "kidney", "left", "level", "liver", "lobe", "lower", "lung", "lungs", "pelvis",
     "proximal", "region", "renal", "right", "side", "sided", "simple", "skull", "thoracic", "to",
     "type", "upper"}
)  # fmt: skip
_DULL: Final = frozenset({"a", "an", "and", "at", "by", "from", "in", "of", "on", "the", "with"})
_DULL_CHINESE: Final = re.compile("[^\u4e00-\u9fff]|[左右双侧上下叶的伴性型部区及]")
_ENCLOSED: Final = re.compile(r"[(\uff08][^()\uff08\uff09]*[)\uff09]")
_REASONS: Final = (
    "It names another disease.",
    "It names the class of the disease alone.",
    "It names the disease, and leaves out a part of what the final diagnosis says.",
    "It says what the final diagnosis says.",
)


def wanted_tiers(schema: Schema) -> tuple[str, int] | None:
    """Return name and length of the one list of tiers that a schema wants; None for any other schema."""
    parts: Mapping[str, Any] = schema.get("properties", {})
    if len(parts) != 1:
        return None
    ((name, inner),) = parts.items()
    part = resolve(inner, schema)
    entry = resolve(part.get("items", {}), schema)
    fits = kind_of(part) == "array" and {*entry.get("properties", ())} >= _ENTRY
    return (name, part.get("minItems", 0)) if fits else None


def graded(question: Question, skill: Skill, count: int) -> list[dict[str, Any]]:
    """Return tier and reason of so many candidates, in their order."""
    final = shown_below(question.text, "final diagnosis|reference diagnosis") or ""
    entries = []
    for rank in range(1, count + 1):
        candidate = shown_below(question.text, rf"candidate {rank}\b") or ""
        tier = tier_of(candidate, final)
        slip = draw("slip", *question.case, candidate)
        if slip < skill.prior / 2 and tier:
            tier -= 1
        elif slip > 1 - skill.prior / 4 and tier < HIGHEST:
            tier += 1
        entries.append({"tier": tier, "reason": f"{_REASONS[tier]} (simulated)"})
    return entries


def tier_of(candidate: str, final: str) -> int:
    """Return the tier of a candidate: 0 unless a word of the disease itself is shared."""
    return max((_tier(_words(one), _words(final)) for one in _in_both_languages(candidate)), default=0)


def _tier(candidate: frozenset[str], final: frozenset[str]) -> int:
    telling = final - _PLACES
    if not telling:
        return 0
    disease = len(telling & candidate) / len(telling)
    everything = len(final & candidate) / len(final)
    if disease >= 0.5:
        return 3 if everything >= 0.75 else 2
    return 1 if disease > 0.3 else 0


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    """Return the words of a text in one spelling, or of a Chinese one each two characters."""
    if HAN.search(text):
        bare = _DULL_CHINESE.sub("", _ENCLOSED.sub("", text))
        return frozenset(bare[at : at + 2] for at in range(len(bare) - 1)) or frozenset({bare})
    plain = _ENCLOSED.sub("", text).casefold().replace("aem", "em").replace("oed", "ed").replace("our", "or")
    return frozenset(re.findall(r"[a-z0-9]+", plain)) - _DULL


def _in_both_languages(text: str) -> Iterator[str]:
    yield text
    said = text.casefold()
    for region in REGIONS:
        for known in region.diagnoses:
            if known.english[0].casefold() in said:
                yield known.chinese[1].replace("{side}", "")
            elif known.chinese[0] in text:
                yield known.english[1].replace("{side}", "")
