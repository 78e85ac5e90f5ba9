"""What a simulated panoramic radiograph shows, and what one simulated model makes of it.

No medicine: findings and teeth are drawn by the image's digest. All models look at the same radiograph, and
each misses and adds something of its own, so that they differ and still agree more than by chance. Of one
image a model says the same in a whole clinical report as in an answer about one finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from harness.simulator.chance import draw, pick, whole
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question

Findings: TypeAlias = Mapping[str, tuple[str, ...]]
"""Topic -> the teeth ("36"), or the bridges ("25-X-27"), or ("yes",); nothing where it is not there."""

YES: Final = ("yes",)


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that is said of a radiograph; `share`: how many images show it, `most`: its most teeth.

    `teeth`: last digits of the FDI numbers that it is seen at; `jaw`: their first digits.
    """

    name: str
    kind: Literal["teeth", "bridge", "flag"]
    share: float
    most: int = 0
    teeth: str = "12345678"
    jaw: str = "1234"


TOPICS: Final = (
    Topic("missing", "teeth", 0.9, 6),
    Topic("unerupted", "teeth", 0.2, 2, "8"),
    Topic("caries", "teeth", 0.45, 3),
    Topic("apical", "teeth", 0.35, 2),
    Topic("furcation", "teeth", 0.15, 2, "67"),
    Topic("metal_filling", "teeth", 0.55, 4, "45678"),
    Topic("other_filling", "teeth", 0.5, 4),
    Topic("root_filling", "teeth", 0.5, 3),
    Topic("crown", "teeth", 0.45, 3),
    Topic("bridge", "bridge", 0.2, 1),
    Topic("post", "teeth", 0.2, 2),
    Topic("crest_upper", "flag", 0.5),
    Topic("crest_lower", "flag", 0.5),
    Topic("pocket_upper", "teeth", 0.15, 2, "567", "12"),
    Topic("pocket_lower", "teeth", 0.15, 2, "567", "34"),
    Topic("upper_jaw", "flag", 0.05),
    Topic("lower_jaw", "flag", 0.08),
    Topic("sinus_left", "flag", 0.12),
    Topic("sinus_right", "flag", 0.12),
    Topic("joint_left", "flag", 0.1),
    Topic("joint_right", "flag", 0.1),
)
"""In the order in which dentists report: teeth, what was done to them, bone, what lies around."""

BY_NAME: Final[Mapping[str, Topic]] = {topic.name: topic for topic in TOPICS}

ARCHES: Final = (
    ("18", "17", "16", "15", "14", "13", "12", "11", "21", "22", "23", "24", "25", "26", "27", "28"),
    ("48", "47", "46", "45", "44", "43", "42", "41", "31", "32", "33", "34", "35", "36", "37", "38"),
)
"""The teeth of each jaw side by side, from the patient's right to the left."""


def seen(question: Question, skill: Skill) -> Findings:
    """Return all topics as the asked model sees them in the question's image, or in its text without one.

    A function of seed, image, model and repeat: neither the wording of the question nor the attempt is in it.
    """
    image = question.view or question.content
    return _seen(skill, image, question.seed, question.model, question.repeat)


@lru_cache(maxsize=2048)
def shown(seed: int, image: str) -> Findings:
    """Return what an image shows, whoever looks at it."""
    case = ("shown", seed, image)
    lost = _drawn(BY_NAME["missing"], [tooth for arch in ARCHES for tooth in arch], case)
    wisdom = tuple(tooth for tooth in ("18", "28", "38", "48") if draw(*case, tooth) < 0.5)
    missing = _in_order({*lost, *wisdom})
    findings: dict[str, tuple[str, ...]] = {"missing": missing}
    present = [tooth for arch in ARCHES for tooth in arch if tooth not in missing]
    for topic in TOPICS[1:]:
        if topic.kind == "bridge":
            findings[topic.name] = _bridges(missing, case) if _is_shown(topic, case) else ()
        elif topic.kind == "flag":
            findings[topic.name] = YES if _is_shown(topic, case) else ()
        else:
            # Posts stand in filled roots; a filled tooth is likelier to be crowned than another.
            roots = findings.get("root_filling", ())
            pool: Sequence[str] = present
            if topic.name == "post" or (topic.name == "crown" and draw(*case, "crowned") < 0.5):
                pool = roots
            findings[topic.name] = _drawn(topic, pool, case)
    return findings


@lru_cache(maxsize=2048)
def _seen(skill: Skill, image: str, seed: int, model: str, repeat: int) -> Findings:
    case = ("seen", seed, image, model, repeat)
    there = shown(seed, image)
    found: dict[str, tuple[str, ...]] = {}
    for topic in TOPICS:
        kept = tuple(place for place in there[topic.name] if draw(*case, topic.name, place) < skill.weight)
        if topic.kind == "teeth":
            missing = found.get("missing", ())
            kept = tuple(tooth for tooth in kept if tooth not in missing)
            found[topic.name] = _in_order({*kept, *_imagined(topic, skill, missing, case)})
        elif topic.kind == "flag":
            found[topic.name] = kept or (YES if draw(*case, topic.name, "added") < skill.prior else ())
        else:
            found[topic.name] = kept
    return found


def added_tooth(topic: Topic, taken: Sequence[str], *purpose: object) -> tuple[str, ...]:
    """Return one tooth that is not taken and that the topic can be seen at; nothing where there is none."""
    pool = [tooth for tooth in _places(topic) if tooth not in taken]
    return (pick(pool, "added", topic.name, *purpose),) if pool else ()


def _imagined(topic: Topic, skill: Skill, taken: Sequence[str], case: tuple[object, ...]) -> tuple[str, ...]:
    luck = draw(*case, topic.name, "imagined")
    return added_tooth(topic, taken, *case) if luck < 2 * skill.prior else ()


def _is_shown(topic: Topic, case: tuple[object, ...]) -> bool:
    return draw(*case, topic.name) < topic.share


def _drawn(topic: Topic, pool: Sequence[str], case: tuple[object, ...]) -> tuple[str, ...]:
    """Return as many teeth of the pool as are drawn, in order."""
    fitting = [tooth for tooth in pool if tooth[0] in topic.jaw and tooth[1] in topic.teeth]
    if not fitting or not _is_shown(topic, case):
        return ()
    count = whole(1, topic.most, *case, topic.name, "count")
    return _in_order({pick(fitting, *case, topic.name, number) for number in range(count)})


def _bridges(missing: Sequence[str], case: tuple[object, ...]) -> tuple[str, ...]:
    """Return a bridge over one missing tooth between two that are there, if there is such a gap."""
    gaps = [
        f"{arch[place - 1]}-X-{arch[place + 1]}"
        for arch in ARCHES
        for place in range(1, len(arch) - 1)
        if arch[place] in missing and not {arch[place - 1], arch[place + 1]} & {*missing}
    ]
    return (pick(gaps, *case, "gap"),) if gaps else ()


def _places(topic: Topic) -> list[str]:
    return [f"{jaw}{tooth}" for jaw in topic.jaw for tooth in topic.teeth]


def _in_order(teeth: set[str]) -> tuple[str, ...]:
    return tuple(sorted(teeth))
