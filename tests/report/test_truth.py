"""Truth rules, one by one: each says what it must, and nothing where there is nothing to say."""

from __future__ import annotations

import pytest
from report.score_examples import columns, incomplete, metric, row, table

from harness.offline.score_ranking import UNRANKED
from harness.report.table_truth import differing_n, own_n, trivially_best
from harness.report.truth import (
    LEAST_CASES,
    SATURATED_SHARE,
    THRESHOLDS,
    UNUSABLE_SHARE,
    RowTruth,
    against_baselines,
    cases_left_out,
    row_truth,
    saturated,
    unranked,
    unusable_answers,
)

ANY = columns("x")


def test_an_incomplete_model_has_no_rank_and_is_marked() -> None:  # F14
    truth = row_truth(incomplete("alpha", {"x": 0.9}), [], table("x"), ANY)
    assert truth.marked
    assert truth.notes[0] == "no rank: incomplete: resume to complete: 3 units"


def test_an_incomplete_model_is_told_of_even_where_it_was_given_a_rank() -> None:
    broken = incomplete("alpha", {"x": 0.9}) | {"rank": 1, "rank_reason": None}
    assert [*unranked(broken)] == ["no rank: incomplete: 3 units to complete"]


def test_nothing_is_said_of_ranks_where_nobody_has_one_or_everything_is_well() -> None:
    assert [*unranked(row("alpha", {}, rank=None, rank_reason=UNRANKED))] == []
    assert [*unranked(row("alpha", {}, rank=2))] == []
    assert row_truth(row("alpha", {"x": 0.9}, rank=1), [], table("x"), ANY) == RowTruth((), False)


@pytest.mark.parametrize(("bad", "said"), [(2, False), (3, True)])
def test_a_share_of_unusable_answers_above_the_threshold_marks_the_row(bad: int, said: bool) -> None:
    usable = 20 - bad
    shares = {"valid": usable, "refused": bad - 1, "truncated": 1, "not_applicable": 50}
    one = row("alpha", {"x": 0.5}, rank=1, outcomes=shares)
    assert (bad / 20 > UNUSABLE_SHARE) is said
    told = [*unusable_answers(one)]
    assert bool(told) is said
    assert row_truth(one, [], table("x"), ANY).marked is said
    if said:
        assert told == [
            "3 of 20 answers (15.0 %) are unusable (refused 2, truncated 1); each counts as the worst value "
            "where a metric has one"
        ]


def test_a_row_without_answers_has_no_share_of_unusable_ones() -> None:
    assert [*unusable_answers(row("alpha", {}, outcomes={"not_applicable": 4}))] == []


def baseline(value: float, n: int = 24, name: str = "nothing") -> dict[str, object]:
    return row(name, {"x": metric(value, n)}, kind="baseline")


@pytest.mark.parametrize(
    ("number", "against", "said"),
    [
        ((0.30, 0.2, 0.4), 0.35, "worse than the baseline 'nothing': x"),
        ((0.30, 0.2, 0.4), 0.30, "no better than the baseline 'nothing': x"),
        (
            (0.30, 0.2, 0.4),
            0.25,
            "not clearly better (it lies within the 95 % interval) than the baseline 'nothing': x",
        ),
        ((0.30, 0.2, 0.4), 0.19, None),
        (0.30, 0.29, None),  # no interval: it is better
    ],
)
def test_a_row_is_held_against_the_best_baseline(number: object, against: float, said: str | None) -> None:
    one = row("alpha", {"x": number}, rank=1)
    told = [*against_baselines(one, [baseline(0.01, name="weak"), baseline(against)], ANY)]
    assert told == ([] if said is None else [said])


def test_where_lower_is_better_the_lowest_baseline_counts() -> None:
    one = row("alpha", {"x": (2.0, 1.0, 3.0)}, rank=1)
    lower = columns("x", better="lower", best=0.0)
    said = [*against_baselines(one, [baseline(1.5), baseline(9.0, name="weak")], lower)]
    assert said == ["worse than the baseline 'nothing': x"]
    assert [*against_baselines(one, [baseline(3.5)], lower)] == []


@pytest.mark.parametrize("case", ["incomplete", "another n", "no better side", "no value", "a baseline"])
def test_no_row_is_held_against_a_baseline_where_that_says_nothing(case: str) -> None:
    one = row("alpha", {"x": 0.1}, rank=1)
    others = [baseline(0.9)]
    sides = ANY
    match case:
        case "incomplete":
            one = incomplete("alpha", {"x": metric(0.1, 24)})
        case "another n":
            others = [baseline(0.9, n=23)]
        case "no better side":
            sides = columns("x", better=None, best=None)
        case "no value":
            one = row("alpha", {"x": None})
        case _:
            one = baseline(0.1)
    assert [*against_baselines(one, others, sides)] == []
    usual = row("alpha", {"x": 0.1}, rank=1)
    assert [*against_baselines(usual, [baseline(0.9)], ANY)]  # the rule itself is awake


def test_a_row_that_a_baseline_beats_in_the_first_metric_is_marked() -> None:
    two = columns("x", "y")
    good = row("alpha", {"x": 0.9, "y": 0.1}, rank=1)
    beaten = row("nothing", {"x": 0.5, "y": 0.5}, kind="baseline")
    truth = row_truth(good, [beaten], table("x", "y"), two)
    assert truth.notes == ("worse than the baseline 'nothing': y",)
    assert not truth.marked
    assert row_truth(row("beta", {"x": 0.4, "y": 0.6}, rank=2), [beaten], table("x", "y"), two).marked


def test_a_metric_that_the_reference_of_another_case_reaches_is_called_saturated() -> None:
    one = row("alpha", {"x": (0.7, 0.6, 0.8)}, rank=1)
    shown = table("x", unrelated="prevalence")

    def said(value: float) -> list[str]:
        return [*saturated(one, [baseline(value, name="prevalence")], shown, shown.columns)]

    assert said(SATURATED_SHARE - 0.01) == []
    assert said(SATURATED_SHARE)[0].startswith("saturated (the reference of another case, 'prevalence'")
    for within_or_above in (0.6, 0.75, 0.95):
        assert said(within_or_above)[0].startswith("cannot be told from the reference of another case")
    assert [*saturated(one, [baseline(0.9, name="nothing")], shown, shown.columns)] == []
    assert [*saturated(one, [baseline(0.9, name="prevalence")], table("x"), ANY)] == []


def test_half_of_the_best_is_no_rule_where_there_is_no_best_or_less_is_better() -> None:
    one = row("alpha", {"x": (70.0, 60.0, 80.0)}, rank=1)
    other = [baseline(55.0, name="prevalence")]
    shown = table("x", unrelated="prevalence")
    assert [*saturated(one, other, shown, columns("x", best=None))] == []
    assert [*saturated(one, other, shown, columns("x", best=100.0))]
    lower = columns("x", better="lower", best=0.0)
    assert [*saturated(one, [baseline(99.0, name="prevalence")], shown, lower)] == []
    assert [*saturated(one, [baseline(80.0, name="prevalence")], shown, lower)]


def test_rows_of_different_n_are_told_apart() -> None:  # F19
    rows = [row("alpha", {"x": 0.1}), row("beta", {"x": 0.2}), row("gamma", {"x": 0.3}, n=20)]
    (told,) = differing_n(rows, ANY, "as_answered")
    assert told == (
        "n differs between rows in x: n=24 of alpha, beta; n=20 of gamma; such numbers are not of the same "
        "cases"
    )
    assert [*differing_n(rows[:2], ANY, "as_answered")] == []


def test_a_value_that_is_not_there_has_no_n_to_differ_in() -> None:
    rows = [row("alpha", {"x": 0.1}), row("beta", {"x": metric(None, 3)})]
    assert [*differing_n(rows, ANY, "as_answered")] == []


def test_a_column_of_another_n_than_the_first_is_told() -> None:
    two = columns("x", "y")
    rows = [row(name, {"x": 0.1, "y": metric(0.2, 11)}) for name in ("alpha", "beta")]
    assert [*own_n(rows, two, "as_answered")] == ["all rows: y n=11"]


def test_a_baseline_at_the_best_value_makes_its_column_one_that_says_nothing_alone() -> None:
    lower = columns("x", better="lower", best=0.0)
    assert [*trivially_best([baseline(0.0)], lower)] == [
        "the baseline 'nothing' has the best possible value of x: read it only beside the other columns"
    ]
    assert [*trivially_best([baseline(0.1)], lower)] == []
    assert [*trivially_best([baseline(0.0)], columns("x", better="lower", best=None))] == []


def test_cases_that_a_row_lacks_are_counted_and_named() -> None:
    lacking = row("alpha", {}, not_applicable=[f"c{n}" for n in range(9)], not_rated=["d1"])
    assert [*cases_left_out(lacking)] == [
        "9 cases not applicable to it: c0, c1, c2, c3, c4, c5 and 3 more",
        "1 case not rated: d1",
    ]


def test_another_model_that_answered_is_told() -> None:
    served = [{"asked": "alpha", "model": "other", "answers": 2, "as_asked": False, "dated": False}]
    truth = row_truth(row("alpha", {"x": 0.9}, rank=1, served_as=served), [], table("x"), ANY)
    assert truth.notes == ("alpha: 2 of 2 answers came from 'other'",)


def test_each_threshold_is_printed() -> None:
    printed = dict(THRESHOLDS)
    assert f"{UNUSABLE_SHARE:.0%}" in printed["unusable answers"]
    assert f"{SATURATED_SHARE:.0%}" in printed["saturated metrics"]
    assert "half-width" in printed["rounding"]
    assert f"below {LEAST_CASES} cases" in printed["few cases"]


def test_few_cases_never_clearly_beat_a_baseline() -> None:
    baselines = [row("nothing", {"x": metric(0.1, 5)}, kind="baseline")]
    few = row("alpha", {"x": metric((0.9, 0.8, 1.0), 5)}, rank=1)
    assert [*against_baselines(few, baselines, ANY)] == [
        "not clearly better (n is below 10) than the baseline 'nothing': x"
    ]
    exact = row("alpha", {"x": metric((0.9, 0.8, 1.0), 5, ci_method="clopper-pearson")}, rank=1)
    assert [*against_baselines(exact, baselines, ANY)] == []
