"""The modality ablation as a union of conditions: its table. What the numbers are: `triage.gains`."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from harness.benchmarks.scored import MetricColumn, ScoreTable
from harness.benchmarks.triage.unit_scores import NUMBERS

UNION: Final = "ablation"
TABLE: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric=None,
    columns=(
        MetricColumn("gain.opg.mean", ("+opg", "gain"), best=None),
        MetricColumn("gain.opg.share_above_0.1", ("+opg", ">0.1")),
        MetricColumn("gain.opg.share_above_0.2", ("+opg", ">0.2")),
        MetricColumn("gain.complaint.mean", ("+compl", "gain"), best=None),
        MetricColumn("gain.complaint.share_above_0.1", ("+compl", ">0.1")),
        MetricColumn("gain.complaint.share_above_0.2", ("+compl", ">0.2")),
        MetricColumn("gain.over_better.mean", ("better", "gain"), best=None),
        MetricColumn("gain.over_better.share_above_0.1", ("better", ">0.1")),
        MetricColumn("gain.over_better.share_above_0.2", ("better", ">0.2")),
    ),
    legend=(
        "ablation: case F1 of both less that of one modality alone, case by case: +opg, what the radiograph "
        "brings to the complaint; +compl, the complaint to the radiograph; better, both over the better one; "
        "gain: mean; >0.1, >0.2: share of cases that gain more; n: cases that are scored both ways"
    ),
    baseline_notes=MappingProxyType({"nothing": "refers no one: every label 0 in every case"}),
)


def unions(conditions: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the union where a run asks `both` and a modality alone, else nothing."""
    asked = tuple(name for name in ("both", "complaint", "opg") if name in conditions)
    return {UNION: asked} if asked[:1] == ("both",) and len(asked) > 1 else {}
