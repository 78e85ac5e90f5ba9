"""Clinical reports that look at no image: the same text for every case.

`fixed_template` says in our own words what is usual; `typical_report` is the reference of the most usual
case, so it has the wording of the references: what such a text scores is owed to the templates alone. Both
use the references of the scored cases, so neither is a model that could be asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from harness.benchmarks.base import Case
from harness.benchmarks.pandent.clinical_reports import compose
from harness.benchmarks.pandent.finding_values import answer_code, is_positive, teeth_in
from harness.benchmarks.pandent.findings import FINDINGS, Finding
from harness.canonical import JSON


def constant_reports(cases: Sequence[Case]) -> dict[str, JSON]:
    """Return baseline name -> its clinical report: `nothing`, `fixed template` and `typical report`."""
    nothing, typical = compose(usual_findings([])), typical_report(cases)
    reports: dict[str, JSON] = {"nothing": nothing, "fixed template": fixed_template(cases)}
    return reports if typical is None else reports | {"typical report": typical}


def fixed_template(cases: Sequence[Case]) -> str:
    """Return the clinical report of the usual findings, each in the first of our sentences."""
    return compose(usual_findings([_findings(case) for case in cases]))


def usual_findings(findings: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Return for each finding what is usual; see `usual_value`."""
    return {finding.id: usual_value(finding, [one[finding.id] for one in findings]) for finding in FINDINGS}


def usual_value(finding: Finding, values: Sequence[JSON]) -> JSON:
    """Return what most cases have of a finding, of those in which somebody looked (null: nobody did).

    Positive where more than half of them are. Then the teeth are those of at least half of the positive
    cases, else the single most frequent tooth (the lowest number of several); the bridges are the most
    frequent ones of a case; nothing is described. Without any case it is none.
    """
    looked = [value for value in values if value is not None]
    positive = [value for value in looked if is_positive(finding, value)]
    return _usual(finding, positive if 2 * len(positive) > len(looked) else [])


def typical_report(cases: Sequence[Case]) -> str | None:
    """Return the reference of the most usual case: its findings agree with those of most others.

    For each finding a case counts how many cases have the very same answer; the greatest sum wins, and the
    first id of several. None where no case has a clinical report.
    """
    codes = {case.id: [answer_code(one, _findings(case)[one.id]) for one in FINDINGS] for case in cases}
    counts = [Counter(column) for column in zip(*codes.values(), strict=True)]
    agreeing = {
        case_id: sum(count[code] for count, code in zip(counts, row, strict=True) if code is not None)
        for case_id, row in codes.items()
    }
    written = [case for case in cases if case.reference["report"] is not None]
    best = min(written, key=lambda case: (-agreeing[case.id], case.id), default=None)
    return None if best is None else str(best.reference["report"])


def _usual(finding: Finding, positive: Sequence[JSON]) -> JSON:
    """Return the value that stands for those of the positive cases; none where there are none."""
    if finding.answer == "binary":
        described = finding.type == "binary_with_description"
        return {"flag": bool(positive), "description": ""} if described else bool(positive)
    if finding.type == "bridge_patterns":
        patterns = Counter(json.dumps(value) for value in positive)
        best = min(patterns, key=lambda text: (-patterns[text], text), default="[]")
        return cast("list[JSON]", json.loads(best))
    teeth = Counter(tooth for value in positive for tooth in teeth_in(finding, value))
    often = [tooth for tooth, count in teeth.items() if 2 * count >= len(positive)]
    return [*sorted(often or sorted(teeth, key=lambda tooth: (-teeth[tooth], tooth))[:1])]


def _findings(case: Case) -> Mapping[str, JSON]:
    return cast("Mapping[str, JSON]", case.reference["findings"])
