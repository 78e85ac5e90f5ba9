"""How numbers of things, lists and columns are worded, and that something is made up: alike everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from harness.benchmarks.scored import MetricColumn

LISTED: Final = 6
"""So many names of a list are written out."""


IMPORTED_NOTE: Final = (
    "imported: read from other tools' files, scored by the same code; prompt and parameters are not known "
    "here"
)
"""What is said below numbers of answers that were not asked here."""


def count(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def listed(names: Iterable[str], limit: int = LISTED) -> str:
    """Return the first names of a list, and how many more there are."""
    every = list(names)
    more = len(every) - limit
    return ", ".join(every[:limit]) + (f" and {more} more" if more > 0 else "")


def no_evidence(*, synthetic: bool, simulated: bool) -> str | None:
    """Return what must stand above numbers of made-up cases or models; None where both are real."""
    kinds = [*["SYNTHETIC DATA"] * synthetic, *["SIMULATED MODELS"] * simulated]
    return f"{' - '.join(kinds)}: no evidence about real models" if kinds else None


def llm_graded(graders: Sequence[str]) -> str:
    """Return what must stand above numbers that rest on the grades of models (see `grader`)."""
    return f"LLM-GRADED: the grades are those of {' and '.join(graders)}, not people's"


def grader(grading: Mapping[str, Any] | None) -> str | None:
    """Return the model whose grades a run is scored with, as the scores have it; None where it is none."""
    if grading is None or grading["by"] != "model":
        return None
    return f"the {'SIMULATED ' if grading['simulated'] else ''}model {grading['model']}"


def titled(what: str, condition: str) -> str:
    """Return the title of what shows one condition; it says what it is where it stands alone in a paper."""
    return f"{what[:1].upper()}{what[1:]}, condition {condition}"


def as_sentence(text: str) -> str:
    """Return a text with a capital at its beginning; a name such as maF1 stays as it is written."""
    first = text.split(" ", 1)[0]
    return text if first != first.lower() else text[:1].upper() + text[1:]


def spoken(column: MetricColumn) -> str:
    """Return how a column is called in a sentence and at its head."""
    upper, lower = column.head
    return f"{upper}{lower}" if lower.startswith("/") else f"{upper} {lower}".strip()


def better_side(better: Literal["higher", "lower"] | None) -> str:
    """Return which values of a metric are the better ones."""
    return "no side is the better one" if better is None else f"{better} is better"


def whose(names: Sequence[str], of: int) -> str:
    """Return the names of rows; "all rows" where they are all of several."""
    return "all rows" if len(names) == of > 1 else listed(names)
