"""Scores of clinical reports: the printed pair, the plain corpus functions, intervals, no METEOR."""

from __future__ import annotations

import json
import math
import resource
from collections.abc import Sequence

import numpy as np
import pytest
from report_pairs import TABLE_3, report_pairs

from harness.benchmarks.pandent.report_intervals import report_intervals
from harness.benchmarks.pandent.report_scores import (
    REPORT_COLUMNS,
    REPORT_MAIN_METRIC,
    REPORT_NUMBERS,
    SIX,
    report_metrics,
    report_numbers,
    report_unit_scores,
    values_of_sums,
)
from harness.benchmarks.pandent.report_tools import (
    LOST_PAIRS,
    REPORT_CONVENTIONS,
    ReportTools,
    open_tools,
)
from harness.benchmarks.scored import UnitTable
from harness.errors import MetricUnavailableError
from harness.scoring.bleu import corpus_bleu
from harness.scoring.meteor15 import Meteor15, meteor15_from_sums
from harness.scoring.meteor2005 import Meteor2005
from harness.scoring.ptb_tokens import ptb_tokenize
from harness.scoring.resampling import Resampling
from harness.scoring.rouge import mean_rouge_l

USUAL = {name: values[0] for name, values in REPORT_CONVENTIONS.items()}
OFF = {"meteor15": "off", "meteor2005": "off"}
PATHS = {f"bleu_{order}" for order in (1, 2, 3, 4)} | {
    "rouge_l", "meteor15", "meteor2005", "average", "words", "length_ratio"
}  # fmt: skip


class Aligned(Meteor15):
    """Counts pairs by whole words in order, so that no Java is needed."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = False
        self.pairs: list[tuple[Sequence[str], Sequence[str]]] = []

    def statistics(self, pairs, *, on_pair=None):  # type: ignore[no-untyped-def]
        self.pairs += pairs
        rows = []
        for candidate, reference in pairs:
            same = len(set(candidate) & set(reference))
            rows.append((15 * same, 15 * same, 15 * len(candidate), 15 * len(reference), 3, 2 * same))
        return np.array(rows, dtype=np.int64)

    def __exit__(self, *about: object) -> None:
        self.ended = True


def exact_words() -> Meteor2005:
    return Meteor2005(lambda word: word, None)


def doubles() -> ReportTools:
    return ReportTools(USUAL, meteor15=Aligned, meteor2005=exact_words)


def rows(pairs: Sequence[tuple[str | None, str | None]], tools: ReportTools) -> np.ndarray:
    return np.array([report_numbers(answer, reference, tools) for answer, reference in pairs])


def table(numbers: np.ndarray) -> UnitTable:
    places = np.arange(len(numbers))
    ones = np.ones(len(numbers), dtype=np.int32)
    return UnitTable(numbers, places, places, ones, 0 * ones)


@pytest.mark.slow
def test_the_papers_two_reports_score_against_each_other_what_its_tables_praise() -> None:
    if not TABLE_3.is_file():
        pytest.skip("the printed reports are not here")
    printed = json.loads(TABLE_3.read_text("utf-8"))
    with open_tools({**USUAL, "meteor2005": "off"}) as tools:
        numbers = rows([(printed["row2"], printed["row1"])], tools)
        found = report_metrics(numbers, tools)
    values = [found[f"bleu_{order}"].value for order in (1, 2, 3, 4)]
    assert values == pytest.approx([0.886, 0.829, 0.776, 0.736], abs=5e-4)
    assert found["rouge_l"].value == pytest.approx(0.819, abs=5e-4)
    assert found["length_ratio"].value == pytest.approx(202 / 197)
    assert found["words"].value == len(printed["row2"].split())
    if found["meteor15"].value is None:
        pytest.skip(f"METEOR 1.5 is not here: {found['meteor15'].reason}")
    assert found["meteor15"].value == pytest.approx(0.486, abs=5e-4)
    assert found["average"].value == pytest.approx(
        (0.8861 + 0.8293 + 0.7762 + 0.7362 + 0.8189 + 0.4861) / 6, abs=1e-4
    )


def test_values_are_those_of_the_plain_corpus_functions() -> None:
    pairs = report_pairs(300)
    with doubles() as tools:
        found = report_metrics(rows(pairs, tools), tools)
    tokens = [(ptb_tokenize(answer), ptb_tokenize(reference)) for answer, reference in pairs]
    bleu = corpus_bleu(tokens)
    expected = {f"bleu_{order}": float(bleu[order - 1]) for order in (1, 2, 3, 4)}
    expected["rouge_l"] = mean_rouge_l(tokens)
    expected["meteor2005"] = float(exact_words().values(tokens).mean())
    expected["meteor15"] = float(meteor15_from_sums(Aligned().statistics(tokens).sum(axis=0)))
    expected["average"] = math.fsum(expected[name] for name in SIX) / 6
    expected["words"] = sum(len(answer.split()) for answer, _ in pairs) / 300
    expected["length_ratio"] = sum(len(a) for a, _ in tokens) / sum(len(r) for _, r in tokens)
    assert found.keys() == expected.keys() == PATHS
    for path, value in expected.items():
        assert found[path].value == pytest.approx(value, abs=1e-12), path
        assert (found[path].n, found[path].reason) == (300, None)


def test_an_unusable_answer_is_an_empty_report_whose_reference_counts() -> None:
    with doubles() as tools:
        numbers = rows([("a b c d", "a b c d"), (None, "e f g h")], tools)
        found = report_metrics(numbers, tools)
        assert numbers[1, REPORT_NUMBERS.index("answered")] == 0
    shorter = math.exp(1 - 8 / 4)  # four tokens for eight: the brevity penalty
    assert found["bleu_1"].value == pytest.approx(shorter, abs=1e-6)
    assert found["bleu_4"].value == pytest.approx(shorter, abs=1e-6)
    assert found["rouge_l"].value == 0.5
    assert found["length_ratio"].value == 0.5
    assert (found["words"].value, found["words"].n, found["rouge_l"].n) == (4, 1, 2)
    assert report_unit_scores(numbers[1]) == {"rouge_l": 0, "meteor2005": 0}


def test_all_unusable_is_zero_and_no_units_is_null() -> None:
    with doubles() as tools:
        nothing = report_metrics(rows([(None, "e f g h")] * 3, tools), tools)
        none = report_metrics(np.empty((0, len(REPORT_NUMBERS))), tools)
    assert {path: value.value for path, value in nothing.items() if path != "words"} == dict.fromkeys(
        PATHS - {"words"}, pytest.approx(0, abs=1e-9)
    )
    assert (nothing["words"].value, nothing["words"].n) == (None, 0)
    assert nothing["words"].reason == "no report was answered"
    assert {(value.value, value.n, value.reason) for value in none.values()} == {
        (None, 0, "no report to score")
    }
    assert none.keys() == PATHS


def test_a_case_without_a_clinical_report_enters_no_number() -> None:
    with doubles() as tools:
        both = rows([("a b c d e", "a b c d x"), ("a b", None)], tools)
        assert report_unit_scores(both[1]) == {}
        with_it = report_metrics(both, tools)
        assert with_it == report_metrics(both[:1], tools)
    intervals = report_intervals(table(both), Resampling(resamples=50))
    assert intervals["rouge_l"].reason == "one cluster: nothing to resample"


def test_the_average_is_that_of_the_papers_six_numbers() -> None:
    with doubles() as tools:
        found = report_metrics(rows(report_pairs(20), tools), tools)
    six = [found[name].value for name in ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "meteor15", "rouge_l")]
    assert found["average"].value == pytest.approx(sum(value for value in six if value is not None) / 6)
    assert found["meteor15"].value != found["meteor2005"].value


@pytest.mark.parametrize("what", ["meteor15", "meteor2005"])
def test_a_meteor_that_is_not_here_is_null_with_what_to_install_and_never_another_number(what: str) -> None:
    def missing() -> Meteor2005:
        raise MetricUnavailableError("it needs Java; install it")

    class Missing(Aligned):
        def statistics(self, pairs, *, on_pair=None):  # type: ignore[no-untyped-def]
            raise MetricUnavailableError("it needs Java; install it")

    tools = ReportTools(
        USUAL,
        meteor15=Missing if what == "meteor15" else Aligned,
        meteor2005=missing if what == "meteor2005" else exact_words,
    )
    with tools:
        numbers = rows(report_pairs(10), tools)
        found = report_metrics(numbers, tools)
    assert found[what].value is None
    assert found[what].n == 10
    assert found[what].reason == "it needs Java; install it"
    lacking = {what, "average"} if what == "meteor15" else {what}
    assert {path for path, value in found.items() if value.value is None} == lacking
    if what == "meteor15":
        assert found["average"].reason == "it needs Java; install it"
    assert report_intervals(table(numbers), Resampling(resamples=50)).keys() == PATHS - lacking
    assert set(report_unit_scores(numbers[0])) == {"rouge_l", "meteor2005"} - {what}
    assert report_metrics(numbers)[what].reason == "not computed where this was scored"


def test_one_pair_without_a_value_leaves_the_whole_metric_null() -> None:
    class Breaking(Aligned):
        def statistics(self, pairs, *, on_pair=None):  # type: ignore[no-untyped-def]
            if self.pairs:
                raise MetricUnavailableError("it ended")
            return super().statistics(pairs)

    with ReportTools(USUAL, meteor15=Breaking, meteor2005=exact_words) as tools:
        numbers = rows(report_pairs(5), tools)
        found = report_metrics(numbers, tools)
    assert np.isfinite(numbers[0]).all()
    assert (found["meteor15"].value, found["meteor15"].reason) == (None, "it ended")


class Poisoned(Aligned):
    """Ends at a report that says POISON, after it has scored others or not."""

    def statistics(self, pairs, *, on_pair=None):  # type: ignore[no-untyped-def]
        if self.ended or any("poison" in candidate for candidate, _ in pairs):
            raise MetricUnavailableError("it ended")
        return super().statistics(pairs)


def test_a_report_that_meteors_program_fails_at_costs_no_other_row_its_value() -> None:  # F40
    started: list[Poisoned] = []

    def start() -> Poisoned:
        started.append(Poisoned())
        return started[-1]

    with ReportTools(USUAL, meteor15=start, meteor2005=exact_words) as tools:
        before = report_metrics(rows(report_pairs(3), tools), tools)
        looping = report_metrics(rows([*report_pairs(2), ("poison " * 9, "a b")], tools), tools)
        after = report_metrics(rows(report_pairs(3), tools), tools)
    assert before["meteor15"] == after["meteor15"] and after["meteor15"].value is not None
    for path in ("meteor15", "average"):
        assert (looping[path].value, looping[path].reason) == (None, "it ended")
    assert [one.ended for one in started] == [True, True]


@pytest.mark.parametrize("working", [True, False])
def test_a_program_of_meteor_that_goes_on_failing_is_not_started_for_ever(working: bool) -> None:
    started: list[Poisoned] = []

    def start() -> Poisoned:
        started.append(Poisoned())
        return started[-1]

    with ReportTools(USUAL, meteor15=start, meteor2005=exact_words) as tools:
        for _ in range(20):
            found = rows([*(report_pairs(1) if working else []), ("poison", "a b")], tools)
        assert np.isnan(found[-1]).any()
    assert len(started) == (LOST_PAIRS + 1 if working else 1)
    assert tools.reason("meteor15") == "it ended"


def test_a_meteor_that_is_switched_off_is_never_started() -> None:
    def never() -> Meteor2005:
        raise AssertionError("it was opened")

    with ReportTools(OFF, meteor15=never, meteor2005=never) as tools:  # type: ignore[arg-type]
        found = report_metrics(rows(report_pairs(3), tools), tools)
    assert found["meteor15"].reason == "switched off by the convention meteor15=off"
    assert found["meteor2005"].reason == "switched off by the convention meteor2005=off"
    assert found["bleu_4"].value is not None


def test_meteors_program_is_one_for_all_reports_started_by_the_first_and_ended() -> None:
    started: list[Aligned] = []

    def start() -> Aligned:
        started.append(Aligned())
        return started[-1]

    with ReportTools(USUAL, meteor15=start, meteor2005=exact_words) as tools:
        assert started == []
        rows(report_pairs(4), tools)
        assert [one.ended for one in started] == [False]
        assert len(started[0].pairs) == 4
    assert [one.ended for one in started] == [True]


def test_intervals_contain_the_value_and_cover_every_metric() -> None:
    with doubles() as tools:
        numbers = rows(report_pairs(120), tools)
        found = report_metrics(numbers, tools)
    intervals = report_intervals(table(numbers), Resampling(resamples=400))
    assert intervals.keys() == PATHS
    for path, interval in intervals.items():
        value = found[path].value
        assert value is not None and interval.low is not None and interval.high is not None, path
        assert interval.low < value < interval.high, path
        assert interval.method == "bca"


def test_the_sums_of_a_resample_score_as_the_reports_drawn_for_it() -> None:
    with doubles() as tools:
        numbers = rows(report_pairs(6), tools)
        drawn = numbers[[0, 0, 3, 5, 5, 5]]
        expected = {path: value.value for path, value in report_metrics(drawn, tools).items()}
    counts = np.array([2, 0, 0, 1, 0, 3])
    found = values_of_sums((numbers * counts[:, None]).sum(axis=0))
    assert {path: float(value) for path, value in found.items()} == pytest.approx(expected)


def test_sums_over_nothing_and_sums_that_are_unknown_have_no_values() -> None:
    assert all(np.isnan(value) for value in values_of_sums(np.zeros(len(REPORT_NUMBERS))).values())
    with ReportTools(OFF) as tools:
        sums = rows(report_pairs(2), tools).sum(axis=0)
    unknown = {path for path, value in values_of_sums(sums).items() if np.isnan(value)}
    assert unknown == {"meteor15", "meteor2005", "average"}


def test_columns_are_metrics_with_the_main_one_first() -> None:
    paths = [column.path for column in REPORT_COLUMNS]
    assert paths[0] == REPORT_MAIN_METRIC
    assert set(paths) == PATHS - {"words", "length_ratio"}


@pytest.mark.slow
def test_5000_reports_of_200_words_score_in_half_a_minute_on_one_core() -> None:
    pairs = report_pairs(5_000)
    assert np.mean([len(reference.split()) for _, reference in pairs]) > 190
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    with ReportTools({**USUAL, "meteor15": "off"}) as tools:
        numbers = rows(pairs, tools)
        found = report_metrics(numbers, tools)
    intervals = report_intervals(table(numbers), Resampling())
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    assert found["bleu_4"].n == 5_000
    assert intervals["bleu_4"].low is not None
    assert taken < 30, f"{taken:.1f} s of CPU"
