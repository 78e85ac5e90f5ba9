"""What units add to sums, by which models are compared: the sums give the values of every benchmark again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_processes import MEDLAY, PROCESSES, TRIAGE, Process, table

from harness.benchmarks.medlay.lay_numbers import known, layout_of
from harness.benchmarks.medlay.task import MedLay
from harness.benchmarks.pandent.questions import REPORT
from harness.benchmarks.pandent.report_scores import REPORT_NUMBERS
from harness.benchmarks.radm.scores import NUMBERS
from harness.benchmarks.radm.tables import UNIONS
from harness.benchmarks.registry import BENCHMARKS, get_benchmark
from harness.benchmarks.scored import UnitTable
from harness.scoring.replicates import replicate
from harness.scoring.resampling import Resampling


def units_of(process: Process, seed: int = 1, cases: int | None = None) -> UnitTable:
    return process.draw(np.random.default_rng(seed), cases or process.cases, 1)[0]


def without_answers(units: UnitTable) -> UnitTable:
    """Units of which every answer is unusable: all numbers but the reference's are 0."""
    return replace(units, numbers=np.zeros_like(units.numbers))


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("cases", [1, 2, 7, None])
def test_sums_give_the_values_of_every_benchmark_again(name: str, cases: int | None) -> None:
    process = PROCESSES[name]
    units = units_of(process, 3, cases)
    metrics = process.benchmark.metrics(units, process.condition, process.conventions)
    values = process.values(units)
    assert set(process.columns) <= values.keys() <= metrics.keys()
    for path, value in values.items():
        expected = np.nan if metrics[path].value is None else metrics[path].value
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), path


@pytest.mark.parametrize("conventions", [{"zero_division": "1"}, {"zero_division": "skip-empty"}])
def test_sums_of_triage_follow_its_conventions(conventions: dict[str, str]) -> None:
    process = replace(PROCESSES["triage"], conventions=TRIAGE | conventions)
    for units in (units_of(process, cases=30), without_answers(units_of(process, cases=30))):
        metrics = process.benchmark.metrics(units, "both", process.conventions)
        for path, value in process.values(units).items():
            expected = np.nan if metrics[path].value is None else metrics[path].value
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True), path


def test_sums_of_medlay_follow_its_variant_of_sari() -> None:
    layout = layout_of("easse")
    rows = np.random.default_rng(4).integers(1, 30, (200, len(layout.names))).astype(np.float64)
    rows[:, layout.at["units"]] = 1
    rows[:, layout.at["answered"]] = 1
    process = replace(PROCESSES["medlay"], benchmark=MedLay(MEDLAY | {"sari": "easse"}))
    units = table(rows, ("A",))
    metrics = process.benchmark.metrics(units, "A", {})
    assert process.values(units)["sari"] == pytest.approx(metrics["sari"].value)


@pytest.mark.parametrize("name", PROCESSES)
def test_every_unit_has_its_row_in_order_and_its_cluster(name: str) -> None:
    process = PROCESSES[name]
    units = units_of(process, 5)
    units = replace(
        units, clusters=units.clusters // 2, repeats=(1 + np.arange(len(units)) % 2).astype(np.int32)
    )
    summed, statistic = process.sums(units)
    each = summed.each()
    assert len(each) == len(units)
    assert summed.total() == pytest.approx(each.sum(axis=0))
    assert np.array_equal(summed.clusters, units.clusters)
    assert summed.repeats is not None and np.array_equal(summed.repeats, units.repeats)
    for place in (0, 1, len(units) // 2, len(units) - 1):
        only = np.arange(len(units)) == place
        alone, _ = process.sums(units.where(only))
        assert alone.total() == pytest.approx(each[place])
    replicates = replicate(summed, statistic, Resampling(resamples=5))
    assert set(process.columns) <= set(replicates.paths)


@pytest.mark.parametrize("name", PROCESSES)
def test_two_models_have_the_same_paths_whatever_they_answered(name: str) -> None:
    process = PROCESSES[name]
    units = units_of(process, 6, 40)
    few = Resampling(resamples=3)
    one, other = (replicate(*process.sums(each), few) for each in (units, without_answers(units)))
    assert one.paths == other.paths


def test_a_case_without_a_clinical_report_adds_nothing_and_stays() -> None:
    process = PROCESSES["report"]
    units = units_of(process)
    absent = units.numbers[:, 0] == 0
    assert 0 < absent.sum() < 20
    summed, _ = process.sums(units)
    assert len(summed.each()) == len(units)
    assert not summed.each()[absent].any()


def test_a_meteor_that_was_not_computed_is_no_number_to_compare() -> None:
    process = PROCESSES["report"]
    units = units_of(process)
    units.numbers[3, [name.startswith("meteor") for name in REPORT_NUMBERS]] = np.nan
    values = process.values(units)
    unknown = {path for path, value in values.items() if np.isnan(value)}
    assert unknown == {"meteor15", "meteor2005", "average"}
    assert np.isfinite(process.sums(units)[0].summands).all()
    # A resample without that report would have a value; it has none either.
    found = replicate(*process.sums(units), Resampling(resamples=20))
    assert np.isnan(found.of("meteor2005")).all()


def test_answers_without_grades_leave_their_group_without_value_in_every_resample() -> None:
    process = PROCESSES["radm text"]
    units = units_of(process)
    places = [NUMBERS.index(name) for name in ("graded", "fifths", "first_hit", "best_tier")]
    first = int(np.flatnonzero((units.numbers[:, 5] == 0) & (units.numbers[:, 0] == 1))[0])
    units.numbers[first, places] = 0
    values = process.values(units)
    unknown = {path for path, value in values.items() if np.isnan(value)}
    assert unknown == {
        path for path in values if not path.startswith("RealClin.") and "graded_only" not in path
    }
    assert np.isnan(replicate(*process.sums(units), Resampling(resamples=20)).of("score")).all()
    metrics = process.benchmark.metrics(units, "text", {})
    assert unknown == {path for path in values if metrics[path].value is None}


def test_scores_nobody_gave_are_no_number_to_compare() -> None:
    process = PROCESSES["medlay"]
    units = units_of(process)
    layout = layout_of("hf")
    units.numbers[:, [layout.at["green"], layout.at[known("green")]]] = 0
    assert np.isnan(process.values(units)["green"])
    assert np.isfinite(process.values(units)["ratescore"])


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_rows_of_unions_that_are_differences_already_are_not_compared(name: str) -> None:
    benchmark = get_benchmark(name)
    empty = np.empty(0, dtype=np.int64)
    for condition in {"triage": ["ablation"], "medlay": ["ablation"], "radm": [*UNIONS]}.get(name, []):
        names = benchmark.table(condition).numbers
        units = UnitTable(
            np.empty((0, len(names))), empty, empty, empty.astype(np.int32), empty.astype(np.int32)
        )
        assert benchmark.sums(units, condition, {}) is None, condition


def test_what_two_unrelated_references_score_is_a_named_baseline() -> None:
    for name in ("medlay", "report"):
        process = PROCESSES[name]
        told = process.benchmark.table(process.condition)
        assert told.unrelated == "prevalence"
        assert "of another case, drawn at random" in told.baseline_notes[told.unrelated]
    assert PROCESSES["radm text"].benchmark.table("text_images").wilcoxon == {"score"}
    assert PROCESSES["report"].condition == REPORT
