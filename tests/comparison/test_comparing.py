"""Contenders compared: the right test, the family, its correction, verdicts, effects, ranks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.stats
from comparison_examples import MARKS, UNGRADED, Marks, contender, ids_of, run_cases
from r_results import r_results

from harness.benchmarks.base import Benchmark
from harness.comparison.comparing import compare
from harness.comparison.result import Comparison, Difference, MetricResult
from harness.errors import ConfigError
from harness.scoring.replicates import Units
from harness.scoring.resampling import Resampling
from harness.scoring.statistics import paired_bootstrap

Floats = np.ndarray[Any, np.dtype[np.float64]]


def compared(*contenders: Any, **options: Any) -> Comparison:
    return compare(MARKS, contenders, **({"condition": "main", "conventions": {}} | options))


def only(found: Comparison, path: str | None = None) -> MetricResult:
    return next(one for one in found.metrics if path in (None, one.path))


def pair(found: Comparison, a: str, b: str, path: str | None = None) -> Difference:
    return next(one for one in only(found, path).differences if (one.a, one.b) == (a, b))


def marks(seed: int, n: int = 120, shift: float = 0.0) -> Floats:
    """Return marks of 0 to 3 in fifths: shared difficulty, and what is a model's own."""
    common = np.random.default_rng(7).normal(0, 1, n)
    own = np.random.default_rng(seed).normal(shift, 1, n)
    return np.round(np.clip(1.5 + common + own, 0, 3) * 5) / 5


def rights(seed: int, n: int = 200, chance: float = 0.5) -> Floats:
    return (np.random.default_rng(seed).random(n) < chance).astype(float)


def test_a_share_of_cases_is_tested_by_mcnemar_as_the_binomial_test_says() -> None:
    a, b = rights(1, chance=0.7), rights(2)
    found = compared(contender("a", a), contender("b", b), metrics=["right"])
    one = pair(found, "a", "b")
    a_only, b_only = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
    assert only(found).test == "mcnemar"
    assert one.p == pytest.approx(scipy.stats.binomtest(a_only, a_only + b_only).pvalue, abs=1e-12)
    assert one.effect is not None
    assert (one.effect.a_only, one.effect.b_only) == (a_only, b_only)
    assert one.effect.odds_ratio == pytest.approx(a_only / b_only)
    assert one.difference == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert one.differ == a_only + b_only
    assert one.verdict == "A higher"


def test_a_score_of_cases_is_tested_by_wilcoxon_where_the_paper_does() -> None:
    a, b = marks(1, shift=0.5), marks(2)
    found = compared(contender("a", a), contender("b", b))
    expected = scipy.stats.wilcoxon(
        np.round(a * 5) - np.round(b * 5), zero_method="wilcox", correction=True, method="asymptotic"
    )
    assert only(found).test == "wilcoxon"
    assert pair(found, "a", "b").p == pytest.approx(expected.pvalue, abs=1e-9)


def test_what_no_case_has_by_itself_is_tested_by_the_paired_bootstrap() -> None:
    weights = np.random.default_rng(3).uniform(1, 3, 120)
    a, b = marks(1), marks(2)
    found = compared(
        contender("a", a, weights=weights), contender("b", b, weights=weights), metrics=["ratio"]
    )

    def ratio(sums: Floats) -> Mapping[str, Floats]:
        return {"ratio": sums[..., 0] / sums[..., 1]}

    first, second = (Units.of(np.stack([one, weights], axis=1), ids_of(120)) for one in (a, b))
    expected = paired_bootstrap(first, second, ratio, Resampling())["ratio"]
    one = only(found).differences[0]
    sign = 1 if one.a == "a" else -1
    assert only(found).test == "bootstrap"
    assert one.p == expected.p
    assert expected.difference is not None and expected.percentile.low is not None
    assert one.difference == pytest.approx(sign * expected.difference, abs=1e-12)
    assert expected.percentile.high is not None
    ends = sorted([sign * expected.percentile.low, sign * expected.percentile.high])
    assert [one.low, one.high] == pytest.approx(ends, abs=1e-9)
    assert one.effect is None


def test_a_value_that_is_no_mean_of_the_cases_own_is_never_tested_as_one() -> None:
    class Claiming(Marks):
        """Says that a case has a ratio by itself, whose mean is the ratio of the sums only by chance."""

        def score_unit(
            self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
        ) -> Mapping[str, float | None]:
            return {"ratio": numbers[0] / numbers[1]}

    weights = np.random.default_rng(3).uniform(1, 3, 120)
    sides = [contender(name, rights(n, 120), weights=weights) for n, name in enumerate("ab")]
    found = compare(cast(Benchmark, Claiming()), sides, condition="main", conventions={}, metrics=["ratio"])
    assert only(found).why == "no case has a value of its own, of which it is the mean"
    assert only(found).differences[0].effect is None


def test_a_p_that_so_few_resamples_cannot_count_is_that_of_a_paired_t_test() -> None:
    a, b = marks(1, shift=1.2), marks(2)
    twice = [[one, one] for one in a], [[one, one] for one in b]
    found = compared(contender("a", twice[0]), contender("b", twice[1]))
    p = pair(found, "a", "b").p
    expected = scipy.stats.ttest_rel(a, b).pvalue
    assert only(found).test == "bootstrap"
    assert expected < 1e-6
    # The SD of 2,000 resamples is off by 1.6 %; so is the distance, and the log of p by twice as much.
    assert p is not None and abs(math.log(p) / math.log(expected) - 1) < 0.1


def test_a_difference_of_many_models_can_be_told_from_noise_whatever_their_number() -> None:
    weights = np.random.default_rng(3).uniform(1, 3, 120)
    sides = [contender(f"m{n:02}", marks(n, shift=2.5 * (n == 0)), weights=weights) for n in range(33)]
    found = compared(*sides, metrics=["ratio"])
    assert found.family.tests == 528
    assert [one.verdict for one in only(found).differences if one.shown] == ["A higher"] * 32
    assert min(one.p or 1 for one in only(found).differences) * 528 < 0.05


def test_few_cases_give_no_p_below_what_their_signs_can_show() -> None:
    for n, least in ((6, 1 / 32), (12, 1 / 2048)):
        found = compared(contender("a", np.full(n, 2.0)), contender("b", np.zeros(n)), metrics=["ratio"])
        assert pair(found, "a", "b").p == pytest.approx(least)


def test_groups_of_cases_are_drawn_together_whatever_the_metric() -> None:
    a, b = rights(1, 200, 0.55), rights(2, 200, 0.5)
    groups = [number // 10 for number in range(200)]
    found = compared(
        contender("a", a, groups=groups), contender("b", b, groups=groups), metrics=["right", "mean"]
    )
    assert {one.test for one in found.metrics} == {"bootstrap"}
    assert (found.cases.common, found.cases.clusters) == (200, 20)


def test_repeats_are_drawn_with_their_case() -> None:
    a, b = (np.stack([marks(seed), marks(seed + 10)], axis=1) for seed in (1, 2))
    found = compared(contender("a", a), contender("b", b))
    assert (only(found).test, found.cases.units, found.cases.clusters) == ("bootstrap", 240, 120)
    values = {one.label: one.value for one in only(found).values}
    assert values == pytest.approx({"a": a.mean(), "b": b.mean()})
    one = only(found).differences[0]
    by_case = (a - b).mean(axis=1) * (1 if one.a == "a" else -1)
    assert one.effect is not None and one.effect.d_z == pytest.approx(by_case.mean() / by_case.std(ddof=1))


def test_three_by_hand() -> None:
    # Of 12 cases a has 9 right, b 7, c 2; a and b differ in 4 (3 to 1), a and c in 7, b and c in 7 (6 to 1).
    a = [1.0] * 9 + [0.0] * 3
    b = [1.0] * 6 + [0.0] * 3 + [1.0] + [0.0] * 2
    c = [1.0] * 1 + [0.0] * 8 + [0.0, 1.0, 0.0]
    found = compared(contender("a", a), contender("b", b), contender("c", c), metrics=["right"])
    raw = {(one.a, one.b): one.p for one in only(found).differences}
    # Binomial: 2 (1 + 4) / 2^4; 9 discordant, 1 to 8: 2 (1 + 9) / 2^9; 7 discordant, 1 to 6: 2 (1 + 7) / 2^7.
    assert raw == pytest.approx({("a", "b"): 0.625, ("a", "c"): 20 / 512, ("b", "c"): 16 / 128})
    adjusted = {(one.a, one.b): one.adjusted for one in only(found).differences}
    # Holm: the smallest times 3, the next times 2, the largest as it is.
    assert adjusted == pytest.approx({("a", "b"): 0.625, ("a", "c"): 60 / 512, ("b", "c"): 0.25})
    assert {one.verdict for one in only(found).differences} == {"within noise"}
    assert [(one.label, one.value, one.rank) for one in only(found).values] == [
        ("a", 0.75, 1), ("b", pytest.approx(7 / 12), 2), ("c", pytest.approx(2 / 12), 3),
    ]  # fmt: skip
    by_bh = compared(
        contender("a", a), contender("b", b), contender("c", c), metrics=["right"], correction="bh"
    )
    adjusted = {(one.a, one.b): one.adjusted for one in only(by_bh).differences}
    assert adjusted == pytest.approx({("a", "b"): 0.625, ("a", "c"): 60 / 512, ("b", "c"): 0.1875})
    alone = compared(
        contender("a", a), contender("b", b), contender("c", c), metrics=["right"], correction="none"
    )
    assert pair(alone, "a", "c").verdict == "A higher"
    assert pair(alone, "a", "c").adjusted == pair(alone, "a", "c").p


def test_p_values_are_those_of_r(tmp_path: Path) -> None:
    sides = {name: marks(seed, shift=seed * 0.3) for name, seed in (("a", 1), ("b", 2), ("c", 3))}
    exact = {name: rights(seed, 150, seed / 10) for name, seed in (("x", 4), ("y", 5), ("z", 6))}
    few = {name: np.random.default_rng(seed).random(20) for name, seed in (("u", 8), ("v", 9))}
    script = """
    w <- function(x, y) wilcox.test(x, y, paired = TRUE)$p.value
    m <- function(x, y) { k <- sum(x > y); n <- sum(x != y); binom.test(k, n)$p.value }
    options(warn = -1)
    a5 <- round(a * 5); b5 <- round(b * 5); c5 <- round(c * 5)
    scores <- c(w(a5, b5), w(a5, c5), w(b5, c5))
    shares <- c(m(x, y), m(x, z), m(y, z))
    give("scores", scores); give("shares", shares); give("few", w(u, v))
    give("scores_holm", p.adjust(scores, "holm")); give("scores_bh", p.adjust(scores, "BH"))
    give("with_missing", p.adjust(c(shares), "holm", n = 6))
    give("with_missing_bh", p.adjust(c(shares), "BH", n = 6))
    """
    theirs = r_results(tmp_path, script, {k: v.tolist() for k, v in (sides | exact | few).items()})

    def ours(group: Mapping[str, Floats], attribute: str, **options: Any) -> list[float]:
        found = compared(*(contender(name, one) for name, one in group.items()), **options)
        by_pair = {frozenset((one.a, one.b)): getattr(one, attribute) for one in only(found).differences}
        return [by_pair[frozenset(two)] for two in combinations(group, 2)]

    assert ours(sides, "p") == pytest.approx(theirs["scores"], abs=1e-9)
    assert ours(few, "p") == pytest.approx(theirs["few"], abs=1e-12)
    assert ours(sides, "adjusted") == pytest.approx(theirs["scores_holm"], abs=1e-9)
    assert ours(sides, "adjusted", correction="bh") == pytest.approx(theirs["scores_bh"], abs=1e-9)
    assert ours(exact, "p", metrics=["right"]) == pytest.approx(theirs["shares"], abs=1e-12)
    # A fourth whose grades are missing: three tests without a p stay in the family of six.
    missing = {**exact, "gone": np.full(150, UNGRADED)}
    known = [place for place, two in enumerate(combinations(missing, 2)) if "gone" not in two]
    for correction, expected in (("holm", "with_missing"), ("bh", "with_missing_bh")):
        adjusted = ours(missing, "adjusted", metrics=["right"], correction=correction)
        assert [adjusted[place] for place in known] == pytest.approx(theirs[expected], abs=1e-9)
        assert [one for place, one in enumerate(adjusted) if place not in known] == [None] * 3


def test_the_baseline_is_what_the_others_are_compared_with() -> None:
    found = compared(
        *(contender(name, marks(seed)) for name, seed in (("a", 1), ("b", 2), ("c", 3))), baseline="b"
    )
    assert {(one.a, one.b) for one in only(found).differences} == {("a", "b"), ("c", "b")}
    assert (found.family.tests, found.family.against, found.family.chosen_by_looking) == (2, "b", False)


def test_the_best_of_many_is_found_by_looking_so_that_all_pairs_are_the_family() -> None:
    found = compared(*(contender(f"m{seed}", marks(seed, shift=seed / 10)) for seed in range(8)))
    family = found.family
    assert (family.pairs, family.tests, family.chosen_by_looking) == (28, 28, True)
    best = only(found).values[0].label
    assert family.against == best
    shown = [one for one in only(found).differences if one.shown]
    assert len(shown) == 7 and all(best in (one.a, one.b) for one in shown)
    holm_of_28 = min(one.p for one in only(found).differences if one.p is not None) * 28
    assert min(one.adjusted for one in only(found).differences if one.adjusted is not None) == pytest.approx(
        min(1, holm_of_28)
    )


def test_several_metrics_make_the_family_larger() -> None:
    sides = contender("a", marks(1)), contender("b", marks(2))
    found = compared(*sides, metrics=["mean", "ratio", "mean"])
    assert (found.family.metrics, found.family.tests) == (("mean", "ratio"), 2)
    ps = sorted(one.p for metric in found.metrics for one in metric.differences if one.p is not None)
    adjusted = sorted(o.adjusted for m in found.metrics for o in m.differences if o.adjusted is not None)
    assert adjusted == pytest.approx([min(1, 2 * ps[0]), min(1, max(2 * ps[0], ps[1]))])


def test_one_that_is_compared_with_itself_differs_by_nothing() -> None:
    same = marks(1)
    for path in ("mean", "right", "ratio"):
        found = compared(contender("a", same), contender("b", same), metrics=[path])
        one = pair(found, "a", "b")
        assert (one.difference, one.p, one.verdict, one.differ) == (0, 1, "within noise", 0)
        assert one.notes == ("the same in every case",)
        assert [value.rank for value in only(found).values] == [1, 1]


def test_less_of_what_is_bad_comes_first() -> None:
    found = compared(contender("a", marks(1, shift=1)), contender("b", marks(2)), metrics=["errors"])
    assert [one.label for one in only(found).values] == ["a", "b"]
    assert [one.rank for one in only(found).values] == [1, 2]
    assert only(found).values[0].first is not None and only(found).values[0].first > 0.9
    assert pair(found, "a", "b").verdict == "A lower"


def test_what_is_in_no_column_has_no_ranks() -> None:
    found = compared(contender("a", marks(1, shift=1)), contender("b", marks(2)), metrics=["plain"])
    assert only(found).better is None
    assert [(one.rank, one.first) for one in only(found).values] == [(None, None), (None, None)]


def test_a_score_without_grades_is_not_compared_and_says_why() -> None:
    graded, half = marks(1), marks(2)
    half[:30] = UNGRADED
    found = compared(contender("a", graded), contender("b", half), contender("c", marks(3)))
    for a, b in (("a", "b"), ("c", "b")):
        one = next(one for one in only(found).differences if {one.a, one.b} == {a, b})
        assert (one.difference, one.p, one.adjusted, one.verdict) == (None, None, None, "not compared")
        assert one.notes == ("not compared: 30 of 120 answers have no grade",)
    known = next(one for one in only(found).differences if {one.a, one.b} == {"a", "c"})
    assert known.p is not None and known.adjusted == pytest.approx(min(1, 3 * known.p))
    last = only(found).values[-1]
    assert (last.label, last.value, last.rank) == ("b", None, None)
    assert last.reason == "30 of 120 answers have no grade"


def test_a_metric_of_which_nobody_has_a_value_is_an_error_with_why_and_a_way_out() -> None:
    sides = [contender(name, np.full(20, UNGRADED)) for name in "ab"]
    told = "nobody that is compared has a value of 'mean': 20 of 20 answers have no grade"
    with pytest.raises(ConfigError, match=f"^{told}; or choose another metric"):
        compared(*sides)
    with pytest.raises(ConfigError, match=told.replace("mean", "right")):
        compared(*sides, metrics=["right", "mean"])
    half = np.where(np.arange(20) < 10, UNGRADED, 1.0)
    with pytest.raises(ConfigError, match="'mean': a: 20 of 20 answers have no grade; nor has c; or"):
        compared(sides[0], contender("c", half))
    found = compared(sides[0], contender("d", marks(1)[:20]))
    assert [one.value is None for one in only(found).values] == [False, True]


def test_an_incomplete_model_is_told_loudly_and_has_no_rank() -> None:
    found = compared(
        contender("whole", marks(1)),
        contender("part", marks(2)[:100], cases=run_cases(ids_of(120)), to_complete=20),
    )
    assert found.cases.common == 100
    assert found.warnings[0].startswith("INCOMPLETE: nobody answered 20 units of part")
    assert [(one.label, one.rank) for one in only(found).values] == [("whole", None), ("part", None)]
    found = compared(
        contender("whole", marks(1)),
        contender("other", marks(3)),
        contender("part", marks(2, shift=3)[:100], cases=run_cases(ids_of(120)), to_complete=20),
    )
    ranks = {one.label: one.rank for one in only(found).values}
    assert ranks["part"] is None and sorted([ranks["whole"], ranks["other"]]) == [1, 2]  # type: ignore[type-var]


def test_raters_and_baselines_are_compared_and_not_ranked() -> None:
    expert = contender("expert", marks(3, shift=3), kind="rater")
    found = compared(contender("a", marks(1)), contender("b", marks(2)), expert)
    ranks = {one.label: one.rank for one in only(found).values}
    assert ranks["expert"] is None
    assert found.family.tests == 3


def test_a_rank_test_that_points_elsewhere_than_the_mean_says_so() -> None:
    # 40 cases a little lower, 8 much higher: ranks point down, the mean points up.
    a, b = np.full(48, 1.0), np.full(48, 1.1) + np.arange(48) * 1e-4
    a[:8] = 3.0
    found = compared(contender("a", a), contender("b", b), correction="none")
    one = pair(found, "a", "b")
    assert one.difference is not None and one.difference > 0
    assert one.effect is not None and one.effect.rank_biserial is not None and one.effect.rank_biserial < 0
    assert one.p is not None and one.p < 0.05
    assert one.verdict == "unclear"


@pytest.mark.parametrize(("names", "options", "told"), [
    (("a",), {}, "takes two at least, and there is 'a'"),
    ((), {}, "takes two at least, and there is nobody"),
    (("a", "a"), {}, "two contenders are called 'a'"),
    (("a", "b"), {"baseline": "bb"}, "the baseline 'bb' is none of those compared"),
    (("a", "b"), {"metrics": ["maen"]}, "no comparison of 'maen'.*did you mean 'mean'"),
    (("a", "b"), {"condition": "prose"}, "'prose' of marks has no metric that ranks; .* --metric: mean,"),
    (("a", "b"), {"condition": "talk"}, "rows of condition 'talk' of marks are not compared"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(names: tuple[str, ...], options: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        compared(*(contender(name, marks(1)) for name in names), **options)


def test_nothing_in_common_is_refused_with_the_reason() -> None:
    one = contender("a", marks(1), cases=run_cases([f"x{id}" for id in ids_of(120)], run="other"))
    with pytest.raises(ConfigError, match=r"no case is common to all 2.*120 cases: not among the cases"):
        compared(one, contender("b", marks(1)))


def test_the_json_is_the_same_twice_and_holds_no_nan() -> None:
    half = marks(2)
    half[:30] = UNGRADED

    def made() -> str:
        found = compared(contender("a", marks(1)), contender("b", half), metrics=["mean", "ratio", "right"])
        return json.dumps(found.to_json(), allow_nan=False)

    assert made() == made()
    assert json.loads(made())["family"]["tests"] == 3


def test_the_order_of_contenders_changes_nothing() -> None:
    sides = [contender(name, marks(seed)) for name, seed in (("a", 1), ("b", 2), ("c", 3))]
    assert compared(*sides).to_json() == compared(*reversed(sides)).to_json()


def test_two_that_differ_by_nothing_but_chance_are_rarely_called_different() -> None:
    # Of 100 data sets 5 % are 5; two binomial errors more are 9.4.
    called = dict.fromkeys(("mean", "right", "ratio"), 0)
    drawing = Resampling(resamples=400)
    for seed in range(100):
        random = np.random.default_rng(seed)
        hard = random.normal(0, 1, 100)
        a, b = (np.clip(1 + hard + random.normal(0, 1, 100), 0, 3) for _ in range(2))
        weights = random.uniform(1, 2, 100)
        sides = contender("a", a, weights=weights), contender("b", b, weights=weights)
        found = compared(*sides, metrics=list(called), correction="none", resampling=drawing)
        for metric in found.metrics:
            called[metric.path] += metric.differences[0].verdict != "within noise"
    assert max(called.values()) <= 9, called
    assert called["mean"] >= 2  # a test that never rejects is none


def test_many_tests_of_nothing_are_held_together_by_the_correction() -> None:
    # Five equal models, ten pairs: uncorrected one in some data sets in three is called different.
    any_called = {"holm": 0, "none": 0}
    for seed in range(40):
        random = np.random.default_rng(seed)
        hard = random.normal(0, 1, 100)
        sides = [contender(f"m{n}", (hard + random.normal(0, 1, 100) > 0).astype(float)) for n in range(5)]
        for correction in any_called:
            found = compared(
                *sides, metrics=["right"], correction=correction, resampling=Resampling(resamples=20)
            )
            any_called[correction] += any(one.verdict != "within noise" for one in only(found).differences)
    assert any_called["holm"] <= 4 < any_called["none"]


def test_a_d_z_that_is_no_number_is_left_out() -> None:
    found = compared(contender("a", np.full(20, 2.0)), contender("b", np.full(20, 1.0)))
    one = pair(found, "a", "b")
    assert one.effect is not None and one.effect.d_z is None
    assert one.p is not None and math.isfinite(one.p)
    assert (one.low, one.high) == (None, None)
    assert "no interval: the same in every resample" in one.notes
