r"""Texts of anybody as LaTeX that shows them, with pdfTeX, XeTeX and LuaTeX: nothing in them is a command.

Letters with accents become LaTeX's own (`\'{e}`). Any other character beyond ASCII is `\harnesschar`, with
its code and itself: the character where the font has it, else its code point, since a glyph that is missing
would be left out in silence. A paper whose fonts have them all says so in its preamble:
`\newcommand{\harnesschar}[2]{#2}`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

from harness.report.plain_text import visible

LONGEST: Final = 1000
"""Characters of a text that are printed: a page holds no more. The whole text is in the JSON."""

_WHERE_IN_FONT: Final = r"\iffontchar\font\string" + '"#1 #2' + r"\else\texttt{U+#1}\allowbreak\fi"
DEFINITION: Final = (
    r"\ifdefined\harnesschar\else\protected\def\harnesschar#1#2{\ifdefined\XeTeXversion"
    rf"{_WHERE_IN_FONT}\else\ifdefined\luatexversion{_WHERE_IN_FONT}\else\texttt{{U+#1}}\allowbreak\fi\fi}}\fi"
)
"""Defines `\\harnesschar` where nobody has."""

_TEXT: Final[Mapping[str, str]] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Shorthands of some languages, ligatures, and what ends a row's command with an argument.
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    "'": "'{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "=": "{=}",
    "\u00a0": " ",
    "\u2013": r"\textendash{}",
    "\u2014": r"\textemdash{}",
    "\u2018": r"\textquoteleft{}",
    "\u2019": r"\textquoteright{}",
    "\u201c": r"\textquotedblleft{}",
    "\u201d": r"\textquotedblright{}",
    "\u2026": r"\textellipsis{}",
    "\u2212": r"\ensuremath{-}",
    "\u00d7": r"\ensuremath{\times}",
    "\u00b1": r"\ensuremath{\pm}",
    "\u2264": r"\ensuremath{\le}",
    "\u2265": r"\ensuremath{\ge}",
    "\u0394": r"\ensuremath{\Delta}",
    "\u03b1": r"\ensuremath{\alpha}",
    "\u03ba": r"\ensuremath{\kappa}",
    "\u03bc": r"\ensuremath{\mu}",
    "\u00b5": r"\ensuremath{\mu}",
    "\u2192": r"\ensuremath{\to}",
    "\u00df": r"\ss{}",
    "\u00e6": r"\ae{}",
    "\u00c6": r"\AE{}",
    "\u00f8": r"\o{}",
    "\u00d8": r"\O{}",
    "\u0153": r"\oe{}",
    "\u0142": r"\l{}",
    "\u0141": r"\L{}",
    "\u0131": r"\i{}",
}
_ACCENTS: Final[Mapping[str, str]] = {
    "\u0300": r"\`", "\u0301": r"\'", "\u0302": r"\^", "\u0303": r"\~", "\u0304": r"\=", "\u0306": r"\u",
    "\u0307": r"\.", "\u0308": r"\"", "\u030a": r"\r", "\u030b": r"\H", "\u030c": r"\v", "\u0327": r"\c",
}  # fmt: skip
_LONG_WORD: Final = re.compile(r"[^ ]{25}(?=[^ ])")
_BREAK: Final = "\x00"
"""Stands for a place to break a line at until the text is escaped: visible texts hold no control."""


def latex_text(text: str) -> str:
    """Return a text as LaTeX on one line; long words may be broken, very long texts are cut and say so."""
    line, more = visible(text[:LONGEST]), len(text) - LONGEST
    line += f" [and {more:,} more characters, in report.json]" if more > 0 else ""
    broken = _LONG_WORD.sub(rf"\g<0>{_BREAK}", line)
    return "".join(map(_latex, broken)).replace("--", "-{}-").replace("--", "-{}-")


@cache
def _latex(char: str) -> str:
    if char == _BREAK:
        return r"\allowbreak{}"
    if char in _TEXT:
        return _TEXT[char]
    if char.isascii():
        return char
    letter, *marks = list(unicodedata.normalize("NFD", char))
    if letter.isascii() and letter.isalpha() and len(marks) == 1 and marks[0] in _ACCENTS:
        base = {"i": r"\i", "j": r"\j"}.get(letter, letter) if marks[0] != "\u0327" else letter
        return f"{_ACCENTS[marks[0]]}{{{base}}}"
    return f"\\harnesschar{{{ord(char):04X}}}{{{char}}}"
