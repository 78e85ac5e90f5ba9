"""The set of teeth from the clauses of an answer about a finding of single teeth, bridges included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.benchmarks.pandent.answers.claims import check_affirmation, check_denial
from harness.benchmarks.pandent.answers.clauses import JAWS, SIDES, Clause, denies
from harness.benchmarks.pandent.answers.finding_words import NAMINGS
from harness.benchmarks.pandent.answers.listed_teeth import check_teeth
from harness.benchmarks.pandent.answers.regions import concerns
from harness.benchmarks.pandent.answers.unreadable import Unreadable
from harness.benchmarks.pandent.findings import Finding


def named_teeth(parts: Sequence[Clause], finding: Finding) -> tuple[frozenset[int], tuple[str, ...]]:
    """Return the teeth that an answer names, none where it denies, and the patterns of bridges."""
    naming = NAMINGS[finding.id]
    affirmed: list[Clause] = []
    denied = False
    free: set[int] = set()
    for clause in parts:
        check_teeth(clause, naming)
        if finding.id == "missing_teeth" and _is_complete(clause):
            denied = True
            continue
        negative = _denies_teeth(clause, finding)
        if negative and clause.teeth:
            free |= clause.teeth
        elif negative:
            check_denial(clause, naming)
            _check_denied_region(clause, finding)
            denied = True
        else:
            affirmed.append(clause)
    teeth = frozenset().union(*(_affirmed(clause, finding) for clause in affirmed))
    if (teeth and denied) or teeth & free:
        raise Unreadable("contradiction")
    if not teeth and free:
        raise Unreadable("negated_teeth")
    return teeth, _patterns(affirmed, finding)


def _denies_teeth(clause: Clause, finding: Finding) -> bool:
    """True if a clause denies; of missing teeth, "18 is not present" affirms."""
    negative = denies(clause)
    if finding.id != "missing_teeth" or clause.of("name"):
        return negative
    if negative and clause.teeth and clause.of("seen") and clause.negations[0].says == "not":
        return False
    if clause.of("seen"):
        raise Unreadable("not_named")
    return negative


def _is_complete(clause: Clause) -> bool:
    """True for "all permanent teeth are present"."""
    words = {symbol.text for symbol in clause.of("noun")}
    kinds = clause.kinds - {"noun"}
    return words <= {"permanent"} and {"all", "tooth", "seen"} <= kinds <= _COMPLETE


_COMPLETE: Final = frozenset({"all", "tooth", "seen", "link", "picture"})


def _affirmed(clause: Clause, finding: Finding) -> frozenset[int]:
    """Return the teeth that an affirming clause names."""
    missing = finding.id == "missing_teeth" and bool(clause.negations)
    if finding.id == "missing_teeth" and not missing:
        _check_absent(clause)
    if not missing:
        check_affirmation(clause, NAMINGS[finding.id])
    if finding.arch is not None and not concerns(clause, finding):
        raise Unreadable("region")
    if not clause.teeth:
        raise Unreadable("no_teeth")
    return clause.teeth


def _check_absent(clause: Clause) -> None:
    """Refuse "absence of 36 and 46 is present": 46 may be there."""
    place = max((place for place, symbol in enumerate(clause.symbols) if symbol.kind == "teeth"), default=0)
    for symbol in clause.symbols[place:]:
        if symbol.text in ("present", "visible"):
            raise Unreadable("not_named", symbol.text)


def _patterns(affirmed: Sequence[Clause], finding: Finding) -> tuple[str, ...]:
    """Return the bridges' patterns, sorted. Raises Unreadable where only some teeth are in patterns."""
    if finding.type != "bridge_patterns":
        return ()
    named = [symbol for clause in affirmed for symbol in clause.of("teeth")]
    patterns = tuple(sorted({symbol.text for symbol in named if symbol.says == "pattern"}))
    ways = {symbol.says for symbol in named}
    if "range" in ways or len(ways) > 1:
        raise Unreadable("bridge")
    return patterns


def _check_denied_region(clause: Clause, finding: Finding) -> None:
    """Refuse a denial for a part of the mouth: "no caries in the maxilla" says nothing of the mandible."""
    jaws, sides = clause.regions & JAWS, clause.regions & SIDES
    if finding.arch is not None and jaws and finding.arch not in jaws:
        raise Unreadable("region", " ".join(sorted(jaws)))
    if len(sides) == 1 or (finding.arch is None and len(jaws) == 1):
        raise Unreadable("partial_negative", " ".join(sorted(clause.regions)))
