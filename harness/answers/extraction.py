"""The one schema-valid value in a model's text, taken out without changing a character.

Nothing is repaired, coerced or guessed. Two different answers are none; a value that stands inside
another, failed answer is not taken; reasoning between think tags is never an answer. Time is linear
in the length of the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.answers.strict_json import StrictJsonError, parse_strict
from harness.answers.thinking import CLOSING, OPENING, after_last_closing, blank, end_of_block, has_thinking
from harness.answers.validation import Validator
from harness.canonical import JSON, canonical_json

How: TypeAlias = Literal["whole", "cut", "alias"]
ProblemKind: TypeAlias = Literal[
    "blank", "no_json", "broken_json", "schema", "ambiguous", "unclosed_reasoning"
]
Aliases: TypeAlias = Callable[[JSON], JSON]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was taken out of a text.

    `how`: the text is the value (`whole`), it was cut out (`cut`), or it needed a documented label alias
    (`alias`); None when nothing was taken. `kind` and `problem` then say why: one word, and a sentence
    fit for the model to read that quotes no text of it beyond key names.
    """

    value: JSON = None
    how: How | None = None
    kind: ProblemKind | None = None
    problem: str | None = None


def unchanged(value: JSON) -> JSON:
    """Return the value: the aliases of a benchmark that has none."""
    return value


def extract(text: str, check: Validator, aliases: Aliases = unchanged) -> Extraction:
    """Return the value that fits `check`, if the text holds exactly one.

    Looked at, in this order: the whole text; the text less byte-order mark and white space; every
    object or list outside reasoning, itself or what its wrapper holds. The same value twice is one value.
    """
    if blank(text):
        return Extraction(kind="blank", problem="the answer is empty")
    try:
        value = parse_strict(text)
    except StrictJsonError:
        return _from_outer_text(text, _Search(check, aliases))
    if check.fits(value):
        return Extraction(value, "whole")
    search = _Search(check, aliases)
    search.offer(value)
    return search.verdict()


def _from_outer_text(text: str, search: _Search) -> Extraction:
    trimmed = text.strip().strip("\ufeff").strip()
    try:
        value = parse_strict(trimmed)
    except StrictJsonError as error:
        if trimmed.startswith(("{", "[")):
            search.broken = error
    else:
        search.offer(value)
        return search.verdict()
    _look_through(trimmed, search)
    tail = after_last_closing(trimmed) if search.muddled else None
    if tail is not None:
        # A fitting value after the last closing tag cannot be part of a string that holds the tag: in a
        # string its quotes would be escaped.
        search.forget()
        search.muddled = False
        _look_through(tail, search)
    return search.verdict()


@dataclass(slots=True)
class _Search:
    check: Validator
    aliases: Aliases
    found: dict[bytes, tuple[JSON, How]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    broken: StrictJsonError | None = None
    misfits: list[JSON] = field(default_factory=list)
    unclosed: bool = False
    muddled: bool = False

    def offer(self, value: JSON) -> None:
        """Keep the value, or the one within its wrapper, if it fits."""
        taken = _taken(value, self.check, self.aliases)
        if taken is None:
            self.misfits = [value]
        else:
            self.found.setdefault(canonical_json(taken[0]), taken)

    def offer_text(self, text: str) -> bool:
        """Parse a part of the answer that looks like JSON, and offer it; False if it is broken."""
        if text in self.seen:
            return True
        try:
            value = parse_strict(text)
        except StrictJsonError as error:
            self.broken = error
            return False
        self.seen.add(text)
        self.offer(value)
        return True

    def forget(self) -> None:
        """Drop what was found: it stood in reasoning after all."""
        self.found.clear()
        self.seen.clear()

    def verdict(self) -> Extraction:
        """Return the one value found, or why there is none."""
        if self.unclosed:
            return Extraction(kind="unclosed_reasoning", problem="the reasoning is never closed")
        if self.muddled:
            return Extraction(kind="broken_json", problem="the answer's JSON is broken by a tag of reasoning")
        if len(self.found) > 1:
            return Extraction(kind="ambiguous", problem="the answer holds different values that all fit")
        if self.found:
            value, how = next(iter(self.found.values()))
            return Extraction(value, how)
        if self.misfits:
            problem = self.check.problem(self.misfits[0])
            return Extraction(kind="schema", problem=f"the value does not fit the schema: {problem}")
        if self.broken is not None:
            return Extraction(kind="broken_json", problem=f"the answer is not valid JSON: {self.broken}")
        return Extraction(kind="no_json", problem="the answer holds no JSON value")


# --- a value and what stands within it ---

_MAX_WRAPPERS = 3
_NO_ANSWERS = frozenset(
    {"default", "defaults", "draft", "drafts", "example", "examples", "format", "properties", "reasoning",
     "schema", "template", "thinking", "thought", "thoughts"}
)  # fmt: skip
"""Keys whose value is never the answer, whatever it fits."""


def _taken(value: JSON, check: Validator, aliases: Aliases) -> tuple[JSON, How] | None:
    for candidate in _within(value, check):
        if check.fits(candidate):
            return candidate, "cut"
        renamed = aliases(candidate)
        if renamed is not candidate and check.fits(renamed):
            return renamed, "alias"
    return None


def _within(value: JSON, check: Validator) -> Iterator[JSON]:
    """Yield the value, then what its wrappers hold, from the outside in.

    Wrappers are a list of one item, a string that is JSON, and an object in which exactly one member is
    a list, an object or such a string. No wrapper is an object with a key that the schema knows (it is a
    failed answer itself), nor one whose member is named as an example or a draft.
    """
    yield value
    for _ in range(_MAX_WRAPPERS):
        match value:
            case [item]:
                value = item
            case str():
                inner = _json_in(value)
                if inner is None:
                    return
                value = inner
            case dict() if not check.property_names.intersection(value):
                members = [(key, item) for key, item in value.items() if _holds_more(item)]
                if len(members) != 1 or members[0][0].lower() in _NO_ANSWERS:
                    return
                value = members[0][1]
            case _:
                return
        yield value


def _holds_more(value: JSON) -> bool:
    return isinstance(value, dict | list) or (isinstance(value, str) and _json_in(value) is not None)


def _json_in(text: str) -> JSON:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_strict(text)
    except StrictJsonError:
        return None


# --- objects and lists within prose ---

# Python before 3.11.5 takes a failed repeat's characters along; here one that fails has taken none.
_STRING = r'"(?:[^"\\]|\\.)*+"'
# A key to the human eye, though not to a parser: {'label': ...} and {label: ...} are failed answers too.
_OTHER_KEY = r"['\u2018\u201c][^'\u2019\u201d\n]{1,80}['\u2019\u201d]|[^\W\d]\w{0,80}"
_OBJECT = rf"\{{\s*+(?:\}}|(?:{_STRING}|{_OTHER_KEY})\s*+:)"
_NESTED_LIST = r"\[\s*+[{\[]"
_ANY_LIST = r'\[\s*+(?:[{\["\]\-0-9]|true|false|null)'
_TAGS = f"(?P<opening>{OPENING})|(?P<closing>{CLOSING})"
_START = re.compile(f"{_TAGS}|{_OBJECT}|{_NESTED_LIST}", re.IGNORECASE | re.DOTALL)
_START_OR_LIST = re.compile(f"{_TAGS}|{_OBJECT}|{_ANY_LIST}", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(rf'(?P<tag>{OPENING}|{CLOSING})|[{{}}\[\]]|{_STRING}|"', re.IGNORECASE | re.DOTALL)


def _look_through(text: str, search: _Search) -> None:
    """Offer every outermost object or list that stands outside reasoning.

    What begins like JSON and is broken hides all it spans: a value inside it is part of a failed
    answer. Each character is passed a fixed number of times, because no span is entered again.
    """
    starts = _START_OR_LIST if search.check.takes_arrays else _START
    position = 0
    while (start := starts.search(text, position)) is not None:
        if start["closing"] is not None:
            search.forget()
            position = start.end()
        elif start["opening"] is not None:
            end = end_of_block(text, start.group(), start.end())
            if end is None:
                search.unclosed = True
                return
            position = end
        else:
            position = _offer_span(text, start.start(), search)


def _offer_span(text: str, start: int, search: _Search) -> int:
    end, closed = _span(text, start)
    sound = search.offer_text(text[start:end]) and closed
    if not sound and has_thinking(text, start, end):
        # Quotes cannot be trusted in broken JSON, so neither can a tag that seems to stand in a string.
        search.muddled = True
        return len(text)
    return end


def _span(text: str, start: int) -> tuple[int, bool]:
    """Return where the bracket at `start` closes; (the end or the tag that cuts it off, False) if never."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        match token.group()[0]:
            case _ if token["tag"] is not None:
                return token.start(), False
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
                if depth == 0:
                    return token.end(), True
            case '"' if len(token.group()) == 1:
                break
    return len(text), False
