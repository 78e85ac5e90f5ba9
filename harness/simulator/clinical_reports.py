"""Simulated clinical reports of a radiograph: written from findings, spoiled, read, and restated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from harness.simulator.chance import draw, pick
from harness.simulator.opinions import Skill
from harness.simulator.questions import Question
from harness.simulator.radiographs import BY_NAME, TOPICS, YES, Findings, added_tooth, seen
from harness.simulator.report_wordings import OPENINGS, PAIRS, SENTENCES, Sentences, topics_of

EAGER: Final = 0.15
"""A model with a greater chance of findings without grounds also says more than it was asked."""

ADDED: Final = 3
"""How many teeth an eager model adds to a report that it only has to restate."""

Choice = Callable[[str, int], int]
"""(topic, number of sentences) -> which of them."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_TOOTH: Final = re.compile(r"(?<![\d.])[1-4][1-8](?![\d%]|\.\d)")
_BRIDGE: Final = re.compile(r"(?:#?[1-4][1-8]|X)(?:-(?:#?[1-4][1-8]|X))+")
_DENYING: Final = re.compile(
    r"\b(?:no|not|none|neither|nor|without|free of|normal|intact|clear|unremarkable|aerated|preserved)\b",
    re.IGNORECASE,
)
_AFFIRMING: Final = re.compile(
    r"\b(?:loss|lost|reduc|resor|abnormal|haz|thick|flat|opaci|erosi|lesion|cyst|evident|present|seen|noted|suspect)",
    re.IGNORECASE,
)
_ADDABLE: Final = ("caries", "apical", "metal_filling", "root_filling")
_HEADINGS: Final[Mapping[str, str]] = {
    "missing": "Dentition",
    "metal_filling": "Restorations and prostheses",
    "crest_upper": "Bone",
    "sinus_left": "Other structures",
}
_REFUSAL: Final = "I'm sorry, but I can't provide a clinical interpretation of medical images."


def report(question: Question, skill: Skill) -> str:
    """Return the clinical report that a model writes of the image; an eager one ends in advice."""
    text = " ".join(_sentences(question, skill).values())
    return f"{text} An examination is advised to confirm all this." if _adds(skill) else text


def messy_report(question: Question, skill: Skill) -> str:
    """Return such a report in one of the ways in which models leave the plain form, or a refusal in prose."""
    sentences = _sentences(question, skill)
    plain = " ".join(sentences.values())
    luck = draw("report", *question.identity)
    if luck < 0.05:
        return _REFUSAL
    if luck < 0.15:
        return " ".join([*sentences.values()][1:3])
    if luck < 0.4:
        return f"Certainly! Here is the report:\n\n{plain}\n\n*This is no substitute for an examination.*"
    if luck < 0.7:
        return _with_headings(sentences)
    return "\n".join(f"- {sentence}" for sentence in sentences.values())


def restated(text: str, question: Question, skill: Skill) -> str:
    """Return a quoted report in one fixed style: the findings that it names, or its own words without any.

    An eager model adds teeth, and calls normal what the report does not speak of.
    """
    findings = read(text)
    if _adds(skill):
        findings = _with_additions(findings, question)
    if not findings:
        return text.strip()
    return " ".join(written(findings, lambda topic, count: 0).values())


def written(findings: Findings, choice: Choice) -> dict[str, str]:
    """Return the sentence of each topic that the findings hold, in the order of a report."""
    sentences: dict[str, str] = {}
    done: set[str] = set()
    for topic in TOPICS:
        if topic.name in done or topic.name not in findings:
            continue
        wording = SENTENCES[topic.name]
        for pair, shared in PAIRS.items():
            if topic.name == pair[0] and findings[pair[0]] == findings.get(pair[1]):
                wording = shared
                done.add(pair[1])
        sentences[topic.name] = _sentence(topic.name, wording, findings[topic.name], choice)
    return sentences


def read(text: str) -> Findings:
    """Return what a report says: the topics that it names, in teeth, bridges, yes or nothing there."""
    findings: dict[str, tuple[str, ...]] = {}
    for sentence in _SENTENCE_END.split(text):
        for name in topics_of(sentence):
            places = _places(name, sentence)
            if places is not None:
                findings[name] = tuple(dict.fromkeys((*findings.get(name, ()), *places)))
    return {topic.name: findings[topic.name] for topic in TOPICS if topic.name in findings}


def teeth_text(teeth: Sequence[str]) -> str:
    """Return teeth as a report names them: "tooth #18", "teeth #18, #28 and #38"."""
    numbers = [f"#{tooth}" for tooth in teeth]
    if len(numbers) == 1:
        return f"tooth {numbers[0]}"
    return f"teeth {', '.join(numbers[:-1])} and {numbers[-1]}"


def bridges_text(patterns: Sequence[str]) -> str:
    """Return bridges as a report names them: "#25-X-#27"."""
    return " and ".join(re.sub(r"(\d\d)", r"#\1", pattern) for pattern in patterns)


def _sentences(question: Question, skill: Skill) -> dict[str, str]:
    choice = _voice(question)
    opening = OPENINGS[choice("opening", len(OPENINGS))]
    return {"opening": opening, **written(seen(question, skill), choice)}


def _sentence(name: str, wording: Sentences, places: tuple[str, ...], choice: Choice) -> str:
    options = wording[0 if places else 1]
    text = options[choice(name, len(options))]
    if "{places}" not in text:
        return text
    told = bridges_text(places) if BY_NAME[name].kind == "bridge" else teeth_text(places)
    return text.replace("{places}", told)


def _voice(question: Question) -> Choice:
    """Return a model's own way of saying things, alike for all images."""
    return lambda topic, count: int(draw("voice", question.model, topic) * count)


def _adds(skill: Skill) -> bool:
    return skill.prior > EAGER


def _places(name: str, sentence: str) -> tuple[str, ...] | None:
    """Return where a sentence sees its topic; None where it says neither that nor that it is not there."""
    denied = _DENYING.search(sentence) is not None
    match BY_NAME[name].kind:
        case "flag":
            return () if denied else YES if _AFFIRMING.search(sentence) else None
        case "bridge":
            found = tuple(pattern.replace("#", "") for pattern in _BRIDGE.findall(sentence))
        case _:
            found = tuple(_TOOTH.findall(sentence))
            # "no caries at #36" denies; "#18 is not present" and "not fully erupted: #18" do not.
            if denied and name not in ("missing", "unerupted"):
                found = ()
    return found if found or denied or "have erupted" in sentence else None


def _with_additions(findings: Findings, question: Question) -> Findings:
    taken = [*findings.get("missing", ())]
    added = {topic.name: findings.get(topic.name, ()) for topic in TOPICS}
    for number in range(ADDED):
        topic = BY_NAME[pick(_ADDABLE, "adds", *question.case, number)]
        had = added[topic.name]
        added[topic.name] = (*had, *added_tooth(topic, [*taken, *had], *question.case, number))
    return added


def _with_headings(sentences: Mapping[str, str]) -> str:
    return "# Report\n" + "\n".join(_headed(sentences))


def _headed(sentences: Mapping[str, str]) -> Iterator[str]:
    for name, sentence in sentences.items():
        if name in _HEADINGS:
            yield f"\n## {_HEADINGS[name]}\n"
        yield f"- **{sentence}**" if name == "missing" else f"- {sentence}"
