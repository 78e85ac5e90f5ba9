"""A comparison as text: what comes first, widths, other people's names, numbers that round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from comparison_examples import MARKS, UNGRADED, contender, ids_of, run_cases

from harness.cli import compare_table
from harness.cli.compare_table import render
from harness.cli.tables import display_width
from harness.comparison.comparing import compare
from harness.comparison.contenders import Provenance

HOSTILE = (
    "\x1b[31mred\x1b[0m", "two\nlines", "模型-七十亿参数-指令微调-第二版", "a" * 90, "\u202ereversed",
    "<b>bold</b>",
    "{name} %s",
)  # fmt: skip


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the table find the benchmark of the examples, which no registry names."""
    monkeypatch.setattr("harness.benchmarks.registry.get_benchmark", lambda name: MARKS)


def marks(seed: int, n: int = 60, shift: float = 0.0) -> np.ndarray[Any, Any]:
    return np.round(np.clip(np.random.default_rng(seed).normal(1.5 + shift, 1, n), 0, 3) * 5) / 5


def shown(*sides: Any, width: int = 80, **options: Any) -> str:
    found = compare(MARKS, sides, **({"condition": "main", "conventions": {}} | options))
    return render(found.to_json(), width=width)


def line_with(text: str, part: str) -> str:
    return next(line for line in text.splitlines() if part in line)


def test_warnings_and_family_stand_before_any_result() -> None:
    made_up = Provenance(synthetic=True, simulated=True, graded_by="judge-1", notes=("odd: 3 answers",))
    text = shown(contender("a", marks(1), provenance=made_up), contender("b", marks(2)), correction="none")
    places = [
        text.index(part)
        for part in (
            "SYNTHETIC DATA - SIMULATED MODELS", "LLM-GRADED", "family: 1 test (1 pair x 1 metric)",
            "cases: 60 common to both, of 60 asked", "test: Wilcoxon", "first   ranks",
            "against", "a: odd: 3 answers",
        )
    ]  # fmt: skip
    assert places == sorted(places)


def test_an_imported_model_is_told() -> None:
    text = shown(contender("a", marks(1), provenance=Provenance(imported=True)), contender("b", marks(2)))
    assert "imported: read from other tools' files" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_name_stays_whole_harmless_and_within_the_width(width: int) -> None:
    sides = [contender(name, marks(place)) for place, name in enumerate(HOSTILE)]
    text = shown(*sides, width=width, metrics=["mean", "ratio", "errors"])
    lines = text.splitlines()
    assert all(line.isprintable() for line in lines)
    assert max(display_width(line) for line in lines if "aaa" not in line) <= max(width, 60)
    for name in HOSTILE:
        assert "".join(one if one.isprintable() else "\ufffd" for one in name) in text


def test_numbers_with_many_digits_never_touch() -> None:
    sides = [contender("a", marks(1)), contender("b", marks(2))]
    one = compare(MARKS, sides, condition="main", conventions={}).to_json()
    metric: Any = one["metrics"][0]  # type: ignore[index,call-overload]
    metric["differences"][0] |= {"p": 0.049996, "p_adjusted": 0.0499999996}
    assert line_with(render(one), "0.049996").split()[-4:-2] == ["0.049996", "0.0499999996"]


def test_of_many_the_best_is_what_the_others_are_shown_against() -> None:
    text = shown(*(contender(f"m{n}", marks(n, shift=n / 4)) for n in range(8)))
    best = "m7"
    assert f"shown are those of {best}, whose value is the best here; since that was" in text
    assert "family: 28 tests (28 pairs x 1 metric)" in text
    assert text.count("against m") == 1 and f"against {best}:" in text
    assert line_with(text, "  8 m0").split()[2] == "60"
    rows = text.split(f"against {best}:")[1].splitlines()
    worst = next(row for row in rows if row.startswith("  m0"))
    assert worst.endswith("lower") and worst.split()[1].startswith("-")


def test_what_turns_round_turns_the_effect_too() -> None:
    one = {
        "a": "x", "b": "y", "difference": 0.25, "ci": [0.1, 0.5], "verdict": "A higher",
        "effect": {"d_z": 0.5, "rank_biserial": 0.2, "a_only": 6, "b_only": 3, "odds_ratio": 2.0},
    }  # fmt: skip
    turned = compare_table._towards(one, "x")
    assert (turned["a"], turned["b"], turned["difference"], turned["ci"]) == ("y", "x", -0.25, [-0.5, -0.1])
    assert turned["verdict"] == "A lower"
    assert turned["effect"] == {
        "d_z": -0.5, "rank_biserial": -0.2, "a_only": 3, "b_only": 6, "odds_ratio": 0.5,
    }  # fmt: skip
    assert compare_table._towards(one, "y") is one
    assert compare_table._towards(one, None) is one


def test_a_verdict_says_what_is_worse_where_less_is_better() -> None:
    sides = contender("a", marks(1, shift=1)), contender("b", marks(2))
    text = shown(*sides, metrics=["errors"]).split("against b:")[1]
    assert text.splitlines()[1].endswith("lower, better")
    text = shown(*sides, metrics=["mean"]).split("against b:")[1]
    assert text.splitlines()[1].endswith("  higher")


def test_a_value_that_is_missing_says_why() -> None:
    half = marks(2)
    half[:3] = UNGRADED
    text = shown(contender("a", marks(1)), contender("b", half))
    assert "no value: 3 of 60 answers have no grade" in text
    assert "not compared: no value, see above" in text
    assert "nan" not in text.casefold().replace("explanation", "")


def test_what_is_left_out_is_counted_and_listed() -> None:
    cases = run_cases(ids_of(60))
    text = shown(
        contender("a", marks(1), cases=cases),
        contender("b", marks(2)[:52], cases=cases, to_complete=8),
        contender("c", marks(3), cases=cases),
    )
    flat = " ".join(text.split())
    assert "cases: 52 common to all 3, of 60 asked" in flat
    assert "left out, no answer yet (b): 8: c0052, c0053, c0054, c0055, c0056 and 3 more" in flat
    assert "without b there would be 60 common cases" in flat
    assert "1 pair would have more by itself, up to 60" in flat


def test_groups_and_repeats_are_told() -> None:
    groups = [number // 4 for number in range(60)]
    two = [np.stack([marks(seed), marks(seed + 5)], axis=1) for seed in (1, 2)]
    text = shown(contender("a", two[0], groups=groups), contender("b", two[1], groups=groups))
    assert "in 15 groups of cases, each drawn as one" in text
    assert "values are means of 2 repeats" in text


def test_one_group_alone_is_no_comparison() -> None:
    text = shown(contender("a", marks(1), groups=[0] * 60), contender("b", marks(2), groups=[0] * 60))
    assert "*** ONE CLUSTER: all common cases belong to one group" in text
    assert "not compared: one cluster: nothing to resample" in " ".join(text.split())
    assert line_with(text, "  1 b ").split() == ["1", "b", "60", "1.570", "-", "-"]


def test_without_a_correction_the_number_of_false_claims_is_told() -> None:
    sides = [contender(f"m{n}", marks(n)) for n in range(6)]
    assert "15 tests of nothing call about 0.8 of them a difference" in " ".join(
        shown(*sides, correction="none").split()
    )
    assert "tests of nothing" not in shown(*sides)


@pytest.mark.parametrize(("p", "text"), [
    (None, "-"), (0.0, "<0.001"), (0.00099, "<0.001"), (0.001, "0.001"), (0.0499, "0.0499"),
    (0.05, "0.050"), (0.05004, "0.05004"), (0.0506, "0.051"), (1.0, "1.000"),
])  # fmt: skip
def test_a_p_never_rounds_across_the_level(p: float | None, text: str) -> None:
    assert compare_table._p(p) == text


@pytest.mark.parametrize(("share", "text"), [(None, "-"), (1.0, "100%"), (0.9996, "99.9%"), (0.0, "0.0%")])
def test_a_share_is_100_only_where_it_is_all(share: float | None, text: str) -> None:
    assert compare_table._share(share) == text


def test_a_convention_that_is_not_the_usual_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    usual: Mapping[str, tuple[str, ...]] = {"empty": ("1", "0")}
    monkeypatch.setattr(type(MARKS), "conventions", usual)
    sides = contender("a", marks(1)), contender("b", marks(2))
    assert "convention empty=0 (usually 1)" in shown(*sides, conventions={"empty": "0"})
    assert "convention" not in shown(*sides, conventions={"empty": "1"})
