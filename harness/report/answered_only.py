"""Which numbers of a table are of answers only: its caption must not say that unusable ones count."""

from __future__ import annotations

from collections.abc import Sequence

from harness.benchmarks.details import Measured
from harness.outcomes import UNUSABLE
from harness.phrases import as_sentence
from harness.report.score_view import Json


def reading_of(rows: Sequence[Json], paths: Sequence[str]) -> str:
    """Say of what numbers are, from what they are: those that both readings share have no unusable answer."""
    models = [row for row in rows if row["kind"] == "model"]
    unusable = any(row["outcomes"].get(kind) for row in models for kind in UNUSABLE)
    only = unusable and all(_of_answers(row, path) for row in models for path in paths)
    return "of answered cases: an unusable answer is left out" if only else "as answered"


def readings_of(rows: Sequence[Json], *measured: Measured) -> str:
    """Say it as a sentence of several metrics, of each by itself where they are not alike."""
    told = {one.label: reading_of(rows, [one.path]) for one in measured}
    alike = set(told.values())
    if len(alike) == 1:
        return as_sentence(alike.pop())
    return as_sentence("; ".join(f"{label}: {text}" for label, text in told.items()))


def _of_answers(row: Json, path: str) -> bool:
    """Tell whether a metric is the same, and of as many, without the unusable answers."""
    one, other = (row[reading].get(path) or {} for reading in ("as_answered", "valid_only"))
    return all(one.get(key) == other.get(key) for key in ("value", "n"))
