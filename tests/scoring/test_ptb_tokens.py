# ruff: noqa: RUF001
"""Tokens against those of pycocoevalcap: stored ones everywhere, fresh ones where there is Java."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random

import pytest
from coco_reference import java_tokens, needs_java
from hypothesis import given, settings
from hypothesis import strategies as st
from ptb_fixture import DIFFERING, EDGES, PLACE, digest, reports
from report_texts import plain_report, wild_report

from harness.scoring.text import TOKENIZERS, ptb_tokenize, tokenize, zh_tokenize

KEPT = json.loads(PLACE.read_text(encoding="utf-8"))
TABLE_3 = Path(__file__).resolve().parents[3] / "shared" / "spec" / "pandent-table3.json"

LONG = 200_000
UNITS = [
    "a",
    "a.",
    "a,",
    "'a",
    "a-",
    "1 ",
    "1a.",
    "<a ",
    "<!a",
    '<a b="',
    '<a b=\'" b="',
    "<a" + " " * 50_000,
    "www.a-.",
    "www.a-.ab/!",
    "a.com/!",
    "http://!",
    "+12 ",
    "@",
    "'a@(",
    "%.",
    "*a",
    "e.g.,",
    "牙",
    "\x00",
]


def differences(texts: list[str], folder: Path) -> list[str]:
    expected = java_tokens(texts, folder)
    return [text for text, tokens in zip(texts, expected, strict=True) if ptb_tokenize(text) != tokens]


def test_a_mail_address_ends_before_a_full_stop_by_every_python() -> None:
    assert ptb_tokenize("Write to jo@clinic.org.) or a@b..") == [
        "write", "to", "jo@clinic.org", "-rrb-", "or", "a@b",
    ]  # fmt: skip
    assert ptb_tokenize("<jo@b.c.>") == ["<jo@b.c", ">"]


@pytest.mark.parametrize(("text", "tokens"), KEPT["edges"])
def test_each_convention_gives_the_stored_tokens(text: str, tokens: list[str]) -> None:
    assert ptb_tokenize(text) == tokens


OURS = [
    "^ _ ^ _ -lrb- ^ _ ^ -rrb- -lrb- ~ x -rrb-",
    "o o",
    "mtg pte mfg",
    "bancorp",
    "a.com / b -rcb- c",
]


@pytest.mark.parametrize(("kept", "ours"), list(zip(KEPT["differing"], OURS, strict=True)))
def test_known_differences_are_these_and_no_others(kept: tuple[str, list[str]], ours: str) -> None:
    text, of_java = kept
    assert ptb_tokenize(text) == ours.split()
    assert of_java != ours.split()


def test_reports_give_the_stored_tokens() -> None:
    found = [digest(ptb_tokenize(text)) for text in reports()]
    assert [place for place, one in enumerate(found) if one != KEPT["reports"][place]] == []
    assert len(found) == len(KEPT["reports"])


def test_the_stored_tokens_are_of_these_texts() -> None:
    assert [text for text, _ in KEPT["edges"]] == EDGES
    assert [text for text, _ in KEPT["differing"]] == DIFFERING


@pytest.mark.slow
@needs_java
def test_fresh_reports_give_the_tokens_of_java(tmp_path: Path) -> None:
    texts = [make(seed) for seed in range(5000, 5200) for make in (plain_report, wild_report)]
    assert differences([*texts, *EDGES, *_paper_reports()], tmp_path) == []


@needs_java
@pytest.mark.slow
def test_thousands_of_fresh_reports_give_the_tokens_of_java(tmp_path: Path) -> None:
    assert differences([plain_report(seed) for seed in range(10_000, 14_000)], tmp_path) == []
    # Slips may hit upon what no clinician writes.
    assert len(differences([wild_report(seed) for seed in range(10_000, 18_000)], tmp_path)) <= 1


@needs_java
@pytest.mark.slow
def test_random_characters_give_other_tokens_than_java_once_in_a_thousand_texts(tmp_path: Path) -> None:
    rng = Random(5)
    everything = [chr(code) for code in range(0x11_0000) if not 0xD800 <= code < 0xE000]
    plain = [chr(code) for code in range(32, 127)]

    def text() -> str:
        return "".join(rng.choice(rng.choice([plain, everything])) for _ in range(rng.randint(1, 12)))

    assert len(differences([text() for _ in range(40_000)], tmp_path)) <= 40


def test_line_ends_of_every_kind_part_words_and_nothing_else() -> None:
    for end in "\n\r\x0b\x0c\u2028\u2029":
        assert ptb_tokenize(f"no caries{end}no calculus") == ["no", "caries", "no", "calculus"]


def test_brackets_stay_by_name_and_punctuation_goes() -> None:
    assert ptb_tokenize("Caries (#18), calculus.") == ["caries", "-lrb-", "#", "18", "-rrb-", "calculus"]


def test_a_text_does_not_see_the_one_that_follows() -> None:
    assert ptb_tokenize("No caries: no.") == ["no", "caries", "no"]
    assert ptb_tokenize("5 teeth") == ["5", "teeth"]


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_any_text_has_tokens_without_spaces(text: str) -> None:
    tokens = ptb_tokenize(text)
    assert all(token and " " not in token and "\n" not in token for token in tokens)
    assert tokens == ptb_tokenize(text)


def test_lone_surrogates_are_no_error() -> None:
    assert ptb_tokenize("tooth \ud800 18\udfff") == ["tooth", "18"]
    "\n".join(ptb_tokenize("a\ud800@b.c")).encode()


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_long_texts_take_bounded_time(unit: str) -> None:
    start = time.process_time()
    ptb_tokenize((unit * (LONG // len(unit)))[: LONG // 4] + "@>;-/.:$#_)")
    assert time.process_time() - start < 5


def test_chinese_is_cut_into_characters_by_name_only() -> None:
    assert tokenize("第18颗牙，龋齿", "zh") == ["第", "18", "颗", "牙", "，", "龋", "齿"]
    assert tokenize("第18颗牙，龋齿") == ["第18颗牙", "，", "龋齿"]
    assert sorted(TOKENIZERS) == ["13a", "ptb", "rouge", "zh"]
    with pytest.raises(ValueError, match="unknown tokenizer 'auto'; known: ptb, 13a, rouge, zh"):
        tokenize("第18颗牙", "auto")


def test_chinese_tokens_are_those_of_sacrebleu() -> None:
    reference = pytest.importorskip("sacrebleu.tokenizers.tokenizer_zh").TokenizerZh()
    texts = [*EDGES, *(wild_report(seed) for seed in range(100)), "3.5mm,2-3 .5 a.b,c 1-2--3 《a》（b）"]
    texts.extend(
        "".join(chr(code) for code in range(start, start + 256)) for start in range(0x2000, 0xFF00, 0x500)
    )
    for text in texts:
        if not any(0xD800 <= ord(character) < 0xE000 for character in text):
            assert zh_tokenize(text) == reference(text).split(), text


def _paper_reports() -> list[str]:
    if not TABLE_3.exists():
        return []
    facts = json.loads(TABLE_3.read_text(encoding="utf-8"))
    return [facts["row1"], facts["row2"]]
