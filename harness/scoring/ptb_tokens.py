"""The tokens that caption metrics count: those of pycocoevalcap 1.2, without Java.

Its PTBTokenizer is Stanford CoreNLP's of version 3.4.1. Text is cut at spaces first, and what stands
between two spaces is tokenized once and remembered, since reports repeat their words. The few spaces that a
token may reach across are found beforehand.

Reports, addresses and markup as people write them give its very tokens. Left out, since exact patterns
would be longer than they are worth: faces around `_` (`^_^`) or a quotation mark (`o'O`), abbreviations
with a capital inside (`mfG.`), `bancorp.`, braces in the path of a host without http or www. By these, 25
of 100,000 random texts of ASCII differ.
"""

from __future__ import annotations

import re
from typing import Final

from harness.scoring.ptb_characters import DIGITS, LETTERS, MARKS, SOFT_HYPHEN, SYMBOLS
from harness.scoring.ptb_patterns import TAG, one_of
from harness.scoring.ptb_rules import RULES, Rule
from harness.scoring.ptb_spelling import MARKS_OF_PUNCTUATION, PUNCTUATION, SYMBOL_NAMES
from harness.scoring.ptb_words import NUMBERED

_LINE_ENDS: Final = re.compile("[\n\r\x0b\x0c\u2028\u2029]")
_RUNS_OF_BLANKS: Final = re.compile("[ \t][ \t\xa0\u2000-\u200a\u3000]+")
"""Each is one gap, so that no token begins with its rest: addresses may else begin with a no-break space."""

_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_LETTER: Final = re.compile(f"[{LETTERS}{MARKS}{SOFT_HYPHEN}]")
_DIGIT: Final = re.compile(f"[{DIGITS}]")
_SYMBOL: Final = re.compile(f"[{SYMBOLS}]")
_TAG: Final = re.compile(TAG)

_AFTER_NUMBERED: Final = "|".join(rf"(?<={name}\. )" for name in one_of(NUMBERED).split("|"))
_AFTER_INITIAL: Final = (
    r"(?:(?<=[^A-Za-z][A-Za-z]\. )|(?<=^[A-Za-z]\. )|(?<=[\u2019\x92][smdSMD][A-Za-z]\. ))"
)
_JOINING_SPACES: Final = re.compile(
    rf" (?:(?=[{DIGITS}])(?:(?<=[{DIGITS})] )|(?i:{_AFTER_NUMBERED}))|(?<=\. )(?=\.)|{_AFTER_INITIAL} *)"
)
"""Spaces at which text may not be cut: in rows of numbers, behind `no.` and `B.`, between full stops."""

_JOINED: Final = "\n"
"""Stands for such a space until the text is cut: no line end is left by then."""

_STARTING: Final = {kind: tuple(rule for rule in RULES if kind in rule.starts) for kind in "wds"}

_MOST_REMEMBERED: Final = 200_000
_LONGEST_REMEMBERED: Final = 100


def ptb_tokenize(text: str) -> list[str]:
    """Return the tokens of one text, in lower case, punctuation dropped.

    Brackets stay, by name: `-lrb-`, `-rrb-`. Some tokens hold no-break spaces: `7 1/2`, rows of numbers
    that look like a telephone's. Emoji and unassigned characters leave no token. Two things are kept from
    the original on purpose: line ends of every kind are spaces (there U+2028, CR and others shift all later
    texts by one), and a text ends where it ends (there the next text's first characters decide on a last
    `no.`, `fig.` or `B.`). Lone surrogates count as U+FFFD. Never raises; the time taken grows with the
    length of the text.
    """
    text = _LONE_SURROGATES.sub("\ufffd", _LINE_ENDS.sub(" ", text))
    text = _RUNS_OF_BLANKS.sub(lambda blanks: " " * len(blanks[0]), text)
    if "<" in text:
        text = _TAG.sub(lambda tag: tag[0].replace(" ", _JOINED), text)
    text = _JOINING_SPACES.sub(lambda spaces: _JOINED * len(spaces[0]), text)
    tokens: list[str] = []
    for piece in text.split(" "):
        tokens += _REMEMBERED[piece]
    if tokens and tokens[-1][-1].isspace():
        tokens[-1] = tokens[-1].rstrip()
    return tokens


class _Remembered(dict[str, tuple[str, ...]]):
    """The tokens of pieces of text; empties itself before it grows beyond its bound."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        tokens = tuple(_tokens(piece.replace(_JOINED, " ")))
        if len(piece) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[piece] = tokens
        return tokens


_REMEMBERED: Final = _Remembered()


def _tokens(piece: str) -> list[str]:
    """Return the tokens of one piece."""
    rules = {kind: [r for r in _STARTING[kind] if r.needs in piece] for kind in "wds"}
    tokens = []
    at = 0
    while at < len(piece):
        length, token = _longest(rules[_kind(piece[at])], piece, at)
        at += length
        if token and token not in PUNCTUATION:
            tokens.append(token)
    return tokens


def _longest(rules: list[Rule], piece: str, at: int) -> tuple[int, str]:
    """Return how many characters the token here has, and its spelling: empty where it leaves none."""
    farthest, best = 0, None
    for rule in rules:
        match = rule.pattern.match(piece, at)
        if match is not None and match.end() - at + rule.bonus > farthest:
            farthest, best = match.end() - at + rule.bonus, (rule, match)
    if best is None:
        return 1, _symbol(piece[at])
    rule, match = best
    written = match[match.lastindex or 0]
    return len(written), rule.spelling(written).lower()


def _kind(character: str) -> str:
    if _LETTER.match(character):
        return "w"
    return "d" if _DIGIT.match(character) else "s"


def _symbol(character: str) -> str:
    if character in MARKS_OF_PUNCTUATION or not _SYMBOL.match(character):
        return ""
    return SYMBOL_NAMES.get(character) or character.lower()
