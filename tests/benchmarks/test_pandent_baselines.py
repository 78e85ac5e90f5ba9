"""What answers are worth that look at no image, against counting and against draws."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.benchmarks.pandent.attribute_scores import (
    intervals,
    metrics,
    metrics_of_sums,
    prevalence_metrics,
    unit_scores,
)
from harness.benchmarks.pandent.baselines import most_frequent, prevalence_sums
from harness.benchmarks.pandent.findings import TABLE2, UNIVERSE, teeth_of, tooth_code
from harness.benchmarks.scored import MetricValue, UnitTable
from harness.scoring.label_codes import Codes
from harness.scoring.resampling import Resampling

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


def row(name: str, truth: Codes, given: int | None = 0, *, annotated: bool = True) -> UnitTable:
    """All cases answered alike; None: not answered."""
    columns = [np.full(len(truth), float(annotated)), np.full(len(truth), float(given is not None)), truth]
    numbers = np.stack([*columns, np.full(len(truth), float(given or 0))], axis=1).astype(np.float64)
    places, ones = np.arange(len(truth)), np.ones(len(truth), dtype=np.int32)
    return UnitTable(numbers, places, places, ones, 0 * ones, (f"attribute:{name}",))


def pool(*rows: UnitTable) -> UnitTable:
    """Rows of several questions about the same cases, together."""
    return UnitTable(
        np.concatenate([one.numbers for one in rows]),
        np.concatenate([one.cases for one in rows]),
        np.concatenate([one.clusters for one in rows]),
        np.concatenate([one.repeats for one in rows]),
        np.concatenate([np.full(len(one), place, dtype=np.int32) for place, one in enumerate(rows)]),
        tuple(one.conditions[0] for one in rows),
    )


def test_saying_no_to_everything_scores_what_the_papers_prevalences_say() -> None:
    if not PREVALENCES.exists():
        pytest.skip("the paper's tables are not beside this checkout")
    with PREVALENCES.open(encoding="utf-8", newline="") as file:
        shares = {line["attribute"]: float(line["test_pct"]) for line in csv.DictReader(file)}
    rows = []
    for name in TABLE2:
        positive = round(shares[TABLE4[name]] * 5)  # of the 500 cases of the test split
        one = 1 if name.startswith("gcbl") else tooth_code([36, 11])
        rows.append(row(name, np.array([one] * positive + [0] * (500 - positive), dtype=np.uint32)))
    found = metrics(pool(*rows))
    assert [round(found[f"exact_match.{name}"].value or 0, 3) for name in TABLE2] == [
        0.508, 0.458, 0.848, 0.828, 0.520, 0.592, 0.700, 0.390, 0.672,
    ]  # fmt: skip
    assert round(found["exact_match.mean"].value or 0, 3) == 0.613
    assert found["exact_match.mean"].n == 500
    assert found["positives.exact_match"].value == 0.0
    assert found["negatives.exact_match"].value == 1.0


def test_a_constant_answer_is_counted_tooth_by_tooth() -> None:
    truth = codes([], [36], [36, 37], [11], [36, 37])
    found = metrics(row("caries", truth, tooth_code([36, 37])))
    assert found["exact_match"] == MetricValue(2 / 5, 5)
    assert found["positives.exact_match"] == MetricValue(2 / 4, 4)
    assert (found["tooth.precision"].value, found["tooth.recall"].value) == (5 / 10, 5 / 6)
    nothing = metrics(row("caries", truth))
    assert nothing["exact_match"].value == 1 / 5
    assert (nothing["positives.exact_match"].value, nothing["tooth.recall"].value) == (0.0, 0.0)
    assert nothing["tooth.precision"] == MetricValue(None, 5, "no answer names a tooth")


def test_an_unusable_answer_is_wrong_even_where_there_is_nothing_to_find() -> None:
    truth = codes([], [], [36])
    found = metrics(row("caries", truth, None))
    assert found["exact_match"] == MetricValue(0.0, 3)
    assert found["negatives.exact_match"] == MetricValue(0.0, 2)
    assert found["tooth.recall"].value == 0.0
    assert unit_scores((1.0, 0.0, 0.0, 0.0)) == {"exact_match": 0.0}


def test_a_case_at_which_nobody_looked_enters_no_number() -> None:
    looked, not_looked = row("caries", codes([36])), row("caries", codes([]), annotated=False)
    both = UnitTable(
        np.concatenate([looked.numbers, not_looked.numbers]), np.arange(2), np.arange(2),
        np.ones(2, dtype=np.int32), np.zeros(2, dtype=np.int32), looked.conditions,
    )  # fmt: skip
    assert metrics(both)["exact_match"] == MetricValue(0.0, 1)
    assert unit_scores((0.0, 1.0, 0.0, 0.0)) == {"exact_match": None}
    # A finding that nobody looked at has no part in the mean; one that was not asked leaves none.
    found = metrics(pool(looked, row("gcbl_maxilla", codes([]), annotated=False)))
    assert found["exact_match.mean"] == MetricValue(0.0, 1)
    assert found["exact_match.gcbl_maxilla"].value is None
    found = metrics(pool(looked, row("gcbl_maxilla", codes())))
    assert found["exact_match.mean"] == MetricValue(None, 0, "no units to score of gcbl_maxilla")


def test_questions_of_a_pool_weigh_alike_and_teeth_are_counted_over_all() -> None:
    caries = row("caries", codes([36], [37], [], []), tooth_code([36]))
    crowns = row("artificial_crown", codes([11]), tooth_code([11]))
    bone = row("gcbl_maxilla", np.array([1, 0], dtype=np.uint32), 1)
    found = metrics(pool(caries, crowns, bone))
    assert found["exact_match.mean"] == MetricValue((1 / 4 + 1 + 1 / 2) / 3, 1)
    assert (found["tooth.precision"].value, found["tooth.recall"].value) == (2 / 5, 2 / 3)
    assert (found["yes.precision"].value, found["yes.recall"].value) == (1 / 2, 1.0)
    assert found["positives.exact_match"] == MetricValue(3 / 4, 4)


def test_values_lie_within_their_intervals_and_shares_of_cases_are_exact() -> None:
    generator = np.random.Generator(np.random.PCG64(3))
    rows = []
    for name in ("caries", "periapical_lesion"):
        truth = np.where(generator.random(120) < 0.5, 0, 1 << generator.integers(0, 32, 120))
        rows.append(row(name, truth.astype(np.uint32)))
    for one in rows:
        one.numbers[:60, 3] = one.numbers[:60, 2]
    table = pool(*rows)
    found, values = intervals(table, Resampling(resamples=500)), metrics(table)
    assert found.keys() == values.keys()
    for path in ("exact_match.mean", "exact_match.caries", "positives.exact_match", "tooth.f1"):
        low, high, value = found[path].low, found[path].high, values[path].value
        assert low is not None and high is not None and value is not None
        assert low < value < high, path
    assert found["exact_match.caries"].method == "clopper-pearson"
    assert found["exact_match.mean"].method == "bca"
    alone = intervals(rows[0], Resampling(resamples=500))
    assert alone["positives.exact_match"].method == "clopper-pearson"
    # The same case asked twice is one case.
    twice = UnitTable(
        np.concatenate([rows[0].numbers] * 2), np.tile(rows[0].cases, 2), np.tile(rows[0].clusters, 2),
        np.repeat(np.array([1, 2], dtype=np.int32), 120), np.tile(rows[0].members, 2), rows[0].conditions,
    )  # fmt: skip
    again = intervals(twice, Resampling(resamples=500))["exact_match"]
    assert again.method == "bca" and again.low is not None and again.high is not None
    exact = alone["exact_match"]
    assert exact.low is not None and exact.high is not None
    assert (again.high - again.low) == pytest.approx(exact.high - exact.low, rel=0.15)


def test_all_32_teeth_are_counted() -> None:
    found = metrics(row("caries", codes(UNIVERSE, [48]), tooth_code(UNIVERSE)))
    assert [found[f"tooth.{name}"].value for name in ("precision", "recall")] == [33 / 64, 1.0]
    assert found["exact_match"].value == 0.5


def test_the_most_frequent_answer_is_the_best_constant_one() -> None:
    truth = codes([], [36], [36], [36, 37], [11])
    assert teeth_of(most_frequent(truth)) == (36,)
    everything = [metrics(row("caries", truth, int(code)))["exact_match"].value or 0 for code in truth]
    assert metrics(row("caries", truth, most_frequent(truth)))["exact_match"].value == max(everything)
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
    name, kind = ("gcbl_maxilla", "yes") if binary else ("caries", "tooth")
    found = metrics_of_sums(prevalence_sums(truth), [f"attribute:{name}"])
    assert found["positives.exact_match"].n == positive.sum()
    # Standard errors of these means are below 0.001.
    assert found["exact_match"].value == pytest.approx(np.mean(exact), abs=0.004)
    assert found["positives.exact_match"].value == pytest.approx(np.mean(of_positives), abs=0.004)
    assert found[f"{kind}.precision"].value == pytest.approx(shared / given, abs=0.004)
    assert found[f"{kind}.recall"].value == pytest.approx(shared / draws / flags.sum(), abs=0.004)


def test_guesses_do_not_depend_on_the_order_of_cases() -> None:
    generator = np.random.Generator(np.random.PCG64(6))
    first, second = generator.integers(0, 2**32, (2, 300), dtype=np.uint32)
    truth = first & second
    sums = [prevalence_sums(one).tolist() for one in (truth, truth[::-1], np.sort(truth))]
    assert sums[0] == sums[1] == sums[2]


def test_where_no_case_has_it_guesses_are_always_right_and_name_nothing() -> None:
    found = metrics_of_sums(prevalence_sums(codes([], [], [])), ["attribute:caries"])
    assert found["exact_match"] == MetricValue(1.0, 3)
    assert found["positives.exact_match"] == MetricValue(None, 0, "no case has the finding")
    assert found["tooth.precision"].value is found["tooth.recall"].value is None
    always = metrics_of_sums(prevalence_sums(codes([36], [36])), ["attribute:caries"])
    assert always["exact_match"].value == 1.0


def test_without_cases_nothing_is_worth_anything() -> None:
    for found in (metrics(row("caries", codes())), prevalence_metrics({"attribute:caries": []})):
        assert found["exact_match"] == MetricValue(None, 0, "no units to score")
        assert all(one.value is None for one in found.values())
