# ruff: noqa: RUF001, E501
"""Flesch-Kincaid: sentences and words of medical text as people and models write it, syllables, the formula."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_texts import wild_report

from harness.scoring.readability import (
    EMPTY,
    NOT_LATIN,
    grade_from_sums,
    readability,
    word_syllables,
)
from harness.scoring.readable_sentences import readable_sentences
from harness.scoring.syllables import syllables


def cut(text: str) -> list[str]:
    return [" ".join(words) for words in readable_sentences(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("The cyst is 3.5 mm wide. It grew.", ["The cyst is 3.5 mm wide", "It grew"]),
        ("Seen at 3 p.m. and at 5 p.m. The end.", ["Seen at 3 p.m and at 5 p.m", "The end"]),
        ("Dr. J. Smith saw it, e.g. a lump.", ["Dr J Smith saw it e.g a lump"]),
        ("Hepatitis B. The rest is well.", ["Hepatitis B", "The rest is well"]),
        ("A mass, i.e. a lump, vs. Fig. 3.", ["A mass i.e a lump vs Fig 3"]),
        ("T1-weighted images show C5-C6.", ["T1-weighted images show C5-C6"]),
        ("Ribs etc. are fine, etc. All is well.", ["Ribs etc are fine etc", "All is well"]),
        ("The answer is no. Tooth no. 36 is.", ["The answer is no", "Tooth no 36 is"]),
        ("the lungs are clear. there is no fluid.", ["the lungs are clear", "there is no fluid"]),
        ("It has a cyst (a sac of fluid). Good.", ["It has a cyst a sac of fluid", "Good"]),
        ("It is a lump (see below.) Really?! Yes.", ["It is a lump see below", "Really", "Yes"]),
        ("He said \u201cit hurts.\u201d She left.", ["He said it hurts", "She left"]),
        ("Wait... it grew. Well\u2026 No.", ["Wait it grew", "Well", "No"]),
        ("It is clear.The heart is big.", ["It is clear", "The heart is big"]),
        ("1,200 ml and/or 50% on 12/03/2021", ["1,200 ml and or 50 on 12/03/2021"]),
        ("A well-defined mass \u2013 don\u2019t panic", ["A well-defined mass don\u2019t panic"]),
        ("Findings: 1. A cyst. 2. No stone.", ["Findings", "A cyst", "No stone"]),
    ],
)
def test_sentences_within_a_line(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("1. The heart is big.\n2. The lungs are clear\n3) no fluid", ["The heart is big", "The lungs are clear", "no fluid"]),
        ("# What it is\nIt is a cyst.", ["It is a cyst"]),
        ("**Impression:**\n\n- **Heart**: big\n* lungs clear\n\u2022 no fluid", ["Heart big", "lungs clear", "no fluid"]),
        ("Findings\nThe lungs are clear.", ["The lungs are clear"]),
        ("Impression:\nThe lungs are clear.", ["The lungs are clear"]),
        ("Normal heart\nClear lungs\nNo fluid", ["Normal heart", "Clear lungs", "No fluid"]),
        ("The mass measures\n3.5 cm and is\nround. It is\nbenign", ["The mass measures 3.5 cm and is round", "It is benign"]),
        ("A well-\ndefined mass,\nLeft lung.", ["A well-defined mass Left lung"]),
        ("The heart is big and round\r\n\r\nThe lungs are clear too", ["The heart is big and round", "The lungs are clear too"]),
        ("One is here.\u2028Two is there.\rThree is gone.", ["One is here", "Two is there", "Three is gone"]),
        ("| Part | Finding |\n|---|:---:|\n| heart | big |", ["Part Finding", "heart big"]),
        ("> It is **very** _big_, see [this](http://a.b/c_d).", ["It is very big see this"]),
        ("Big heart.<br>Clear <b>lungs</b> &amp; ribs", ["Big heart", "Clear lungs ribs"]),
        ("```\nIt is big.\n```\n---\nSee https://a.b/c.d?e=f. It helps.", ["It is big", "See", "It helps"]),
        ("# Only a heading", ["Only a heading"]),
        ("**The heart is big.**", ["The heart is big"]),
    ],
)  # fmt: skip
def test_lines_lists_headings_and_markup(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "heart bone bones boned scan spread months plaque league lungs seal eye nerve through wheeze MRI CTs T1 3.5 mm"),
        (2, "muscle handled cancer needed being biceps layer fluid spasm rhythm patient lesion safely useful axis tissue naïve"),
        (3, "aorta idea cornea tumorous area abscesses radius extremely calcium dementia T1-weighted artery"),
        (4, "pneumonia malignancy radiograph's abnormally metastasis diabetes bacteria immaturely well-defined-ness"),
        (5, "myocardial myocardium diagnostician immediately radiology cardiopathy"),
        (6, "radiological cardiomegaly echogenicity anterolateral laparoscopically"),
        (7, "gastrointestinally osteomyelitis histopathological angiocardiograms"),
    ],
)  # fmt: skip
def test_syllables_of_words(count: int, words: str) -> None:
    assert {word: word_syllables(word) for word in words.split()} == dict.fromkeys(words.split(), count)


def test_accents_case_and_apostrophes_make_no_difference() -> None:
    assert syllables("Naïve") == syllables("naive") == 2
    assert syllables("LESION") == syllables("lesion") == 2
    assert (syllables("isn't"), syllables("don\u2019t"), syllables("disc's"), syllables("nurse's")) == (
        2,
        1,
        1,
        2,
    )
    assert syllables("") == syllables("左") == syllables("'") == 1


def test_initialisms_have_one_syllable_unless_all_is_in_capitals() -> None:
    assert word_syllables("LIVER") == 1
    assert word_syllables("LIVER", shouted=True) == 2
    assert readability("THE LIVER IS NORMAL.").syllables == readability("The liver is normal.").syllables == 6


def test_the_formula_is_kincaids() -> None:
    found = readability("The heart is big. The lungs are clear of fluid.")
    assert (found.sentences, found.words, found.syllables, found.reason) == (2, 10, 11, None)
    assert found.grade == pytest.approx(0.39 * 10 / 2 + 11.8 * 11 / 10 - 15.59, abs=1e-12)


def test_expert_text_grades_above_lay_text() -> None:
    expert = (
        "Axial contrast-enhanced computed tomography demonstrates a heterogeneously enhancing hepatic mass."
    )
    lay = "The scan shows a lump in the liver. It looks uneven."
    assert (readability(expert).grade or 0) > (readability(lay).grade or 99) + 8


@pytest.mark.parametrize("text", ["", " \n\u2028", "...", "---", "3.\n4."])
def test_text_without_a_word_has_no_grade(text: str) -> None:
    found = readability(text)
    assert (found.grade, found.reason, found.words) == (None, EMPTY, 0)


@pytest.mark.parametrize(
    "text", ["左侧上颌窦黏膜增厚。", "CT显示左肺上叶结节，直径约3.5mm。", "Сердце увеличено.", "心臓 is big"]
)
def test_text_in_other_letters_has_no_grade(text: str) -> None:
    found = readability(text)
    assert (found.grade, found.reason, found.words) == (None, NOT_LATIN, 0)


def test_a_few_other_letters_are_passed_over() -> None:
    assert readability("The β-blocker helps the heart (心).").words == 5


def test_sums_give_the_pooled_grade() -> None:
    texts = [wild_report(seed) for seed in range(5)]
    counts = np.array([[r.sentences, r.words, r.syllables] for r in map(readability, texts)])
    pooled = grade_from_sums(counts.sum(axis=0))
    sentences, words, spoken = counts.sum(axis=0)
    assert float(pooled) == pytest.approx(0.39 * words / sentences + 11.8 * spoken / words - 15.59, abs=1e-12)
    assert grade_from_sums(counts).tolist() == [readability(text).grade for text in texts]
    assert np.isnan(grade_from_sums([0, 0, 0]))
    with pytest.raises(ValueError, match="not shape"):
        grade_from_sums([1, 2])


@settings(deadline=None, max_examples=300)
@given(st.text() | st.text(alphabet="aE .\n-*#1)(|_`<>b/&;:'\u2028T"))
def test_any_text_has_counts_that_fit_together(text: str) -> None:
    found = readability(text)
    assert 0 <= found.sentences <= found.words <= found.syllables
    assert (found.grade is None) == (found.words == 0) == (found.reason is not None)


@pytest.mark.parametrize(
    "piece", ["a", "*", "<b ", "[", "|", "A.", "**a", "_", "e.g. ", "1) ", "a-", "\n- ", "www."]
)
def test_long_texts_take_time_that_grows_with_them(piece: str) -> None:
    before = time.process_time()
    readability(piece * 20_000)
    assert time.process_time() - before < 5
