# ruff: noqa: SIM905
"""SARI against documented values, and against a second implementation of its two definitions.

The second one takes no counter: it lists the n-grams of all texts and computes exact fractions over them, as
Xu et al. 2016 write the sums. Tolerance 1e-9 on 0 to 100.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from report_texts import perturbed, plain_report, wild_report

from harness.scoring.sari import (
    SARI_SUMMANDS,
    corpus_sari,
    sari_from_sums,
    sari_hf,
    sari_summands,
    sari_tokenize,
)

TOLERANCE = 1e-9
ZERO, ONE = Fraction(0), Fraction(1)

Triple = tuple[list[str], list[str], list[list[str]]]


def listed(tokens: list[str], order: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1)]


def vectors(triple: Triple, order: int) -> list[tuple[int, int, int]]:
    """Return how often each n-gram is in source and candidate (times references) and in references."""
    source, candidate, references = triple
    times = len(references)
    left, middle = listed(source, order), listed(candidate, order)
    right = [gram for reference in references for gram in listed(reference, order)]
    return [
        (left.count(gram) * times, middle.count(gram) * times, right.count(gram))
        for gram in sorted({*left, *middle, *right})
    ]


def harmonic(precision: Fraction, recall: Fraction) -> Fraction:
    return ZERO if precision * recall == 0 else 2 / (1 / precision + 1 / recall)


def hf_again(triple: Triple) -> float:
    source, candidate, references = triple
    triple = (source or [""], candidate or [""], [reference or [""] for reference in references])
    total = ZERO
    for order in (1, 2, 3, 4):
        rows = vectors(triple, order)
        outputs = [Fraction(min(i, r, o), min(i, o)) for i, o, r in rows if i and o]
        in_both = sum(min(i, r) for i, o, r in rows)
        keep_p = sum(outputs, ZERO) / len(outputs) if outputs else ONE
        keep_r = Fraction(sum(min(i, o, r) for i, o, r in rows), in_both) if in_both else ONE
        gone = [Fraction(max(i - o - r, 0), i - o) for i, o, r in rows if i > o]
        delete = sum(gone, ZERO) / len(gone) if gone else ONE
        made = [r > 0 for i, o, r in rows if o and not i]
        wanted = [o > 0 for i, o, r in rows if r and not i]
        add_p = Fraction(sum(made), len(made)) if made else ONE
        add_r = Fraction(sum(wanted), len(wanted)) if wanted else ONE
        total += harmonic(add_p, add_r) + harmonic(keep_p, keep_r) + delete
    return float(100 * total / 12)


def easse_again(triples: list[Triple]) -> float:
    total = ZERO
    for order in (1, 2, 3, 4):
        rows = [row for triple in triples for row in vectors(triple, order)]
        operations = (
            [(o > 0 and not i and r > 0, o > 0 and not i, r > 0 and not i) for i, o, r in rows],
            [(min(i, o, r), min(i, o), min(i, r)) for i, o, r in rows],
            [(min(max(i - o, 0), max(i - r, 0)), max(i - o, 0), max(i - r, 0)) for i, o, r in rows],
        )
        for operation in operations:
            right, made, wanted = (
                (int(sum(values)) for values in zip(*operation, strict=True)) if rows else (0, 0, 0)
            )
            total += harmonic(Fraction(right, made), Fraction(right, wanted)) if made and wanted else ZERO
    return float(100 * total / 12)


def made_triples(seed: int, count: int = 4) -> list[Triple]:
    """Short triples of few words: empty, equal, disjoint, words that repeat; one to four references."""
    rng = Random(seed)

    def tokens() -> list[str]:
        return rng.choices("abcd", k=rng.choice([0, 1, 2, 3, 5, 8]))

    found: list[Triple] = []
    for _ in range(count):
        source = tokens()
        candidate = rng.choice([source, tokens(), []]) if rng.random() < 0.3 else tokens()
        references = [rng.choice([source, candidate, tokens(), tokens()]) for _ in range(rng.randint(1, 4))]
        found.append((source, candidate, references))
    return found


def reports(count: int) -> list[Triple]:
    found: list[Triple] = []
    for seed in range(count):
        text = wild_report(seed, 120) if seed % 3 == 0 else plain_report(seed, 120)
        references = [sari_tokenize(perturbed(text, seed + 100 * place, 0.3)) for place in (1, 2)]
        found.append(
            (sari_tokenize(text), sari_tokenize(perturbed(text, seed, 0.4)), references[: 1 + seed % 2])
        )
    return found


def corpus(triples: list[Triple]) -> float:
    return float(sari_from_sums(np.sum([sari_summands(*triple) for triple in triples], axis=0)))


def test_the_documented_example_of_evaluate_scores_as_documented() -> None:
    source, candidate = "About 95 species are currently accepted .", "About 95 you now get in ."
    references = [
        "About 95 species are currently known .",
        "About 95 species are now accepted .",
        "95 species are now accepted .",
    ]
    assert corpus_sari([(source, candidate, references)]) == pytest.approx(26.953601953601954, abs=TOLERANCE)


def test_the_documented_example_of_easse_scores_as_documented() -> None:
    triples = [
        (
            "About 95 species are currently accepted.",
            "About 95 you now get in.",
            [
                "About 95 species are currently known.",
                "About 95 species are now accepted.",
                "95 species are now accepted.",
            ],
        ),
        (
            "The cat perched on the mat.",
            "Cat on mat.",
            ["The cat sat on the mat.", "The cat is on the mat.", "The cat sat."],
        ),
    ]
    assert corpus_sari(triples, "easse") == pytest.approx(33.17472563619544, abs=TOLERANCE)
    assert corpus_sari(triples, "hf") != pytest.approx(33.17472563619544, abs=1)


@pytest.mark.slow
def test_thousands_of_short_triples_score_as_by_the_second_implementation() -> None:
    for seed in range(500):
        triples = made_triples(seed)
        for triple in triples:
            assert sari_hf(*triple).sari == pytest.approx(hf_again(triple), abs=TOLERANCE), triple
            assert corpus([triple]) == pytest.approx(easse_again([triple]), abs=TOLERANCE), triple
        assert corpus(triples) == pytest.approx(easse_again(triples), abs=TOLERANCE), triples


def test_reports_score_as_by_the_second_implementation() -> None:
    triples = reports(8)
    for triple in triples:
        assert sari_hf(*triple).sari == pytest.approx(hf_again(triple), abs=TOLERANCE)
    assert corpus(triples) == pytest.approx(easse_again(triples), abs=TOLERANCE)


@pytest.mark.slow
def test_many_reports_score_as_by_the_second_implementation() -> None:
    triples = reports(150)
    for triple in triples:
        assert sari_hf(*triple).sari == pytest.approx(hf_again(triple), abs=TOLERANCE)
    assert corpus(triples) == pytest.approx(easse_again(triples), abs=TOLERANCE)


def test_texts_are_cut_by_13a_in_lower_case() -> None:
    sacrebleu = pytest.importorskip("sacrebleu.metrics.bleu")
    cut = sacrebleu._get_tokenizer("13a")()
    for text in [
        "The X-Ray (3.5 mm).",
        "a-\nB",
        "word-\n",
        "&AMP; 5%",
        "左侧CT。",
        "\u2028",
        "",
        "A\u2028B\rC",
    ]:
        assert sari_tokenize(text) == cut(text.lower()).split()
    upper, lower = ("A BIG LUMP", "A LUMP", ["A Lump."]), ("a big lump", "a lump", ["a lump ."])
    assert corpus_sari([upper]) == corpus_sari([lower])


def test_a_candidate_that_is_the_only_reference_is_perfect_for_hf_and_for_easse_if_all_is_done() -> None:
    source, target = "a b c d e f".split(), "a b c d x y z w v".split()
    assert sari_hf(source, target, [target]) == pytest.approx((100, 100, 100))
    assert corpus([(source, target, [target])]) == pytest.approx(100)
    assert sari_hf(source, source, [source]).sari == pytest.approx(100)
    # Nothing is added or deleted, and 0/0 is 0.
    assert corpus([(source, source, [source])]) == pytest.approx(100 / 3)


def test_an_empty_candidate_has_points_for_deleting_and_for_nothing_to_do() -> None:
    source = "a big solid mass here".split()
    # Orders 2 to 4 have nothing to keep, orders 3 and 4 nothing to add: 0/0 is 1.
    found = sari_hf(source, [], [["a", "lump"]])
    assert found == pytest.approx((50, 75, 95))
    longer = sari_hf(source, [], ["a big lump was seen in here".split()])
    assert longer == pytest.approx((0, 50, 100 * (2 / 5 + 3 / 4 + 1 + 1) / 4))
    assert corpus([(source, [], [["a", "lump"]])]) < found.sari


def test_sums_score_row_by_row_as_alone() -> None:
    rows = np.array([sari_summands(*triple) for triple in reports(6)])
    assert rows.shape == (6, SARI_SUMMANDS)
    draws = np.stack(
        [rows[[0, 1, 1, 5]].sum(axis=0), rows.sum(axis=0), np.zeros(SARI_SUMMANDS, dtype=np.int64)]
    )
    assert sari_from_sums(draws).tolist() == [float(sari_from_sums(row)) for row in draws]
    assert sari_from_sums(draws.reshape(3, 1, SARI_SUMMANDS)).shape == (3, 1)
    assert sari_from_sums(draws)[2] == 0


def test_what_has_no_score_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a pair"):
        corpus_sari([])
    with pytest.raises(ValueError, match="without a reference has no SARI"):
        sari_hf(["a"], ["a"], [])
    with pytest.raises(ValueError, match="without a reference has no SARI"):
        sari_summands(["a"], ["a"], [])
    with pytest.raises(ValueError, match="known: hf, easse"):
        corpus_sari([("a", "a", ["a"])], "original")
    with pytest.raises(ValueError, match="not shape"):
        sari_from_sums([1, 2])
