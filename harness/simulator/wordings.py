"""How a simulated model writes its answer down, clean or in one of the ways that real models spoil it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Writer = Callable[[Any], str]


def clean(value: Any) -> str:
    """Return the JSON alone."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def fenced(value: Any) -> str:
    """Return the JSON in a code fence."""
    return f"```json\n{clean(value)}\n```"


def framed(value: Any) -> str:
    """Return the JSON between a sentence before it and one after it."""
    return f"Here is my assessment of this case:\n\n{clean(value)}\n\nLet me know if anything else is needed."


def trailing_comma(value: Any) -> str:
    """Return JSON with a comma too many before its last brace."""
    return clean(value).rstrip().removesuffix("}").rstrip() + ",\n}"


def python_literal(value: Any) -> str:
    """Return the value as Python prints it: single quotes, True, None."""
    return repr(value)


def key_missing(value: Any) -> str:
    """Return valid JSON that lacks one key of an inner object (or of the only one)."""
    if not isinstance(value, dict) or not value:
        return framed(value)
    return clean(_without_inmost(value))


def prose(value: Any) -> str:
    """Return sentences that name what is chosen; what is not chosen goes unsaid."""
    chosen = [name for name, item in _leaves(value) if item in (1, True) and not isinstance(item, str)]
    told = [f"{name}: {item}" for name, item in _leaves(value) if isinstance(item, str)]
    first = f"I would tick: {'; '.join(chosen)}." if chosen else "I would tick nothing here."
    return "\n".join([first, *told])


def listed(value: Any) -> str:
    """Return one line a field, name and value, with no braces around them."""
    lines = [f"- {name}: {item}" for name, item in _leaves(value)]
    return "My decisions:\n" + "\n".join(lines)


def cut_short(text: str, share: float = 0.6) -> str:
    """Return the first part of a text."""
    return text[: max(1, int(len(text) * share))]


USABLE: Final[tuple[Writer, ...]] = (clean, fenced, framed)
"""Ways of which exactly one JSON value can be cut out unchanged."""

UNUSABLE: Final[tuple[Writer, ...]] = (trailing_comma, python_literal, key_missing)
"""Ways that need another attempt."""

WITHOUT_JSON: Final[tuple[Writer, ...]] = (prose, listed)
"""Ways that only a reformatter makes sense of."""


def _without_inmost(value: Mapping[str, Any]) -> dict[str, Any]:
    for name, item in value.items():
        if isinstance(item, dict) and item:
            return {**value, name: _without_inmost(item)}
    return dict(list(value.items())[:-1])


def _leaves(value: Any, name: str = "answer") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, key)
    else:
        yield name, value
