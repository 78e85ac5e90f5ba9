"""How the PTB tokenizer spells what it cut: brackets by name, straight quotation marks, glued spaces."""

from __future__ import annotations

from typing import Final

from harness.scoring.ptb_characters import SOFT_HYPHEN

_QUOTES: Final = str.maketrans(
    dict.fromkeys("\u2018\x91\u201b\u2039", "`")
    | dict.fromkeys("\u2019\x92\u203a", "'")
    | dict.fromkeys("\u201c\x93\xab", "``")
    | dict.fromkeys("\u201d\x94\xbb", "''")
)
_ENTITIES: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&nbsp;": ""}
_QUOTE_ENTITIES: Final = {"&quot;": "''", "&apos;": "'"}

SYMBOL_NAMES: Final = {
    "(": "-lrb-",
    ")": "-rrb-",
    "[": "-lsb-",
    "]": "-rsb-",
    "{": "-lcb-",
    "}": "-rcb-",
    "\x80": "$",
    "\xa4": "$",
    "\u20a0": "$",
    "\u20ac": "$",
    "\xa2": "cents",
    "\xa3": "#",
    "\xbc": "1/4",
    "\xbd": "1/2",
    "\xbe": "3/4",
    "\u2153": "1/3",
    "\u2154": "2/3",
    "\u2026": "...",
}
"""Symbols that become other tokens: the euro is a dollar, the pound a hash."""

PUNCTUATION: Final = frozenset({"''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"})
"""Tokens that pycocoevalcap drops. It means to drop brackets too, but looks for them in capitals."""

MARKS_OF_PUNCTUATION: Final = frozenset(f'"\x96\x97\u2013\u2014\u2015{SOFT_HYPHEN}')
"""Symbols that become punctuation wherever they stand alone."""


def as_written(token: str) -> str:
    """Return the token as it is."""
    return token


def without_soft_hyphens(token: str) -> str:
    """Return the token without soft hyphens, or a hyphen where it was nothing else."""
    return token.replace(SOFT_HYPHEN, "") or "-"


def with_glued_spaces(token: str) -> str:
    """Return the token with no-break spaces for the spaces in it."""
    return token.replace(" ", "\xa0")


def with_named_brackets(token: str) -> str:
    """Return the token with its spaces glued and round brackets by name."""
    return with_glued_spaces(token).replace("(", "-lrb-").replace(")", "-rrb-")


def with_plain_quotes(token: str) -> str:
    """Return the token with the Treebank's quotation marks."""
    return token.replace("&apos;", "'").translate(_QUOTES)


def with_plain_ampersands(token: str) -> str:
    """Return the token with `&` for `&amp;`."""
    return token.replace("&amp;", "&").replace("&AMP;", "&")


def entity(token: str) -> str:
    """Return what an entity of HTML stands for, or the entity."""
    return _QUOTE_ENTITIES.get(token) or _ENTITIES.get(token.lower(), token)


def dashes(token: str) -> str:
    """Return two hyphens for up to four."""
    return "--" if len(token) < 5 else token


def ellipsis(_: str) -> str:
    """Return three full stops for three to five of them, with spaces or without."""
    return "..."
