"""Failures that other tools store as if they were answers.

A text that is a failure is nobody's answer: its unit is incomplete, which shows, instead of counting as the
model's mistake, which does not. What only looks like one stays an answer, and is named to the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from re import Pattern
from typing import Final


@dataclass(frozen=True, slots=True)
class FailureText:
    """A kind of failure stored as text: `pattern` must match from the first character on."""

    name: str
    pattern: Pattern[str]
    even_with_evidence: bool = False
    """True for words that no model says: they count although the row has a finish reason or tokens."""


_PAGE = re.compile(r"<!doctype\s+html\b|<html[\s>]", re.IGNORECASE)

KNOWN: Final = (
    # VLMEvalKit: `FAIL_MSG` of its API models (vlmeval/api/base.py, retries used up), and with SKIP_ERR=1
    # "Failed to obtain answer: <class 'RuntimeError'> ..." (vlmeval/inference.py).
    FailureText("vlmevalkit", re.compile(r"Failed to obtain answer( via API|: <class '|\.?\s*$)"), True),
    # Wrappers that return str(exception), and the OpenAI client's own words "Error code: 429 - {...}".
    FailureText("error", re.compile(r"\[?(Error|ERROR)\]?( code)?: ")),
    FailureText("traceback", re.compile(r"Traceback \(most recent call last\):")),
    FailureText("exception", re.compile(r"[\w.]*(Error|Exception|Timeout)(\(|: )")),
    # What a proxy or a web server shows in place of an answer.
    FailureText("web page", _PAGE),
    # What a spreadsheet puts in place of a text that it took for a formula.
    FailureText("spreadsheet", re.compile(r"#(NAME\?|VALUE!|REF!|DIV/0!|N/A|NUM!|NULL!|ERROR!)$")),
)
"""Each anchored at the first character. All but the first give way to evidence that a model was at work."""

_NOTHING = re.compile(r"(None|none|null|NULL|NaN|nan|N/A|n/a|<NA>|undefined)\s*$")
_TROUBLE = re.compile(
    r"\b(timed? ?out|rate.?limit|quota|overloaded|unavailable|connection|api.?key|internal server|bad gateway"
    r"|status code|failed|exception|error)\b",
    re.IGNORECASE,
)
_ERROR_BODY = re.compile(r'(\[\s*)?\{\s*"error"\s*:')
"""Gemini's streaming and OpenAI-compatible interfaces put the object into a list."""
_DETAIL_BODY = re.compile(r'\{\s*"detail"\s*:')
_SHORT = 200
EXCEL_CELL: Final = 32_767
"""Most characters in a cell of a spreadsheet; what is longer was cut or left out."""


def known_failure(text: str, own: Collection[str], *, evidence: bool) -> str | None:
    """Return the name of the failure that a text is, None for an answer.

    `own`: whole texts that the user names as failures. `evidence`: the row says that a model was at work.
    """
    shown = text.strip()
    if shown in own or text in own:
        return "named by --failure-text"
    for one in KNOWN:
        if one.pattern.match(shown) and (one.even_with_evidence or not evidence):
            return one.name
    # The body of every OpenAI-compatible server's failure, kept as if it were the model's text.
    if not evidence and _ERROR_BODY.match(shown) and _is_only(shown, "error"):
        return "error body"
    return None


def suspicion(text: str) -> str | None:
    """Return why a text that counts as an answer may be none; None where nothing strikes."""
    shown = text.strip()
    if _NOTHING.match(shown):
        return "a word for nothing"
    if _PAGE.match(shown):
        return "a web page"
    for name, beginning in (("error", _ERROR_BODY), ("detail", _DETAIL_BODY)):
        if beginning.match(shown) and _is_only(shown, name):
            return "an object with nothing but an error"
    if len(shown) <= _SHORT and "{" not in shown and _TROUBLE.search(shown):
        return "words of a failure"
    if len(text) == EXCEL_CELL:
        return "as long as a spreadsheet's cell can be"
    return None


def _is_only(text: str, name: str) -> bool:
    """Tell whether a text is a JSON object with one key, and something that is not nothing under it.

    The object may be the only one of a list.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    return isinstance(found, dict) and found.keys() == {name} and bool(found[name])
