"""What answers are worth that look at no image, against counting and against draws."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.benchmarks.pandent.baselines import constant, mean_exact, most_frequent, prevalence
from harness.benchmarks.pandent.findings import TABLE2, UNIVERSE, teeth_of, tooth_code
from harness.scoring.label_codes import Codes

PREVALENCES = (
    Path(__file__).resolve().parents[3] / "shared" / "spec" / "paper-tables" / "pandent-table4-prevalence.csv"
)
TABLE4 = {
    "gcbl_mandible": "Mand. GCBL", "gcbl_maxilla": "Max. GCBL", "non_metal_post_core": "Non-metal Post/Core",
    "periapical_lesion": "Periapical Lesion", "root_canal_treatment": "Root-Canal Tx",
    "metallic_restoration": "Metallic Rest.", "caries": "Caries", "non_metal_restoration": "Non-metal Rest.",
    "artificial_crown": "Artificial Crown",
}  # fmt: skip


def codes(*sets: Sequence[int]) -> Codes:
    return np.array([tooth_code(teeth) for teeth in sets], dtype=np.uint32)


def test_saying_no_to_everything_scores_what_the_papers_prevalences_say() -> None:
    if not PREVALENCES.exists():
        pytest.skip("the paper's tables are not beside this checkout")
    with PREVALENCES.open(encoding="utf-8", newline="") as file:
        shares = {row["attribute"]: float(row["test_pct"]) for row in csv.DictReader(file)}
    found = []
    for name in TABLE2:
        positive = round(shares[TABLE4[name]] * 5)  # of the 500 cases of the test split
        one = 1 if name.startswith("gcbl") else tooth_code([36, 11])
        truth = np.array([one] * positive + [0] * (500 - positive), dtype=np.uint32)
        found.append(constant(truth, 0))
    assert [round(one.exact, 3) for one in found] == [
        0.508, 0.458, 0.848, 0.828, 0.520, 0.592, 0.700, 0.390, 0.672,
    ]  # fmt: skip
    assert round(mean_exact(found), 3) == 0.613
    assert {one.exact_of_positives for one in found} == {0.0}


def test_a_constant_answer_is_counted_tooth_by_tooth() -> None:
    truth = codes([], [36], [36, 37], [11], [36, 37])
    found = constant(truth, tooth_code([36, 37]))
    assert found.exact == 2 / 5
    assert (found.positives, found.exact_of_positives) == (4, 2 / 4)
    assert (found.precision, found.recall) == (5 / 10, 5 / 6)
    nothing = constant(truth, 0)
    assert (nothing.exact, nothing.exact_of_positives, nothing.recall) == (1 / 5, 0.0, 0.0)
    assert math.isnan(nothing.precision)


def test_all_32_teeth_are_counted() -> None:
    found = constant(codes(UNIVERSE, [48]), tooth_code(UNIVERSE))
    assert (found.exact, found.precision, found.recall) == (0.5, 33 / 64, 1.0)


def test_the_most_frequent_answer_is_the_best_constant_one() -> None:
    truth = codes([], [36], [36], [36, 37], [11])
    assert teeth_of(most_frequent(truth)) == (36,)
    everything = [constant(truth, int(code)).exact for code in truth]
    assert constant(truth, most_frequent(truth)).exact == max(everything)
    assert most_frequent(codes([36], [])) == 0
    with pytest.raises(ValueError, match="empty"):
        most_frequent(codes())


@pytest.mark.parametrize("binary", [True, False])
def test_guesses_by_prevalence_are_worth_the_mean_of_many_draws(binary: bool) -> None:
    generator = np.random.Generator(np.random.PCG64(5))
    count, bits, draws = 200, 1 if binary else 32, 2_000
    shares = generator.random(bits) * (1 if binary else 0.08)
    flags = generator.random((count, bits)) < shares
    truth = (flags @ (1 << np.arange(bits, dtype=np.uint64))).astype(np.uint32)
    seen = flags.mean(axis=0)
    exact, of_positives, shared, given = [], [], 0, 0
    positive = flags.any(axis=1)
    for _ in range(draws):
        guess = generator.random((count, bits)) < seen
        right = (guess == flags).all(axis=1)
        exact.append(right.mean())
        of_positives.append(right[positive].mean())
        shared += int((guess & flags).sum())
        given += int(guess.sum())
    found = prevalence(truth)
    assert found.positives == positive.sum()
    # Standard errors of these means are below 0.001.
    assert found.exact == pytest.approx(np.mean(exact), abs=0.004)
    assert found.exact_of_positives == pytest.approx(np.mean(of_positives), abs=0.004)
    assert found.precision == pytest.approx(shared / given, abs=0.004)
    assert found.recall == pytest.approx(shared / draws / flags.sum(), abs=0.004)


def test_guesses_do_not_depend_on_the_order_of_cases() -> None:
    generator = np.random.Generator(np.random.PCG64(6))
    first, second = generator.integers(0, 2**32, (2, 300), dtype=np.uint32)
    truth = first & second
    assert prevalence(truth) == prevalence(truth[::-1]) == prevalence(np.sort(truth))


def test_where_no_case_has_it_guesses_are_always_right_and_name_nothing() -> None:
    found = prevalence(codes([], [], []))
    assert (found.exact, found.positives) == (1.0, 0)
    assert all(math.isnan(value) for value in (found.exact_of_positives, found.precision, found.recall))
    assert prevalence(codes([36], [36])).exact == 1.0


def test_without_cases_nothing_is_worth_anything() -> None:
    for found in (constant(codes(), 0), prevalence(codes())):
        assert math.isnan(found.exact)
        assert found.positives == 0
    assert math.isnan(mean_exact([]))
