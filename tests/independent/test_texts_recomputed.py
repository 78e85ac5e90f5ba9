# ruff: noqa: RUF001, SIM905
"""PTB tokens, BLEU, ROUGE-L and METEOR of odd texts, by the programs that PanDent's numbers come from.

The sentences are made here, of clinical words and every kind of figure, sign and abbreviation. Tolerances:
tokens equal in all but 2 of 50,000 texts (slips make what nobody writes); BLEU and ROUGE-L 1e-12.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from coco_reference import java_tokens, needs_java

from harness.scoring.bleu import corpus_bleu
from harness.scoring.ptb_tokens import ptb_tokenize
from harness.scoring.rouge import mean_rouge_l, rouge_l

SENTENCES = 50_000

WORDS = (
    "the a no of at with and or is are was were noted seen evidence tooth teeth caries lesion restoration "
    "crown bridge root canal apical periapical radiolucency radiopacity mandible maxilla sinus condyle "
    "TMJ T.M.J. OPG IOPA BPE R/O r/o c/o s/p w/ w/o b/w N/A n/a WNL wnl i.e. e.g. etc. vs. viz. cf. "
    "approx. Dr. Mr. Mrs. Prof. St. No. no. Fig. fig. Figs. Sr. Jr. Ph.D. M.D. D.D.S. DDS B.D.S. U.S. "
    "a.m. p.m. A.M. P.M. Inc. Co. Ltd. Jan. Sept. Feb. Mon. Oct. Vol. pp. ca. ext. max. min. mand. lat. "
    "ant. post. L. R. Lt. Rt. sup. inf. can't don't won't isn't doesn't patient's patients' it's he's "
    "they've I'd we'll 'tis cannot gonna gotta wanna lemme d'accord O'Brien rock'n'roll Grade-II "
    "Grade-III Class-I Miller's ill-defined well-defined well- mid- -third mesio-distal disto-angular "
    "multi-locular peri-implantitis non-metal x-ray X-rays pre-molar bucco/lingual mesial/distal and/or "
    "his/her yes/no 3D 2D CBCT Cone-Beam Na+ Ca(OH)2 pH C++ µm mm cm kVp mA mGy "
).split()
SIGNS = (
    "http://www.x.org/a?b=1 www.dent.com a.b@c.org @user #tag &amp; &lt; &quot; <br> </p> <b> "
    "[1] {x} (2) (i) a) 1) 1. (a) C:\\dir -- --- ... .... … - – — • · ■ → ✓ * ** __ `` '' \" “ ” "
    "‘ ’ « » ¿ ! ?! !!! ??? : ; , & % / \\ | ~ ^ = + < > <= >= -> => # @ ° µ § ¶ © ® ™ ² ³ ¼ ¾ ⅓ "
    "⅔ ① Ⅱ Ⅲ № ℃ ㎜ （ ） 。 ， 、 ； ： “全景” 牙齿 #36牙 ⅠⅡ α β-lactam naïve Müller Sjögren's café ﬁlling "
).split()
ENDS = (".", ".", ".", ".", "", "!", "?", "...", ". ", ".)", '."', ";", ":")
BULLETS = ("- ", "• ", "* ", "1. ", "a) ", "(1) ", "– ", "1) ", "A. ", "# ")
MARKS = ((0.10, ","), (0.13, ";"), (0.15, ":"), (0.18, ". "), (0.19, " - "), (0.20, "..."), (0.205, "?"))
BRACKETS = ((0.06, "()"), (0.08, '""'), (0.10, "“”"), (0.11, "''"), (0.12, "[]"))


def figure(dice: random.Random) -> str:
    """Return a number as clinicians write it."""
    a, b = dice.randrange(60), dice.randrange(100)
    tooth, other = (f"#{dice.randrange(1, 5)}{dice.randrange(1, 9)}" for _ in range(2))
    plain = f"{a} {a}.{b} {a}-{b}mm <{a} >{a} ≥{a}% {a}% ±{a}.{b} {a}° {a}°C 1/2 ½ {a}½ {a}/{b} {tooth}"
    more = f"{tooth}-{other} {a}x{b} {a},{b:03d} .{b} -{a} +{a} ${a}.{b:02d} €{a} £{a} {a}/{b}/20{b:02d}"
    rest = f"{a:02d}.{b % 12:02d}.2024 2024-0{a % 9 + 1}-{b % 28 + 1:02d} {a % 24}:{b % 60:02d}"
    rest += f" {a}th {a}nd {a}'s"
    apart = [
        f"{a}-{b} mm",
        f"< {a}mm",
        f"≤{a} mm",
        f"{a} 1/2",
        f"{a}×{b} mm",
        f'{a}"',
        f"{a}'",
        f"{a}mg/ml",
        f"({a})",
    ]
    return dice.choice([*plain.split(), *more.split(), *rest.split(), *apart])


def word(dice: random.Random) -> str:
    """Return a word, a number, a sign, or what slips of the hand make of them."""
    kind = dice.random()
    if kind < 0.30:
        return figure(dice)
    one = dice.choice(WORDS)
    if kind < 0.36:
        return one.upper()
    if kind < 0.42:
        return one.capitalize()
    if kind < 0.46:
        return one + dice.choice("-/&_@.'’+=~^|*") + dice.choice(WORDS)
    if kind < 0.48:
        return one + dice.choice("-/&+–—") + figure(dice)
    if kind < 0.49:
        return "".join(dice.choice("abcXYZ019.-'/&°é’#@") for _ in range(dice.randrange(1, 9)))
    return dice.choice(SIGNS) if kind < 0.50 else one


def sentence(dice: random.Random) -> str:
    """Return a sentence of up to 13 of them."""
    words = []
    for _ in range(dice.randrange(1, 14)):
        one, kind = word(dice), dice.random()
        pair = next((pair for below, pair in BRACKETS if kind < below), None)
        one, kind = one if pair is None else pair[0] + one + pair[1], dice.random()
        words.append(one + next((mark for below, mark in MARKS if kind < below), ""))
    gap = dice.choice(("  ", "\t", "\n", " \u00a0")) if dice.random() < 0.07 else " "
    bullet = dice.choice(BULLETS) if dice.random() < 0.2 else ""
    return bullet + gap.join(words) + dice.choice(ENDS)


@needs_java
@pytest.mark.slow
def test_fifty_thousand_sentences_have_the_tokens_of_java(tmp_path: Path) -> None:
    dice = random.Random(20)
    texts = [sentence(dice) for _ in range(SENTENCES)]
    found = java_tokens(texts, tmp_path)
    wrong = [text for text, tokens in zip(texts, found, strict=True) if ptb_tokenize(text) != tokens]
    assert len(wrong) <= 2, wrong[:10]


@needs_java
def test_abbreviations_before_a_hyphen_have_the_tokens_of_java(tmp_path: Path) -> None:
    texts = [
        f"x {name}.{end} y"
        for name in ("Jan", "etc", "rt", "SR", "Ph.D", "T.M.J", "L", "no", "fig", "Dr", "Wash", "approx", "c")
        for end in (
            "-0",
            "-x",
            "-R.",
            "-12",
            "-xy",
            "-5.56",
            "-1/2",
            "-w/o",
            "-O'Brien",
            "x",
            "xy",
            "-a,",
            " Mr. y",
        )
    ]
    texts += [
        f"{a}-{b}" for a in ("T3", "L'3", "l'ab", "O'3", "x") for b in ("L'3", "d'34", "l'b", "o'bc", "c")
    ]
    texts += [
        f"x{a}{b}"
        for a in (" \xa0", "\xa0", "\t\u3000", " \u2003 ")
        for b in ("b.com", "www.b.org", "a@b.c", "x")
    ]
    found = java_tokens(texts, tmp_path)
    assert [ptb_tokenize(text) for text in texts] == found


def _short(dice: random.Random) -> list[str]:
    return dice.choices(("no", "caries", "on", "#", "36"), k=dice.choice((0, 1, 1, 2, 3, 3, 4, 9)))


@pytest.mark.parametrize("seed", range(4))
def test_texts_of_a_few_words_have_the_bleu_and_rouge_of_pycocoevalcap(seed: int) -> None:
    bleu = pytest.importorskip("pycocoevalcap.bleu.bleu")
    rouge = pytest.importorskip("pycocoevalcap.rouge.rouge")
    dice = random.Random(seed)
    pairs = [(_short(dice), _short(dice)) for _ in range(1 if seed == 0 else 400)]
    given = {k: [" ".join(pair[0])] for k, pair in enumerate(pairs)}
    right = {k: [" ".join(pair[1])] for k, pair in enumerate(pairs)}
    expected = bleu.Bleu(4).compute_score(right, given, verbose=0)[0]
    assert corpus_bleu(pairs) == pytest.approx(np.array(expected), abs=1e-12)
    scorer = rouge.Rouge()
    each = [scorer.calc_score(given[k], right[k]) for k in range(len(pairs))]
    for pair, value in zip(pairs, each, strict=True):
        assert rouge_l(*pair) == pytest.approx(value, abs=1e-12), pair
    assert mean_rouge_l(pairs) == pytest.approx(np.mean(each), abs=1e-12)
    for pair in pairs[:100]:
        one: Callable[..., object] = bleu.Bleu(4).compute_score
        alone, _ = one({0: [" ".join(pair[1])]}, {0: [" ".join(pair[0])]}, verbose=0)  # type: ignore[misc]
        assert corpus_bleu([pair]) == pytest.approx(np.array(alone), abs=1e-12), pair
