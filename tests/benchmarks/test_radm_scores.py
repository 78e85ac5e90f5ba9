"""Metric paths of RadM-Bench by hand: which numbers need grades, groups, transitions, languages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from radm_graded import TASK, Unit, case, table_of

from harness.benchmarks.base import Case
from harness.benchmarks.radm.tables import TRANSITIONS
from harness.benchmarks.radm.task import RadM
from harness.benchmarks.scored import MetricValue, Scored
from harness.comparison.comparing import compare
from harness.comparison.contenders import Contender, RunCases
from harness.errors import ConfigError
from harness.offline.score_ranking import rank_models, ranked_values
from harness.offline.score_rows import Row, over_repeats
from harness.outcomes import UnitOutcome
from harness.scoring.resampling import Resampling

NONE, BASIC, FULL = (0, 0, 0, 0, 0), (0, 1, 0, 0, 0), (3, 0, 0, 0, 0)
FEW = Resampling(resamples=200)


def scores(*units: Unit, condition: str = "text", conditions: tuple[str, ...] = ("text",)) -> Any:
    table = table_of(units, conditions)
    found = TASK.metrics(table, condition, {})
    intervals = TASK.intervals(table, condition, {}, FEW)
    assert set(intervals) <= set(found)
    json.dumps([metric.to_json() for metric in found.values()], allow_nan=False)
    return found


def value(found: Any, path: str) -> tuple[float | None, int]:
    metric: MetricValue = found[path]
    return metric.value, metric.n


def test_scores_and_accuracies_are_means_over_all_answers() -> None:
    found = scores(
        Unit(case("a"), FULL), Unit(case("b"), BASIC), Unit(case("c"), (0, 0, 0, 0, 2)), Unit(case("d"), NONE)
    )
    assert value(found, "score") == (pytest.approx((3 + 0.8 + 0.4) / 4), 4)
    assert [value(found, f"top{k}") for k in (1, 3, 5)] == [(0.25, 4), (0.5, 4), (0.75, 4)]
    assert [value(found, f"tier.{tier}.share")[0] for tier in range(4)] == [0.25, 0.25, 0.25, 0.25]


def test_an_unusable_answer_scores_0_without_anybodys_grade() -> None:
    found = scores(Unit(case("a"), FULL), Unit(case("b"), usable=False))
    assert value(found, "score") == (1.5, 2)
    assert value(found, "top5") == (0.5, 2)
    assert value(found, "tier.0.share") == (0.5, 2)
    assert value(found, "graded.share") == (1.0, 1)
    assert value(found, "graded_only.score") == (3.0, 1)


def test_a_stale_grade_does_not_raise_an_unusable_answer() -> None:
    stale = Scored(case("a"), "text", UnitOutcome.REFUSED, None, {f"tier_{rank}": 3 for rank in range(1, 6)})
    assert TASK.score_unit(TASK.unit_numbers(stale), "text", {})["score"] == 0


def test_no_mean_is_made_of_the_graded_part_alone() -> None:  # F12 F19
    found = scores(
        Unit(case("a"), FULL),
        Unit(case("b")),
        Unit(case("c"), usable=False),
        Unit(case("d", "RealClin"), BASIC),
    )
    for path in ("score", "top1", "top3", "top5", "tier.0.share", "RadEdu.score", "RadEdu.chest.top1"):
        assert found[path].value is None, path
        assert found[path].reason.startswith("1 of "), path
        assert "no grade that counts" in found[path].reason
    assert found["score"].n == 4
    # What is known stays: a subset whose answers are all graded, and the explicit path with its n.
    assert value(found, "RealClin.score") == (0.8, 1)
    assert value(found, "graded_only.score") == (1.9, 2)
    assert value(found, "graded.share") == (pytest.approx(2 / 3), 3)


def test_graded_answers_alone_have_a_score_and_accuracies_until_raters_differ() -> None:  # F19
    graded = [Unit(case("a"), FULL), Unit(case("b"), (0, 0, 1, 0, 0)), Unit(case("c"), (0,) * 5)]
    others = (Unit(case("d")), Unit(case("e"), unsettled=("waiting",)), Unit(case("f"), usable=False))
    found = scores(*graded, *others)
    assert found["score"].value is None
    why = "2 of 6 answers have no grade that counts (1 wait for another rater)"
    assert found["score"].reason.startswith(why)
    assert value(found, "graded_only.score") == (pytest.approx((3 + 0.6 + 0) / 3), 3)
    for k, share in ((1, 1 / 3), (3, 2 / 3), (5, 2 / 3)):
        assert value(found, f"graded_only.top{k}") == (pytest.approx(share), 3)
        assert value(found, f"RadEdu.graded_only.top{k}") == (pytest.approx(share), 3)
    assert found["RealClin.graded_only.top1"].value is None

    # What raters differ on is not like the rest: without it there is no sample. One tier is enough.
    disputed = scores(*graded, Unit(case("d"), unsettled=("waiting", "disputed")))
    assert disputed["graded_only.score"].value is None and disputed["graded_only.top5"].value is None
    assert "raters differ on 1 of these answers" in disputed["graded_only.score"].reason
    assert "(1 in dispute without a consensus)" in disputed["score"].reason
    assert disputed["graded_only.score"].n == 3


def test_sums_of_graded_answers_are_their_means() -> None:
    tiers = [(number % 4, 0, 1, 0, 0) if number % 3 else None for number in range(30)]
    table = table_of(Unit(case(f"c{number}"), one) for number, one in enumerate(tiers))
    made = TASK.sums(table, "text", {})
    assert made is not None
    with np.errstate(invalid="ignore"):  # no case of RealClin
        summed = made[1](made[0].summands.sum(axis=0))
    metrics = TASK.metrics(table, "text", {})
    for path in ("score", "top1", "top3", "top5"):
        assert np.isnan(summed[path]) and metrics[path].value is None
        alone = f"graded_only.{path}"
        assert summed[alone] == pytest.approx(metrics[alone].value, abs=1e-12)


def contender(name: str, tiers: Sequence[tuple[int, ...] | None], *units: Unit) -> Contender:
    cases = [case(f"c{number}") for number in range(len(tiers))]
    table = table_of([*(Unit(one, graded) for one, graded in zip(cases, tiers, strict=True)), *units])
    ids = [one.id for one in cases] + [one.case.id for one in units]
    every, cases_of = range(len(ids)), RunCases("d", ids, ids)
    return Contender(name, name, "model", "r", "d", cases_of, table, np.ones(len(ids), bool), every)


def test_models_are_compared_on_the_cases_that_are_graded_for_both() -> None:
    first = {tier: (tier, 0, 0, 0, 0) for tier in range(4)}
    one = contender("one", [first[3], first[2], None, first[1], first[0]] * 6)
    other = contender("other", [first[1], None, first[3], first[1], first[3]] * 6)
    found = compare(RadM(), [one, other], condition="text", conventions={}, metrics=["graded_only.score"])
    assert found.cases.common == 18
    assert {(left.why, left.whose, len(left.cases)) for left in found.cases.left_out} == {
        ("no grade that counts", ("one",), 6), ("no grade that counts", ("other",), 6)
    }  # fmt: skip
    (difference,) = found.metrics[0].differences
    assert (difference.a, difference.b) == ("other", "one")
    assert difference.difference == pytest.approx((1 + 1 + 3) / 3 - (3 + 1 + 0) / 3)
    with pytest.raises(ConfigError, match="not about the same cases"):
        compare(
            RadM(), [one, other], condition="text", conventions={}, metrics=["graded_only.score", "score"]
        )
    torn = contender("torn", [(1, 0, 0, 0, 0)] * 30, Unit(case("x"), unsettled=("disputed",)))
    with pytest.raises(ConfigError, match=r"torn: no value of 'graded_only\.score': raters differ on 1"):
        compare(RadM(), [one, torn], condition="text", conventions={}, metrics=["graded_only.score"])


def test_a_model_of_which_one_repeat_is_not_graded_has_no_rank() -> None:
    def row(name: str, second: Any) -> Row:
        tables = [table_of([Unit(case("a"), tiers)]) for tiers in (FULL, second)]
        metrics = over_repeats([TASK.metrics(one, "text", {}) for one in tables])
        return Row(name, "model", "text", 1, 2, {"valid": 2}, 0, 1.0, metrics, metrics)

    rows = [row("graded", BASIC), row("partly", None)]
    partly = rows[1].as_answered["score"]
    assert (partly.value, partly.reason is None) == (3.0, False)
    # The n beside a value is of the repeats that it is made of: the other one has none that is graded.
    graded_only = rows[1].as_answered["graded_only.score"]
    assert (graded_only.value, graded_only.n) == (3.0, 1)
    ranks = rank_models(rows, "score")
    assert (ranks["graded"].place, ranks["partly"].place) == (1, None)
    assert str(ranks["partly"].reason).startswith("score: 1 of 2 repeats have no value: 1 of 1 answers have")
    shared = ranked_values({one.name: one.as_answered["score"] for one in rows})
    assert (shared["graded"].place, shared["partly"].place) == (1, None)


def test_an_answer_is_graded_when_all_five_diagnoses_are() -> None:
    partly = Scored(case("a"), "text", UnitOutcome.VALID, {}, {f"tier_{rank}": 3 for rank in range(1, 5)})
    assert TASK.score_unit(TASK.unit_numbers(partly), "text", {}) == dict.fromkeys(
        ("score", "top1", "top3", "top5")
    )


def test_an_ungraded_answer_leaves_no_interval_but_a_reason() -> None:
    table = table_of([Unit(case("a"), FULL), Unit(case("b")), Unit(case("c"), BASIC)])
    found = TASK.intervals(table, "text", {}, FEW)
    assert found["score"].low is None
    assert "1 of 3 answers have no grade that counts" in str(found["score"].reason)
    assert found["graded.share"].low is not None
    assert found["graded_only.score"].low is not None


def test_groups_are_scored_by_subset_subspecialty_and_rarity() -> None:
    found = scores(
        Unit(case("a", "RadEdu", "head and neck", rare=True), FULL),
        Unit(case("b", "RadEdu", "chest"), BASIC),
        Unit(case("c", "RealClin", "chest"), NONE),
    )
    assert value(found, "RadEdu.score") == (pytest.approx(1.9), 2)
    assert value(found, "RadEdu.head_and_neck.score") == (3.0, 1)
    assert value(found, "RadEdu.rare.top1") == (1.0, 1)
    assert value(found, "RadEdu.common.score") == (0.8, 1)
    assert value(found, "RadEdu.rare_premium") == (pytest.approx(2.2), 2)
    assert value(found, "RealClin.chest.score") == (0.0, 1)
    assert found["RealClin.rare_premium"].value is None
    assert found["RealClin.rare_premium"].reason == "no case of a rare disease was scored"
    assert found["RealClin.breast.score"].reason == "no such case was scored"
    assert found["RadEdu.breast.score"].value is None


def test_the_premium_needs_all_grades_of_its_subset() -> None:
    found = scores(Unit(case("a", rare=True), FULL), Unit(case("b")), Unit(case("c"), NONE))
    assert found["RadEdu.rare_premium"].value is None
    assert "no grade that counts" in found["RadEdu.rare_premium"].reason


def test_paths_are_the_same_whatever_was_scored() -> None:
    nothing = scores()
    one = scores(Unit(case("a"), FULL))
    assert list(nothing) == list(one)
    assert all(metric.value is None for metric in nothing.values())


def test_a_case_of_no_known_subset_is_refused() -> None:
    odd = Case("x", {}, {}, {"subset": "Other", "subspecialty": "chest", "rare": False, "language": "en"})
    with pytest.raises(ValueError, match="'x' is of subset 'Other'"):
        TASK.unit_numbers(Unit(odd, FULL).scored)


def test_accuracies_of_grouped_cases_are_no_binomial_shares() -> None:
    units = [Unit(case(f"c{n}", group=f"g{n // 2}"), FULL if n % 3 else NONE) for n in range(40)]
    found = TASK.intervals(table_of(units), "text", {}, FEW)
    assert found["top1"].method == "bca"
    assert "not Clopper-Pearson" in str(found["top1"].note)
    alone = TASK.intervals(
        table_of([Unit(case(f"c{n}"), unit.tiers) for n, unit in enumerate(units)]), "text", {}, FEW
    )
    assert (alone["top1"].method, alone["top1"].note) == ("clopper-pearson", None)
    twice = [Unit(case(f"c{n}"), FULL, repeat=repeat) for n in range(9) for repeat in (1, 2)]
    assert TASK.intervals(table_of([*twice, Unit(case("z"), NONE)]), "text", {}, FEW)["top1"].method == "bca"


# -- transitions ------------------------------------------------------------------------------------

PAIR = ("text", "text_images")
NAME = "text_to_text_images"


def both(name: str, first: Any, second: Any, **options: Any) -> list[Unit]:
    one = case(name, **options)
    return [
        Unit(one, tiers if tiers != "unusable" else None, usable=tiers != "unusable", condition=condition)
        for condition, tiers in zip(PAIR, (first, second), strict=True)
        if tiers != "absent"
    ]


def test_a_transition_counts_cases_that_improve_stay_and_decline() -> None:
    found = scores(
        *both("a", NONE, FULL), *both("b", BASIC, (0, 0, 2, 0, 0)), *both("c", BASIC, (0, 1, 1, 0, 0)),
        *both("d", FULL, NONE, subset="RealClin"), *both("e", FULL, "absent"), *both("f", NONE, "unusable"),
        condition=NAME, conditions=PAIR,
    )  # fmt: skip
    assert [value(found, f"{name}.count") for name in ("improved", "unchanged", "declined")] == [
        (2.0, 5), (2.0, 5), (1.0, 5)
    ]  # fmt: skip
    assert value(found, "declined.share") == (0.2, 5)
    assert value(found, "before.score") == (pytest.approx((0.8 + 0.8 + 3) / 5), 5)
    assert value(found, "after.score") == (pytest.approx((3 + 1.2 + 0.8) / 5), 5)
    assert value(found, "mean_difference") == (pytest.approx(0.4 / 5), 5)
    assert value(found, "relative_change") == (pytest.approx(0.4 / 4.6), 5)
    assert value(found, "unpaired") == (1.0, 6)
    assert value(found, "unusable.share") == (0.2, 5)
    assert value(found, "RealClin.declined.share") == (1.0, 1)
    assert value(found, "RealClin.relative_change") == (-1.0, 1)
    assert value(found, "RadEdu.improved.count") == (2.0, 4)


def test_a_change_from_nothing_has_no_relative_size() -> None:
    found = scores(*both("a", NONE, FULL), condition=NAME, conditions=PAIR)
    assert found["relative_change"].value is None
    assert found["relative_change"].reason == "the mean score of the first condition is 0"
    assert value(found, "mean_difference") == (3.0, 1)


@pytest.mark.parametrize("side", [0, 1])
def test_a_pair_with_an_ungraded_answer_leaves_no_transition(side: int) -> None:
    tiers: list[Any] = [FULL, FULL]
    tiers[side] = None
    found = scores(*both("a", *tiers), *both("b", NONE, FULL), condition=NAME, conditions=PAIR)
    for path in ("improved.share", "improved.count", "mean_difference", "before.score", "relative_change"):
        assert found[path].value is None, path
        assert "1 of 2 pairs of answers have no grade that counts" in found[path].reason


def test_pairs_are_of_the_same_repeat() -> None:
    one = case("a")
    units = [
        Unit(one, FULL, repeat=2, condition="text"), Unit(one, NONE, repeat=1, condition="text_images")
    ]  # fmt: skip
    found = scores(*units, condition=NAME, conditions=PAIR)
    assert (found["improved.share"].value, found["unpaired"].value) == (None, 2.0)


def test_unions_are_made_of_the_conditions_that_a_run_asks() -> None:
    benchmark = RadM()
    assert benchmark.unions(("text_images",)) == {}
    assert benchmark.unions(PAIR) == {NAME: PAIR}
    everything = benchmark.unions(benchmark.conditions)
    assert set(everything) == {*TRANSITIONS, "languages"}
    assert not set(everything) & set(benchmark.conditions)
    for name, members in everything.items():
        widths = {len(benchmark.table(one).numbers) for one in (name, *members)}
        assert len(widths) == 1
        assert benchmark.table(name).main_metric is None
    assert benchmark.table("text").main_metric == "score"


# -- languages --------------------------------------------------------------------------------------

LANGUAGES = ("text", "text_translated")


def spoken(
    name: str, original: Any, translated: Any, subset: str = "RealClin", repeat: int = 1
) -> list[Unit]:
    one = case(name, subset)
    return [
        Unit(one, tiers, condition=condition, repeat=repeat)
        for condition, tiers in zip(LANGUAGES, (original, translated), strict=True)
        if tiers != "absent"
    ]


def test_the_control_compares_chinese_cases_alone() -> None:
    found = scores(
        *spoken("a", FULL, BASIC), *spoken("b", BASIC, NONE), *spoken("c", FULL, "absent"),
        *spoken("d", FULL, "absent", "RadEdu"), condition="languages", conditions=LANGUAGES,
    )  # fmt: skip
    assert value(found, "original.score") == (1.9, 2)
    assert value(found, "translated.score") == (0.4, 2)
    assert value(found, "mean_difference") == (-1.5, 2)
    assert value(found, "unpaired") == (1.0, 3)  # not the English case
    assert value(found, "wilcoxon.n") == (2.0, 2)
    assert value(found, "wilcoxon.v") == (0.0, 2)
    assert value(found, "wilcoxon.p") == (0.5, 2)
    assert value(found, "wilcoxon.effect") == (-1.0, 2)


def test_languages_that_differ_in_no_case_have_no_p() -> None:
    found = scores(*spoken("a", FULL, FULL), condition="languages", conditions=LANGUAGES)
    assert found["wilcoxon.p"].value is None
    assert found["wilcoxon.p"].reason == "no unit differs"


def test_the_test_is_that_of_the_first_repeat() -> None:
    found = scores(*spoken("a", FULL, NONE, repeat=2), condition="languages", conditions=LANGUAGES)
    assert found["wilcoxon.p"].value is None
    assert found["wilcoxon.p"].reason == "the test is that of the first repeat"
    assert found["mean_difference"].value == -3.0


def test_p_values_are_adjusted_over_the_models_that_have_one() -> None:
    rows = {
        name: {"wilcoxon.p": MetricValue(p, 360, None if p is not None else "no unit differs")}
        for name, p in {"a": 0.01, "b": 0.04, "c": 0.03, "d": None, "e": 0.5}.items()
    }
    found = TASK.across("languages", rows)
    adjusted = {name: found[name]["wilcoxon.p_adjusted"].value for name in rows}
    third = pytest.approx(0.16 / 3)
    assert adjusted == {"a": pytest.approx(0.04), "b": third, "c": third, "d": None, "e": 0.5}
    assert [found[name]["wilcoxon.significant"].value for name in rows] == [1.0, 0.0, 0.0, None, 0.0]
    assert found["d"]["wilcoxon.p_adjusted"].reason == "no unit differs"
    assert {found[name]["wilcoxon.tests"].value for name in rows} == {4.0}
    assert TASK.across("text", rows) == {}
    assert TASK.across("languages", {}) == {}
