"""What answers would score that are drawn at random: the row `prevalence`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from harness.benchmarks.base import Case
from harness.benchmarks.scored import MetricValue
from harness.benchmarks.triage.scores import Measure, measures, metric_value
from harness.benchmarks.triage.taxonomy import LABELS, code_of_labels
from harness.scoring.label_codes import MOST_LABELS, Codes, label_counts, pack_padded
from harness.scoring.multilabel import Values, exact_mean

DRAWS: Final = 1000
SEED: Final = 13_060

_CODES_AT_ONCE: Final = 200_000
_ROWS_AT_ONCE: Final = 8_192
"""Both bound memory, not results: all draws come from one stream in one order."""


def baselines(
    cases: Iterable[Case], conventions: Mapping[str, str]
) -> dict[str, dict[str, MetricValue]]:
    """Return baseline name -> metrics over cases; the order of the cases does not matter."""
    by_id = sorted((case.id, code_of_labels(case.reference["labels"])) for case in cases)
    truth = np.array([code for _, code in by_id], dtype=np.uint32)
    answered = np.ones(len(truth), dtype=np.bool_)
    chunks = [measures(truth, drawn, answered, conventions) for drawn in _draws(truth)]
    return {
        "prevalence": {path: metric_value(_mean([chunk[path] for chunk in chunks])) for path in chunks[0]}
    }


def _draws(truth: Codes) -> Iterator[Codes]:
    """Yield `DRAWS` predictions in all, several at a time, shape (draws, cases).

    The stream gives one number a label, case and draw, in the order (draw, case, label).
    """
    shares = label_counts(truth, len(LABELS)) / max(1, len(truth))
    rows = _Rows(shares)
    at_once = max(1, min(DRAWS // 4, _CODES_AT_ONCE // max(1, len(truth))))
    for start in range(0, DRAWS, at_once):
        draws = min(at_once, DRAWS - start)
        yield rows.take(draws * len(truth)).reshape(draws, len(truth))


class _Rows:
    """Cases drawn one after the other, each label by itself with its share."""

    def __init__(self, shares: Values) -> None:
        self._generator = np.random.Generator(np.random.PCG64(SEED))
        labels = len(shares)
        self._numbers = np.empty((_ROWS_AT_ONCE, labels))
        # Comparing with one share a number, instead of one row of shares, lets numpy run through.
        self._shares = np.tile(shares, _ROWS_AT_ONCE).reshape(_ROWS_AT_ONCE, labels)
        self._flags = np.zeros((_ROWS_AT_ONCE, MOST_LABELS), dtype=np.bool_)

    def take(self, count: int) -> Codes:
        """Return the next so many cases as codes."""
        codes = np.empty(count, dtype=np.uint32)
        for start in range(0, count, _ROWS_AT_ONCE):
            rows = min(_ROWS_AT_ONCE, count - start)
            self._generator.random(out=self._numbers[:rows])
            np.less(
                self._numbers[:rows], self._shares[:rows], out=self._flags[:rows, : self._shares.shape[1]]
            )
            codes[start : start + rows] = pack_padded(self._flags[:rows])
        return codes


def _mean(chunks: Sequence[Measure]) -> Measure:
    values = np.concatenate([chunk.values.reshape(-1) for chunk in chunks])
    return Measure(exact_mean(values), chunks[0].n, chunks[0].why)
