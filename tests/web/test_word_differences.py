"""Two texts compared word by word: nothing lost, nothing invented, and quick whatever their length."""

from __future__ import annotations

import re
import time
from random import Random

import pytest

from harness.web.viewing.word_differences import MOST_TOKENS, WordDifference, word_difference

REFERENCE = "The marked area, in the upper right part, shows a dark spot in the liver."
ANSWER = "The marked area in the lower right part shows a bright spot in the liver, which is large."


def side(found: WordDifference, kind: str) -> str:
    """Return the text of one side: what is the same, and what only that side has."""
    return "".join(piece.text + piece.gap for piece in found.pieces if piece.kind in ("same", kind))


def kinds(found: WordDifference) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in found.pieces]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def longest_common(one: list[str], other: list[str]) -> int:
    """Return the length of the longest common subsequence, by the textbook's table."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for place, theirs in enumerate(other, start=1):
            kept = row[place]
            row[place] = before + 1 if word == theirs else max(row[place], row[place - 1])
            before = kept
    return row[-1]


def test_what_only_one_text_says_is_told_apart_from_what_both_say() -> None:
    found = word_difference("a big dark spot there", "a big bright spot there, and more")
    assert kinds(found) == [
        ("same", "a big"), ("missing", "dark"), ("extra", "bright"), ("same", "spot there"),
        ("extra", ", and more"),
    ]  # fmt: skip
    assert (found.shared, found.reference_words, found.answer_words) == (4, 5, 7)


def test_the_answer_can_be_read_off_to_the_letter() -> None:
    answer = "one  two\n\nthree\tfour\u2028five\rsix."
    assert side(word_difference("one 2 three, FIVE six.", answer), "extra") == answer


@pytest.mark.parametrize("seed", range(20))
def test_both_texts_are_whole_whatever_they_hold(seed: int) -> None:
    drawn = Random(seed)
    parts = [
        "spot",
        "the",
        "liver",
        "肝",
        "脏",
        "\uff0c",
        ".",
        "12-13",
        "a",
        "don't",
        "\U0001f9b7",
        "é",
        "\n",
        " ",
        "_",
    ]
    ours, theirs = ("".join(drawn.choice(parts) + drawn.choice(["", " "]) for _ in range(60)) for _ in "ab")
    found = word_difference(ours, theirs)
    assert squeezed(side(found, "extra")) == squeezed(theirs)
    assert squeezed(side(found, "missing")) == squeezed(ours)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_the_same_is_the_longest_common_subsequence_but_for_crumbs(seed: int) -> None:
    drawn = Random(seed)
    words = ["liver", "kidney", "spleen", "lesion", "shadow", "normal"]  # long enough to be no crumbs
    ours, theirs = ([drawn.choice(words) for _ in range(drawn.randrange(1, 40))] for _ in "ab")
    assert word_difference(" ".join(ours), " ".join(theirs)).shared == longest_common(ours, theirs)


def test_a_word_of_no_weight_between_two_changes_does_not_tear_them_apart() -> None:
    found = word_difference("lungs of adults", "hearts of children")
    assert kinds(found) == [("missing", "lungs of adults"), ("extra", "hearts of children")]
    assert found.shared == 0


def test_chinese_is_compared_character_by_character() -> None:
    found = word_difference("右肺上叶腺癌", "右肺下叶腺癌")
    assert kinds(found) == [("same", "右肺"), ("missing", "上"), ("extra", "下"), ("same", "叶腺癌")]
    assert found.reference_words == 6


def test_blanks_alone_are_no_difference_and_are_said_to_be_one() -> None:
    found = word_difference("No caries.\r\nNo lesion.", "No caries. No lesion.")
    assert [piece.kind for piece in found.pieces] == ["same"]
    assert found.spacing_only
    assert not word_difference("the same", "the same").spacing_only


@pytest.mark.parametrize(("ours", "theirs"), [("", ""), ("", "a word"), ("a word", ""), ("\u2028", " \r")])
def test_empty_texts_have_their_difference_too(ours: str, theirs: str) -> None:
    found = word_difference(ours, theirs)
    assert squeezed(side(found, "extra")) == squeezed(theirs)
    assert found.shared == 0


def test_long_texts_are_compared_up_to_a_bound_and_the_rest_is_counted() -> None:
    drawn = Random(1)
    words = ["".join(drawn.choices("abcdefghij", k=5)) for _ in range(3_000)]
    ours, theirs = (" ".join(drawn.choices(words, k=34_000)) for _ in "ab")
    assert len(ours) > 200_000
    begun = time.process_time()
    found = word_difference(ours, theirs)
    assert time.process_time() - begun < 5  # 0.1 s where this was written
    assert found.reference_words == found.answer_words == MOST_TOKENS
    assert found.left_reference == len(ours) - 6 * MOST_TOKENS
    assert squeezed(side(found, "extra")) == squeezed(theirs[: 6 * MOST_TOKENS])


def test_what_was_not_compared_is_never_called_equal() -> None:
    same = "word " * (MOST_TOKENS + 10)
    found = word_difference(same + "left", same + "right")
    assert [piece.kind for piece in found.pieces] == ["same"]
    assert not found.spacing_only
    assert found.left_reference and found.left_answer


def test_one_endless_word_is_one_word() -> None:
    found = word_difference("x" * 200_000, "y" * 200_000)
    assert [piece.kind for piece in found.pieces] == ["missing", "extra"]
    assert (found.left_reference, found.left_answer) == (0, 0)
