"""Two texts compared word by word, Chinese character by character: what one lacks and the other adds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, NamedTuple, TypeAlias

PieceKind: TypeAlias = Literal["same", "missing", "extra"]

MOST_TOKENS: Final = 8_000
"""Words and signs of a text that are compared: some 40,000 characters of English. The memory of a comparison
is the product of both in bits, 8 MB."""
_LOOKED_AT: Final = 200_000
"""Characters in which so many are looked for."""

_SINGLE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters that are compared one by one: CJK ideographs and kana."""
_TOKEN: Final = re.compile(
    rf"(?P<single>[{_SINGLE}])|(?P<word>(?:(?![{_SINGLE}])\w)+(?:['\u2019\-.](?:(?![{_SINGLE}])\w)+)*)|(?P<sign>\S)"
)
_SCARCE: Final = 4
"""Letters that equal words between two changes must have together to stand as equal: else "of" and "a" would
tear a changed sentence to pieces. A Chinese character counts as two."""


class Token(NamedTuple):
    """A word, a Chinese character or a sign, and where it stands; the blanks after it reach up to `end`."""

    text: str
    letters: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that stand together, and the blanks after them. What is missing is the reference's, all else the
    answer's; of the reference's line breaks there are none.
    """

    kind: PieceKind
    text: str
    gap: str = ""


@dataclass(frozen=True, slots=True)
class WordDifference:
    """Two texts in pieces, in order.

    `shared` of the reference's `reference_words` words stand in the answer too, in the same order, which has
    `answer_words`; a Chinese character is a word. `spacing_only`: they differ in blanks and line breaks
    alone. `left_reference` and `left_answer` are how many characters at the end of each were not compared.
    """

    pieces: tuple[Piece, ...]
    shared: int
    reference_words: int
    answer_words: int
    spacing_only: bool = False
    left_reference: int = 0
    left_answer: int = 0


def word_difference(reference: str, answer: str) -> WordDifference:
    """Compare two texts by their longest common subsequence of words and signs; blanks are not compared.

    At most the first `MOST_TOKENS` of each are compared.
    """
    ours, left_reference = _tokens(reference)
    theirs, left_answer = _tokens(answer)
    pieces, shared = [], 0
    for kind, tokens in _runs(ours, theirs):
        text = answer if kind != "missing" else reference
        whole = text[tokens[0].start : tokens[-1].end]
        words = whole.rstrip()
        gap = whole[len(words) :]
        pieces.append(Piece(kind, words, " " if gap and kind == "missing" else gap))
        shared += _words(tokens) if kind == "same" else 0
    alike = all(piece.kind == "same" for piece in pieces) and not (left_reference or left_answer)
    return WordDifference(
        pieces=tuple(pieces),
        shared=shared,
        reference_words=_words(ours),
        answer_words=_words(theirs),
        spacing_only=alike and reference != answer,
        left_reference=left_reference,
        left_answer=left_answer,
    )


def _tokens(text: str) -> tuple[list[Token], int]:
    """Return the tokens of a text up to the bounds, and how many characters follow them."""
    found: list[Token] = []
    begun: tuple[str, int, int] | None = None
    end = len(text)
    for match in _TOKEN.finditer(text):
        if begun is not None:
            found.append(Token(*begun, match.start()))
        if len(found) == MOST_TOKENS or match.start() >= _LOOKED_AT:
            begun, end = None, match.start()
            break
        begun = match[0], _letters(match), match.start()
    if begun is not None:
        found.append(Token(*begun, end))
    return found, len(text) - end if found else 0


def _letters(match: re.Match[str]) -> int:
    return {"single": 2, "word": len(match[0]), "sign": 0}[match.lastgroup or "sign"]


def _words(tokens: Sequence[Token]) -> int:
    return sum(token.letters > 0 for token in tokens)


def _runs(ours: Sequence[Token], theirs: Sequence[Token]) -> Iterator[tuple[PieceKind, list[Token]]]:
    """Give runs of tokens of one kind; of what replaces each other, what is missing comes first."""
    steps = _without_crumbs([*_steps(ours, theirs)])
    for is_same, group in groupby(steps, key=lambda step: step[0] == "same"):
        tokens = [*group]
        if is_same:
            yield "same", [token for _, token, _ in tokens]
            continue
        for kind in ("missing", "extra"):
            of_kind = [token for what, token, _ in tokens if what == kind]
            if of_kind:
                yield kind, of_kind


_Step: TypeAlias = tuple[PieceKind, Token, Token]
"""What a token is; for "same" the answer's and then the reference's, else the same one twice."""


def _steps(ours: Sequence[Token], theirs: Sequence[Token]) -> Iterator[_Step]:
    from rapidfuzz.distance import Indel

    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(token.text, len(numbers)) for token in side] for side in (ours, theirs)]
    for step in Indel.opcodes(*coded):
        mine = ours[step.src_start : step.src_end]
        other = theirs[step.dest_start : step.dest_end]
        if step.tag == "equal":
            yield from (("same", after, before) for before, after in zip(mine, other, strict=True))
            continue
        yield from (("missing", token, token) for token in mine)
        yield from (("extra", token, token) for token in other)


def _without_crumbs(steps: Sequence[_Step]) -> list[_Step]:
    """Take what is equal for changed where it is next to nothing between two changes."""
    found: list[_Step] = []
    groups = [(key, [*group]) for key, group in groupby(steps, key=lambda step: step[0] == "same")]
    for place, (is_same, group) in enumerate(groups):
        between = 0 < place < len(groups) - 1
        if is_same and between and sum(token.letters for _, token, _ in group) < _SCARCE:
            found += [("missing", before, before) for _, _, before in group]
            found += [("extra", after, after) for _, after, _ in group]
        else:
            found += group
    return found
