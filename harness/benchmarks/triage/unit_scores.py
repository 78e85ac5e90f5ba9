"""What the scores keep of one triage unit, and what it scores by itself.

Counted on whole numbers, since arrays of a single unit would cost some 30 times as much; a test holds it to
`triage.scores`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from harness.benchmarks.scored import Scored
from harness.benchmarks.triage.taxonomy import DOMAIN_COLUMNS, code_of, code_of_labels

NUMBERS: Final = ("answered", "truth", "given")
"""1 or 0, and the sets of fine labels as codes over `LABELS`; 0 where there is no answer."""

_DOMAIN_MASKS: Final = tuple(sum(1 << label for label in columns) for columns in DOMAIN_COLUMNS)


def unit_numbers(unit: Scored) -> tuple[int, int, int]:
    """Return `NUMBERS` of one unit."""
    truth = code_of_labels(unit.case.reference["labels"])
    return (0, truth, 0) if unit.prediction is None else (1, truth, code_of(unit.prediction))


def unit_scores(numbers: Sequence[float], conventions: Mapping[str, str]) -> Mapping[str, float | None]:
    """Return metric path -> value for one unit; None for over-referral where there is no answer.

    Averaged over a row's units they are the row's values of the same paths.
    """
    answered, truth, given = numbers
    empty = float(conventions["case_f1_empty"])
    return _scores(int(truth), int(given) if answered else None, empty)


@lru_cache(maxsize=4096)
def _scores(truth: int, given: int | None, empty: float) -> Mapping[str, float | None]:
    values: tuple[float | None, ...]
    if given is None:
        values = 0.0, 0.0, 0.0, None, float(truth.bit_count())
    else:
        size = truth.bit_count() + given.bit_count()
        values = (
            float(truth == given),
            float(_domains(truth) == _domains(given)),
            2 * (truth & given).bit_count() / size if size else empty,
            float((given & ~truth).bit_count()),
            float((truth & ~given).bit_count()),
        )
    return MappingProxyType(dict(zip(_PATHS, values, strict=True)))


_PATHS: Final = (
    "fine.exact_match", "coarse.exact_match", "case_f1", "over_referral.mean_count",
    "under_referral.mean_count",
)  # fmt: skip


def _domains(code: int) -> list[bool]:
    return [code & mask != 0 for mask in _DOMAIN_MASKS]
