"""What a simulated model thinks of a case: labels by the words that complaint and label share, plus noise.

No more than that: no model, no medicine. It only makes tables whose numbers are neither 0 nor 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from harness.simulator.chance import draw, pick

# What patients say (beginnings of words) -> beginnings of words that labels use for what may follow.
_POINTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "gum": ("gingivitis", "periodontitis"),
    "bleed": ("gingivitis", "periodontitis"),
    "breath": ("periodontitis",),
    "loose": ("severe", "exodontia"),
    "wobbl": ("severe", "exodontia"),
    "hole": ("operative",),
    "sweet": ("operative",),
    "filling": ("operative",),
    "chip": ("operative",),
    "food": ("operative", "periodontitis"),
    "cold": ("operative", "endodontics"),
    "hot": ("endodontics",),
    "throb": ("endodontics",),
    "night": ("endodontics",),
    "pain": ("endodontics",),
    "hurt": ("endodontics", "exodontia"),
    "ache": ("endodontics", "exodontia"),
    "root": ("endodontics", "exodontia"),
    "rotten": ("endodontics", "exodontia"),
    "swollen": ("endodontics", "exodontia"),
    "colour": ("discolorations",),
    "color": ("discolorations",),
    "yellow": ("discolorations",),
    "white": ("discolorations",),
    "dark": ("discolorations", "endodontics"),
    "crown": ("crowns",),
    "broke": ("crowns", "exodontia"),
    "gap": ("bridges", "implants"),
    "missing": ("bridges", "dentures", "implants"),
    "lost": ("bridges", "dentures", "implants"),
    "fixed": ("bridges", "implants"),
    "bridge": ("bridges",),
    "plate": ("denture", "combination"),
    "denture": ("denture", "overdenture"),
    "implant": ("implants",),
    "wisdom": ("minor", "exodontia"),
    "stuck": ("minor",),
    "stump": ("exodontia", "implants"),
    "lump": ("consult",),
    "jaw": ("consult",),
    "click": ("consult",),
    "lock": ("consult",),
    "fell": ("consult",),
    "sore": ("gingivitis", "consult"),
}
# Where it is: counts only for a label that something points to.
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "front": ("anterior",),
    "smile": ("anterior",),
    "back": ("molar", "posterior"),
    "chew": ("molar", "posterior"),
    "several": ("multiple", "extensive", "severe"),
    "both": ("multiple", "combination"),
    "few": ("extensive", "complete"),
    "one": ("single", "simple"),
}
_DULL: Final = frozenset(
    {"tooth", "teeth", "treatment", "and", "are", "been", "but", "for", "from", "had", "has", "have", "incl",
     "not", "other", "some", "that", "the", "then", "there", "they", "this", "very", "was", "were", "when",
     "which", "with", "would"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Skill:
    """How well a simulated model does: chance of a label without grounds, and how much grounds weigh."""

    prior: float
    weight: float


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one model holds about one case; every answer is a function of these fields."""

    skill: Skill
    subject: str
    case: tuple[object, ...]

    def affirms(self, label: str) -> bool:
        """Tell whether the model chooses a label."""
        grounds = support(label, self.subject)
        chance = self.skill.prior + self.skill.weight * grounds / (1 + grounds)
        return draw("affirms", *self.case, label) < chance

    def chooses(self, options: Sequence[str], about: str) -> int:
        """Return the place of the option that it takes: most support, noise between equals."""
        noise = [draw("chooses", *self.case, about, option) for option in options]
        scores = [support(option, self.subject) + level for option, level in zip(options, noise, strict=True)]
        return scores.index(max(scores))

    def sentence(self, about: str) -> str:
        """Return a sentence about the case in words of its own text."""
        spoken = sorted(words(self.subject), key=lambda word: draw("sentence", *self.case, about, word))[:4]
        opening = pick(("The complaint mentions", "What is told points to", "Going by"), *self.case, about)
        told = ", ".join(spoken) or "little"
        return f"{opening} {told}; this text is simulated and says nothing about a patient."


def glimpse(*case: object) -> str:
    """Return three words as if an image of the case had shown what they stand for."""
    said = sorted(_POINTERS, key=lambda word: draw("glimpse", *case, word))
    return " ".join(said[:3])


def support(label: str, subject: str) -> float:
    """Return how many words of a subject speak for a label; a word for its place counts half."""
    own, said = words(label), words(subject)
    if not own:
        return 0.0
    points = sum(_hits(_pointed(word), own) or word in own for word in said)
    if not points:
        return 0.0
    return points + 0.5 * sum(_hits(_placed(word), own) for word in said)


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Return the telling words of a text in lower case, each once."""
    found = re.findall(r"[^\W\d_]{3,}", text.casefold())
    return tuple(dict.fromkeys(word for word in found if word not in _DULL))


@lru_cache(maxsize=4096)
def _pointed(word: str) -> tuple[str, ...]:
    return _targets(word, _POINTERS)


@lru_cache(maxsize=4096)
def _placed(word: str) -> tuple[str, ...]:
    return _targets(word, _PLACES)


def _targets(word: str, lexicon: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    known = [targets for start, targets in lexicon.items() if word.startswith(start)]
    return tuple(target for targets in known for target in targets)


def _hits(targets: tuple[str, ...], own: tuple[str, ...]) -> bool:
    return bool(targets) and any(word.startswith(targets) for word in own)
