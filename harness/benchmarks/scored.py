"""What scoring sees of units and makes of them: tables of units, numbers with n, columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.canonical import JSON
from harness.outcomes import UnitOutcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from harness.benchmarks.base import Case
    from harness.scoring.intervals import Interval

Unsettled: TypeAlias = Literal["waiting", "disputed"]
"""Why a question that people answered has no grade that stands: a rater who was to grade it has not yet, or
they differ and no consensus says what counts."""

UnitNumbers: TypeAlias = "NDArray[np.float64]"
"""Shape (units, numbers): what a benchmark's `unit_numbers` gives, a row a unit."""


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One number with its n, or null with a reason. `sd` is over repeats, where there are several."""

    value: float | None
    n: int
    reason: str | None = None
    sd: float | None = None
    interval: Interval | None = None
    """None: nobody computed one; one without ends says why there is none."""

    def to_json(self) -> dict[str, JSON]:
        """Return the number as every JSON of the scores has it; `sd` only over several repeats.

        Beside `ci` stands how it was made, or why there is none.
        """
        found: dict[str, JSON] = {"value": self.value, "n": self.n, "ci": None, "reason": self.reason}
        interval = self.interval
        if interval is not None and interval.low is not None and interval.high is not None:
            found |= {"ci": [interval.low, interval.high], "ci_method": interval.method}
            if interval.note is not None:
                found["ci_note"] = interval.note
        elif interval is not None and self.value is not None:
            found["ci_reason"] = interval.reason
        return found if self.sd is None else found | {"sd": self.sd}


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """One metric of the printed table: its path in the scores, its two head lines, and its decimals.

    A p (`is_p`) is shown by the rule of those (see `harness.report.rounding`), a value in `words` by its
    word.
    An `optional` column is there only where some row has a value of it. `better` says which values are the
    better ones, None where none are (a reading grade, a p); `best` is the best one that there can be, None
    where there is no bound.
    """

    path: str
    head: tuple[str, str]
    decimals: int = 3
    is_p: bool = False
    words: Mapping[float, str] = field(default_factory=dict)
    optional: bool = False
    better: Literal["higher", "lower"] | None = "higher"
    best: float | None = 1.0


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """How the rows of one condition, or of one union of conditions, are scored and shown.

    `numbers` names what the scores keep of each unit (see `Benchmark.unit_numbers`). `main_metric` is the
    path of the metric that ranks; None: the rows have no order of merit. The printed table shows `columns`,
    the main metric first, of which a narrow terminal drops the last ones; without columns the rows stand in
    the JSON only, and so they do where the table of the union `shown_in` is printed. `legend` says what the
    heads mean, `baseline_notes` what each baseline is. `one_reading` is the heading of the one table that is
    printed where an unusable answer enters no number, in either reading. `unrelated` is the baseline that
    gives each case the reference of another one. The means over cases in `wilcoxon` are compared by that
    test, as the paper does.
    Of a row that people have not graded as a whole a table of its own shows `graded_only`: numbers of the
    graded answers alone, the one that stands for `main_metric` first. `graded` names the number that is 1
    where a unit is in them: by such a metric models are compared on the cases that are graded for all.
    People who look at single units see two paths of `Benchmark.score_unit`: `right` is 1 where a unit is
    right and 0 where it is wrong, None where units have no such thing; the worst values of `unit_value` come
    first (None: of the metric that ranks, where a unit has one).
    """

    numbers: tuple[str, ...]
    main_metric: str | None
    columns: tuple[MetricColumn, ...] = ()
    legend: str = ""
    baseline_notes: Mapping[str, str] = field(default_factory=dict)
    shown_in: str | None = None
    one_reading: str | None = None
    unrelated: str | None = None
    wilcoxon: frozenset[str] = frozenset()
    right: str | None = None
    unit_value: str | None = None
    graded_only: tuple[MetricColumn, ...] = ()
    graded: str | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """One unit as scorers see it; `prediction` None when the unit is unusable.

    Where a condition wants free text, the prediction is that text. `grades`: question -> the grade that
    stands, of those who were chosen to grade this run; without the questions that nobody answered.
    `unsettled`: question -> why none stands though somebody answered it.
    """

    case: Case
    condition: str
    outcome: UnitOutcome
    prediction: JSON
    grades: Mapping[str, JSON] = field(default_factory=dict)
    unsettled: Mapping[str, Unsettled] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnitTable:
    """The scored units of one row, as arrays of equal length; `numbers` is (units, numbers).

    `cases` is equal for the units of one case, `clusters` for those of one group of cases (a patient, say):
    intervals resample clusters. `repeats` counts from 1. `members` is the place of a unit's condition in
    `conditions`: those of the union, whether or not they have units here, or the one that the row is of.
    """

    numbers: UnitNumbers
    cases: NDArray[np.int64]
    clusters: NDArray[np.int64]
    repeats: NDArray[np.int32]
    members: NDArray[np.int32]
    conditions: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.cases)

    def where(self, mask: NDArray[np.bool_]) -> UnitTable:
        """Return the units for which the mask is true, in order."""
        return UnitTable(
            self.numbers[mask],
            self.cases[mask],
            self.clusters[mask],
            self.repeats[mask],
            self.members[mask],
            self.conditions,
        )


@dataclass(frozen=True, slots=True)
class BaselineUnits:
    """What a baseline answers, one answer a case of one condition: scored as a model's would be.

    `ids` are those of the cases, `numbers` (cases, numbers a unit) as `Benchmark.unit_numbers` gives them.
    """

    ids: Sequence[str]
    numbers: UnitNumbers


BaselineRow: TypeAlias = Mapping[str, MetricValue] | BaselineUnits
"""A baseline's metrics as a whole, without intervals, or the units that they are made of."""
