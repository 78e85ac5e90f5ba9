"""How far the triage judge agrees with people who graded the same answers by the same five dimensions.

The paper compares 60 answers with the grades of one dentist and prints accuracy and confusion by dimension,
and the mean accuracy (section H.2). People are the truth: tp, both say 1; fp, only the judge; fn, only the
person; tn, neither. Kappa is Cohen's, null where both said one and the same of every answer: the paper's D1
had no positive case, so that its agreement of 100 % is about absence alone.

A verdict that is missing, and a dimension that a person left open, is no disagreement: it is left out, n says
so, and `not_judged` counts the first. n counts verdicts: a judge that is asked several times about an answer
has as many. Where several people graded, what they agree on or came to in a consensus is compared too: it is
what a consensus of theirs stands for. All of one case, or group of cases, are resampled together.

Intervals of kappa are by its large-sample error where each answer is a case of its own, otherwise BCa; of few
differences both reach as far as an exact one (`harness.scoring.kappa_intervals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from harness.benchmarks.raters import RESOLVED, has_several, raters_of, resolved
from harness.benchmarks.scored import MetricValue
from harness.benchmarks.steps import Graded
from harness.benchmarks.triage.verdicts import DIMENSIONS
from harness.canonical import JSON

if TYPE_CHECKING:
    from harness.scoring.intervals import Interval
    from harness.scoring.resampling import Values

_CELLS: Final = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True, slots=True)
class Compared:
    """One answer as judge and person see it: dimension -> (judge, person), 0 or 1 each."""

    group: str
    scores: Mapping[str, tuple[int, int]]


def agreement(graded: Sequence[Graded]) -> dict[str, JSON]:
    """Return the comparison with each rater, and with what several came to, as it stands in the scores.

    Raises ValueError for a grade other than 0 and 1.
    """
    found = {
        rater: _with_grades(graded, [_grades(one.grades.get(rater, {})) for one in graded])
        for rater in raters_of(graded)
    }
    if has_several(graded):
        came_to = [_grades(resolved(one, DIMENSIONS)) for one in graded]
        found[RESOLVED] = _with_grades(graded, came_to)
    return {"raters": found}


def _with_grades(graded: Sequence[Graded], of_each: Sequence[Mapping[str, int]]) -> JSON:
    known = list(zip(graded, of_each, strict=True))
    theirs = [(one, grades) for one, grades in known if grades]
    compared = [
        Compared(one.group, _pairs(one.prediction, grades))
        for one, grades in theirs
        if one.prediction is not None
    ]
    return {
        "n_graded": len(theirs),
        "not_judged": len(theirs) - len(compared),
        "mean_accuracy": _mean_accuracy(compared),
        "dimensions": {name: _dimension(compared, name) for name in DIMENSIONS},
    }


def _grades(said: Mapping[str, JSON]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for name, value in said.items():
        if name in DIMENSIONS:
            if value not in (0, 1):
                raise ValueError(f"a grade of {name} is 0 or 1, not {value!r}")
            found[name] = int(value == 1)
    return found


def _pairs(prediction: JSON, grades: Mapping[str, int]) -> Mapping[str, tuple[int, int]]:
    verdict = cast("Mapping[str, Mapping[str, JSON]]", prediction)
    return {name: (int(verdict[name]["score"] == 1), grade) for name, grade in grades.items()}


def _dimension(compared: Sequence[Compared], name: str) -> JSON:
    from harness.scoring.agreement import cohen_kappa
    from harness.scoring.proportions import clopper_pearson

    rows = [(one.group, *one.scores[name]) for one in compared if name in one.scores]
    judge, person = [row[1] for row in rows], [row[2] for row in rows]
    n = len(rows)
    counts = {
        cell: sum(pair == wanted for pair in zip(judge, person, strict=True))
        for cell, wanted in zip(_CELLS, ((1, 1), (1, 0), (0, 1), (0, 0)), strict=True)
    }
    agreed = counts["tp"] + counts["tn"]
    kappa = cohen_kappa(judge, person, (0, 1))
    if len({group for group, _, _ in rows}) == n:
        interval, of_kappa = clopper_pearson(agreed, n), kappa.interval
    else:
        interval = _intervals([Compared(group, {name: (a, b)}) for group, a, b in rows])[name]
        of_kappa = _kappa_interval(rows)
    of_kappa = _of_few(rows, of_kappa)
    return {
        "n": n,
        "confusion": {**counts},
        "positives": {"judge": sum(judge), "rater": sum(person)},
        "accuracy": _number(agreed / n if n else None, n, interval, "no answer has both"),
        "kappa": _number(kappa.kappa, n, of_kappa, kappa.reason),
        "note": "no answer has this failure by the rater's grades: agreement is about its absence alone"
        if n and not any(person)
        else None,
    }


def _mean_accuracy(compared: Sequence[Compared]) -> JSON:
    """Return the mean over the dimensions that have grades of their accuracies; n counts answers."""
    some = [one for one in compared if one.scores]
    return _number(
        _point(some), len(some), _intervals(some)["mean"] if some else None, "no answer has both"
    )


def _point(compared: Sequence[Compared]) -> float | None:
    accuracies = []
    for name in DIMENSIONS:
        pairs = [one.scores[name] for one in compared if name in one.scores]
        if pairs:
            accuracies.append(sum(judge == person for judge, person in pairs) / len(pairs))
    return sum(accuracies) / len(accuracies) if accuracies else None


def _intervals(compared: Sequence[Compared]) -> Mapping[str, Interval]:
    """Return dimension, and "mean", -> interval of accuracy over cases."""
    import numpy as np

    from harness.scoring.bootstrap import sum_intervals
    from harness.scoring.resampling import Resampling

    summands = [
        [float(agrees) for name in DIMENSIONS for agrees in _agreed(one.scores.get(name))]
        for one in compared
    ]

    def accuracies(sums: Values) -> Mapping[str, Values]:
        each = sums[..., 0::2] / sums[..., 1::2]
        known = np.isfinite(each)
        mean = np.where(known, each, 0.0).sum(axis=-1) / known.sum(axis=-1)
        return {**{name: each[..., place] for place, name in enumerate(DIMENSIONS)}, "mean": mean}

    groups = [one.group for one in compared]
    return sum_intervals(summands, groups, None, accuracies, Resampling())


def _kappa_interval(rows: Sequence[tuple[str, int, int]]) -> Interval:
    """Return that of kappa over groups, of (group, judge, person); its large-sample error knows no groups."""
    import numpy as np

    from harness.scoring.bootstrap import sum_intervals
    from harness.scoring.resampling import Resampling

    def kappa(sums: Values) -> Mapping[str, Values]:
        n, judged, said, both = (sums[..., place] for place in range(4))
        agreed = n - judged - said + 2 * both
        by_chance = judged * said + (n - judged) * (n - said)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"kappa": (agreed * n - by_chance) / (n * n - by_chance)}

    summands = [(1.0, judge, person, judge * person) for _, judge, person in rows]
    return sum_intervals(summands, [group for group, _, _ in rows], None, kappa, Resampling())["kappa"]


def _of_few(rows: Sequence[tuple[str, int, int]], interval: Interval) -> Interval:
    """Return an interval of kappa that knows how few differences it rests on."""
    import numpy as np

    from harness.scoring.kappa_intervals import few_differences

    table = np.zeros((2, 2), dtype=np.int64)
    for _, judge, person in rows:
        table[judge, person] += 1
    differ = {group for group, judge, person in rows if judge != person}
    return few_differences(interval, table, 1 - np.eye(2), len({row[0] for row in rows}), len(differ))


def _agreed(pair: tuple[int, int] | None) -> tuple[bool, bool]:
    """Return whether the two agree, and whether there are two."""
    return (False, False) if pair is None else (pair[0] == pair[1], True)


def _number(value: float | None, n: int, interval: Interval | None, reason: str | None) -> JSON:
    return MetricValue(value, n, reason if value is None else None, interval=interval).to_json()
