"""Scores of clinical reports against their references, as the paper's tables show them.

- `bleu_1` to `bleu_4`: of the whole corpus, without smoothing; `rouge_l`: mean over reports of the F measure
  with beta 1.2; both on PTB tokens, as coco-caption has them.
- `meteor15`: METEOR 1.5 of the whole corpus, the reading that fits the paper's tables; `meteor2005`: the
  formula that its text prints, a mean over reports. They differ by some .4 and are never one column.
- `average`: the mean of the six numbers of the paper's tables, with METEOR 1.5 as its METEOR.
- `words`: mean number of words of an answered report; `length_ratio`: tokens answered per token of reference.

The paper leaves all of this open but the formulas. An unusable answer is an empty report, whose reference
counts. A case without a clinical report enters no number, and n says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from harness.benchmarks.pandent.report_tools import ReportTools
from harness.benchmarks.scored import MetricColumn, MetricValue, UnitNumbers
from harness.scoring.bleu import ORDERS, bleu_from_sums, bleu_summands
from harness.scoring.meteor15 import FIELDS as METEOR15_FIELDS
from harness.scoring.meteor15 import meteor15_from_sums
from harness.scoring.resampling import Values
from harness.scoring.rouge import rouge_l

_ORDERS: Final = range(1, ORDERS + 1)

REPORT_NUMBERS: Final[tuple[str, ...]] = (
    "annotated",
    "answered",
    "words",
    *(f"matches_{order}" for order in _ORDERS),
    *(f"grams_{order}" for order in _ORDERS),
    "candidate_length",
    "reference_length",
    "rouge_l",
    "meteor2005",
    *(f"meteor15_{field}" for field in METEOR15_FIELDS),
)
"""All that is kept of a report: whether its case has a reference, and whether there is an answer (1 or 0);
counts; values of the pair. All but METEOR's are numbers of their own, NaN where METEOR could not be computed.
"""

REPORT_MAIN_METRIC: Final = "rouge_l"
"""A mean over reports, so that one which is not there counts as 0. BLEU and METEOR 1.5 of a corpus hardly
feel it, nor does the paper's average, which needs Java besides.
"""

REPORT_COLUMNS: Final = (
    MetricColumn("rouge_l", ("", "R-L")),
    MetricColumn("bleu_4", ("", "B4")),
    MetricColumn("meteor15", ("MET", "1.5")),
    MetricColumn("meteor2005", ("MET", "2005")),
    MetricColumn("average", ("mean", "of 6")),
    MetricColumn("bleu_1", ("", "B1")),
    MetricColumn("bleu_2", ("", "B2")),
    MetricColumn("bleu_3", ("", "B3")),
)
REPORT_LEGEND: Final = (
    "B1 to B4: BLEU; R-L: ROUGE-L; MET: METEOR, of which 1.5 fits the paper's tables and 2005 its printed "
    "formula; mean of 6: of B1-4, MET 1.5 and R-L (`average` in the JSON). B1-4 and MET 1.5 hardly feel "
    "answers that are not there: see the share of usable ones. Two unrelated references that the paper "
    "prints score B4 .736, R-L .819 and MET 1.5 .486 against each other: look at the baselines first"
)

SIX: Final = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "meteor15", "rouge_l")
"""What the paper's average is made of."""

_AT: Final[Mapping[str, int]] = {name: place for place, name in enumerate(REPORT_NUMBERS)}
_BLEU: Final = slice(_AT["matches_1"], _AT["reference_length"] + 1)
_METEOR15: Final = slice(_AT[f"meteor15_{METEOR15_FIELDS[0]}"], _AT[f"meteor15_{METEOR15_FIELDS[-1]}"] + 1)
_NO_UNITS: Final = "no report to score"
_NO_ANSWERS: Final = "no report was answered"
_NOT_COMPUTED: Final = "not computed where this was scored"


def report_numbers(answer: str | None, reference: str | None, tools: ReportTools) -> tuple[float, ...]:
    """Return `REPORT_NUMBERS` of one unit.

    Answer None: it is unusable, and counts as an empty report. Reference None: its case has no clinical
    report, so that it counts nowhere.
    """
    if reference is None:
        return (0.0,) * len(REPORT_NUMBERS)
    candidate, truth = tools.tokens(answer or ""), tools.tokens(reference)
    return (
        1.0,
        float(answer is not None),
        float(len((answer or "").split())),
        *map(float, bleu_summands(candidate, truth)),
        rouge_l(candidate, truth, both_empty="zero"),
        tools.meteor2005(candidate, truth),
        *tools.meteor15(candidate, truth),
    )


def report_metrics(numbers: UnitNumbers, tools: ReportTools | None = None) -> dict[str, MetricValue]:
    """Return every metric path of one row of (units, `REPORT_NUMBERS`); `tools` say why METEOR is null."""
    counted = numbers[numbers[:, _AT["annotated"]] == 1]
    n, answered = len(counted), int(counted[:, _AT["answered"]].sum())
    reasons = dict(_missing(counted, tools))
    values = values_of_sums(counted.sum(axis=0))
    found = {}
    for path, value in values.items():
        units = answered if path == "words" else n
        if not n:
            found[path] = MetricValue(None, 0, _NO_UNITS)
        elif path in reasons:
            found[path] = MetricValue(None, n, reasons[path])
        elif math.isnan(value):
            found[path] = MetricValue(None, units, _NO_ANSWERS)
        else:
            found[path] = MetricValue(float(value), units)
    return found


def report_unit_scores(numbers: Sequence[float]) -> dict[str, float | None]:
    """Return the metrics that are means over units, for one unit, without those that were not computed."""
    if numbers[_AT["annotated"]] == 0:
        return {}
    values = {name: numbers[_AT[name]] for name in ("rouge_l", "meteor2005")}
    return {name: value for name, value in values.items() if not math.isnan(value)}


def values_of_sums(sums: Values) -> dict[str, Values]:
    """Return path -> values (...) of sums (..., `REPORT_NUMBERS`) over units; NaN where undefined.

    Sums over nothing have no values; a sum that is NaN leaves those that need it undefined.
    """
    units, answered = sums[..., _AT["annotated"]], sums[..., _AT["answered"]]
    bleu = bleu_from_sums(sums[..., _BLEU])
    found = {f"bleu_{order}": bleu[..., order - 1] for order in _ORDERS}
    with np.errstate(divide="ignore", invalid="ignore"):
        found["rouge_l"] = sums[..., _AT["rouge_l"]] / units
        found["meteor15"] = _where_finite(meteor15_from_sums(sums[..., _METEOR15]), sums[..., _METEOR15])
        found["meteor2005"] = sums[..., _AT["meteor2005"]] / units
        found["average"] = sum((found[name] for name in SIX), start=np.zeros_like(units)) / len(SIX)
        found["words"] = sums[..., _AT["words"]] / answered
        found["length_ratio"] = sums[..., _AT["candidate_length"]] / sums[..., _AT["reference_length"]]
    return {path: np.where(units > 0, values, np.nan) for path, values in found.items()}


def uncomputed(numbers: UnitNumbers) -> frozenset[str]:
    """Return the paths that have no value because a number of some unit is NaN."""
    found = set()
    if np.isnan(numbers[:, _METEOR15]).any():
        found |= {"meteor15", "average"}
    if np.isnan(numbers[:, _AT["meteor2005"]]).any():
        found.add("meteor2005")
    return frozenset(found)


def _missing(numbers: UnitNumbers, tools: ReportTools | None) -> Iterator[tuple[str, str]]:
    """Yield path and reason of what could not be computed."""
    for path in uncomputed(numbers):
        why = None if tools is None else tools.reason("meteor15" if path == "average" else path)
        yield path, why or _NOT_COMPUTED


def _where_finite(values: Values, sums: Values) -> Values:
    return np.where(np.isfinite(sums).all(axis=-1), values, np.nan)
