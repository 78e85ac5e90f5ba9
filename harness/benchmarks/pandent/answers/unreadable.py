"""Why an answer about one attribute has no value."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

Reason: TypeAlias = Literal[
    "empty",
    "unclosed_reasoning",
    "too_long",
    "character",
    "word",
    "unsure",
    "question",
    "cut_off",
    "number",
    "count",
    "hyphen",
    "range",
    "alternative",
    "notation",
    "open_list",
    "exception",
    "position",
    "inconsistent",
    "bridge",
    "other_finding",
    "not_named",
    "no_teeth",
    "teeth",
    "negated_teeth",
    "partial_negative",
    "negation",
    "label",
    "region",
    "extent",
    "contradiction",
    "parentheses",
]

MEANINGS: Final[dict[Reason, str]] = {
    "empty": "nothing stands outside reasoning",
    "unclosed_reasoning": "the reasoning is never closed",
    "too_long": "it is far longer than one sentence",
    "character": "it holds a sign that no English sentence has",
    "word": "it holds a word whose meaning for the answer is not known",
    "unsure": "it says that nothing can be said for certain",
    "question": "it is a question",
    "cut_off": "it begins or ends in the middle of a sentence",
    "number": "a number is no permanent tooth in FDI notation",
    "count": "a number may count teeth instead of naming one",
    "hyphen": "a hyphen between teeth may mean a range or a list",
    "range": "a range leaves its quadrant, or has no two ends",
    "alternative": "it offers one tooth or another",
    "notation": "teeth are written in two notations",
    "open_list": "its list of teeth is open, or says all or others",
    "exception": "it makes an exception",
    "position": "it says what lies next to a tooth",
    "inconsistent": "what it says of the teeth does not fit their numbers",
    "bridge": "its bridge pattern is broken",
    "other_finding": "it speaks of another finding",
    "not_named": "it does not name the finding that was asked for",
    "no_teeth": "it affirms the finding and names no tooth",
    "teeth": "it names teeth where only yes or no was asked for",
    "negated_teeth": "it only says which teeth are free",
    "partial_negative": "it denies only a part of the finding",
    "negation": "its negations cannot be told apart",
    "label": "it repeats what was asked and does not answer",
    "region": "it speaks of another region, or not of which side",
    "extent": "it affirms bone loss, and not that it is generalized",
    "contradiction": "it says two different things",
    "parentheses": "its parentheses do not fit",
}
"""Reason -> what is said of the answer: "unparsable: it is a question"."""

assert set(MEANINGS) == set(get_args(Reason))


class Unreadable(Exception):
    """The answer has no value. `word`: the part that decided it, if one did (at most 40 characters)."""

    def __init__(self, reason: Reason, word: str | None = None) -> None:
        super().__init__(reason)
        self.reason: Reason = reason
        self.word = None if word is None else word[:40]
