"""Multi-label measures on tables small enough to count by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.scoring.label_codes import Flags, any_of, label_counts, pack_labels
from harness.scoring.multilabel import (
    Tally,
    exact_match,
    exact_mean,
    exact_sums,
    label_f1,
    macro_f1,
    macro_recall,
    micro_f1,
    ratio,
)
from harness.scoring.multilabel import tally as tally_codes

TRUTH = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=bool)
PREDICTED = np.array([[1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=bool)
ALL = np.ones(4, dtype=bool)
# Label by label: tp 2 fp 0 fn 0; tp 1 fp 0 fn 1; never seen; tp 0 fp 1 fn 0.


def tally(truth: Flags, predicted: Flags, answered: Flags, *, case_f1_empty: float = 1.0) -> Tally:
    """Count flags, which are easier to read than codes."""
    labels = truth.shape[-1]
    codes = pack_labels(truth), pack_labels(predicted)
    return tally_codes(*codes, answered, labels, case_f1_empty=case_f1_empty)


def test_counts_are_by_label() -> None:
    counts = tally(TRUTH, PREDICTED, ALL)
    assert counts.tp.tolist() == [2, 1, 0, 0]
    assert counts.fp.tolist() == [0, 0, 0, 1]
    assert counts.fn.tolist() == [0, 1, 0, 0]
    assert (int(counts.over_units), int(counts.under_units), int(counts.exact)) == (1, 1, 2)


@pytest.mark.parametrize(
    ("zero_division", "f1", "recall"),
    [
        ("0", (1 + 2 / 3 + 0 + 0) / 4, (1 + 1 / 2 + 0 + 0) / 4),
        ("1", (1 + 2 / 3 + 1 + 0) / 4, (1 + 1 / 2 + 1 + 1) / 4),
        ("skip-empty", (1 + 2 / 3) / 2, (1 + 1 / 2) / 2),
    ],
)
def test_macro_means_by_convention(zero_division: str, f1: float, recall: float) -> None:
    counts = tally(TRUTH, PREDICTED, ALL)
    assert float(macro_f1(counts, zero_division)) == pytest.approx(f1, abs=1e-15)
    assert float(macro_recall(counts, zero_division)) == pytest.approx(recall, abs=1e-15)


def test_micro_f1_exact_match_and_case_f1() -> None:
    counts = tally(TRUTH, PREDICTED, ALL)
    assert float(micro_f1(counts, "0")) == pytest.approx(6 / 8)
    assert float(exact_match(counts)) == 0.5
    assert float(counts.case_f1) == pytest.approx((2 / 3 + 2 / 3 + 1 + 1) / 4)
    assert float(tally(TRUTH, PREDICTED, ALL, case_f1_empty=0.0).case_f1) == pytest.approx(
        (2 / 3 + 2 / 3 + 0 + 1) / 4
    )


def test_an_unanswered_unit_misses_everything_and_adds_nothing() -> None:  # F14, two readings
    answered = np.array([True, False, False, True])
    counts = tally(TRUTH, np.ones_like(TRUTH), answered)
    assert counts.fn.tolist() == [1, 1, 0, 0]
    assert counts.fp.tolist() == [1, 1, 2, 2]
    assert (counts.units, counts.answered, int(counts.over_units)) == (4, 2, 2)


def test_an_unanswered_unit_with_an_empty_reference_is_never_right() -> None:
    truth = np.zeros((2, 4), dtype=bool)
    counts = tally(truth, truth, np.array([True, False]))
    assert float(exact_match(counts)) == 0.5
    assert float(counts.case_f1) == 0.5
    assert float(macro_f1(counts, "1")) == 0.5
    assert float(micro_f1(counts, "1")) == 0.5
    assert float(macro_f1(tally(truth, truth, np.zeros(2, dtype=bool)), "1")) == 0


@pytest.mark.parametrize("zero_division", ["0", "1", "skip-empty"])
def test_no_units_give_no_number(zero_division: str) -> None:
    none = np.zeros((0, 4), dtype=bool)
    counts = tally(none, none, np.zeros(0, dtype=bool))
    for value in (
        macro_f1(counts, zero_division),
        macro_recall(counts, zero_division),
        micro_f1(counts, zero_division),
        exact_match(counts),
        counts.case_f1,
    ):
        assert math.isnan(float(value))


def test_skipping_empty_labels_leaves_nothing_when_all_are_empty() -> None:
    truth = np.zeros((3, 4), dtype=bool)
    counts = tally(truth, truth, np.ones(3, dtype=bool))
    assert math.isnan(float(macro_f1(counts, "skip-empty")))
    assert math.isnan(float(micro_f1(counts, "skip-empty")))


def test_draws_are_scored_like_single_predictions() -> None:
    both = np.stack([PREDICTED, ~PREDICTED])
    counts = tally(TRUTH, both, ALL)
    for draw, alone in enumerate((PREDICTED, ~PREDICTED)):
        single = tally(TRUTH, alone, ALL)
        assert label_f1(counts, "0")[draw].tolist() == label_f1(single, "0").tolist()
        assert micro_f1(counts, "0")[draw] == micro_f1(single, "0")
        assert counts.case_f1[draw] == single.case_f1
        assert exact_match(counts)[draw] == exact_match(single)


def test_coarse_labels_are_the_or_of_fine_ones() -> None:
    assert any_of(pack_labels(TRUTH), [(0, 1), (2,), (1, 3)]).tolist() == [0b001, 0b101, 0b000, 0b101]


def test_a_mean_does_not_depend_on_the_order_of_units() -> None:
    values = np.array([1e16, 1.0, -1e16, 1.0])
    assert float(exact_mean(values)) == float(exact_mean(values[[0, 2, 1, 3]])) == 0.5


@pytest.mark.slow
@given(st.lists(st.tuples(st.fractions(0, 1, max_denominator=60), st.integers(0, 50)), max_size=12))
def test_a_sum_of_counted_values_is_rounded_once(pairs: list[tuple[Fraction, int]]) -> None:
    values, counts = [float(value) for value, _ in pairs], [count for _, count in pairs]
    each = [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
    assert exact_sums(values, [counts, [0] * len(counts)]) == [math.fsum(each), 0.0]


@given(st.lists(st.lists(st.booleans(), min_size=22, max_size=22), min_size=1, max_size=30))
def test_codes_count_as_flags_do(rows: list[list[bool]]) -> None:
    flags = np.array(rows, dtype=bool)
    codes = pack_labels(flags)
    assert label_counts(codes, 22).tolist() == flags.sum(axis=0).tolist()
    assert label_counts(np.stack([codes, ~codes]), 22).tolist() == [
        flags.sum(axis=0).tolist(), (~flags).sum(axis=0).tolist(),
    ]  # fmt: skip
    assert [bin(code).count("1") for code in codes.tolist()] == flags.sum(axis=1).tolist()


def test_more_labels_than_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="33 labels"):
        pack_labels(np.zeros((1, 33), dtype=bool))


def test_a_tally_without_labels_holds_the_sums_over_them() -> None:
    codes = pack_labels(TRUTH), pack_labels(PREDICTED)
    whole, summed = tally_codes(*codes, ALL, 4), tally_codes(*codes, ALL, 4, by_label=False)
    assert (summed.tp.tolist(), summed.fp.tolist(), summed.fn.tolist()) == ([3], [1], [1])
    assert float(micro_f1(summed, "0")) == float(micro_f1(whole, "0"))


def test_division_by_zero_is_silent_and_told() -> None:
    with np.errstate(all="raise"):
        found = ratio(np.array([1, 0]), np.array([2, 0]))
    assert found[0] == 0.5
    assert math.isnan(found[1])


FLAGS = st.lists(st.lists(st.booleans(), min_size=8, max_size=8), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(FLAGS, st.randoms(use_true_random=False), st.sampled_from(["0", "1"]))
def test_measures_agree_with_scikit_learn(rows: list[list[bool]], random: Random, zero_division: str) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth = np.array(rows, dtype=bool)
    predicted = np.array([[random.random() < 0.4 for _ in row] for row in rows], dtype=bool)
    counts = tally(truth, predicted, np.ones(len(rows), dtype=bool))
    zero = float(zero_division)
    expected = {
        "macro": metrics.f1_score(truth, predicted, average="macro", zero_division=zero),
        "micro": metrics.f1_score(truth, predicted, average="micro", zero_division=zero),
        "recall": metrics.recall_score(truth, predicted, average="macro", zero_division=zero),
        "exact": metrics.accuracy_score(truth, predicted),
        "cases": metrics.f1_score(truth, predicted, average="samples", zero_division=1.0),
    }
    found = {
        "macro": float(macro_f1(counts, zero_division)),
        "micro": float(micro_f1(counts, zero_division)),
        "recall": float(macro_recall(counts, zero_division)),
        "exact": float(exact_match(counts)),
        "cases": float(counts.case_f1),
    }
    assert found == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(FLAGS, st.data())
def test_failing_a_unit_never_helps(rows: list[list[bool]], data: st.DataObject) -> None:
    truth = np.array(rows, dtype=bool)
    predicted = np.array(
        data.draw(
            st.lists(st.lists(st.booleans(), min_size=8, max_size=8), min_size=len(rows), max_size=len(rows))
        ),
        dtype=bool,
    )
    before = tally(truth, truth & predicted, np.ones(len(rows), dtype=bool))
    answered = np.ones(len(rows), dtype=bool)
    answered[data.draw(st.integers(0, len(rows) - 1))] = False
    after = tally(truth, truth & predicted, answered)
    for zero in ("0", "1"):
        assert macro_f1(after, zero) <= macro_f1(before, zero)
        assert micro_f1(after, zero) <= micro_f1(before, zero)
        assert macro_recall(after, zero) <= macro_recall(before, zero)
    assert exact_match(after) <= exact_match(before)
    assert after.case_f1 <= before.case_f1
