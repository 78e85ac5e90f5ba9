"""Yes or no from the clauses of an answer about a finding of a whole region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.benchmarks.pandent.answers.claims import check_denial, check_joint_regions, said
from harness.benchmarks.pandent.answers.clauses import SIDES, Clause, denies
from harness.benchmarks.pandent.answers.finding_words import NAMINGS
from harness.benchmarks.pandent.answers.regions import concerns, place_of
from harness.benchmarks.pandent.answers.unreadable import Unreadable
from harness.benchmarks.pandent.findings import Finding

_PRESENT: Final = frozenset({"seen", "done", "link", "region", "side"})
"""What "present in the mandible" consists of."""


def yes_or_no(parts: Sequence[Clause], finding: Finding, yes: bool | None) -> bool:
    """Return whether an answer affirms a finding; `yes` is what it begins with, None for neither.

    Clauses about another region alone do not count. Raises Unreadable, as where all are, or any names teeth.
    """
    if any(clause.teeth for clause in parts):
        raise Unreadable("teeth")
    concerned = [clause for clause in parts if concerns(clause, finding)]
    if not concerned:
        raise Unreadable("region")
    values = {_is_there(clause, finding, yes) for clause in concerned}
    if len(values) > 1:
        raise Unreadable("contradiction")
    return values.pop()


def _is_there(clause: Clause, finding: Finding, yes: bool | None) -> bool:
    naming = NAMINGS[finding.id]
    _, side = place_of(finding)
    loss, partly = "boneloss" in naming.groups, side is None and len(clause.regions & SIDES) == 1
    if "localized" in clause.groups or (loss and partly):
        raise Unreadable("extent")
    check_joint_regions(clause)
    if denies(clause):
        check_denial(clause, naming)
        if partly:
            raise Unreadable("partial_negative")
        return False
    if clause.kinds <= _PRESENT and clause.kinds & {"seen", "done"}:
        return _is_said_to_be_there(clause)
    if clause.of("count") or clause.of("all"):
        raise Unreadable("count")
    if loss and clause.of("kind"):
        raise Unreadable("extent", clause.of("kind")[0].text)
    if not said(naming.affirmed, clause.groups):
        vague = loss and "boneloss" in clause.groups
        if not (vague and yes):
            raise Unreadable("extent" if vague else "not_named")
    if yes is None and clause.kinds <= _LABEL and all(one.text in _LABEL_LINKS for one in clause.of("link")):
        raise Unreadable("label")
    both = any(symbol.text in ("both", "bilateral") for symbol in clause.symbols)
    if side is not None and not clause.regions & SIDES and not both:
        raise Unreadable("region")
    return True


def _is_said_to_be_there(clause: Clause) -> bool:
    """True for "present in the mandible"; "the mandible is present" says nothing of the finding."""
    kinds = [symbol.kind for symbol in clause.symbols]
    if "region" in kinds and "seen" in kinds and kinds.index("region") < kinds.index("seen"):
        raise Unreadable("not_named")
    return True


_LABEL: Final = frozenset({"name", "region", "link", "side", "noun"})
_LABEL_LINKS: Final = frozenset({"the", "a", "an", "in", "of", "on"})
"""What "generalized crestal bone loss in the mandible" consists of: the question, not an answer."""
