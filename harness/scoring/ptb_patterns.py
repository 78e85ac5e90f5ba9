"""Regular expressions of which the PTB tokenizer's rules are made."""

from __future__ import annotations

from typing import Final

from harness.scoring.ptb_characters import DIGITS, LETTERS, MARKS, SOFT_HYPHEN

FARTHEST: Final = 1000
"""Characters that a part of an address, a tag or a row of numbers may have, against quadratic time."""

NEAR: Final = 100
"""The same for what may begin anywhere: hosts, mail boxes, numbers before a hyphen."""

DIGIT: Final = f"[{DIGITS}]"
LETTER: Final = f"[{LETTERS}{MARKS}{SOFT_HYPHEN}]"
ALNUM: Final = f"[{LETTERS}{DIGITS}]"
WORD: Final = f"{LETTER}[{LETTERS}{MARKS}{DIGITS}{SOFT_HYPHEN}]*"
DOTTED: Final = rf"{WORD}(?:[.!?]{WORD})+"
HYPHEN: Final = "[-_\u058a\u2010\u2011]"
BLANK: Final = "[ \t\xa0\u2000-\u200a\u3000]"
END: Final = f"(?={BLANK}|$)"

APOSTROPHE: Final = "(?:['\u2019\x92]|&apos;)"
QUOTE: Final = f"(?:{APOSTROPHE}|[`\u2018\x91\u201b])"
ELISION: Final = f"(?:[dDoOlL]{QUOTE}(?={ALNUM}{{2}}))?"
ENCLITIC: Final = "(?:s|m|d|ll|re|ve)"
LEADING_APOSTROPHE: Final = (
    f"{APOSTROPHE}(?:em|cause|till?|n{APOSTROPHE}|[0-9]{{2}}{END}|[2-9]0s)|'n{END}|[\u2019\x92]n|'t(?=is|was)"
)
FIXED_ELISION: Final = (
    f"[djl]{APOSTROPHE}|ol{APOSTROPHE}|y{APOSTROPHE}(?=[{LETTERS}])"
    f"|[oe]{QUOTE}er|c{QUOTE}(?:est|mon)|o{QUOTE}clock|d{QUOTE}you"
)

NUMBER: Final = rf"(?:{DIGIT}*(?:[.,:\u066b\u066c{SOFT_HYPHEN}]{DIGIT}+)+|{DIGIT}+)"
SOLIDUS: Final = r"(?:\\?/)"
FRACTION: Final = rf"(?:{DIGIT}{{1,4}}[- \xa0])?{DIGIT}{{1,4}}(?:{SOLIDUS}|\u2044){DIGIT}{{1,4}}"
SLASHED: Final = r"[A-Za-z0-9]+(?:-[A-Za-z]+)*"
TEAMS: Final = r"[A-Z]+(?:(?:&(?:amp;)?|\+)[A-Z]+)+"

_LAST_GROUPS: Final = r"[0-9]{3,4}[- \xa0]?[0-9]{3,5}"
TELEPHONE: Final = (
    r"(?:\+?(?:[0-9]{2,4}[- \xa0]){1,2}|(?:\+?[0-9]{2,4}[- \xa0])?\([0-9]{2,3}\)[ \xa0]?)" + _LAST_GROUPS
)
"""Groups of digits that are one token.

Tried: 140,000 rows of one to six groups of one to five digits, parted by spaces, hyphens, full stops, commas,
strokes or brackets, and 40 telephone numbers as people write them.
"""

_IN_PATH: Final = r"[^\t \"()<>{|}]"
_IN_MAIL: Final = r"[^\t \xa0\"()<>{|}]"
_IN_MAIL_HOST: Final = r"[^\t \xa0\"().<>{|}]"
_PATH: Final = rf"/{_IN_PATH}{{1,{FARTHEST}}}[^\t !\"(),.<>?{{|}}-]"
"""What follows a host: two characters or more, of which the last is no punctuation.

Tried, as for the next four: each of 46 characters at each place of addresses (`ab@cd.ef`, `http://a.b/cd`,
`www.a.b/cd`, `a.com/bc`), 120,000 rows of pieces of addresses, and 25,000 addresses as people write them.
"""

MAIL: Final = rf"<?[0-9A-Za-z]{_IN_MAIL}{{0,{NEAR}}}@{_IN_MAIL_HOST}++(?:\.{_IN_MAIL_HOST}++)*>?"
"""Whatever stands around an at sign: `5@7` too.

Its labels are not repeated possessively: Python before 3.11.5 would take a full stop behind them too.
"""

LINK: Final = rf"(?i:https?):/{_PATH}"
"""Of nine schemes tried, two."""

_LABEL: Final = f"[#%&*+a-z~\\x80-\\U0010ffff]{{1,{NEAR}}}"
DOMAIN_NAME: Final = rf"{_LABEL}(?:\.{_LABEL}){{0,9}}\.(?i:com|edu|net|org)(?:{_PATH})?"
"""A host of small letters, a few signs and anything beyond ASCII.

Tried: all endings of two to four letters, and WordNet's longer words.
"""

_WEB_LABELS: Final = rf"(?:\.[^\t !\"(),.<>?{{|}}]{{1,{FARTHEST}}}+){{1,{NEAR}}}"
_WEB_ENDING: Final = r"\.[A-Za-z]{2,4}"
WEB_HOST: Final = f"(?i:www)(?:{_WEB_LABELS}?{_WEB_ENDING}{_PATH}|{_WEB_LABELS}{_WEB_ENDING})"
"""A host that begins with www, and its path: 8,000 rows of labels were tried too."""

_NAME: Final = "[A-Za-z][-.0-9:A-Z_a-z]*+"
_VALUE: Final = rf"(?:\"[^\"]{{0,{FARTHEST}}}\"|'[^']{{0,{FARTHEST}}}')"
_ATTRIBUTES: Final = rf"(?: ++{_NAME}(?: *= *{_VALUE})?){{0,{NEAR}}}"
TAG: Final = rf"<(?:/{_NAME} *+|{_NAME}{_ATTRIBUTES} *+/? *+|[!?][-A-Za-z][^>]{{0,{FARTHEST}}})>"
"""Markup.

Tried: 46 characters at each place of tags, 80,000 rows of one to seven of 20 pieces behind `<`, and 10,000
tags as people write them.
"""

FACE: Final = r"[<>]?[:;=]['*o-]?[()@DOP\[\\\]dp{|](?![0-9A-Za-z])|\(['<=>^x~-]{2}\)"
"""Smileys, and two of eight signs in brackets: `(--)`.

Tried: all strings of two characters of ASCII, all of three of its signs and 15 letters and digits, and
200,000 of four and five. Faces around `_` (`^_^`) or a quotation mark (`o'O`), one token in
Java, are left out.
"""


def one_of(words: str) -> str:
    """Return an alternation of words, the longest first."""
    return "|".join(sorted(words.split(), key=len, reverse=True))
