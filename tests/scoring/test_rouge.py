"""ROUGE-L against pycocoevalcap and rouge-score."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_texts import perturbed, plain_report, wild_report

from harness.scoring.text import (
    chinese_rouge_l,
    google_rouge_l,
    mean_rouge_l,
    ptb_tokenize,
    rouge_l,
    rouge_l_f1,
    rouge_tokenize,
    tokenize,
)

TABLE_3 = Path(__file__).resolve().parents[3] / "shared" / "spec" / "pandent-table3.json"
TOLERANCE = 1e-9

Pair = tuple[list[str], list[str]]


def report_pairs(count: int) -> list[Pair]:
    texts = [wild_report(seed) if seed % 4 == 0 else plain_report(seed) for seed in range(count)]
    return [(ptb_tokenize(perturbed(text, seed)), ptb_tokenize(text)) for seed, text in enumerate(texts)]


def coco(pairs: list[Pair]) -> list[float]:
    rouge = pytest.importorskip("pycocoevalcap.rouge.rouge").Rouge()
    return [rouge.calc_score([" ".join(candidate)], [" ".join(reference)]) for candidate, reference in pairs]


@pytest.mark.slow
def test_reports_score_as_by_pycocoevalcap() -> None:
    pairs = report_pairs(120)
    expected = coco(pairs)
    assert [rouge_l(*pair) for pair in pairs] == pytest.approx(expected, abs=TOLERANCE)
    assert mean_rouge_l(pairs) == pytest.approx(sum(expected) / len(expected), abs=TOLERANCE)


@pytest.mark.slow
def test_five_hundred_reports_score_as_by_pycocoevalcap() -> None:
    pairs = report_pairs(600)
    assert [rouge_l(*pair) for pair in pairs] == pytest.approx(coco(pairs), abs=TOLERANCE)


def test_short_and_empty_texts_score_as_by_pycocoevalcap() -> None:
    rng = Random(1)
    pairs = [
        (
            [rng.choice("abc") for _ in range(rng.randint(0, 6))],
            [rng.choice("abc") for _ in range(rng.randint(0, 6))],
        )
        for _ in range(500)
    ]
    assert [rouge_l(*pair) for pair in pairs] == pytest.approx(coco(pairs), abs=TOLERANCE)


def test_f1_is_that_of_rouge_score_on_the_same_words() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    for seed in range(40):
        text = re.sub("[^a-z ]+", " ", plain_report(seed).lower())
        changed = perturbed(text, seed)
        expected = scorer.score(text, changed)["rougeL"].fmeasure
        assert rouge_l_f1(changed.split(), text.split()) == pytest.approx(expected, abs=TOLERANCE)


def test_texts_score_as_by_rouge_score_without_stemming() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], use_stemmer=False)
    rng = Random(2)
    short = [
        " ".join(rng.choices(["a", "B", "3.5", "mm", "-", "é", "左", ""], k=rng.randint(0, 5)))
        for _ in range(800)
    ]
    long = [text for seed in range(30) for text in (wild_report(seed), perturbed(wild_report(seed), seed))]
    for candidate, reference in [
        *zip(short[::2], short[1::2], strict=True),
        *zip(long[1::2], long[::2], strict=True),
    ]:
        expected = scorer.score(reference, candidate)["rougeL"].fmeasure
        assert google_rouge_l(candidate, reference) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.slow
def test_hundreds_of_captions_score_as_by_rouge_score() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], use_stemmer=False)
    for seed in range(300):
        text = wild_report(seed, 80)
        changed = perturbed(text, seed, share=0.4)
        expected = scorer.score(text, changed)["rougeL"].fmeasure
        assert google_rouge_l(changed, text) == pytest.approx(expected, abs=TOLERANCE)


@settings(deadline=None, max_examples=200)
@given(st.text() | st.text(alphabet="aBß1.,- İ\u2028左"))
def test_any_text_has_the_tokens_of_rouge_score(text: str) -> None:
    assert rouge_tokenize(text) == pytest.importorskip("rouge_score.tokenize").tokenize(text, None)


@pytest.mark.slow
def test_five_thousand_pairs_of_150_words_take_less_than_two_seconds_of_cpu() -> None:
    texts = [plain_report(seed, 150) for seed in range(250)]
    pairs = [(perturbed(text, seed), text) for seed in range(20) for text in texts]
    before = time.process_time()
    assert 0.5 < sum(google_rouge_l(*pair) for pair in pairs) / 5_000 < 1
    assert time.process_time() - before < 2


@pytest.mark.skipif(not TABLE_3.exists(), reason="the specification is not beside the checkout")
def test_the_papers_two_unrelated_reports_score_as_fine_tuned_models_do() -> None:
    facts = json.loads(TABLE_3.read_text(encoding="utf-8"))
    first, second = ptb_tokenize(facts["row1"]), ptb_tokenize(facts["row2"])
    assert round(rouge_l(second, first), 4) == 0.8189
    assert round(rouge_l(first, second), 4) == 0.8152


def test_two_empty_texts_score_one_in_pycocoevalcap_and_nothing_by_option() -> None:
    assert rouge_l([], []) == 1.0
    assert rouge_l([], [], both_empty="zero") == 0.0
    assert rouge_l([], ["caries"]) == rouge_l(["caries"], []) == 0.0
    assert mean_rouge_l([([], []), (["a"], ["a"])], both_empty="zero") == 0.5


def test_chinese_is_compared_by_characters() -> None:
    candidate, reference = "左侧上颌窦增厚", "左侧上颌窦黏膜增厚"
    assert rouge_l_f1(tokenize(candidate, "zh"), tokenize(reference, "zh")) == pytest.approx(14 / 16)
    assert chinese_rouge_l(candidate, reference) == pytest.approx(14 / 16)
    assert google_rouge_l(candidate, reference) == chinese_rouge_l("", "") == 0.0
    assert rouge_l_f1(tokenize(candidate), tokenize(reference)) == 0.0


def test_recall_weighs_more_than_precision_with_beta_above_one() -> None:
    half = ["a", "b"], ["a", "b", "c", "d"]
    assert rouge_l(*half) == pytest.approx(2.44 * 0.5 / (0.5 + 1.44))
    assert rouge_l(*half) < rouge_l_f1(*half) < rouge_l(*half, beta=0.5)


def test_what_has_no_score_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a pair"):
        mean_rouge_l([])
    with pytest.raises(ValueError, match="both_empty"):
        rouge_l([], [], both_empty="one")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="beta"):
        rouge_l(["a"], ["a"], beta=0)


def test_long_texts_take_bounded_time() -> None:
    first = [str(place * 7919 % 5003) for place in range(30_000)]
    assert 0 < rouge_l(first, list(reversed(first))) < 1
