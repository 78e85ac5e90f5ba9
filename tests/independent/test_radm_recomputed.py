"""All metric paths of RadM-Bench on data of the paper's size, recomputed from tiers by others' programs.

720 cases, ten models. Written from the definitions in `docs/radm-scores.md`, with scores as exact fractions
and without `harness.scoring`. Tolerances: values 1e-12 against fractions; Clopper-Pearson, Wilcoxon and
Benjamini-Hochberg 1e-9 against scipy and R; BCa 1e-9 against an own one from the same documented draws, and
.02 against scipy's with its own draws (ends wobble by .003-.004 between seeds).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from r_results import r_results
from radm_graded import SUBSPECIALTIES, TASK, Unit, drawn_tiers, paper_cases, table_of
from recomputed import documented_bca, documented_draws, weights_of

from harness.benchmarks.scored import MetricValue
from harness.scoring.intervals import Interval
from harness.scoring.resampling import Resampling

WEIGHTS = (Fraction(1), Fraction(4, 5), Fraction(3, 5), Fraction(2, 5), Fraction(1, 5))
MODELS = 10
LANGUAGES = ("text", "text_translated")


def worth(unit: Unit) -> Fraction:
    """Return an answer's score; an unusable one has 0."""
    if not unit.usable:
        return Fraction(0)
    assert unit.tiers is not None
    return max(weight * tier for weight, tier in zip(WEIGHTS, unit.tiers, strict=True))


def hits(unit: Unit, k: int) -> bool:
    return unit.usable and unit.tiers is not None and any(tier >= 1 for tier in unit.tiers[:k])


def best(unit: Unit) -> int:
    return max(unit.tiers) if unit.usable and unit.tiers is not None else 0


@lru_cache(maxsize=64)
def answers(model: int, condition: str, group_size: int = 1) -> tuple[Unit, ...]:
    """Return a model's 720 graded answers, of which 3 % are unusable."""
    found = []
    for number, one in enumerate(paper_cases()):
        dice = random.Random(f"{model}/{condition}/{one.id}")
        if group_size > 1:
            one = type(one)(one.id, one.fields, one.media, one.reference, f"patient {number // group_size}")
        skill = 0.08 + 0.02 * model + (0.05 if condition == "text_images" else 0)
        usable = dice.random() > 0.03
        tiers = drawn_tiers(dice, skill) if usable else None
        if condition == "text_translated" and dice.random() < 0.8:  # mostly as in `text`, so that many tie
            twin = answers(model, "text", group_size)[number]
            usable, tiers = twin.usable, twin.tiers
        found.append(Unit(one, tiers, usable, condition=condition))
    return tuple(found)


def in_groups(units: Sequence[Unit]) -> Iterator[tuple[str, list[Unit], bool]]:
    yield "", list(units), True
    for subset in ("RadEdu", "RealClin"):
        inside = [unit for unit in units if unit.case.reference["subset"] == subset]
        yield f"{subset}.", inside, True
        yield f"{subset}.rare.", [unit for unit in inside if unit.case.reference["rare"]], False
        yield f"{subset}.common.", [unit for unit in inside if not unit.case.reference["rare"]], False
        for name in SUBSPECIALTIES:
            of_name = [unit for unit in inside if unit.case.reference["subspecialty"] == name]
            yield f"{subset}.{name.replace(' ', '_')}.", of_name, False


def mean(values: Sequence[Fraction | int | bool]) -> float:
    return float(Fraction(sum(values)) / len(values))


def expected(units: Sequence[Unit]) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for prefix, inside, is_large in in_groups(units):
        n = len(inside)
        found[f"{prefix}score"] = mean([worth(unit) for unit in inside]), n
        for k in (1, 3, 5):
            found[f"{prefix}top{k}"] = mean([hits(unit, k) for unit in inside]), n
        if is_large:
            for tier in range(4):
                found[f"{prefix}tier.{tier}.share"] = mean([best(unit) == tier for unit in inside]), n
            usable = [unit for unit in inside if unit.usable]
            found[f"{prefix}graded.share"] = 1.0, len(usable)
            found[f"{prefix}graded_only.score"] = mean([worth(unit) for unit in usable]), len(usable)
            for k in (1, 3, 5):
                found[f"{prefix}graded_only.top{k}"] = mean([hits(unit, k) for unit in usable]), len(usable)
    for subset in ("RadEdu", "RealClin"):
        rare, common = found[f"{subset}.rare.score"], found[f"{subset}.common.score"]
        found[f"{subset}.rare_premium"] = rare[0] - common[0], rare[1] + common[1]
    return found


def held(found: Mapping[str, MetricValue], wanted: Mapping[str, tuple[float | None, int]]) -> None:
    assert set(found) == set(wanted)
    for path, (value, n) in wanted.items():
        assert found[path].n == n, path
        assert found[path].value == pytest.approx(value, abs=1e-12), path


@pytest.mark.parametrize("model", range(MODELS))
def test_every_value_is_that_of_exact_fractions(model: int) -> None:
    units = answers(model, "text_images")
    held(TASK.metrics(table_of(units, ("text_images",)), "text_images", {}), expected(units))


@lru_cache(maxsize=4)
def intervals(model: int, group_size: int = 1) -> tuple[list[Unit], Mapping[str, Interval]]:
    units = answers(model, "text_images", group_size)
    return list(units), TASK.intervals(table_of(units, ("text_images",)), "text_images", {}, Resampling())


def test_accuracies_have_clopper_pearson_intervals_by_scipy() -> None:
    units, found = intervals(4)
    checked = 0
    for prefix, inside, _ in in_groups(units):
        for k in (1, 3, 5):
            count = sum(hits(unit, k) for unit in inside)
            there = found[f"{prefix}top{k}"]
            exact = scipy.stats.binomtest(count, len(inside)).proportion_ci(0.95, "exact")
            assert there.method == "clopper-pearson"
            assert (there.low, there.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
            checked += 1
    assert checked == 75


def clusters_of(units: Sequence[Unit]) -> list[list[Unit]]:
    """Return units by case or group of cases, in the order in which these come."""
    found: dict[str, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.case.group or unit.case.id, []).append(unit)
    return list(found.values())


Statistic = Callable[[np.ndarray], np.ndarray]


def own_bca(
    units: Sequence[Unit], columns: Callable[[Unit], Sequence[float]], of: Statistic
) -> tuple[float, float]:
    sums = np.array([np.sum([columns(unit) for unit in cluster], axis=0) for cluster in clusters_of(units)])
    drawn = weights_of(documented_draws(len(sums))) @ sums
    left_out = sums.sum(axis=0) - sums
    point = float(of(sums.sum(axis=0)[None])[0])
    found = documented_bca(point, of(drawn), of(left_out))
    assert found is not None
    return found


def ratio(sums: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1])


@pytest.mark.parametrize("group_size", [1, 3])
def test_mean_scores_have_the_documented_bca_intervals(group_size: int) -> None:
    units, found = intervals(4, group_size)
    for prefix, inside, _ in in_groups(units):
        mine = own_bca(inside, lambda unit: (float(worth(unit)), 1), ratio)
        there = found[f"{prefix}score"]
        assert there.method == "bca"
        assert (there.low, there.high) == pytest.approx(mine, abs=1e-9), prefix


def test_accuracies_of_grouped_cases_have_bca_intervals_and_say_so() -> None:
    units, found = intervals(4, 3)
    for k in (1, 3, 5):
        mine = own_bca(units, lambda unit, k=k: (hits(unit, k), 1), ratio)  # type: ignore[misc]
        there = found[f"top{k}"]
        assert (there.low, there.high) == pytest.approx(mine, abs=1e-9)
        assert "not Clopper-Pearson" in str(there.note)


@pytest.mark.parametrize("group_size", [1, 3])
def test_the_premium_is_resampled_over_all_cases_of_its_subset(group_size: int) -> None:
    units, found = intervals(4, group_size)

    def columns(unit: Unit) -> Sequence[float]:
        rare = bool(unit.case.reference["rare"])
        return (float(worth(unit)) * rare, rare, float(worth(unit)) * (not rare), not rare)

    for subset in ("RadEdu", "RealClin"):
        inside = [unit for unit in units if unit.case.reference["subset"] == subset]
        mine = own_bca(inside, columns, lambda sums: ratio(sums[:, :2]) - ratio(sums[:, 2:]))
        there = found[f"{subset}.rare_premium"]
        assert (there.low, there.high) == pytest.approx(mine, abs=1e-9)


def test_mean_intervals_are_scipys_within_the_error_of_draws() -> None:
    units, found = intervals(4)
    for prefix in ("RadEdu.", "RealClin."):
        inside = [unit for unit in units if f"{unit.case.reference['subset']}." == prefix]
        values = np.array([float(worth(unit)) for unit in inside])
        theirs = scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=2000, method="BCa", batch=100, rng=np.random.default_rng(7)
        ).confidence_interval
        there = found[f"{prefix}score"]
        assert (there.low, there.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


# -- transitions ------------------------------------------------------------------------------------


def test_transitions_are_those_counted_case_by_case() -> None:
    for model in range(MODELS):
        before, after = answers(model, "text"), answers(model, "text_images")[5:]
        table = table_of([*before, *after], ("text", "text_images"))
        found = TASK.metrics(table, "text_to_text_images", {})
        later = {unit.case.id: unit for unit in after}
        pairs = [(unit, later[unit.case.id]) for unit in before if unit.case.id in later]
        wanted: dict[str, tuple[float | None, int]] = {"unpaired": (5.0, 720)}
        for prefix in ("", "RadEdu.", "RealClin."):
            of = [pair for pair in pairs if prefix in ("", f"{pair[0].case.reference['subset']}.")]
            n, changes = len(of), [worth(two) - worth(one) for one, two in of]
            start = Fraction(sum(worth(one) for one, _ in of))
            counts = {
                "improved": sum(change > 0 for change in changes),
                "unchanged": sum(change == 0 for change in changes),
                "declined": sum(change < 0 for change in changes),
            }
            for name, count in counts.items():
                wanted[f"{prefix}{name}.count"] = float(count), n
                wanted[f"{prefix}{name}.share"] = count / n, n
            wanted[f"{prefix}mean_difference"] = mean(changes), n
            wanted[f"{prefix}relative_change"] = float(sum(changes) / start), n
            wanted[f"{prefix}before.score"] = mean([worth(one) for one, _ in of]), n
            wanted[f"{prefix}after.score"] = mean([worth(two) for _, two in of]), n
            unusable = sum(not (one.usable and two.usable) for one, two in of)
            wanted[f"{prefix}unusable.share"] = unusable / n, n
        held(found, wanted)


def test_intervals_of_transitions_are_the_documented_ones() -> None:
    before, after = answers(4, "text"), answers(4, "text_images")
    table = table_of([*before, *after], ("text", "text_images"))
    found = TASK.intervals(table, "text_to_text_images", {}, Resampling())
    later = {unit.case.id: unit for unit in after}
    improved = sum(worth(later[unit.case.id]) > worth(unit) for unit in before)
    exact = scipy.stats.binomtest(improved, 720).proportion_ci(0.95, "exact")
    there = found["improved.share"]
    assert (there.low, there.high) == pytest.approx((exact.low, exact.high), abs=1e-9)

    def columns(unit: Unit) -> Sequence[float]:
        return (float(worth(later[unit.case.id]) - worth(unit)), float(worth(unit)), 1)

    for path, over in (("mean_difference", 2), ("relative_change", 1)):
        mine = own_bca(before, columns, lambda sums, over=over: sums[:, 0] / sums[:, over])  # type: ignore[misc]
        there = found[path]
        assert (there.low, there.high) == pytest.approx(mine, abs=1e-9), path


# -- languages --------------------------------------------------------------------------------------


def spoken(model: int) -> tuple[list[int], list[int]]:
    """Return the Chinese cases' scores in whole fifths, in the original and translated."""
    sides = []
    for condition in LANGUAGES:
        chinese = [u for u in answers(model, condition) if u.case.reference["language"] == "zh"]
        sides.append([int(worth(unit) * 5) for unit in chinese])
    return sides[0], sides[1]


def language_rows() -> dict[str, Mapping[str, MetricValue]]:
    rows = {}
    for model in range(MODELS):
        chinese = [u for u in answers(model, "text_translated") if u.case.reference["language"] == "zh"]
        table = table_of([*answers(model, "text"), *chinese], LANGUAGES)
        rows[f"m{model}"] = TASK.metrics(table, "languages", {})
    return rows


def test_the_control_is_scipys_wilcoxon_on_whole_numbers_with_bh_over_ten_models() -> None:
    rows = language_rows()
    raw = []
    for model in range(MODELS):
        original, translated = spoken(model)
        change = np.array(translated) - np.array(original)
        test = scipy.stats.wilcoxon(change, zero_method="wilcox", correction=True, method="asymptotic")
        found = rows[f"m{model}"]
        assert found["wilcoxon.p"].value == pytest.approx(test.pvalue, abs=1e-9)
        assert found["mean_difference"].value == pytest.approx(change.mean() / 5, abs=1e-12)
        assert found["wilcoxon.n"].value == np.count_nonzero(change)
        assert found["wilcoxon.p"].n == 360
        assert found["unpaired"].value == 0
        raw.append(test.pvalue)
    adjusted = scipy.stats.false_discovery_control(raw, method="bh")
    across = TASK.across("languages", rows)
    for model in range(MODELS):
        found = across[f"m{model}"]
        assert found["wilcoxon.p_adjusted"].value == pytest.approx(adjusted[model], abs=1e-9)
        assert found["wilcoxon.significant"].value == float(adjusted[model] <= 0.05)
        assert found["wilcoxon.tests"].value == 10


def test_the_control_is_rs(tmp_path: Path) -> None:
    rows = language_rows()
    data = {}
    for model in range(MODELS):
        data[f"a{model}"], data[f"b{model}"] = spoken(model)
    calls = "\n".join(
        f"t <- suppressWarnings(wilcox.test(b{model}, a{model}, paired = TRUE)); "
        f'p <- c(p, t$p.value); give("v{model}", t$statistic)'
        for model in range(MODELS)
    )
    theirs = r_results(
        tmp_path, f'p <- c()\n{calls}\ngive("p", p)\ngive("bh", p.adjust(p, method = "BH"))', data
    )
    across = TASK.across("languages", rows)
    names = [f"m{model}" for model in range(MODELS)]
    assert [rows[name]["wilcoxon.p"].value for name in names] == pytest.approx(theirs["p"], abs=1e-9)
    assert [across[name]["wilcoxon.p_adjusted"].value for name in names] == pytest.approx(
        theirs["bh"], abs=1e-9
    )
    assert [rows[name]["wilcoxon.v"].value for name in names] == [
        theirs[f"v{model}"][0] for model in range(MODELS)
    ]


# -- cost -------------------------------------------------------------------------------------------


def test_values_of_units_average_to_those_of_the_row() -> None:
    units = answers(2, "text_images")
    table = table_of(units, ("text_images",))
    row = TASK.metrics(table, "text_images", {})
    each = [TASK.score_unit(list(numbers), "text_images", {}) for numbers in table.numbers]
    for path in ("score", "top1", "top3", "top5"):
        values = [one[path] for one in each]
        assert None not in values
        assert np.mean(np.array(values, dtype=np.float64)) == pytest.approx(row[path].value, abs=1e-12)
