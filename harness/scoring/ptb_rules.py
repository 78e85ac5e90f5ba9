"""The rules by which the PTB tokenizer cuts text: where several match, the one that reaches farthest wins.

Written from what the tokenizer behind pycocoevalcap 1.2 was seen to do with some million short texts, and
from the conventions of the Penn Treebank. What a rule has to see behind its token counts towards how far it
reaches; of rules that reach equally far, the first wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from harness.scoring.ptb_characters import DIGITS, LETTERS, SOFT_HYPHEN
from harness.scoring.ptb_patterns import (
    ALNUM,
    APOSTROPHE,
    BLANK,
    DIGIT,
    DOMAIN_NAME,
    DOTTED,
    ELISION,
    ENCLITIC,
    END,
    FACE,
    FIXED_ELISION,
    FRACTION,
    HYPHEN,
    LEADING_APOSTROPHE,
    LETTER,
    LINK,
    MAIL,
    NEAR,
    NUMBER,
    QUOTE,
    SLASHED,
    SOLIDUS,
    TAG,
    TEAMS,
    TELEPHONE,
    WEB_HOST,
    WORD,
    one_of,
)
from harness.scoring.ptb_spelling import (
    as_written,
    dashes,
    ellipsis,
    entity,
    with_glued_spaces,
    with_named_brackets,
    with_plain_ampersands,
    with_plain_quotes,
    without_soft_hyphens,
)
from harness.scoring.ptb_words import (
    CAPITALISED,
    CASED_CLOSING,
    CASED_TITLES,
    CLOSING,
    FILE_ENDINGS,
    NUMBERED,
    PARTED,
    SENTENCE_STARTERS,
    TITLES,
)


class Rule(NamedTuple):
    """A kind of token: group 1 is the token where the pattern also holds what must follow it."""

    starts: str
    """With what it may begin: w for a letter or mark, d for a digit, s for anything else."""

    pattern: re.Pattern[str]

    spelling: Callable[[str], str]
    """From its characters to the token, before lower case."""

    needs: str
    """A character without which no text matches."""

    bonus: int
    """By how much farther than its match it reaches."""


def _rule(
    starts: str,
    pattern: str,
    spelling: Callable[[str], str] = as_written,
    *,
    needs: str = "",
    bonus: int = 0,
) -> Rule:
    return Rule(starts, re.compile(pattern), spelling, needs, bonus)


def _capitalised(words: str) -> str:
    return "|".join(f"{word[0].upper()}(?i:{word[1:]})" for word in words.split())


def _small(words: str) -> str:
    return "|".join(f"(?i:{word[0]}){word[1:]}" for word in words.split())


_ROW_START: Final = rf"[A-Za-z0-9][A-Za-z0-9.,{SOFT_HYPHEN}]{{0,{NEAR}}}"
_ROW: Final = rf"{_ROW_START}(?:-[A-Za-z0-9{SOFT_HYPHEN}]+)+"
_BEFORE_COMMA: Final = (
    rf"((?:{WORD}|{ELISION}{ALNUM}+(?:{HYPHEN}{ELISION}{ALNUM}+)*|{_ROW}|{DOTTED}|{TEAMS})\.)[,;:\u3001]"
)

_CLOSING: Final = f"(?i:{one_of(CLOSING)})|{_small(CASED_CLOSING)}"

ABBREVIATIONS: Final = (
    _rule("w", rf"(?:{_CLOSING})\.", needs=".", bonus=1),
    _rule("w", rf"(?:{_capitalised(CAPITALISED)})\.", needs=".", bonus=1),
    # Before a hyphen they reach two characters farther: Jan.-5 is two tokens, Jan.-15 is one.
    _rule("w", rf"(?:{_CLOSING}|(?i:(?:ph|ed)\.d)|{_capitalised(CAPITALISED)})\.(?=-)", needs="-", bonus=2),
    _rule("w", rf"(?:(?i:{one_of(TITLES)})|{_small(CASED_TITLES)})\.", needs="."),
    _rule("w", rf"[A-Za-z]\.(?!{BLANK}+(?:{_capitalised(SENTENCE_STARTERS)}|{TAG}){END})", needs="."),
    _rule("w", rf"(?i:{one_of(NUMBERED)})\.(?={BLANK}?{DIGIT})", needs="."),
    _rule("w", r"(?i:(?:ph|ed)\.d\.)", needs=".", bonus=1),
    _rule("w", r"[A-Za-z](?:\.[A-Za-z])+\.", needs="."),
    _rule("wd", rf"{_ROW_START}-(?:[A-Za-z0-9]+-)*[A-Za-z](?:\.[A-Za-z])+\.", needs="-"),
    # Before a comma any word keeps its full stop.
    _rule("wd", _BEFORE_COMMA, without_soft_hyphens, needs=".", bonus=-1),
)

APOSTROPHES: Final = (
    _rule("w", rf"([A-Za-z{SOFT_HYPHEN}]*[A-MO-Za-mo-z])[nN]{QUOTE}[tT]", without_soft_hyphens),
    _rule("w", f"[nN]{QUOTE}[tT]", with_plain_quotes),
    _rule("w", f"({WORD})(?i:{APOSTROPHE}{ENCLITIC})", without_soft_hyphens),
    _rule("s", f"(?i:'{ENCLITIC}(?![A-Za-z])|(?:[\u2019\x92]|&apos;){ENCLITIC})", with_plain_quotes),
    _rule("s", f"(?i:{LEADING_APOSTROPHE})"),
    _rule("w", f"[dloDLO]{QUOTE}{ALNUM}{{2,}}"),
    _rule("w", f"[nA-HJ-XZ]{QUOTE}[{LETTERS}]{{2,}}"),
    _rule("w", f"[{LETTERS}]+[aeiouyAEIOUY]{QUOTE}[aeiouA-Z][{LETTERS}]*"),
    _rule("w", f"(?i:{FIXED_ELISION})"),
    _rule("s", "''|``|[`\u2018-\u201f\u2039\u203a\xab\xbb\x91-\x94]{1,2}", with_plain_quotes),
)

NUMBERS: Final = (
    _rule("wds", f"[-+{SOFT_HYPHEN}]?{NUMBER}", without_soft_hyphens),
    _rule("d", f"{DIGIT}+[{LETTERS}][{LETTERS}{DIGITS}]*"),
    _rule("d", FRACTION, with_glued_spaces),
    _rule("d", rf"{DIGIT}{{1,2}}[-/]{DIGIT}{{1,2}}[-/]{DIGIT}{{2,4}}"),
    _rule("ds", TELEPHONE, with_named_brackets),
)

COMPOUNDS: Final = (
    _rule("wd", _ROW, without_soft_hyphens, needs="-"),
    _rule("wd", f"{ELISION}{ALNUM}+(?:{HYPHEN}{ELISION}{ALNUM}+)+"),
    _rule("wd", rf"{SLASHED}(?:{SOLIDUS}{SLASHED}){{1,2}}", needs="/"),
    _rule("w", DOTTED, without_soft_hyphens),
    _rule("w", TEAMS, with_plain_ampersands),
    _rule("w", "(?i:at&(?:amp;)?t|[cf]#|c\\+\\+)", with_plain_ampersands),
    _rule("w", r"[A-Z]+\$", needs="$"),
    _rule("w", "(?i:(?:pro|anti)-)", needs="-"),
)

ADDRESSES: Final = (
    _rule("wds", MAIL, needs="@"),
    _rule("w", LINK, needs=":"),
    _rule("w", WEB_HOST, needs="."),
    _rule("ws", DOMAIN_NAME, needs="."),
    _rule(
        "wd", rf"{ALNUM}++(?:\.{ALNUM}++){{0,9}}\.(?i:{one_of(FILE_ENDINGS)})(?={BLANK}|[,.!?]|$)", needs="."
    ),
    _rule("s", "@[A-Za-z_][A-Za-z_0-9]*", needs="@"),
    _rule("s", f"#{LETTER}+", needs="#"),
    _rule("s", TAG, with_glued_spaces, needs=">"),
    _rule("s", r"(?i:&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]+);)", entity, needs=";"),
)

SYMBOL_ROWS: Final = (
    _rule("s", "[!?]+"),
    _rule("s", "-{2,}", dashes),
    _rule("s", r"\.(?: \.){2,}|\.{3,5}", ellipsis),
    _rule("s", r"\\\*|\*+|#+|_+|@+|<<|>>"),
    _rule("s", "[\u207a\u207b\u208a\u208b]?(?:[\u2070\xb9\xb2\xb3\u2074-\u2079]+|[\u2080-\u2089]+)"),
    _rule("ws", FACE, with_named_brackets),
)

RULES: Final = (
    *(_rule("w", f"(?i:({first}){second})") for first, second in PARTED.items()),
    _rule("w", WORD, without_soft_hyphens),
    *ABBREVIATIONS,
    *APOSTROPHES,
    *NUMBERS,
    *COMPOUNDS,
    *ADDRESSES,
    *SYMBOL_ROWS,
)
