"""What a report shows of MedLayXPlain beside its table."""

from __future__ import annotations

from typing import Final

from harness.benchmarks.details import Against, Breakdown, Detail, Measured
from harness.benchmarks.medlay.attributes import ATTRIBUTES, EVALUATORS, MEDLAYEVAL, RUBRIC, SCALE
from harness.benchmarks.medlay.modalities import MODALITIES

_EVALUATORS: Final = {MEDLAYEVAL: "MedLayEval", RUBRIC: "the rubric"}


def _by_modality(path: str, name: str) -> Breakdown:
    return Breakdown(
        f"modality-{path.replace('.', '-').replace('_', '-')}",
        f"{name} by modality",
        {modality: f"modality.{modality}.{path}" for modality in MODALITIES},
        groups="modality",
        values=name,
        figure="heat",
        best=SCALE,
    )


def by_attribute(evaluator: str) -> Breakdown:
    """Return the five attributes as an evaluator scored them."""
    return Breakdown(
        f"attributes-{evaluator}",
        f"Attributes by {_EVALUATORS[evaluator]}",
        {attribute: f"{evaluator}.{attribute}" for attribute in ATTRIBUTES},
        groups="attribute",
        values="score",
        figure="heat",
        best=SCALE,
    )


CONDITION: Final[tuple[Detail, ...]] = (
    *map(by_attribute, EVALUATORS),
    *(_by_modality(f"{name}.overall", f"{_EVALUATORS[name]} S") for name in EVALUATORS),
    _by_modality("rouge_l", "ROUGE-L"),
    _by_modality("sari", "SARI"),
    Against(
        "readability",
        "Likeness to the lay caption against reading grade",
        Measured("fk.answer", "Flesch-Kincaid grade of the answers", None, None),
        Measured("rouge_l", "ROUGE-L", "higher", SCALE),
    ),
)
"""Of every condition; what nobody graded has no values, and is not shown."""
