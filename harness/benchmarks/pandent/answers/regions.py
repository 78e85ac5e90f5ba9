"""Which jaw or side a finding is about, and whether a clause is about the same."""

from __future__ import annotations

from harness.benchmarks.pandent.answers.clauses import JAWS, SIDES, Clause
from harness.benchmarks.pandent.findings import Finding


def concerns(clause: Clause, finding: Finding) -> bool:
    """True unless a clause names only another region than the finding's."""
    jaw, side = place_of(finding)
    jaws, sides = clause.regions & JAWS, clause.regions & SIDES
    return not (jaw and jaws and jaw not in jaws) and not (side and sides and side not in sides)


def place_of(finding: Finding) -> tuple[str | None, str | None]:
    """Return the jaw and the side that a finding is about, None where it is about none."""
    if finding.arch is not None:
        return finding.arch, None
    name = finding.id
    if name.endswith(("_left", "_right")):
        return None, name.rsplit("_", 1)[1]
    if name in ("gcbl_maxilla", "maxillary_abnormality"):
        return "maxilla", None
    if name in ("gcbl_mandible", "mandibular_abnormality"):
        return "mandible", None
    return None, None
