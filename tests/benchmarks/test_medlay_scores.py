"""Scores of lay texts: against other people's programs, readings, modalities, grades, and the ablation."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import sacrebleu
from medlay_examples import EXPERT, LAY, SAID, case
from rouge_score.rouge_scorer import RougeScorer

from harness.benchmarks.medlay.ablation import UNION, difference_intervals, difference_metrics
from harness.benchmarks.medlay.attributes import ATTRIBUTES, GRADED
from harness.benchmarks.medlay.lay_numbers import layout_of
from harness.benchmarks.medlay.lay_scores import BY_MODALITY, lay_intervals, lay_metrics
from harness.benchmarks.medlay.lay_texts import LayText
from harness.benchmarks.medlay.modalities import MODALITIES
from harness.benchmarks.medlay.task import MedLay
from harness.benchmarks.scored import MetricValue, Scored, UnitTable
from harness.outcomes import UnitOutcome
from harness.scoring.readability import readability
from harness.scoring.resampling import Resampling
from harness.scoring.sacre_bleu import sacrebleu_tokens
from harness.scoring.sari import corpus_sari, sari_tokenize

HF, EASSE = layout_of("hf"), layout_of("easse")
DRAWS = Resampling(resamples=300)
SENTENCE = (
    "the scan shows a bright area in your left lung, liver lesion (an abnormal spot) of 3.5 mm; doctors "
    "think it may be a growth that presses on nearby tissue. Swelling called edema is seen around it, MRI "
    "T2-weighted hyperintense signal suggests demyelination without hemorrhage"
)
WORDS = SENTENCE.split()
ODD = (
    "", "   ", "!!!", "影像显示肝脏有一处病灶。", "A line.\u2028Another\rone.\x0b<b>&amp;", "\ud800 half",
    "the the the",
)  # fmt: skip


def text(dice: random.Random, words: int) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(words)).capitalize() + "."


def triples(count: int, seed: int = 5) -> list[tuple[str, str, str]]:
    """Return answers with their lay and expert captions; answers share much with either."""
    dice = random.Random(seed)
    found = []
    for number in range(count):
        expert, lay = text(dice, dice.randint(20, 110)), text(dice, dice.randint(20, 110))
        parts = [*lay.split(), *expert.split(), *text(dice, 60).split()]
        start = dice.randint(0, 40)
        answer = " ".join(parts[start : start + dice.randint(30, 220)])
        found.append((ODD[number % len(ODD)] or answer if number % 40 == 0 else answer, lay, expert))
    return found


def unit(
    answer: str | None, lay: str = LAY, expert: str = EXPERT, modality: str = "CT",
    grades: Mapping[str, Any] | None = None, benchmark: MedLay | None = None, condition: str = "A",
) -> Sequence[float]:  # fmt: skip
    outcome = UnitOutcome.VALID if answer is not None else UnitOutcome.TRUNCATED
    one = case(lay=lay, expert=expert, modality=modality)
    return (benchmark or MedLay()).unit_numbers(Scored(one, condition, outcome, answer, grades or {}))


def table(numbers: Sequence[Sequence[float]], **changes: Any) -> UnitTable:
    count = len(numbers)
    whole: dict[str, Any] = {
        "numbers": np.array(numbers), "cases": np.arange(count), "clusters": np.arange(count),
        "repeats": np.ones(count, dtype=np.int32), "members": np.zeros(count, dtype=np.int32),
        "conditions": ("A",),
    }  # fmt: skip
    return UnitTable(**(whole | changes))


def metrics(*numbers: Sequence[float]) -> dict[str, MetricValue]:
    return lay_metrics(np.array(numbers), HF)


def value(found: Mapping[str, MetricValue], path: str) -> float:
    number = found[path].value
    assert number is not None, (path, found[path])
    return number


def test_bleu_is_that_of_sacrebleu_and_rouge_that_of_rouge_score() -> None:
    three = triples(600)
    found = metrics(*(unit(answer, lay, expert) for answer, lay, expert in three))
    said, lays = [answer for answer, _, _ in three], [lay for _, lay, _ in three]
    assert value(found, "bleu4") == pytest.approx(sacrebleu.corpus_bleu(said, [lays]).score, abs=1e-9)
    assert 1 < value(found, "bleu4") < 90
    few = three[:120]
    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    theirs = [scorer.score(lay, answer)["rougeL"].fmeasure for answer, lay, _ in few]
    ours = metrics(*(unit(answer, lay, expert) for answer, lay, expert in few))
    assert value(ours, "rouge_l") == pytest.approx(100 * np.mean(theirs), abs=1e-9)


@pytest.mark.parametrize("variant", ["hf", "easse"])
def test_sari_has_the_expert_caption_as_its_source_and_the_lay_caption_as_its_reference(variant: str) -> None:
    three = triples(200)
    benchmark, layout = MedLay({"sari": variant, "rank": "none"}), layout_of(variant)
    rows = np.array([unit(*one, benchmark=benchmark) for one in three])
    wanted = corpus_sari([(expert, answer, [lay]) for answer, lay, expert in three], variant)
    assert value(lay_metrics(rows, layout), "sari") == pytest.approx(wanted, abs=1e-9)
    other = corpus_sari([(answer, answer, [lay]) for answer, lay, _ in three], variant)
    assert abs(other - wanted) > 1


def test_reading_grades_stand_beside_each_other() -> None:
    three = triples(60)
    found = metrics(*(unit(*one) for one in three))
    for place, name in enumerate(("answer", "reference", "expert")):
        grades = [grade for one in three if (grade := readability(one[place]).grade) is not None]
        assert value(found, f"fk.{name}") == pytest.approx(np.mean(grades), abs=1e-9)
        assert found[f"fk.{name}"].n == len(grades)
    both = [
        source - said
        for answer, _, expert in three
        if (said := readability(answer).grade) is not None
        and (source := readability(expert).grade) is not None
    ]
    assert value(found, "fk.reduction") == pytest.approx(np.mean(both), abs=1e-9)


def test_a_grade_that_means_nothing_for_chinese_is_null_and_says_so() -> None:
    found = metrics(unit("影像显示肝脏有一处病灶。", "肝脏有一处病灶。"))
    assert found["fk.answer"].value is None
    assert found["fk.answer"].n == 0
    assert "means nothing but for words in Latin letters" in str(found["fk.answer"].reason)
    assert found["fk.expert"].n == 1


def test_an_unusable_answer_counts_as_the_worst_value_of_each_metric() -> None:
    said, none = unit(SAID), unit(None)
    one, both = metrics(said), metrics(said, none)
    for path in ("rouge_l", "sari", "three_parts.share"):
        assert value(both, path) == pytest.approx(value(one, path) / 2), path
        assert both[path].n == 2
    pair = sacrebleu.corpus_bleu([SAID, ""], [[LAY, LAY]])
    assert value(both, "bleu4") == pytest.approx(pair.score, abs=1e-9)
    # Reading grades and words have no worst value: the unit is left out, and n says so.
    for path in ("fk.answer", "fk.reduction", "words"):
        assert (both[path].value, both[path].n) == (one[path].value, 1)
    assert both["fk.reference"].n == 2
    assert value(metrics(none), "sari") == 0
    assert metrics(none)["fk.answer"].value is None


def test_an_unusable_answer_earns_nothing_in_sari_of_the_corpus_either() -> None:
    benchmark = MedLay({"sari": "easse", "rank": "none"})
    said, none, empty = (unit(one, benchmark=benchmark) for one in (SAID, None, ""))

    def sari(*rows: Sequence[float]) -> float:
        return value(lay_metrics(np.array(rows), EASSE), "sari")

    assert sari(none) == 0
    assert sari(empty) > 0
    assert sari(said, none) < sari(said, empty)
    assert sari(said, none) < sari(said)


def test_an_empty_text_of_a_model_is_no_answer_but_odd_ones_are_scored() -> None:
    for odd in ODD:
        found = metrics(unit(odd))
        assert 0 <= value(found, "bleu4") <= 100
        assert value(found, "rouge_l") == 0 or odd.strip()
    same = metrics(unit(LAY))
    assert value(same, "bleu4") == pytest.approx(100)
    assert value(same, "rouge_l") == pytest.approx(100)


def test_every_modality_has_its_own_numbers_and_the_absent_ones_say_why() -> None:
    rows = [unit(SAID, modality="MRI"), unit(None, modality="MRI"), unit(LAY, modality="PET")]
    found = metrics(*rows)
    for modality, own in (("MRI", rows[:2]), ("PET", rows[2:])):
        alone = metrics(*own)
        for path in BY_MODALITY:
            assert found[f"modality.{modality}.{path}"] == alone[path], path
    assert found["modality.MRI.bleu4"].n == 2
    gone = found["modality.Ultrasound.sari"]
    assert (gone.value, gone.n, gone.reason) == (None, 0, "no case of this modality")
    assert {path.split(".")[1] for path in found if path.startswith("modality.")} == set(MODALITIES)


def test_without_units_there_are_reasons_and_no_numbers() -> None:
    found = lay_metrics(np.empty((0, len(HF.names))), HF)
    assert all(one.value is None and one.n == 0 and one.reason for one in found.values())
    assert found["bleu4"].reason == "no lay text to score"


# Grades


def graded(number: float, *names: str) -> dict[str, float]:
    return dict.fromkeys(names, number)


FIVE = tuple(f"medlayeval.{name}" for name in ATTRIBUTES)


def test_grades_are_shown_times_100_and_only_where_there_are_some() -> None:
    found = metrics(unit(SAID, grades={"green": 0.25, "bertscore": 1}), unit(SAID, grades={"green": 0.75}))
    assert (found["green"].value, found["green"].n) == (pytest.approx(50), 2)
    assert (found["bertscore"].value, found["bertscore"].n) == (pytest.approx(100), 1)
    for path in ("ratescore", "medlayeval.overall", "rubric.factual"):
        assert (found[path].value, found[path].n) == (None, 0)
        assert "no grade of any answer" in str(found[path].reason)
    assert {path for path in found if path in GRADED} == set(GRADED)


def test_the_overall_score_is_the_mean_of_five_where_all_five_are_there() -> None:
    whole = dict(zip(FIVE, (0.1, 0.2, 0.3, 0.4, 1.0), strict=True))
    part = {name: 0.9 for name in FIVE[:4]}
    found = metrics(unit(SAID, grades=whole), unit(SAID, grades=part))
    assert (found["medlayeval.overall"].value, found["medlayeval.overall"].n) == (pytest.approx(40), 1)
    assert (found["medlayeval.modality"].value, found["medlayeval.modality"].n) == (pytest.approx(50), 2)
    assert found["rubric.overall"].value is None


def test_an_unusable_answer_is_graded_0_once_others_have_grades() -> None:  # F12, F19
    found = metrics(unit(SAID, grades={"green": 0.8}), unit(None, grades={"green": 0.9}))
    assert (found["green"].value, found["green"].n) == (pytest.approx(40), 2)


def test_a_few_graded_answers_stand_for_all_and_failures_do_not_outweigh_them() -> None:
    rows = [unit(SAID, grades={"green": 0.6})] * 10 + [unit(SAID)] * 80 + [unit(None)] * 10
    found = metrics(*rows)
    assert found["green"].value == pytest.approx(60 * 0.9)
    assert found["green"].n == 20
    assert found["green"].reason == "80 of 90 answers have no grade"  # so that nobody is ranked by it
    usable = metrics(*rows[:90])
    assert (usable["green"].value, usable["green"].n) == (pytest.approx(60), 10)


# Intervals


def test_every_number_but_those_without_a_value_has_an_interval_around_it() -> None:
    three = triples(120)
    rows = [
        unit(*one, modality=MODALITIES[place % 3], grades=graded(place % 5 / 4, "green"))
        for place, one in enumerate(three)
    ]
    found, intervals = metrics(*rows), lay_intervals(table(rows), HF, DRAWS)
    assert set(intervals) == {path for path, one in found.items() if one.value is not None}
    for path, interval in intervals.items():
        if path in ("three_parts.share", "modality.CT.fk.answer"):
            continue
        assert interval.low is not None and interval.high is not None, (path, interval.reason)
        assert interval.low <= value(found, path) <= interval.high, path


def test_clusters_widen_an_interval() -> None:
    three = triples(60)
    rows = [unit(*one) for one in three] * 2
    apart = lay_intervals(table(rows), HF, DRAWS)["rouge_l"]
    together = lay_intervals(table(rows, clusters=np.tile(np.arange(60), 2)), HF, DRAWS)["rouge_l"]
    assert apart.low is not None and apart.high is not None
    assert together.low is not None and together.high is not None
    assert together.high - together.low > 1.2 * (apart.high - apart.low)


# The ablation


def union(parts: Mapping[str, Sequence[tuple[int, Sequence[float]]]]) -> UnitTable:
    """Return a table of conditions, each a list of case and numbers."""
    rows = [(place, number, row) for place, own in enumerate(parts.values()) for number, row in own]
    return table(
        [row for _, _, row in rows],
        cases=np.array([number for _, number, _ in rows]),
        clusters=np.array([number for _, number, _ in rows]),
        members=np.array([place for place, _, _ in rows], dtype=np.int32),
        conditions=tuple(parts),
    )


def test_the_union_is_of_the_conditions_that_a_run_asks() -> None:
    assert MedLay().unions(("A",)) == {}
    assert MedLay().unions(("C", "A")) == {UNION: ("A", "C")}
    assert MedLay().unions(("A", "B", "C")) == {UNION: ("A", "B", "C")}


def test_differences_are_of_the_cases_that_all_conditions_have() -> None:
    three = triples(12)
    a = [(number, unit(three[number][0], *three[number][1:])) for number in range(12)]
    b = [(number, unit(three[number][2], *three[number][1:])) for number in (7, 3, 2, 5)]
    c = [(number, unit(three[number][1], *three[number][1:])) for number in (5, 2, 3, 11)]
    found = difference_metrics(union({"A": a, "B": b, "C": c}), HF)
    shared = (2, 3, 5)
    own = {
        name: metrics(*(row for number, row in sorted(rows) if number in shared))
        for name, rows in (("A", a), ("B", b), ("C", c))
    }
    for path in ("bleu4", "rouge_l", "sari", "fk.answer"):
        for first, second in (("B", "A"), ("C", "B"), ("C", "A")):
            wanted = value(own[first], path) - value(own[second], path)
            assert value(found, f"{first}-{second}.{path}") == pytest.approx(wanted, abs=1e-9)
            assert found[f"{first}-{second}.{path}"].n == 3
    assert (found["unpaired"].value, found["unpaired"].n) == (9, 12)
    assert value(found, "C.rouge_l") == pytest.approx(100)


def test_reading_grades_of_a_difference_are_of_cases_that_have_one_everywhere() -> None:
    a = [(0, unit(SAID)), (1, unit(None)), (2, unit(SAID))]
    b = [(0, unit(LAY)), (1, unit(LAY)), (2, unit(EXPERT))]
    found = difference_metrics(union({"A": a, "B": b}), HF)
    assert found["B-A.fk.answer"].n == 2
    lay, expert, said = (float(readability(text).grade or 0) for text in (LAY, EXPERT, SAID))
    assert value(found, "B-A.fk.answer") == pytest.approx((lay + expert) / 2 - said)
    assert found["B-A.rouge_l"].n == 3
    assert "C-A.rouge_l" not in found


def test_without_common_cases_the_ablation_says_so() -> None:
    apart = union({"A": [(0, unit(SAID))], "B": [(1, unit(SAID))]})
    assert difference_intervals(apart, HF, DRAWS) == {}
    found = difference_metrics(apart, HF)
    assert (found["B-A.sari"].value, found["B-A.sari"].n) == (None, 0)
    assert found["B-A.sari"].reason == "no case was scored in all of: A, B"
    assert found["B-A.green"].reason == "no case was scored in all of: A, B"


def test_differences_have_intervals_and_ungraded_ones_none() -> None:
    three = triples(60)
    a = [(number, unit(*one)) for number, one in enumerate(three)]
    b = [(number, unit(lay, lay, expert)) for number, (_, lay, expert) in enumerate(three)]
    intervals = difference_intervals(union({"A": a, "B": b}), HF, DRAWS)
    assert "B-A.green" not in intervals
    found = intervals["B-A.rouge_l"]
    assert found.low is not None and found.low > 0
    assert (intervals["B.rouge_l"].low, intervals["B.rouge_l"].high) == (None, None)  # 100 in every resample


def test_what_a_unit_scores_averages_to_the_row() -> None:
    benchmark = MedLay()
    rows = [*(unit(*one) for one in triples(30)), unit(None)]
    found = metrics(*rows)
    units = [benchmark.score_unit(row, "A", {}) for row in rows]
    assert set(units[0]) >= {"rouge_l", "sari", "fk.answer", "three_parts.share", "words"}
    for path in units[0]:
        known = [number for one in units if (number := one[path]) is not None]
        assert value(found, path) == pytest.approx(np.mean(known)), path
        assert found[path].n == len(known)


@pytest.mark.parametrize(
    "written",
    ["A &LT;b&gt; C", "x <SKIPPED> Y", "ends in a hyphen-\n", "ends so- ", "İ and ΣΑΣ", "A B-\nC", *ODD],
)
def test_tokens_of_sari_are_its_own_whatever_was_cut_for_bleu_before(written: str) -> None:
    one = LayText(written)
    assert one.bleu_tokens == sacrebleu_tokens(written)
    assert one.sari_tokens == sari_tokenize(written)
