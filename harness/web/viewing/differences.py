"""A prediction beside the reference of its case, as a difference that people read: pure data, no HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from harness.benchmarks.base import Benchmark, Case
from harness.canonical import JSON
from harness.web.viewing.benchmark_differences import lay_text, panoramic, ranked, triage
from harness.web.viewing.difference_parts import Difference, Ranked, Verdicts
from harness.web.viewing.step_differences import evaluated, judged, normalised, tiered, translated
from harness.web.viewing.value_differences import value_difference

Grades: TypeAlias = Mapping[str, JSON]
_Comparing: TypeAlias = Callable[[Case, str, JSON, Grades], Difference]

_COMPARED: Final[Mapping[str, _Comparing]] = {
    "triage": triage,
    "triage.judge": judged,
    "radm": ranked,
    "radm.grade": tiered,
    "radm.translate": translated,
    "medlay": lay_text,
    "medlay.evaluate": evaluated,
    "medlay.verify": evaluated,
    "pandent": panoramic,
    "pandent.normalise": normalised,
}
"""Name of a benchmark or step -> how its predictions are compared; any other's as JSON."""

HEADLINE: Final = 200
"""Characters of a headline."""


def difference(
    benchmark: Benchmark,
    condition: str,
    case: Case,
    prediction: JSON,
    *,
    outcome: str | None = None,
    grades: Grades | None = None,
) -> Difference:
    """Return what a prediction and the reference of its case differ in.

    `outcome`: how the unit ended, said where there is no prediction (None). `grades`: question -> the grade
    that stands of this unit, for benchmarks whose answers are graded. What has another form than the
    benchmark gives its answers, as stored ones of an older version may, is compared as JSON, place by place.
    """
    compare = _COMPARED.get(benchmark.name)
    found = None
    if compare is not None:
        try:
            found = compare(case, condition, prediction, grades or {})
        except (AttributeError, KeyError, TypeError, ValueError):
            found = None
    if found is None:
        found = value_difference(case.reference, prediction)
    if prediction is not None:
        return found
    why = f"no usable answer ({outcome})" if outcome else "no usable answer"
    return Difference(found.parts, f"{why}: there is nothing to compare with the reference", why)


def headline(
    benchmark: Benchmark, condition: str, case: Case, prediction: JSON, *, grades: Grades | None = None
) -> str:
    """Return in a few words what a prediction says, for a row of a list.

    Of labels how they compare with the reference, of ranks the first one, and what they are worth once
    graded, of a step what it finds, of a text its beginning: words are not compared here, which takes long.
    """
    if isinstance(prediction, str):
        return _short(prediction)
    found = difference(benchmark, condition, case, prediction, grades=grades)
    first = found.parts[0] if found.parts else None
    words = found.summary
    if isinstance(first, Ranked) and first.ranks:
        is_graded = any(rank.grade is not None for rank in first.ranks)
        words = f"1. {_short(first.ranks[0].text)}" + (f"; {found.summary}" if is_graded else "")
    elif isinstance(first, Verdicts) and not words:
        words = ", ".join(f"{row.name} {_short(row.value)}" for row in first.rows)
    return _short(words)


def _short(text: str) -> str:
    return " ".join(text[: 4 * HEADLINE].split())[:HEADLINE]
