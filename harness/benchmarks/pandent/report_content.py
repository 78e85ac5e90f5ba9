"""What a clinical report speaks of, and what a restatement of it adds and leaves out.

Only the subject counts, not what is said of it: "caries at #36" and "no caries" both speak of caries. A
sweeping "otherwise normal" speaks of nothing. A finding or tooth counts as added where the restatement names
it for certain and the report cannot mean it: what is doubtful is not counted, so that counts are low rather
than high.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from harness.benchmarks.pandent.report_teeth import plain, teeth_named
from harness.benchmarks.pandent.report_words import (
    BY_JAW,
    BY_SIDE,
    JAW,
    LEFT,
    MANDIBLE,
    MAXILLA,
    MISSING,
    NAMES,
    OPEN,
    RIGHT,
    TOPIC,
)

_STATEMENT_END: Final = re.compile(r"(?<=[.!?])(?:\s+|$)|\n+")
_ABNORMALITY: Final = {"maxilla": "maxillary_abnormality", "mandible": "mandibular_abnormality"}


class Content(NamedTuple):
    """Ids of findings and FDI numbers: those that are surely named, and all that may be meant."""

    findings: frozenset[str]
    teeth: frozenset[int]
    possible_findings: frozenset[str]
    possible_teeth: frozenset[int]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a restatement adds to a report, and what of it it leaves out."""

    added_findings: frozenset[str]
    added_teeth: frozenset[int]
    added_statements: int
    """Statements of the restatement that name any of these."""
    dropped_findings: frozenset[str]
    dropped_teeth: frozenset[int]
    findings: int
    """How many the report speaks of for certain, and the restatement."""
    restated_findings: int


def statements(text: str) -> list[str]:
    """Return the sentences and lines of a text, plain and without blank ones."""
    return [one for part in _STATEMENT_END.split(plain(text)) if (one := part.strip())]


def content(text: str) -> Content:
    """Return what a text speaks of."""
    return _together([_statement(one) for one in statements(text)])


def changes(report: str, restatement: str) -> Changes:
    """Compare a restatement with the report that it restates."""
    before = content(report)
    parts = [_statement(one) for one in statements(restatement)]
    after = _together(parts)
    findings = after.findings - before.possible_findings
    teeth = after.teeth - before.possible_teeth
    return Changes(
        added_findings=findings,
        added_teeth=teeth,
        added_statements=sum(bool(one.findings & findings or one.teeth & teeth) for one in parts),
        dropped_findings=before.findings - after.possible_findings,
        dropped_teeth=before.teeth - after.possible_teeth,
        findings=len(before.findings),
        restated_findings=len(after.findings),
    )


def _together(parts: list[Content]) -> Content:
    findings, teeth, possible_findings, possible_teeth = zip(*parts, strict=True) if parts else ((),) * 4
    return Content(
        frozenset[str]().union(*findings),
        frozenset[int]().union(*teeth),
        frozenset[str]().union(*possible_findings),
        frozenset[int]().union(*possible_teeth),
    )


@lru_cache(maxsize=4096)
def _statement(text: str) -> Content:
    topics = {str(found.lastgroup) for found in TOPIC.finditer(text)}
    named = frozenset(_findings(text, topics))
    possible = named.union(*(OPEN[topic] for topic in topics & OPEN.keys()))
    teeth = teeth_named(text)
    return Content(named, teeth.named, possible, teeth.possible)


def _findings(text: str, topics: set[str]) -> Iterator[str]:
    """Yield the findings that a statement names for certain."""
    if MISSING.search(text):
        topics = {*topics, "missing"}
        yield "missing_teeth"
    for topic in topics & NAMES.keys():
        yield from NAMES[topic]
    for topic in topics & BY_JAW.keys():
        yield from (f"{BY_JAW[topic]}_{jaw}" for jaw in _jaws(text))
    for topic in topics & BY_SIDE.keys():
        yield from (f"{BY_SIDE[topic]}_{side}" for side in _sides(text))
    if "jaw_bone" in topics or (JAW.search(text) and not topics - OPEN.keys()):
        yield from (_ABNORMALITY[jaw] for jaw in _jaws(text))


def _jaws(text: str) -> tuple[str, ...]:
    """Return the jaws that a statement is about: both where it names none."""
    found = [jaw for jaw, words in (("maxilla", MAXILLA), ("mandible", MANDIBLE)) if words.search(text)]
    return tuple(found) or ("maxilla", "mandible")


def _sides(text: str) -> tuple[str, ...]:
    found = [side for side, words in (("left", LEFT), ("right", RIGHT)) if words.search(text)]
    return tuple(found) or ("left", "right")
