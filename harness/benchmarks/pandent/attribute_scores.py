"""The metric paths of PanDent's questions about single findings, of one question or of several together.

- `exact_match`: share of cases whose whole answer is right (the paper's Acc_j). Of a union:
  `exact_match.<finding>` of each question, and `exact_match.mean`, their unweighted mean (the paper's
  average).
- `positives.exact_match`, `negatives.exact_match`: the same share of the cases that have the finding, and of
  those that have not: most findings are rare, so that saying no to all is often right. Of a union: of all
  cases of its questions.
- `tooth.precision`, `tooth.recall`, `tooth.f1`: of teeth, summed over cases (and a union's tooth questions).
- `yes.precision`, `yes.recall`, `yes.f1`: of the answer "yes", where a question is yes or no.

An unusable answer is never right, not even where there is nothing to find: it misses all true teeth, and
names none. A case whose finding nobody looked at enters no number. n counts cases, of a union the cases of
all its questions; of `exact_match.mean` it is the smallest number of cases of a question. That mean leaves
out questions whose finding nobody looked at in any case.

All of it is a function of whole numbers summed over units, so values and intervals come from the same sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

import numpy as np

from harness.benchmarks.base import Case
from harness.benchmarks.pandent.baselines import most_frequent, prevalence_sums
from harness.benchmarks.pandent.constant_reports import usual_value
from harness.benchmarks.pandent.finding_values import answer_code
from harness.benchmarks.pandent.findings import BY_ID, Finding, teeth_of, tooth_code
from harness.benchmarks.pandent.questions import finding_of
from harness.benchmarks.scored import MetricValue, Scored, UnitTable
from harness.canonical import JSON
from harness.scoring.bootstrap import intervals_of
from harness.scoring.intervals import Interval
from harness.scoring.label_codes import Codes
from harness.scoring.multilabel import ratio
from harness.scoring.proportions import clopper_pearson
from harness.scoring.replicates import Statistic, Units, replicate
from harness.scoring.resampling import Resampling, Values

NUMBERS: Final = ("annotated", "answered", "truth", "given")
"""1 or 0, 1 or 0, and the answers as codes (`finding_values.answer_code`); 0 where there is none."""

_SUMS: Final = ("cases", "right", "positive", "positive_right", "shared", "named", "true")
"""What is summed over the annotated units of one question: the last three count teeth, or yes."""


def unit_numbers(unit: Scored) -> tuple[float, ...]:
    """Return `NUMBERS` of one unit."""
    finding = BY_ID[finding_of(unit.condition)]
    findings = cast("Mapping[str, JSON]", unit.case.reference["findings"])
    truth = answer_code(finding, findings[finding.id])
    given = 0 if unit.prediction is None else prediction_code(unit.prediction)
    return float(truth is not None), float(unit.prediction is not None), float(truth or 0), float(given)


def prediction_code(prediction: JSON) -> int:
    """Return an answer as a code: true or false, or a list of teeth."""
    if isinstance(prediction, bool):
        return int(prediction)
    return tooth_code(cast("Sequence[int]", prediction))


def unit_scores(numbers: Sequence[float]) -> Mapping[str, float | None]:
    """Return `exact_match` of one unit; None where nobody looked."""
    annotated, answered, truth, given = numbers
    return {"exact_match": float(bool(answered) and truth == given) if annotated else None}


def metrics(units: UnitTable) -> dict[str, MetricValue]:
    """Return every metric path of a row: one question, or a union of several."""
    return metrics_of_sums(_summands(units).sum(axis=0), units.conditions, _meant(units))


def sums(units: UnitTable) -> tuple[Units, Statistic]:
    """Return what each unit adds to the sums of a row, and every path that is made of them."""
    meant = _meant(units)
    return (
        Units(_summands(units), units.clusters, units.repeats),
        lambda drawn: dict(_values(drawn, units.conditions, meant)),
    )


def metrics_of_sums(
    sums: Values, conditions: Sequence[str], meant: Sequence[int] | None = None
) -> dict[str, MetricValue]:
    """Return the same from what all units add up to, (conditions x 7).

    `meant`: the places of the conditions that the mean over questions is of; None: of those with a case.
    """
    if meant is None:
        meant = np.flatnonzero(sums.reshape(len(conditions), len(_SUMS))[:, 0]).tolist()
    counts = dict(_counts(sums, conditions, meant))
    found = {}
    for path, value in _values(sums, conditions, meant):
        n, why = counts[path]
        known = np.isfinite(value)
        found[path] = MetricValue(float(value), n) if known else MetricValue(None, n, why)
    return found


def prevalence_metrics(cases: Mapping[str, Iterable[Case]]) -> dict[str, MetricValue]:
    """Return what guesses by prevalence are worth, question by question (see `baselines.prevalence_sums`).

    `cases`: condition -> the cases that count in it.
    """
    sums = [prevalence_sums(_truth(asked, condition)) for condition, asked in cases.items()]
    return metrics_of_sums(np.concatenate(sums), [*cases])


def constant_answers(cases: Iterable[Case], condition: str) -> dict[str, JSON]:
    """Return the predictions of the rows `nothing`, `majority` and `fixed template` for one question."""
    finding = BY_ID[finding_of(condition)]
    every = [*cases]
    truth = _truth(every, condition)
    values = [cast("Mapping[str, JSON]", case.reference["findings"])[finding.id] for case in every]
    usual = answer_code(finding, usual_value(finding, values))
    majority = most_frequent(truth) if len(truth) else 0
    codes = {"nothing": 0, "majority": majority, "fixed template": usual or 0}
    return {name: prediction_of(finding, code) for name, code in codes.items()}


def prediction_of(finding: Finding, code: int) -> JSON:
    """Return a code as a prediction: true or false, or a list of teeth."""
    return bool(code) if finding.answer == "binary" else [*teeth_of(code)]


def _truth(cases: Iterable[Case], condition: str) -> Codes:
    """Return the true codes of a question, of the cases in which somebody looked."""
    finding = BY_ID[finding_of(condition)]
    codes = (
        answer_code(finding, cast("Mapping[str, JSON]", case.reference["findings"])[finding.id])
        for case in cases
    )
    return np.array([code for code in codes if code is not None], dtype=np.uint32)


def intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return metric path -> interval: shares of cases are exact where each case is drawn by itself."""
    summed, statistic = sums(units)
    found = dict(intervals_of(replicate(summed, statistic, resampling)))
    for place, condition in enumerate(units.conditions):
        mine = units.members == place
        if len(np.unique(units.clusters[mine])) == np.count_nonzero(mine):
            alone = len(units.conditions) == 1
            found.update(_shares(summed.summands[mine].sum(axis=0), place, condition, alone=alone))
    return found


def _meant(units: UnitTable) -> list[int]:
    """Return the places of the questions that the mean is of: not those that nobody could be scored on.

    One without any unit stays in, so that there is no mean: these models were asked something else.
    """
    size = len(units.conditions)
    asked = np.bincount(units.members, minlength=size)
    looked = np.bincount(units.members, weights=units.numbers[:, 0], minlength=size)
    return np.flatnonzero((looked > 0) | (asked == 0)).tolist()


def _summands(units: UnitTable) -> Values:
    """Return what each unit adds, (units, conditions x `_SUMS`): 0 but for its own condition."""
    annotated, answered, truth, given = units.numbers.T
    truth_codes, given_codes = truth.astype(np.uint32), np.where(answered == 1, given, 0).astype(np.uint32)
    right = (answered == 1) & (truth_codes == given_codes)
    positive = truth_codes != 0
    columns = (
        np.ones(len(units)),
        right,
        positive,
        positive & right,
        np.bitwise_count(truth_codes & given_codes),
        np.bitwise_count(given_codes),
        np.bitwise_count(truth_codes),
    )
    own = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1) * annotated[:, None]
    summands = np.zeros((len(units), len(units.conditions), len(_SUMS)))
    summands[np.arange(len(units)), units.members] = own
    return summands.reshape(len(units), len(units.conditions) * len(_SUMS))


def _values(
    sums: Values, conditions: Sequence[str], meant: Sequence[int]
) -> Iterator[tuple[str, Values]]:
    """Yield every path with its values (...) from sums (..., conditions x `_SUMS`); NaN where undefined."""
    each = sums.reshape(*sums.shape[:-1], len(conditions), len(_SUMS))
    if len(conditions) > 1:
        exact = ratio(each[..., 1], each[..., 0])
        yield "exact_match.mean", ratio(exact[..., meant].sum(axis=-1), np.full(exact.shape[:-1], len(meant)))
        for place, condition in enumerate(conditions):
            yield f"exact_match.{finding_of(condition)}", exact[..., place]
    else:
        yield "exact_match", ratio(each[..., 0, 1], each[..., 0, 0])
    total = _named(each.sum(axis=-2))
    yield "positives.exact_match", ratio(total["positive_right"], total["positive"])
    negative_right = total["right"] - total["positive_right"]
    yield "negatives.exact_match", ratio(negative_right, total["cases"] - total["positive"])
    for name, places in _kinds(conditions):
        counts = _named(each[..., places, :].sum(axis=-2))
        yield f"{name}.precision", ratio(counts["shared"], counts["named"])
        yield f"{name}.recall", ratio(counts["shared"], counts["true"])
        yield f"{name}.f1", ratio(2 * counts["shared"], counts["named"] + counts["true"])


def _counts(
    sums: Values, conditions: Sequence[str], meant: Sequence[int]
) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield every path with its n, and why it would have no value."""
    each = sums.reshape(len(conditions), len(_SUMS)).astype(np.int64)
    cases = [int(count) for count in each[:, 0]]
    nothing = "no units to score"
    if len(conditions) > 1:
        lacking = ", ".join(finding_of(conditions[place]) for place in meant if not cases[place])
        fewest = min((cases[place] for place in meant), default=0)
        yield "exact_match.mean", (fewest, f"no units to score of {lacking}" if lacking else nothing)
        for condition, count in zip(conditions, cases, strict=True):
            yield f"exact_match.{finding_of(condition)}", (count, nothing)
    else:
        yield "exact_match", (cases[0], nothing)
    positive, negative = int(each[:, 2].sum()), sum(cases) - int(each[:, 2].sum())
    yield "positives.exact_match", (positive, "no case has the finding" if negative else nothing)
    yield "negatives.exact_match", (negative, "every case has the finding" if positive else nothing)
    for name, places in _kinds(conditions):
        n = sum(cases[place] for place in places)
        yield f"{name}.precision", (n, "no answer names a tooth" if name == "tooth" else "no answer says yes")
        yield f"{name}.recall", (n, "no case has the finding" if n else nothing)
        yield f"{name}.f1", (n, "neither reference nor answer names any" if n else nothing)


def _kinds(conditions: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield "tooth" and "yes" with the places of the conditions of that kind, where there are any."""
    for name, answer in (("tooth", "tooth_set"), ("yes", "binary")):
        places = [
            place for place, one in enumerate(conditions) if BY_ID[finding_of(one)].answer == answer
        ]
        if places:
            yield name, places


def _shares(sums: Values, place: int, condition: str, *, alone: bool) -> Iterator[tuple[str, Interval]]:
    """Yield the exact intervals of a question's shares of cases."""
    counts = _named(sums.reshape(-1, len(_SUMS))[place])
    cases, right, positive, positive_right = (
        int(counts[name]) for name in ("cases", "right", "positive", "positive_right")
    )
    exact = clopper_pearson(right, cases)
    if not alone:
        yield f"exact_match.{finding_of(condition)}", exact
        return
    yield "exact_match", exact
    yield "positives.exact_match", clopper_pearson(positive_right, positive)
    yield "negatives.exact_match", clopper_pearson(right - positive_right, cases - positive)


def _named(sums: Values) -> Mapping[str, Values]:
    return {name: sums[..., place] for place, name in enumerate(_SUMS)}
