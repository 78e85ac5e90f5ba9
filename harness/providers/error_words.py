"""The provider's own words in an error message, apart from what it quotes of the request.

Messages often repeat the request ("invalid value: '...'", `input_value=...`), and prompts hold words such as
"quota" or "context window". So quoted passages count for nothing, short ones excepted: names of parameters
are quoted too. Gateways do the opposite: the message that counts is an object within theirs (LiteLLM,
OpenRouter's `metadata.raw`); its fields are taken out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_SEARCHED = 1000
"""Characters of a message that are searched: what stands farther back is an echo or a trace."""

_DEPTH = 3
_QUOTED_WORDS = 4
"""A quoted passage of as many words is somebody's text, not the name of something."""

_ESCAPED: Final = re.compile(r"\\{1,8}([\"'])")
_OBJECT: Final = re.compile(r"(?<![\"'`\w])\{\s{0,9}[\"']\w")
_FIELD: Final = re.compile(
    r"[\"'](message|msg|status_message|error_msg|error_message|detail|error|code|type|status|reason|"
    r"status_name)[\"']\s{0,3}:\s{0,3}(?:\"([^\"]{0,1500})\"|'((?:[^']|(?<=\w)'(?=\w)){0,1500})')",
    re.IGNORECASE,
)
_CODES: Final = frozenset({"code", "type", "status", "reason", "status_name"})
_ECHO: Final = re.compile(
    r"\binput_value\s?="
    r"|[\"'](?:input|inputs|messages|contents?|prompt|body|flagged_input)[\"']\s{0,3}:\s{0,3}[\"'\[{]",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    r"\"[^\"]{0,1500}(?:\"|$)"
    r"|`[^`]{0,1500}(?:`|$)"
    r"|“[^”]{0,1500}(?:”|$)"
    r"|(?<!\w)'(?:[^']|(?<=\w)'(?=\w)){0,1500}(?:'|$)"
)


@lru_cache(maxsize=256)
def own_words(text: str) -> tuple[str, frozenset[str]]:
    """Return what a provider says itself in `text`, and the codes that objects within it name; lower case."""
    words, codes = _said(text, _DEPTH)
    return words[:_SEARCHED].lower(), frozenset(codes)


def _said(text: str, depth: int) -> tuple[str, set[str]]:
    found = _OBJECT.search(text) or _OBJECT.search(text := _ESCAPED.sub(r"\1", text))
    if found is None or depth == 0:
        return _unquoted(text), set()
    words, codes = [_unquoted(text[: found.start()])], set()
    inner = _before_echo(_ESCAPED.sub(r"\1", text[found.start() :]))
    for name, double, single in _FIELD.findall(inner):
        value = double or single
        if name.lower() in _CODES:
            codes.add(value.lower())
        else:
            deeper, more = _said(value, depth - 1)
            words.append(deeper)
            codes |= more
    return " ".join(words), codes


def _unquoted(text: str) -> str:
    return _QUOTED.sub(_short_only, _before_echo(text))


def _before_echo(text: str) -> str:
    echo = _ECHO.search(text)
    return text if echo is None else text[: echo.start()]


def _short_only(found: re.Match[str]) -> str:
    return found[0] if len(found[0].split()) < _QUOTED_WORDS else " "
