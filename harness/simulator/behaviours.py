"""The named simulated models: what each answers to a question, and which faults come before the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from harness.simulator import diagnosing, free_text, lay_scoring, tier_grading, wordings
from harness.simulator.chance import draw, pick
from harness.simulator.instances import Maker, Schema
from harness.simulator.instructions import obeyed
from harness.simulator.judging import judged, verdict_names
from harness.simulator.opinions import Opinion, Skill, glimpse
from harness.simulator.questions import Question
from harness.simulator.restating import quoted_answer, restate

STALL_S = 2.0
"""How long a stalled send is left in silence before its connection is dropped."""

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 258
VIDEO_TOKENS = 16 * IMAGE_TOKENS

Finish: TypeAlias = Literal["stop", "length", "content_filter"]
Fault: TypeAlias = Literal["rate_limited", "server_error", "gateway", "reset", "stall", "half"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says. `refusal` is the provider's typed signal; `latency_s` the time it takes."""

    text: str | None
    finish: Finish = "stop"
    refusal: str | None = None
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One simulated model. `fault` tells, for a send (from 1), what goes wrong with it, if anything."""

    skill: Skill
    latency_s: tuple[float, float]
    word: Callable[[Question, Skill], Answer]
    fault: Callable[[Question, int], Fault | None] = field(default=lambda question, send: None)


def answer(question: Question) -> Answer:
    """Return what the model of a question says to it: a function of the question alone."""
    behaviour = BEHAVIOURS[question.model]
    low, high = behaviour.latency_s
    told = obeyed(question)
    said = behaviour.word(question, behaviour.skill) if told is None else Answer(told)
    latency_s = low + (high - low) * draw("latency", *question.identity)
    return _limited(Answer(said.text, said.finish, said.refusal, latency_s), question.max_tokens)


def fault(question: Question, send: int) -> Fault | None:
    """Return what goes wrong with the n-th send of a question; never anything from the third on."""
    return BEHAVIOURS[question.model].fault(question, send) if send <= 2 else None


def tokens(text: str | None, images: int = 0, videos: int = 0) -> int:
    """Return an estimate of the tokens of a text, images and videos."""
    return -(-len(text or "") // CHARS_PER_TOKEN) + images * IMAGE_TOKENS + videos * VIDEO_TOKENS


def _value(question: Question, skill: Skill) -> object:
    opinion = Opinion(skill, _subject(question), question.case)
    if question.schema is None:
        return " ".join(opinion.sentence(part) for part in ("first", "second"))
    made = Maker(question.schema, opinion).make(question.schema)
    return _of_known_form(made, question, question.schema, skill)


def _of_known_form(made: Any, question: Question, schema: Schema, skill: Skill) -> Any:
    """Return a value that a known task fills in; the one that was made for any other schema."""
    if names := verdict_names(schema):
        return judged(made, names, question, skill)
    if wanted := diagnosing.wanted_list(schema):
        return {wanted[0]: diagnosing.ranked(question, skill, wanted[1])}
    if wanted := tier_grading.wanted_tiers(schema):
        return {wanted[0]: tier_grading.graded(question, skill, wanted[1])}
    if lay_scoring.wants_verdict(schema):
        return lay_scoring.verified(made, question, skill)
    if lay_scoring.wants_shares(schema):
        return lay_scoring.valued(made, question, skill)
    return made


def _subject(question: Question) -> str:
    if question.complaint is None and question.images:
        return glimpse(question.seed, question.content)
    return question.complaint or question.text


def _limited(said: Answer, max_tokens: int | None) -> Answer:
    if said.text is None or not isinstance(max_tokens, int) or tokens(said.text) <= max_tokens:
        return said
    return Answer(said.text[: max_tokens * CHARS_PER_TOKEN], "length", None, said.latency_s)


def _tidily(question: Question, skill: Skill) -> Answer:
    if (told := free_text.tidily(question, skill)) is not None:
        return Answer(told)
    value = _value(question, skill)
    return Answer(value if isinstance(value, str) else wordings.clean(value))


def _messily(question: Question, skill: Skill) -> Answer:
    if (told := free_text.messily(question, skill)) is not None:
        return Answer(told or None)
    value = _value(question, skill)
    if isinstance(value, str) or question.structured:
        return _tidily(question, skill)
    if question.schema is not None and diagnosing.wanted_list(question.schema) and isinstance(value, dict):
        return Answer(diagnosing.messily_ranked(value, question, skill))
    ways = _messy_ways(question)
    return Answer(pick(ways, "wording", *question.identity)(value))


def _messy_ways(question: Question) -> tuple[wordings.Writer, ...]:
    # One case in eight never gets JSON out of it; the others are likelier to with each attempt.
    if draw("stubborn", *question.case) < 0.125:
        return wordings.WITHOUT_JSON
    usable = 0.45 + 0.2 * question.attempt
    return wordings.USABLE if draw("mood", *question.identity) < usable else wordings.UNUSABLE


def _shakily(question: Question, skill: Skill) -> Answer:
    tidy = _tidily(question, skill)
    text = tidy.text or ""
    match draw("shaky", *question.identity):
        case luck if luck < 0.07:
            return Answer(None)
        case luck if luck < 0.14:
            return Answer(wordings.cut_short(text), "length")
        case luck if luck < 0.18:
            return Answer(None, refusal="I cannot help with this case.")
        case luck if luck < 0.21:
            return Answer(None, "content_filter")
    return tidy


def _restated(question: Question, skill: Skill) -> Answer:
    """Restate the quoted answer. What the model would have said itself has no part in it."""
    if isinstance(free_text.asked(question), free_text.Restating | free_text.Translating):
        return _tidily(question, skill)
    if question.schema is None:
        return Answer(quoted_answer(question.text))
    return Answer(wordings.clean(restate(question.schema, quoted_answer(question.text))))


def _now_and_then(question: Question, send: int) -> Fault | None:
    first: Mapping[Fault, float] = {
        "rate_limited": 0.10,
        "server_error": 0.06,
        "gateway": 0.03,
        "reset": 0.04,
        "stall": 0.03,
        "half": 0.03,
    }
    before = _drawn(first, draw("fault", *question.identity, 1))
    if send == 1:
        return before
    # Only what cannot have been billed has a second fault after it: the rest is sent once more at most.
    if before in {"rate_limited", "server_error", "gateway"}:
        return _drawn({"rate_limited": 0.1, "server_error": 0.1}, draw("fault", *question.identity, send))
    return None


def _drawn(shares: Mapping[Fault, float], luck: float) -> Fault | None:
    for name, share in shares.items():
        luck -= share
        if luck < 0:
            return name
    return None


BEHAVIOURS: Final[Mapping[str, Behaviour]] = {
    "sim/steady": Behaviour(Skill(0.06, 0.75), (0.01, 0.04), _tidily),
    "sim/careful": Behaviour(Skill(0.02, 0.95), (0.03, 0.12), _tidily),
    "sim/eager": Behaviour(Skill(0.22, 0.80), (0.01, 0.03), _tidily),
    "sim/messy": Behaviour(Skill(0.10, 0.65), (0.01, 0.06), _messily),
    "sim/reader": Behaviour(Skill(0.08, 0.70), (0.01, 0.03), _tidily),
    "sim/flaky": Behaviour(Skill(0.06, 0.70), (0.02, 0.08), _shakily, _now_and_then),
    "sim/reformatter": Behaviour(Skill(0.0, 0.0), (0.01, 0.03), _restated),
}
"""Model name -> behaviour. "steady" always answers in clean JSON; so do "careful" and "eager", with fewer and
with more labels, and "reader", which takes text alone; "messy" spoils the form, "flaky" the transport and the
outcome; "reformatter" restates."""
