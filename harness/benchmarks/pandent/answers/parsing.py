"""One sentence about one finding, read strictly: yes or no, a set of teeth, or unparsable with a reason.

The paper (section 4 and appendix B) asks for exactly one English sentence per attribute and compares its
value by exact match; how sentences become values it leaves open. Here a value needs every word of the
sentence to be known, and the sentence to say one thing about that finding. All else is unparsable, which is
never "no" and never the empty set. Every decision stands in docs/pandent-answers.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from harness.benchmarks.pandent.answers.claims import check_names, said
from harness.benchmarks.pandent.answers.clauses import Clause, clauses
from harness.benchmarks.pandent.answers.finding_words import NAMINGS
from harness.benchmarks.pandent.answers.regions import concerns
from harness.benchmarks.pandent.answers.sentences import Spoken, spoken
from harness.benchmarks.pandent.answers.surroundings import sentences
from harness.benchmarks.pandent.answers.teeth import named_teeth
from harness.benchmarks.pandent.answers.unreadable import Reason, Unreadable
from harness.benchmarks.pandent.answers.yes_no import yes_or_no
from harness.benchmarks.pandent.findings import BY_ID, Finding

Value: TypeAlias = bool | frozenset[int]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an answer says: `value`, or None and the `reason` why it has none.

    `patterns`: the bridges, where the answer writes them as such; `value` then holds their numbered teeth.
    `word`: the part of the answer that made it unparsable, if one did (at most 40 characters).
    """

    value: Value | None
    reason: Reason | None = None
    patterns: tuple[str, ...] = ()
    word: str | None = None


def parse_answer(text: str, attribute: str | Finding) -> Parsed:
    """Return what a free-text answer about a finding says. Never raises for any text; time is linear in it.

    Findings that are yes or no give a bool, the others the set of FDI numbers. Raises KeyError for an
    unknown id.
    """
    finding = BY_ID[attribute] if isinstance(attribute, str) else attribute
    try:
        claims = [_claim(spoken(sentence, finding), finding) for sentence in sentences(text)]
        return _agreed(claims, finding)
    except Unreadable as problem:
        return Parsed(None, problem.reason, word=problem.word)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What one sentence says: by its leading yes or no, and by the rest."""

    yes: bool | None
    value: Value | None
    patterns: tuple[str, ...] = ()


def _agreed(claims: Sequence[_Claim], finding: Finding) -> Parsed:
    """Return the one value of all sentences. Raises Unreadable where two say different things."""
    said_yes = {claim.yes for claim in claims if claim.yes is not None}
    values = {(claim.value, claim.patterns) for claim in claims if claim.value is not None}
    if len(said_yes) > 1 or len(values) > 1:
        raise Unreadable("contradiction")
    yes = next(iter(said_yes), None)
    if values:
        value, patterns = next(iter(values))
        if yes is not None and yes != bool(value):
            raise Unreadable("contradiction")
        return Parsed(value, patterns=patterns)
    if finding.answer == "binary":
        return Parsed(bool(yes))
    if yes:
        raise Unreadable("no_teeth")
    return Parsed(frozenset())


def _claim(found: Spoken, finding: Finding) -> _Claim:
    parts = clauses(found.symbols) if found.symbols else []
    naming = NAMINGS[finding.id]
    for clause in (*parts, *([Clause(found.topic)] if found.topic else [])):
        check_names(clause, naming)
    if found.topic:
        _check_topic(Clause(found.topic), finding)
    if not parts:
        return _Claim(found.yes, None)
    if finding.answer == "binary":
        return _Claim(found.yes, yes_or_no(parts, finding, found.yes))
    teeth, patterns = named_teeth(parts, finding)
    return _Claim(found.yes, teeth, patterns)


def _check_topic(topic: Clause, finding: Finding) -> None:
    """Refuse a topic ("bone loss: yes") that is less than the finding, or another region's."""
    naming = NAMINGS[finding.id]
    if topic.of("name") and not said(naming.affirmed, topic.groups | {"abnormal"}):
        raise Unreadable("not_named")
    if not concerns(topic, finding):
        raise Unreadable("region")
