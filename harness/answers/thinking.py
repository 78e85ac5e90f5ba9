"""Reasoning that a model wrote into its answer, told apart by the tags around it."""

from __future__ import annotations

import re

_PAIRS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("◁think▷", "◁/think▷"),  # Kimi-VL
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<unused94>", "<unused95>"),  # MedGemma 1.5
    ("<|channel|>analysis", "<|channel|>final<|message|>"),  # gpt-oss
)

OPENING = "|".join(re.escape(opening) for opening, _ in _PAIRS)
"""Pattern of every tag after which reasoning stands (to be compiled without regard to case)."""
CLOSING = "|".join(re.escape(closing) for _, closing in _PAIRS)
"""Pattern of every tag at which reasoning ends."""

_TAG = re.compile(f"(?P<opening>{OPENING})|{CLOSING}", re.IGNORECASE)
_CLOSING = re.compile(CLOSING, re.IGNORECASE)
_CLOSING_OF = {opening.lower(): re.compile(re.escape(closing), re.IGNORECASE) for opening, closing in _PAIRS}
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"


def without_thinking(text: str) -> str:
    """Return a text less its reasoning; what has no tag comes back unchanged.

    A block goes from its tag to the first closing tag of the same kind. A closing tag on its own
    ends reasoning that the chat template opened, so all before it goes. A block that is never closed
    takes everything after it along.
    """
    if not has_thinking(text):
        return text
    kept: list[str] = []
    position = 0
    while (tag := _TAG.search(text, position)) is not None:
        if tag["opening"] is None:
            kept, position = [], tag.end()
            continue
        kept.append(text[position : tag.start()])
        end = end_of_block(text, tag.group(), tag.end())
        if end is None:
            return "".join(kept).strip()
        position = end
    return "".join([*kept, text[position:]]).strip()


def has_thinking(text: str, start: int = 0, end: int | None = None) -> bool:
    """True if any tag of reasoning stands in that part of a text."""
    return _TAG.search(text, start, len(text) if end is None else end) is not None


def end_of_block(text: str, opening: str, position: int) -> int | None:
    """Return where the block of an opening tag ends, looking from `position`; None when it never does."""
    closing = _CLOSING_OF[opening.lower()].search(text, position)
    return None if closing is None else closing.end()


def after_last_closing(text: str) -> str | None:
    """Return what follows the last closing tag; None where there is none."""
    end = None
    for closing in _CLOSING.finditer(text):
        end = closing.end()
    return None if end is None else text[end:]


def blank(text: str) -> bool:
    """True if a text shows nothing: white space, byte-order marks and zero-width characters."""
    return not text.strip().strip(_INVISIBLE).strip()
