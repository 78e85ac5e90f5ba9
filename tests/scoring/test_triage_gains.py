"""The modality ablation: gains by case, counted by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from harness.benchmarks.base import Case
from harness.benchmarks.scored import MetricValue, Scored, UnitTable
from harness.benchmarks.triage.gains import GAINS
from harness.benchmarks.triage.task import Triage
from harness.benchmarks.triage.taxonomy import LABELS, answer_of
from harness.outcomes import UnitOutcome
from harness.scoring.bootstrap import mean_interval
from harness.scoring.proportions import clopper_pearson
from harness.scoring.resampling import Resampling

CONVENTIONS = {"zero_division": "0", "case_f1_empty": "1"}
ALL = ("both", "complaint", "opg")
Answer = list[str] | None
Row = tuple[list[str], dict[str, Answer]]
"""The true labels of a case, and its answers by condition; None is an unusable one."""


def table(
    rows: Sequence[Row], conditions: Sequence[str] = ALL, *, repeats: Sequence[int] | None = None,
    clusters: Sequence[int] | None = None,
) -> UnitTable:  # fmt: skip
    """Return the units of these cases; with `repeats`, every two rows are of one case."""
    numbers, cases, whose, members, which = [], [], [], [], []
    for place, (truth, answers) in enumerate(rows):
        for condition, labels in answers.items():
            of = Case(str(place), {}, {}, {"labels": truth})
            outcome = UnitOutcome.UNPARSABLE if labels is None else UnitOutcome.VALID
            given = None if labels is None else answer_of(labels)
            numbers.append(Triage().unit_numbers(Scored(of, condition, outcome, given)))
            cases.append(place if repeats is None else place // 2)
            whose.append(cases[-1] if clusters is None else clusters[place])
            which.append(1 if repeats is None else repeats[place])
            members.append(conditions.index(condition))
    return UnitTable(
        np.array(numbers, dtype=np.float64).reshape(-1, 3),
        np.array(cases, dtype=np.int64),
        np.array(whose, dtype=np.int64),
        np.array(which, dtype=np.int32),
        np.array(members, dtype=np.int32),
        tuple(conditions),
    )


def gains(units: UnitTable) -> dict[str, MetricValue]:
    return dict(Triage().metrics(units, "ablation", CONVENTIONS))


A, B, C, D = LABELS[0], LABELS[5], LABELS[19], LABELS[21]
HAND: Sequence[Row] = (
    # case F1 of both 1, of the complaint 2/3, of the radiograph 0
    ([A, B], {"both": [A, B], "complaint": [A], "opg": [C]}),
    # 1/2, 1/2, 1
    ([A], {"both": [A, B, C], "complaint": [A, C, D], "opg": [A]}),
    # empty on both sides is 1; 0; 1
    ([], {"both": [], "complaint": [A], "opg": []}),
)


def test_a_gain_is_the_case_f1_of_both_less_that_of_one_modality() -> None:
    found = gains(table(HAND))
    expected = {
        "opg.mean": (1 / 3 + 0 + 1) / 3,
        "opg.share_positive": 2 / 3,
        "opg.share_above_0.1": 2 / 3,
        "opg.share_above_0.2": 2 / 3,
        "opg.share_negative": 0,
        "opg.case_f1": (1 + 1 / 2 + 1) / 3,
        "opg.case_f1_without": (2 / 3 + 1 / 2 + 0) / 3,
        "complaint.mean": (1 - 1 / 2 + 0) / 3,
        "complaint.share_positive": 1 / 3,
        "complaint.share_negative": 1 / 3,
        # over the better of the two, case by case: 1 - 2/3, 1/2 - 1, 1 - 1
        "over_better.mean": (1 / 3 - 1 / 2 + 0) / 3,
        "over_better.share_above_0.2": 1 / 3,
        "over_better.case_f1_without": (2 / 3 + 1 + 1) / 3,
    }
    for path, value in expected.items():
        assert found[f"gain.{path}"].value == pytest.approx(value, abs=1e-12), path
    assert {metric.n for metric in found.values()} == {3}
    assert found["gain.opg.unpaired"] == MetricValue(0.0, 3)
    assert found["gain.opg.unusable_share"] == MetricValue(0.0, 3)


def test_a_gain_of_exactly_a_tenth_is_not_above_it_whatever_floats_say() -> None:
    truth = list(LABELS[:10])
    rest = list(LABELS[10:])

    def answer(shared: int, size: int) -> list[str]:
        return truth[:shared] + rest[: size - shared]

    # 2 * 4 / (10 + 10) = 2/5 and 2 * 3 / (10 + 10) = 3/10
    assert 2 / 5 - 3 / 10 > 0.1
    found = gains(table([(truth, {"both": answer(4, 10), "complaint": answer(3, 10)})]))
    assert found["gain.opg.share_above_0.1"].value == 0
    assert found["gain.opg.share_positive"].value == 1
    assert found["gain.opg.mean"].value == 0.1
    # 1/2 - 3/10 = 1/5 is not above 0.2 either, and 2 * 9 / 20 - 2 * 7 / 20 = 1/5 neither.
    for one, other in ((5, 3), (9, 7), (7, 5)):
        found = gains(table([(truth, {"both": answer(one, 10), "complaint": answer(other, 10)})]))
        assert found["gain.opg.share_above_0.2"].value == 0, (one, other)
        assert found["gain.opg.share_above_0.1"].value == 1


def test_every_gain_is_that_of_fractions_in_plain_python() -> None:
    chance = random.Random(4)

    def answer(truth: Sequence[str]) -> Answer:
        if chance.random() < 0.1:
            return None
        kept = [label for label in truth if chance.random() < 0.7]
        return sorted({*kept, *chance.sample(LABELS, chance.randrange(3))})

    rows: list[Row] = []
    for _ in range(400):
        truth = chance.sample(LABELS, chance.randrange(6))
        rows.append((truth, {name: answer(truth) for name in ALL if chance.random() < 0.9}))

    def f1(truth: Sequence[str], given: Answer) -> Fraction:
        if given is None:
            return Fraction(0)
        size = len(truth) + len(given)
        return Fraction(2 * len({*truth} & {*given}), size) if size else Fraction(1)

    found = gains(table(rows))
    for name, singles in GAINS.items():
        pairs = [(truth, given) for truth, given in rows if {"both", *singles} <= given.keys()]
        some = [given for _, given in rows if {"both", *singles} & given.keys()]
        deltas = [
            f1(truth, given["both"]) - max(f1(truth, given[single]) for single in singles)
            for truth, given in pairs
        ]
        n = len(deltas)
        for path, value in {
            "mean": sum(deltas) / n,
            "share_positive": Fraction(sum(delta > 0 for delta in deltas), n),
            "share_above_0.1": Fraction(sum(delta > Fraction(1, 10) for delta in deltas), n),
            "share_above_0.2": Fraction(sum(delta > Fraction(1, 5) for delta in deltas), n),
            "share_negative": Fraction(sum(delta < 0 for delta in deltas), n),
            "unusable_share": Fraction(
                sum(any(given[one] is None for one in ("both", *singles)) for _, given in pairs), n
            ),
        }.items():
            metric = found[f"gain.{name}.{path}"]
            assert metric.value == pytest.approx(float(value), abs=1e-12), (name, path)
            assert metric.n == n < len(rows)
        assert found[f"gain.{name}.unpaired"] == MetricValue(float(len(some) - n), len(some))


def test_a_case_without_one_of_the_conditions_has_no_gain_and_is_counted() -> None:
    rows = [*HAND, ([A], {"both": [A]}), ([A], {"complaint": [A]}), ([A], {"opg": [A], "both": [B]})]
    found = gains(table(rows))
    assert found["gain.opg.mean"] == gains(table(HAND))["gain.opg.mean"]
    assert found["gain.opg.unpaired"] == MetricValue(3.0, 6)
    assert found["gain.complaint.unpaired"] == MetricValue(1.0, 5)
    assert found["gain.over_better.unpaired"] == MetricValue(3.0, 6)


def test_as_answered_an_unusable_answer_scores_nothing_on_either_side() -> None:
    found = gains(table([([A], {"both": [A], "complaint": None}), ([A], {"both": None, "complaint": [A]})]))
    assert found["gain.opg.mean"].value == 0  # 1 - 0 and 0 - 1
    assert found["gain.opg.share_positive"].value == 0.5
    assert found["gain.opg.share_negative"].value == 0.5
    assert found["gain.opg.unusable_share"].value == 1


def test_repeats_are_paired_with_themselves() -> None:
    rows: list[Row] = [
        ([A], {"both": [A], "complaint": [B]}),  # repeat 1: gain 1
        ([A], {"both": [B], "complaint": [A]}),  # repeat 2 of the same case: gain -1
    ]
    units = table(rows, repeats=[1, 2])
    assert gains(units.where(units.repeats == 1))["gain.opg.mean"].value == 1
    assert gains(units.where(units.repeats == 2))["gain.opg.mean"].value == -1


@pytest.mark.parametrize("conditions", [("both", "opg"), ("both", "complaint")])
def test_only_the_gains_over_what_was_asked_are_there(conditions: tuple[str, ...]) -> None:
    assert Triage().unions(conditions) == {"ablation": conditions}
    rows: list[Row] = [([A], {name: [A] for name in conditions})]
    found = gains(table(rows, conditions))
    missing = {"opg": "complaint", "complaint": "opg"}[conditions[1]]
    assert {path.split(".")[1] for path in found} == {missing}


@pytest.mark.parametrize("conditions", [("both",), ("complaint", "opg"), ("opg",)])
def test_without_both_and_one_modality_there_is_no_ablation(conditions: tuple[str, ...]) -> None:
    assert Triage().unions(conditions) == {}


def test_the_unions_conditions_stand_in_one_order_and_share_its_numbers() -> None:
    triage = Triage()
    assert triage.unions(["opg", "both", "complaint"]) == {"ablation": ALL}
    union = triage.table("ablation")
    assert union.main_metric is None
    assert all(triage.table(name).numbers == union.numbers for name in ALL)
    known = gains(table(HAND))
    assert all(column.path in known for column in union.columns)


def test_no_pairs_give_null_with_a_reason_and_no_interval() -> None:
    units = table([([A], {"both": [A]}), ([A], {"both": [B]})])
    found = gains(units)
    why = "no case was scored in all of: both, complaint"
    assert found["gain.opg.mean"] == MetricValue(None, 0, why)
    assert found["gain.opg.unpaired"] == MetricValue(2.0, 2)
    assert json.dumps([one.value for one in found.values()], allow_nan=False)
    intervals = Triage().intervals(units, "ablation", CONVENTIONS, Resampling())
    assert all(one.low is None and one.reason for one in intervals.values())
    assert gains(table([]))["gain.opg.unpaired"] == MetricValue(0.0, 0)


def test_intervals_are_those_of_the_gains_of_cases() -> None:
    chance = random.Random(9)
    rows: list[Row] = []
    for _ in range(60):
        truth = chance.sample(LABELS, 1 + chance.randrange(4))
        rows.append((truth, {name: truth[: chance.randrange(1 + len(truth))] for name in ALL}))
    units = table(rows)
    found = Triage().intervals(units, "ablation", CONVENTIONS, Resampling())
    values = gains(units)
    assert found.keys() == {path for path in values if not path.endswith("unpaired")}

    def f1(truth: Sequence[str], given: Answer) -> float:
        return 2 * len(given or ()) / (len(truth) + len(given or ()))

    deltas = [f1(truth, given["both"]) - f1(truth, given["complaint"]) for truth, given in rows]
    plain = mean_interval(deltas)
    assert found["gain.opg.mean"].low == pytest.approx(plain.low, abs=1e-9)
    assert found["gain.opg.mean"].high == pytest.approx(plain.high, abs=1e-9)
    above = round((values["gain.opg.share_above_0.2"].value or 0) * 60)
    assert found["gain.opg.share_above_0.2"] == clopper_pearson(above, 60)
    for path, interval in found.items():
        value = values[path].value
        assert value is not None
        if interval.low is not None and interval.high is not None:
            assert interval.low <= value <= interval.high, path
    grouped = table(rows, clusters=[place // 4 for place in range(60)])
    together = Triage().intervals(grouped, "ablation", CONVENTIONS, Resampling())
    assert together["gain.opg.share_above_0.2"].method == "bca"


def test_the_order_of_units_does_not_change_a_digit() -> None:
    units = table(HAND * 40)
    order = np.random.default_rng(2).permutation(len(units))
    shuffled = UnitTable(
        units.numbers[order], units.cases[order], units.clusters[order], units.repeats[order],
        units.members[order], units.conditions,
    )  # fmt: skip
    assert gains(shuffled) == gains(units)


def test_an_interval_pairs_each_repeat_with_itself_and_draws_a_case_with_all_of_them() -> None:
    chance = random.Random(12)
    rows: list[Row] = []
    for _ in range(50):
        truth = chance.sample(LABELS, 4)
        rows += [(truth, {name: truth[: chance.randrange(5)] for name in ALL[:2]}) for _ in range(2)]
    found = Triage().intervals(table(rows, repeats=[1, 2] * 50), "ablation", CONVENTIONS, Resampling())
    sizes = [[len(given[name] or ()) for name in ALL[:2]] for _, given in rows]
    deltas = [2 * both / (4 + both) - 2 * alone / (4 + alone) for both, alone in sizes]
    plain = mean_interval(deltas, np.repeat(np.arange(50), 2))
    assert found["gain.opg.mean"].low == pytest.approx(plain.low, abs=1e-9)
    assert found["gain.opg.mean"].high == pytest.approx(plain.high, abs=1e-9)
    assert found["gain.opg.share_positive"].method == "bca"
