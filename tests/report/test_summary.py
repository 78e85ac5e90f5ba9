"""The summary in words: every sentence from its numbers, and none that they do not bear out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from report.score_examples import MAIN, effort_row, incomplete, metric, row, view
from report.test_comparisons import compared

from harness.comparison.result import Verdict
from harness.report.document import Cell, Column, Table, TableRow
from harness.report.run_comparisons import Compared
from harness.report.score_view import ConditionView
from harness.report.summary import summary

EMR = "fine.exact_match"


@dataclass
class Scored:
    effort: dict[str, Any]


@dataclass
class Run:
    """What a summary reads of a run."""

    shown: Sequence[ConditionView]
    scored: Scored
    name: str = "night"


def short(
    views: Sequence[ConditionView],
    compared_in: dict[str, Compared] | None = None,
    efforts: Sequence[dict[str, Any]] = (),
    tables: Sequence[Table] = (),
) -> dict[str, str]:
    run = Run(views, Scored({"models": list(efforts)}))
    return dict(summary(run, compared_in or {}, tables, "s").items)  # type: ignore[arg-type]


def board(*right: int, **changes: Any) -> ConditionView:
    """Return the leaderboard of the models of `compared`, which have so many exact answers of 40."""
    rows = [
        row(f"m{at}", {EMR: metric(n / 40, 40)}, rank=1 + sum(other > n for other in right), n=40)
        for at, n in enumerate(right)
    ]
    return view(rows, ranked_by={"both": EMR}, **changes)


def test_a_lead_that_is_more_than_noise_is_called_so_with_its_numbers() -> None:
    told = short([board(30, 10, 9)], {"both": Compared([], compared(30, 10, 9))})["condition both"]
    assert told.startswith("m0 is first of 3 ranked models by fine EMR: 0.75 (n = 40).")
    assert "m0 less m1, the next, is +0.50 on 40 common cases (interval " in told
    assert "adjusted p <0.001): more than noise, m0 is higher." in told
    assert told.endswith("Within noise of it are 0 of the 2 models that it was compared with.")


def test_a_lead_within_noise_is_called_so_and_the_others_counted() -> None:
    told = short([board(10, 9, 8)], {"both": Compared([], compared(10, 9, 8))})["condition both"]
    assert "adjusted p = 1.000): within noise." in told
    assert told.endswith("Within noise of it are 2 of the 2 models that it was compared with.")


def test_the_first_of_the_board_may_be_behind_on_the_common_cases() -> None:
    """There another one may lead; the sentence is still of the first less the next."""
    told = short([board(30, 10)], {"both": Compared([], compared(5, 36))})["condition both"]
    assert "m0 less m1, the next, is -0.78 on 40 common cases (interval -0.9" in told
    assert told.endswith(": more than noise, m1 is higher.")


def test_fewer_repeats_than_on_the_board_are_told() -> None:
    told = short([board(30, 10, repeats=3)], {"both": Compared([], compared(30, 10))})["condition both"]
    assert "on 40 common cases with 1 repeat each (" in told


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("A lower", "more than noise, m1 is higher"),
        ("unclear", "unclear: the test and the difference point to different sides"),
        ("within noise", "within noise"),
    ],
)
def test_each_verdict_has_its_words(verdict: Verdict, words: str) -> None:
    found = compared(30, 10)
    (one,) = found.metrics[0].differences
    changed = replace(found.metrics[0], differences=(replace(one, verdict=verdict),))
    told = short([board(30, 10)], {"both": Compared([], replace(found, metrics=(changed,)))})
    assert f": {words}." in told["condition both"]


def test_what_was_not_tested_is_not_claimed() -> None:
    assert "Whether it is better than the other 1 was not tested." in short([board(30, 10)])["condition both"]
    assert "tested" not in short([board(30)])["condition both"]


def test_equal_models_share_a_rank_and_nobody_leads() -> None:
    told = short([board(20, 20, 10)], {"both": Compared([], compared(20, 20, 10))})["condition both"]
    assert told.startswith("m0, m1 share rank 1 of 3 ranked models")
    assert "the next" not in told


def test_a_first_model_that_does_not_beat_a_baseline_is_not_praised_alone() -> None:
    rows = [
        row("a", {MAIN: (0.2, 0.1, 0.3)}, rank=1, outcomes={"valid": 20, "refused": 4}),
        row("prevalence", {MAIN: 0.25}, kind="baseline"),
    ]
    told = short([view(rows)])["condition both"]
    assert "To know of a: 4 of 24 answers (16.7 %) are unusable (refused 4)" in told
    assert told.endswith("worse than the baseline 'prevalence': fine maF1.")


def test_who_has_no_rank_is_named_with_the_reason_and_where() -> None:
    rows = [incomplete("c", {MAIN: 0.9}), row("a", {MAIN: 0.5}, rank=1)]
    other = view([incomplete("c", {MAIN: 0.9}, condition="opg")])
    told = short([view(rows), other])
    assert told["without a rank"] == "c (both, opg): incomplete: resume to complete: 3 units"
    assert told["condition both"].startswith("a is first of 1 ranked model ")
    assert told["condition opg"] == "None of 1 model has a rank by fine maF1."


def test_where_no_metric_ranks_no_one_is_called_first() -> None:
    told = short([view([row("a", {MAIN: 0.5})], ranked_by={})])
    assert "condition both" not in told
    assert told["no ranks"].startswith("no metric ranks in 1 condition (both)")


def test_unusable_answers_are_counted_over_all_and_nobodys_apart() -> None:
    rows = [
        effort_row("a", None, outcomes={"valid": 90, "refused": 6, "empty": 4}),
        effort_row("b", None, outcomes={"valid": 99, "truncated": 1, "provider_error": 3}),
    ]
    told = short([], efforts=rows)
    assert told["unusable answers"] == (
        "11 of 200 answers (5.5 %): refused 6, truncated 1, empty 4; a has most, 10 of its 100"
    )
    assert told["units without an answer"] == "3 of 203: provider_error 3"
    assert "unusable answers" not in short([], efforts=[effort_row("a", None, outcomes={"gap": 2})])


def test_marked_tables_are_counted_by_rows_and_by_numbers() -> None:
    def table(marked: bool, tone: Any) -> Table:
        return Table("t", "t", [Column("x", "x")], [TableRow("a", [Cell("1", 1, tone=tone)], marked=marked)])

    found = [table(True, "plain"), table(False, "warning"), table(False, "note")]
    assert short([], tables=found)["marked tables"].startswith("in 2 of 3 tables ")
    assert short([], tables=found[2:])["marked tables"].startswith("in 0 of 1 table ")
