# ruff: noqa: RUF001, E501
"""BLEU and tokens against sacrebleu 2.6.0. Tolerance 1e-9 on 0 to 1 (1e-7 of its 0 to 100); tokens equal."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_texts import perturbed, plain_report, wild_report

from harness.scoring.bleu import bleu_summands
from harness.scoring.mteval_tokens import tokenize_13a
from harness.scoring.sacre_bleu import (
    SACREBLEU_VERSION,
    corpus_sacrebleu,
    sacrebleu_from_sums,
    sacrebleu_signature,
    sacrebleu_tokens,
    sentence_sacrebleu,
)
from harness.scoring.text import tokenize
from harness.scoring.zh_tokens import zh_tokenize

TOLERANCE = 1e-9
ODD = (
    "", " ", "\n", "-", "-\n", "a-\nb", "word-\n", "<skipped>", "a<skipped>b", "&quot;x&quot; &amp;lt; &lt;b&gt;",
    "1,234.5 mm.", ".5", "5.", ",5,", "3.5-mm", "C5-C6", "T2*", "a\u2028b\u2029c\rd\x0be\x0cf\x85g", "it's 'so'",
    "左侧3.5mm，CT显示。", "\xa0nbsp\u3000wide ", "naïve ﬁn é", "🦷 ok", "A.B.C.", "...", "a..b", "$1,000.00", "50%",
    "[x]{y}(z)", "~`^_\\|@#", "\ud800x",
)  # fmt: skip


def metric(**options: Any) -> Any:
    return pytest.importorskip("sacrebleu.metrics").BLEU(force=True, **options)


def texts(count: int) -> list[tuple[str, str]]:
    made = [wild_report(seed) if seed % 2 else plain_report(seed) for seed in range(count)]
    return [(perturbed(text, seed), text) for seed, text in enumerate(made)]


def short_texts(seed: int) -> list[tuple[str, str]]:
    """Pairs of 0 to 6 words or oddities: empty, equal, without a match, shorter than four."""
    rng = Random(seed)
    words = [*"abcAB", *ODD]

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(0, 6)))

    return [(text(), text()) for _ in range(rng.randint(1, 6))]


def expected(pairs: list[tuple[str, str]], tokenizer: str) -> float:
    candidates, references = [one for one, _ in pairs], [one for _, one in pairs]
    return float(metric(tokenize=tokenizer).corpus_score(candidates, [references]).score) / 100


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["13a", "zh"])
def test_a_corpus_of_reports_scores_as_by_sacrebleu(tokenizer: str) -> None:
    pairs = texts(300)
    assert corpus_sacrebleu(pairs, tokenizer) == pytest.approx(expected(pairs, tokenizer), abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["13a", "zh"])
def test_each_of_many_reports_scores_as_by_sacrebleu(tokenizer: str) -> None:
    bleu = metric(tokenize=tokenizer, effective_order=True)
    pairs = texts(1_500)
    assert corpus_sacrebleu(pairs, tokenizer) == pytest.approx(expected(pairs, tokenizer), abs=TOLERANCE)
    for pair in pairs:
        found = sentence_sacrebleu(*(sacrebleu_tokens(text, tokenizer) for text in pair))
        score = bleu.sentence_score(pair[0], [pair[1]]).score / 100
        assert found == pytest.approx(score, abs=TOLERANCE), pair


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["13a", "zh"])
def test_thousands_of_short_odd_and_empty_texts_score_as_by_sacrebleu(tokenizer: str) -> None:
    bleu = metric(tokenize=tokenizer, effective_order=True)
    for seed in range(600):
        pairs = short_texts(seed)
        assert corpus_sacrebleu(pairs, tokenizer) == pytest.approx(
            expected(pairs, tokenizer), abs=TOLERANCE
        ), pairs
        for candidate, reference in pairs:
            found = sentence_sacrebleu(
                sacrebleu_tokens(candidate, tokenizer), sacrebleu_tokens(reference, tokenizer)
            )
            score = bleu.sentence_score(candidate, [reference]).score / 100
            assert found == pytest.approx(score, abs=TOLERANCE), (candidate, reference)


def test_several_references_count_as_in_sacrebleu() -> None:
    rng = Random(5)
    bleu = metric()
    for _ in range(200):
        rows = [[" ".join(rng.choices("abcde.", k=rng.randint(0, 9))) for _ in range(4)] for _ in range(3)]
        sums = np.sum([bleu_summands(*map(sacrebleu_tokens, row)) for row in rows], axis=0)
        by_place = [[row[place] for row in rows] for place in range(4)]
        score = bleu.corpus_score(by_place[0], by_place[1:]).score / 100
        assert float(sacrebleu_from_sums(sums)) == pytest.approx(score, abs=TOLERANCE), rows


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(st.text() | st.text(alphabet="aB1.,-& ;<>'\"\n%$左，é\u2028"))
def test_any_text_has_the_tokens_of_sacrebleu(text: str) -> None:
    module = pytest.importorskip("sacrebleu.metrics.bleu")
    assert tokenize_13a(text) == module._get_tokenizer("13a")()(text).split()
    assert zh_tokenize(text) == module._get_tokenizer("zh")()(text).split()
    for name in ("13a", "zh"):
        assert sacrebleu_tokens(text, name) == metric(tokenize=name)._preprocess_segment(text).split()


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_have_the_tokens_of_sacrebleu(text: str) -> None:
    module = pytest.importorskip("sacrebleu.metrics.bleu")
    assert tokenize_13a(text) == tokenize(text, "13a") == module._get_tokenizer("13a")()(text).split()
    assert zh_tokenize(text) == module._get_tokenizer("zh")()(text).split()


def test_the_signature_is_that_of_the_version_it_was_compared_with() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    assert sacrebleu.__version__ == SACREBLEU_VERSION
    for tokenizer in ("13a", "zh"):
        corpus, sentence = metric(tokenize=tokenizer), metric(tokenize=tokenizer, effective_order=True)
        corpus.corpus_score(["a"], [["a"]])
        sentence.sentence_score("a", ["a"])
        assert sacrebleu_signature(tokenizer) == str(corpus.get_signature())
        assert sacrebleu_signature(tokenizer, sentences=True) == str(sentence.get_signature())
    assert sacrebleu_signature() == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def test_sums_score_row_by_row_as_alone() -> None:
    summands = np.array([bleu_summands(*map(sacrebleu_tokens, pair)) for pair in texts(12)])
    rows = np.stack([summands.sum(axis=0), summands[3], np.zeros(10), summands[:5].sum(axis=0)])
    together = sacrebleu_from_sums(rows.reshape(2, 2, 10))
    assert together.shape == (2, 2)
    assert together.ravel().tolist() == [float(sacrebleu_from_sums(row)) for row in rows]
    assert together[1, 0] == 0.0


def test_three_right_words_have_no_corpus_bleu_and_a_whole_sentence_bleu() -> None:
    words = ["no", "caries", "seen"]
    assert corpus_sacrebleu([("no caries seen", "no caries seen")]) == 0.0
    assert sentence_sacrebleu(words, words) == pytest.approx(1.0)


def test_case_counts_and_an_empty_candidate_costs_its_reference() -> None:
    text = "The heart is larger than normal ."
    assert corpus_sacrebleu([(text.upper(), text)]) < 0.2
    assert corpus_sacrebleu([(text, text), ("", text)]) < corpus_sacrebleu([(text, text)]) == pytest.approx(1)


def test_what_has_no_score_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a pair"):
        corpus_sacrebleu([])
    with pytest.raises(ValueError, match="unknown tokenizer 'ptb'; known: 13a, zh"):
        sacrebleu_tokens("a", "ptb")
    with pytest.raises(ValueError, match="not shape"):
        sacrebleu_from_sums([1, 2, 3])
