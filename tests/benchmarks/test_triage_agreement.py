"""The judge beside people: accuracy, confusion and kappa by dimension, only over what both said."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix

from harness.benchmarks.base import Question
from harness.benchmarks.raters import RESOLVED
from harness.benchmarks.steps import Graded
from harness.benchmarks.triage.agreement import agreement
from harness.benchmarks.triage.judge import TriageJudge
from harness.benchmarks.triage.verdicts import DIMENSIONS
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.scoring.proportions import clopper_pearson

D1, D2, D3, D4, D5 = DIMENSIONS


def graded(case: int, judge: Sequence[int] | None, person: Sequence[int | None], model: str = "m") -> Graded:
    """Return an answer with the judge's five scores and the person's; None is none."""
    verdict: JSON = None
    if judge is not None:
        verdict = {
            name: {"score": score, "reason": "N/A"} for name, score in zip(DIMENSIONS, judge, strict=True)
        }
    said = {name: value for name, value in zip(DIMENSIONS, person, strict=True) if value is not None}
    grades = {"ann": said} if said else {}
    return Graded(UnitId(model, "both", f"c{case}", 1), 1, verdict, grades, f"c{case}")


def ann(units: Sequence[Graded]) -> Any:
    found: Any = agreement(units)
    json.dumps(found, allow_nan=False)
    return found["raters"]["ann"]


HAND = [
    graded(1, (0, 1, 0, 0, 1), (0, 1, 0, 0, 0)),
    graded(2, (0, 1, 1, 0, 0), (0, 0, 1, 0, 0)),
    graded(3, (0, 0, 0, 0, 0), (0, 1, 0, 0, 1)),
    graded(4, (0, 1, 0, 1, 0), (0, 1, 0, 0, 1)),
]


def test_accuracy_and_confusion_are_those_counted_by_hand() -> None:
    found = ann(HAND)
    dimensions = found["dimensions"]
    assert {name: dimensions[name]["confusion"] for name in (D2, D5)} == {
        D2: {"tp": 2, "fp": 1, "fn": 1, "tn": 0}, D5: {"tp": 0, "fp": 1, "fn": 2, "tn": 1}
    }  # fmt: skip
    accuracies = {name: dimensions[name]["accuracy"]["value"] for name in DIMENSIONS}
    assert accuracies == {D1: 1.0, D2: 0.5, D3: 1.0, D4: 0.75, D5: 0.25}
    assert found["mean_accuracy"]["value"] == pytest.approx((1 + 0.5 + 1 + 0.75 + 0.25) / 5)
    assert found["mean_accuracy"]["n"] == 4
    exact = clopper_pearson(2, 4)
    assert dimensions[D2]["accuracy"]["ci"] == [exact.low, exact.high]
    assert (found["n_graded"], found["not_judged"]) == (4, 0)


def test_without_any_positive_kappa_is_null_and_the_agreement_is_said_to_be_about_absence() -> None:
    found = ann(HAND)["dimensions"][D1]
    assert found["kappa"]["value"] is None and "0/0" in found["kappa"]["reason"]
    assert found["kappa"]["ci"] is None
    assert found["accuracy"]["value"] == 1.0
    assert found["positives"] == {"judge": 0, "rater": 0}
    assert "absence" in found["note"] and ann(HAND)["dimensions"][D2]["note"] is None
    # The judge finds it where the person never does: kappa is defined, and 0.
    one_sided = ann([*HAND, graded(5, (1, 0, 0, 0, 0), (0, 0, 0, 0, 0))])["dimensions"][D1]
    assert one_sided["kappa"]["value"] == 0 and "absence" in one_sided["note"]


def test_a_missing_verdict_or_grade_is_no_disagreement() -> None:  # F12
    more = [graded(6, None, (1, 1, 1, 1, 1)), graded(7, (0, 0, 0, 0, 0), (None, None, 0, None, None))]
    found = ann([*HAND, *more])
    assert (found["n_graded"], found["not_judged"]) == (6, 1)
    assert found["dimensions"][D2] == ann(HAND)["dimensions"][D2]
    assert found["dimensions"][D3]["n"] == 5
    nothing = ann([more[0]])
    assert nothing["mean_accuracy"] == {"value": None, "n": 0, "ci": None, "reason": "no answer has both"}
    assert all(one["n"] == 0 and one["accuracy"]["value"] is None for one in nothing["dimensions"].values())


def random_grades(n: int, models: int, *, wrong: float = 0.1) -> list[Graded]:
    chance = random.Random(3)
    units = []
    for case in range(n):
        for model in range(models):
            person = [int(chance.random() < share) for share in (0.05, 0.6, 0.4, 0.3, 0.2)]
            judge = [score ^ (chance.random() < wrong) for score in person]
            units.append(graded(case, judge, person, f"m{model}"))
    return units


def test_numbers_equal_those_of_another_library() -> None:
    units = random_grades(700, 3)
    found = ann(units)["dimensions"]
    for name in DIMENSIONS:
        verdicts: list[Any] = [one.prediction for one in units]
        judge = [one[name]["score"] for one in verdicts]
        person = [one.grades["ann"][name] for one in units]
        (tn, fp), (fn, tp) = confusion_matrix(person, judge, labels=[0, 1]).tolist()
        assert found[name]["confusion"] == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        assert found[name]["accuracy"]["value"] == pytest.approx(accuracy_score(person, judge), abs=1e-12)
        kappa = cohen_kappa_score(person, judge, labels=[0, 1])
        assert found[name]["kappa"]["value"] == pytest.approx(kappa, abs=1e-12)
        low, high = found[name]["kappa"]["ci"]
        assert low < kappa < high


def test_answers_to_one_case_are_resampled_together() -> None:
    found = ann(random_grades(20, 3))
    assert found["dimensions"][D2]["accuracy"]["ci_method"] == "bca"
    low, high = found["mean_accuracy"]["ci"]
    assert low < found["mean_accuracy"]["value"] < high
    alone = ann(random_grades(60, 1))
    assert alone["dimensions"][D2]["accuracy"]["ci_method"] == "clopper-pearson"


def test_answers_of_one_group_are_resampled_together_and_kappa_with_them() -> None:
    alone = random_grades(40, 1, wrong=0.3)
    pairs = [replace(one, group=f"p{place // 2}") for place, one in enumerate([*alone, *alone])]
    twice = [replace(one, group=one.unit.case_id) for one in [*alone, *alone]]
    single, grouped, doubled = (ann(units)["dimensions"][D2] for units in (alone, pairs, twice))
    assert grouped["accuracy"]["ci_method"] == grouped["kappa"]["ci_method"] == "bca"
    assert single["kappa"]["ci_method"] == "fleiss-cohen-everitt"
    # The same answers twice are no more evidence.
    assert doubled["kappa"]["value"] == pytest.approx(single["kappa"]["value"], abs=1e-12)
    widths = [high - low for low, high in (single["kappa"]["ci"], doubled["kappa"]["ci"])]
    assert widths[1] == pytest.approx(widths[0], rel=0.2)


def test_each_rater_is_compared_by_themselves() -> None:
    first = graded(1, (0, 1, 0, 0, 0), (0, 1, 0, 0, 0))
    both = Graded(first.unit, 1, first.prediction, {**first.grades, "bob": {D2: 0}}, first.group)
    found: Any = TriageJudge().agreement([both])
    assert found is not None and list(found["raters"]) == ["ann", "bob", RESOLVED]
    resolved = found["raters"][RESOLVED]["dimensions"]
    assert resolved[D2]["n"] == 0 and resolved[D3]["n"] == 1, "they disagree on D2, and only ann graded D3"
    assert found["raters"]["bob"]["dimensions"][D2]["accuracy"]["value"] == 0
    assert found["raters"]["bob"]["mean_accuracy"]["value"] == 0
    assert found["raters"]["bob"]["dimensions"][D1]["n"] == 0


def test_a_grade_that_is_neither_0_nor_1_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or 1, not 2"):
        agreement([graded(1, (0, 0, 0, 0, 0), (2, 0, 0, 0, 0))])
    assert TriageJudge().questions == {name: Question((0, 1)) for name in DIMENSIONS}


def test_a_consensus_is_no_rater_and_counts_in_what_people_came_to() -> None:
    first = graded(1, (0, 1, 0, 0, 0), (0, 1, 0, 0, 0))
    grades = {**first.grades, "bob": {D2: 0, D3: 0}, "Consensus": {D2: 0}}
    found: Any = agreement([Graded(first.unit, 1, first.prediction, grades, first.group)])
    assert list(found["raters"]) == ["ann", "bob", RESOLVED]
    dimensions = found["raters"][RESOLVED]["dimensions"]
    assert dimensions[D2]["confusion"] == {"tp": 0, "fp": 1, "fn": 0, "tn": 0}
    assert dimensions[D3]["confusion"]["tn"] == 1
