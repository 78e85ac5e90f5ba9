"""A score with all that is kept of it: what it was made of, what its answers took, its rows' units."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.cache.stored_scores import StoredScore
from harness.canonical import JSON
from harness.offline.kept_units import KeptUnits, pack_clusters
from harness.offline.row_units import RowKey
from harness.offline.score_json import Score


@dataclass(frozen=True, slots=True)
class KeptScore:
    """A score of a run, and all that the store keeps of it."""

    score: Score
    basis: Mapping[str, JSON]
    """See `score_basis`."""
    effort: Mapping[str, JSON]
    units: KeptUnits
    clusters: NDArray[np.int64]
    """One number a case, by its place, of the cases that were scored."""

    @property
    def rows(self) -> Sequence[RowKey]:
        """The rows whose units are kept, in the order of the scores."""
        keys = (RowKey(row.kind, row.name, row.condition) for row in self.score.rows)
        return [key for key in keys if key in self.units]

    def stored(self, scoring: str) -> StoredScore:
        """Return it as the store keeps it, the rows' units apart."""
        return StoredScore(
            scoring,
            self.basis,
            _text(self.score.to_json()),
            _text(self.effort),
            pack_clusters(self.clusters),
        )


def _text(value: object) -> str:
    """Return JSON that reads back as it was: its order is kept, and 1.0 stays apart from 1."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
