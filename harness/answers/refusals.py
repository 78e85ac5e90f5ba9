"""An advisory flag for prose that reads like a refusal to answer.

It never decides an outcome: only a provider's typed signal makes a unit `refused`.
"""

from __future__ import annotations

import re

_OPENING_CHARS = 400
"""A refusal says so at once; the same words later on are usually about the patient."""

_UNABLE = re.compile(
    r"\b(?:can'?t|can ?not|could not|won't|will not|unable to|not able to|not comfortable)"
    r"(?: \w+ly)? (?P<verb>[a-z]+)(?P<object>[^.!?\n]*)",
    re.IGNORECASE,
)
_DECLINED = re.compile(
    r"\bas an? (?:AI|artificial intelligence|(?:large )?language model)\b"
    r"|\bI(?:'m| am) (?:just |only )?(?:an AI\b|not a (?:doctor|dentist|radiologist|physician|medical))"
    r"|\bI (?:must |have to )?(?:respectfully )?(?:decline|refuse)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?:我|抱歉|对不起|作为|很遗憾).{0,12}?(?:无法|不能|不便|拒绝)(?:为您|为你|对此|直接|进行){0,2}"
    r"(?:提供|回答|协助|帮助|给出.{0,4}建议|(?:查看|分析|解读|处理).{0,4}(?:图|影像|片))"
)

_SERVICES = frozenset({"assist", "help", "comply", "fulfil", "fulfill", "answer"})
_ACTS = frozenset(
    {"provide", "offer", "give", "make", "see", "view", "open", "access", "process", "analyse", "analyze",
     "interpret", "diagnose", "evaluate", "assess"}
)  # fmt: skip
_ASKED_FOR = re.compile(
    r"\s+(?:(?:a|an|any|the|this|that|these|those|your|or|and|attached|provided|uploaded|dental|such)\s+)*"
    r"(?:medical|clinical|professional|advice|diagnos[ei]s|assessments?|opinions?|interpretations?|"
    r"images?|pictures?|photos?|radiographs?|x-rays?|scans?|files?|attachments?)\b",
    re.IGNORECASE,
)


def reads_like_refusal(text: str) -> bool:
    """True if a text opens like a refusal, in English or Chinese.

    Not being able to help, or to look at the picture as such, is one; "I cannot see any caries" is a
    finding.
    """
    opening = text.strip()[:_OPENING_CHARS].replace("\u2019", "'")
    if _DECLINED.search(opening) or _CHINESE.search(opening):
        return True
    return any(_withholds(match["verb"].lower(), match["object"]) for match in _UNABLE.finditer(opening))


def _withholds(verb: str, rest: str) -> bool:
    return verb in _SERVICES or (verb in _ACTS and _ASKED_FOR.match(rest) is not None)
