"""Names of models and their makers, hidden in what models wrote: a grader must not know whose answer it is.

Hidden, as `[name hidden]` whatever the name: the names of the run's own models and endpoints
(`harness.grading.run_names`), and the families and makers of all models that people benchmark
(`harness.grading.known_names`), with the version that follows. Whole words only, in any case: "Gemini模型"
is hidden, "trigemini", "bigeminy" and "claudication" are not. A name is found whatever stands in it that is
not seen, across marks of Markdown, HTML and LaTeX, in look-alike letters (`harness.grading.letters`), and in
a row of single letters ("C l a u d e", "g_p_t"). Only candidates' texts are masked; a history or a reference
stands as it is.

Some names are words too, and a hidden finding would be graded wrongly. So these are hidden only in forms that
can only be the model, or where somebody says who they are ("I am Nova", "an AI model made by Meta",
"model: o3"):

- GPT is an old name of alanine transaminase: "GPT-4o", "GPT-5.5" and "GPT model" are hidden, "GPT 45 U/L" and
  "GOT/GPT" are not.
- Claude: not in Claude's syndrome, nor in Claude Bernard-Horner syndrome.
- o1, o3, o4: with their maker, with a suffix ("o3-mini"), or in lower case in a run that asks that model.
  "O3" is ozone.
- Llama, Gemma, Grok, Kimi, Cohere, Mistral: capitalised, or with a number; "llama" is an animal whose
  antibodies are drugs. Opus, Sonnet, Haiku, Phi, GLM, Meta: with a number or what else makes them a model.
- Scout, Flash, Turbo, Vision, Pro: behind a family's name alone. A scout view and a FLASH sequence are not.

A name of the run that is one plain word ("steady", "judge"), or shorter than four letters and digits ("m1"),
is hidden only as part of a longer one ("sim/steady") or in such a phrase, and so is the first word of a
longer name: it may stand in any text. What no list can hide is left to the instructions of graders: a style,
a name in fragments or in words of another language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from harness.benchmarks.sheets import Sheet
from harness.grading.known_names import (
    BEGIN,
    CLINICAL,
    END,
    HAN,
    JOIN,
    MAKERS,
    NUMBERED,
    SPACED,
    VERSION,
    WORDS,
    phrases,
)
from harness.grading.letters import HIDDEN, View, unseen, views

__all__ = ["HIDDEN", "Mask"]

Span = tuple[int, int]

_PLAIN: Final = re.compile(r"[A-Za-z]+")
_SHORT_MODEL: Final = re.compile(r"o[134]")
_SUFFIX: Final = r"(?:[-_:@][A-Za-z0-9]++|\.\d[A-Za-z0-9]*+){0,4}"
"""What a provider may append to the name of a model that it serves: a date, a variant."""
_LEAST: Final = 4
_ENZYME: Final = re.compile(r"(?i)gpt[-_ ]?\d")
_NO_BLANK: Final = "[-_\u2010\u2011\u2012\u2013]?"
"""Joints of names that would be an enzyme's activity with a blank."""
_ANY_WORDS: Final = frozenset(
    (
        "the", "and", "for", "you", "not", "with", "this", "that", "model", "models", "assistant", "vision",
        "language", "large", "small", "medical", "image", "text", "report", "answer", "reader", "judge",
        "lab", "test", "base", "chat", "open", "local", "server", "here", "able", "sure", "unable",
    )
)  # fmt: skip
"""Words that may follow "I am" or "model", and are no name there."""
_ROW: Final = re.compile(
    "(?<![A-Za-z0-9])[A-Za-z](?:[-_ .*~`|\t\u00a0\u2010\u2011\u2012\u2013\u00b7\u2022\u2027]{1,3}+[A-Za-z0-9]"
    "(?![A-Za-z0-9])){2,400}"
)
"""Single letters and digits, each parted from the next."""
_VERSION: Final = re.compile(VERSION)
_MOST_ROUNDS: Final = 8


class Mask:
    """Hides `names`, and the names of all families and makers that are known, in texts."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        wanted = sorted({name.strip() for name in names}, key=lambda name: (-len(name), name))
        own = [pattern for name in wanted if (pattern := _pattern_of(name)) is not None]
        families = "|".join((*WORDS, *NUMBERED))
        parts = [
            *(one + _SUFFIX for one in own),
            rf"(?:{families}){VERSION}",
            r"(?i:openai(?:['\u2019]s)?[ /:-]o[134](?:-\w+)?)",
            "|".join(MAKERS),
        ]
        latin = "|".join(parts)
        self._pattern = re.compile(rf"{BEGIN}(?:{latin}){END}|{HAN}")
        found = {word for name in wanted for word in _words_of(name)}
        words = sorted(found, key=lambda one: (-len(one), one))
        self._phrases = phrases("|".join(map(re.escape, words)) or "(?!)")
        letters = ("".join(filter(str.isalnum, name)) for name in wanted if not _PLAIN.fullmatch(name))
        rows = [SPACED, *(re.escape(one) for one in letters if len(one) > _LEAST)]
        self._row = re.compile(rf"(?i:{'|'.join(rows)})(?:\d{{1,3}}[ov]?)?")

    def masked(self, text: str) -> tuple[str, int]:
        """Return a text with its names hidden, and how many were."""
        hidden = 0
        for _ in range(_MOST_ROUNDS):
            spans = self._spans(text)
            if not spans:
                break
            hidden += len(spans)
            text = _without(text, spans)
        return text, hidden

    def sheet(self, sheet: Sheet) -> tuple[Sheet, int]:
        """Return a sheet with the names in its candidates hidden, and how many were."""
        hidden = 0
        parts, subjects = [], {}
        for part in sheet.parts:
            text, found = self.masked(part.text) if part.kind == "candidate" else (part.text, 0)
            parts.append(replace(part, text=text))
            hidden += found
        for name, subject in sheet.subjects.items():
            subjects[name], found = self.masked(subject)
            hidden += found
        return replace(sheet, parts=tuple(parts), subjects=subjects), hidden

    def _spans(self, text: str) -> Sequence[Span]:
        """Return where names stand in a text, in order and apart."""
        found: set[Span] = set()
        kept: set[Span] = set()
        for view in views(text):
            found |= {view.span(*match.span()) for match in self._pattern.finditer(view.text)}
            for match in self._phrases.finditer(view.text):
                first, last = match.span(match.lastgroup or 0)
                version = _VERSION.match(view.text, last)
                found.add(view.span(first, last if version is None else version.end()))
            found |= set(self._in_rows(view))
            kept |= {view.span(*match.span()) for match in CLINICAL.finditer(view.text)}
        return _apart(found, kept) if found else ()

    def _in_rows(self, view: View) -> Iterator[Span]:
        """Yield where names stand that are written in single letters."""
        for row in _ROW.finditer(view.text):
            places = [place for place in range(*row.span()) if view.text[place].isalnum()]
            letters = "".join(view.text[place] for place in places)
            for match in self._row.finditer(letters):
                first, last = places[match.start()], places[match.end() - 1] + 1
                # "S.G.P.T." and "G.P.T. 45" are the enzyme.
                if not (match.group().casefold().startswith("gpt") and "." in view.text[first:last]):
                    yield view.span(first, last)


def _apart(found: Iterable[Span], kept: Iterable[Span]) -> Sequence[Span]:
    """Return spans in order, those that overlap as one, and none that overlaps a clinical word."""
    spans: list[Span] = []
    shields = sorted(kept)
    at = 0
    for start, end in sorted(found):
        while at < len(shields) and shields[at][1] <= start:
            at += 1
        if at < len(shields) and shields[at][0] < end:
            continue
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return spans


def _without(text: str, spans: Iterable[Span]) -> str:
    """Return a text with spans of it hidden, and what is not seen behind them."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], HIDDEN]
        while end < len(text) and unseen(text[end]):
            end += 1
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _pattern_of(name: str) -> str | None:
    """Return what finds a name of the run, with any joints between its words; None: it may be any word."""
    name = name.strip()
    if _SHORT_MODEL.fullmatch(name):
        return re.escape(name)
    if _PLAIN.fullmatch(name) or sum(char.isalnum() for char in name) < _LEAST:
        return None
    joint = _NO_BLANK if _ENZYME.match(name) else f"{JOIN}?"
    joints = {"-": joint, "_": joint, " ": joint, ".": "[._-]"}
    return "(?i:" + "".join(joints.get(char, re.escape(char)) for char in name) + ")"


def _words_of(name: str) -> Iterator[str]:
    """Yield what of a name of the run is a name only where somebody says who they are.

    A plain or short name, and the first word of a longer one ("quokka" of "quokka-7b").
    """
    if _SHORT_MODEL.fullmatch(name):
        return
    stem = re.match("[A-Za-z]{4,}(?![A-Za-z])", name)
    for one in {name, stem[0] if stem is not None else name}:
        short = any(map(str.isdigit, one)) and 1 < sum(map(str.isalnum, one)) < _LEAST
        plain = len(one) > 2 and _PLAIN.fullmatch(one) is not None
        if (plain or short) and one.casefold() not in _ANY_WORDS:
            yield one
