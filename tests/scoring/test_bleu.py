# ruff: noqa: RUF001
"""BLEU against pycocoevalcap, sacrebleu and nltk, on the same tokens."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from report_texts import perturbed, plain_report, wild_report

from harness.scoring.text import bleu_from_sums, bleu_summands, corpus_bleu, ptb_tokenize, zh_tokenize

TABLE_3 = Path(__file__).resolve().parents[3] / "shared" / "spec" / "pandent-table3.json"
TOLERANCE = 1e-7

Pair = tuple[list[str], list[str]]


def report_pairs(count: int) -> list[Pair]:
    texts = [wild_report(seed) if seed % 4 == 0 else plain_report(seed) for seed in range(count)]
    return [(ptb_tokenize(perturbed(text, seed)), ptb_tokenize(text)) for seed, text in enumerate(texts)]


def coco(pairs: list[Pair]) -> list[float]:
    bleu = pytest.importorskip("pycocoevalcap.bleu.bleu").Bleu(4)
    candidates = {place: [" ".join(candidate)] for place, (candidate, _) in enumerate(pairs)}
    references = {place: [" ".join(reference)] for place, (_, reference) in enumerate(pairs)}
    return list(bleu.compute_score(references, candidates, verbose=0)[0])


def short_pairs(seed: int) -> list[Pair]:
    """Pairs of 0 to 6 words out of five: empty, equal, without a match, shorter than four."""
    rng = Random(seed)

    def words() -> list[str]:
        return [rng.choice("abcde") for _ in range(rng.randint(0, 6))]

    return [(words(), words()) for _ in range(rng.randint(1, 8))]


@pytest.mark.slow
def test_reports_score_as_by_pycocoevalcap() -> None:
    pairs = report_pairs(500)
    assert corpus_bleu(pairs) == pytest.approx(coco(pairs), abs=TOLERANCE)


def test_short_and_empty_texts_score_as_by_pycocoevalcap() -> None:
    for seed in range(300):
        pairs = short_pairs(seed)
        assert corpus_bleu(pairs) == pytest.approx(coco(pairs), abs=TOLERANCE), pairs


def test_reports_score_as_by_sacrebleu_without_tokenizer_and_smoothing() -> None:
    metrics = pytest.importorskip("sacrebleu.metrics")
    pairs = report_pairs(120)
    candidates = [" ".join(" ".join(candidate).split()) for candidate, _ in pairs]
    references = [[" ".join(" ".join(reference).split()) for _, reference in pairs]]
    found = corpus_bleu(pairs)
    for order in range(1, 5):
        metric = metrics.BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
        assert found[order - 1] == pytest.approx(
            metric.corpus_score(candidates, references).score / 100, abs=TOLERANCE
        )


def test_reports_score_as_by_nltk() -> None:
    # Every text has more than four words: shorter ones nltk counts as if they had one n-gram more.
    nltk_bleu = pytest.importorskip("nltk.translate.bleu_score")
    pairs = [(" ".join(c).split(), " ".join(r).split()) for c, r in report_pairs(60)]
    references, candidates = [[reference] for _, reference in pairs], [candidate for candidate, _ in pairs]
    found = corpus_bleu(pairs)
    for order in range(1, 5):
        expected = nltk_bleu.corpus_bleu(references, candidates, weights=(1 / order,) * order)
        assert found[order - 1] == pytest.approx(expected, abs=TOLERANCE)


def test_chinese_reports_score_as_by_sacrebleu() -> None:
    metrics = pytest.importorskip("sacrebleu.metrics")
    candidates = ["左侧上颌窦黏膜增厚，未见龋齿。", "第18颗牙缺失。"]
    references = ["左侧上颌窦黏膜未见增厚，第36颗牙龋齿。", "第18、28颗牙缺失，未见其他异常。"]
    pairs = [(zh_tokenize(c), zh_tokenize(r)) for c, r in zip(candidates, references, strict=True)]
    expected = metrics.BLEU(tokenize="zh", smooth_method="none", force=True).corpus_score(
        candidates, [references]
    )
    assert corpus_bleu(pairs)[3] == pytest.approx(expected.score / 100, abs=TOLERANCE)


@pytest.mark.skipif(not TABLE_3.exists(), reason="the specification is not beside the checkout")
def test_the_papers_two_unrelated_reports_score_as_fine_tuned_models_do() -> None:
    facts = json.loads(TABLE_3.read_text(encoding="utf-8"))
    first, second = ptb_tokenize(facts["row1"]), ptb_tokenize(facts["row2"])
    assert (len(first), len(second)) == (197, 202)
    assert corpus_bleu([(second, first)]).round(4).tolist() == [0.8861, 0.8293, 0.7762, 0.7362]
    assert corpus_bleu([(first, second)]).round(4).tolist() == [0.8859, 0.8291, 0.7761, 0.7361]


def test_three_right_words_have_a_bleu_4_of_32_thousandths() -> None:
    assert corpus_bleu([(["no", "caries", "seen"], ["no", "caries", "seen"])]).round(3).tolist() == [
        1,
        1,
        1,
        0.032,
    ]


def test_an_empty_candidate_adds_the_length_of_its_reference_alone() -> None:
    assert bleu_summands([], ["no", "caries"]) == (0, 0, 0, 0, 0, 0, 0, 0, 0, 2)
    words = ["no", "caries", "is", "seen", "here"]
    assert (corpus_bleu([(words, words), ([], words)]) < corpus_bleu([(words, words)])).all()


@pytest.mark.parametrize("pair", [([], ["caries"]), ([], []), (["caries"], [])])
def test_nothing_against_something_scores_nothing(pair: Pair) -> None:
    assert corpus_bleu([pair]).max() < 1e-8


def test_the_nearest_reference_counts_and_the_shorter_of_two_equally_near() -> None:
    candidate = ["a", "b", "c"]
    assert bleu_summands(candidate, ["a"] * 5, ["b"])[-1] == 1
    assert bleu_summands(candidate, ["a"] * 4, ["b"])[-1] == 4
    assert bleu_summands(candidate, ["a"] * 4, ["b"] * 2)[:2] == (2, 0)


def test_a_no_break_space_in_a_token_parts_it_as_in_pycocoevalcap() -> None:
    assert ptb_tokenize("about 7 1/2 mm")[1] == "7\xa01/2"
    assert bleu_summands(["7\xa01/2"], ["7", "1/2"])[:2] == (2, 1)


@pytest.mark.slow
def test_summed_resamples_score_as_their_corpora() -> None:
    pairs = report_pairs(30)
    summands = np.array([bleu_summands(*pair) for pair in pairs])
    picks = np.random.default_rng(7).integers(0, len(pairs), size=(50, len(pairs)))
    scores = bleu_from_sums(summands[picks].sum(axis=1))
    assert scores.shape == (50, 4)
    for row, pick in zip(scores, picks, strict=True):
        assert row == pytest.approx(corpus_bleu([pairs[place] for place in pick]), abs=1e-12)


def test_a_corpus_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a pair"):
        corpus_bleu([])
    with pytest.raises(ValueError, match="without a reference"):
        bleu_summands(["a"])
    with pytest.raises(ValueError, match="10 numbers"):
        bleu_from_sums([1, 2, 3])
