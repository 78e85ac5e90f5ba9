"""What a reformatter's restated answer is worth. It has no model of its own: the user may name one.

The paper standardized invalid JSON by hand and names no model for it. Nothing can be filled in for a
diagnosis that was not made, so a restatement counts only where it has exactly five.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from harness.benchmarks.base import Filled
from harness.benchmarks.radm.answer_forms import KEY, in_our_form
from harness.benchmarks.radm.ranking import RANKS
from harness.canonical import JSON

_NO_WORD: Final = re.compile(r"[\W_]+")


def fill_answer(value: JSON, answer: str) -> Filled:
    """Return a restated answer as it stands, if it has five diagnoses with something in them, else nothing.

    `unsupported` names each diagnosis whose words do not stand in the answer one after the other, whatever is
    between them, by its place ("diagnoses/1").
    """
    restated = in_our_form(value)
    listed = restated.get(KEY) if isinstance(restated, Mapping) else None
    if not isinstance(listed, list) or len(listed) != RANKS:
        return Filled(None)
    texts = [one for one in listed if isinstance(one, str) and one.strip()]
    if len(texts) != RANKS:
        return Filled(None)
    said = _bare(answer)
    diagnoses: list[JSON] = [*texts]
    return Filled(
        value={KEY: diagnoses},
        unsupported=tuple(
            f"{KEY}/{place}" for place, text in enumerate(texts, start=1) if _bare(text) not in said
        ),
    )


def _bare(text: str) -> str:
    """Return a text in one form of each character, without case, blanks and punctuation."""
    return _NO_WORD.sub("", unicodedata.normalize("NFKC", text).casefold())
