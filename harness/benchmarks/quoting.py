"""Texts of models and cases inside a prompt, quoted so that nothing in them can pass for an instruction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from harness.benchmarks.prompts import load_prompt, render
from harness.canonical import JSON, digest

QUOTED_TEXT: Final = "quoted-text-v1"
"""Id of the text around each quotation. Another one needs a new version of the prompts that it stands in."""


def quoted(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return each text between two equal marker lines of its own, under the same name.

    No marker occurs in any of the texts, so none can end its quotation or another's. Equal texts give
    equal quotations, whatever was asked before.
    """
    around = load_prompt(QUOTED_TEXT)
    markers = {name: marker_for([name, text], texts.values()) for name, text in texts.items()}
    return {
        name: render(around, {"marker": markers[name], "text": text}).removesuffix("\n")
        for name, text in texts.items()
    }


def marker_for(seed: list[JSON], texts: Iterable[str]) -> str:
    """Return a line that depends on `seed` alone, unless that line occurs in the texts."""
    within, attempt = tuple(texts), 0
    while any((marker := f"=== {digest([*seed, attempt])[:16]} ===") in text for text in within):
        attempt += 1
    return marker
