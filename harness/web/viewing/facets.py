"""Which units filters leave, and how many each further choice would leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.web.viewing.filters import FACETS, NO_STAGE, OPEN, Facet, Filters
from harness.web.viewing.strata import Strata
from harness.web.viewing.unit_columns import OUTCOMES, UNKNOWN, Columns, Flags, stage_name
from harness.web.viewing.unit_layout import Layout

_RIGHT: Final = {"yes": 1, "no": 0, "none": UNKNOWN}
_OUTCOME_NAMES: Final = tuple(OPEN if outcome is None else str(outcome) for outcome in OUTCOMES)
MOST_STRATA: Final = 60
"""Groups of cases that are offered, those with the most units; others are reached by a link alone."""


@dataclass(frozen=True, slots=True)
class FacetCount:
    """One value of a facet: how many units are left with it, whatever else of this facet is chosen."""

    value: str
    units: int
    chosen: bool


class Chosen:
    """What filters choose of a run's units, facet by facet."""

    def __init__(
        self, filters: Filters, layout: Layout, columns: Columns, strata: Strata, having: Flags | None
    ) -> None:
        self.filters = filters
        self.layout = layout
        self.columns = columns
        self.strata = strata
        self._flags: dict[str, Flags] = {}
        if having is not None:
            self._flags["text"] = having
        for facet in FACETS:
            if filters.chosen(facet):
                self._flags[facet] = self._of(facet, filters.chosen(facet))

    def left(self, but: Facet | None = None) -> Flags:
        """Return which units are left, by what is chosen of all facets, or of all but one."""
        found = np.ones(self.layout.size, np.bool_)
        for name, flags in self._flags.items():
            if name != but:
                found &= flags
        return found

    def _of(self, facet: Facet, values: Sequence[str]) -> Flags:
        layout, columns = self.layout, self.columns
        match facet:
            case "model":
                return np.array([name in values for name in layout.models], np.bool_)[layout.model]
            case "condition":
                return np.array([name in values for name in layout.conditions], np.bool_)[layout.condition]
            case "outcome":
                return np.array([name in values for name in _OUTCOME_NAMES], np.bool_)[columns.outcome]
            case "stage":
                stages = [(stage_name(code) or NO_STAGE) in values for code in range(256)]
                return np.array(stages, np.bool_)[columns.stage]
            case "stratum":
                return self.strata.cases_of(values, len(layout.cases))[layout.place]
            case "right":
                return np.isin(columns.right, [_RIGHT[value] for value in values if value in _RIGHT])


class Selection:
    """The counts of all facets."""

    def __init__(self, chosen: Chosen) -> None:
        self._chosen = chosen

    def counts(self) -> Mapping[Facet, Sequence[FacetCount]]:
        """Return facet -> its values in order, with the units that each would leave.

        Of models and conditions every one, of the others those that some unit of the run has, and whatever is
        chosen.
        """
        return {facet: self._of(facet) for facet in FACETS}

    def _of(self, facet: Facet) -> Sequence[FacetCount]:
        layout, columns = self._chosen.layout, self._chosen.columns
        left = self._chosen.left(facet)
        match facet:
            case "model":
                return self._by_place(facet, layout.models, np.bincount(layout.model[left]))
            case "condition":
                return self._by_place(facet, layout.conditions, np.bincount(layout.condition[left]))
            case "outcome":
                there = {_OUTCOME_NAMES[code] for code in np.unique(columns.outcome).tolist()}
                found = self._by_place(facet, _OUTCOME_NAMES, np.bincount(columns.outcome[left]))
                return [one for one in found if one.value in there or one.chosen]
            case "stage":
                counts = np.bincount(columns.stage[left], minlength=256)
                codes = np.flatnonzero(np.bincount(columns.stage, minlength=256))
                names = {stage_name(code) or NO_STAGE: int(counts[code]) for code in codes.tolist()}
                return self._with_chosen(facet, names)
            case "stratum":
                return self._strata(left)
            case "right":
                of = columns.right[left]
                return self._with_chosen(
                    facet, {name: int(np.count_nonzero(of == code)) for name, code in _RIGHT.items()}
                )

    def _strata(self, left: Flags) -> Sequence[FacetCount]:
        layout, strata = self._chosen.layout, self._chosen.strata
        by_place = np.bincount(layout.place[left], minlength=len(layout.cases))
        counts = dict(zip(strata.names, strata.counts(by_place), strict=True))
        if len(counts) > MOST_STRATA:
            most = sorted(counts, key=lambda name: -counts[name])[:MOST_STRATA]
            counts = {name: count for name, count in counts.items() if name in {*most}}
        return self._with_chosen("stratum", counts)

    def _by_place(self, facet: Facet, names: Sequence[str], counts: np.ndarray) -> Sequence[FacetCount]:
        padded = [*counts.tolist(), *[0] * (len(names) - len(counts))]
        return self._with_chosen(facet, dict(zip(names, padded, strict=True)))

    def _with_chosen(self, facet: Facet, counts: Mapping[str, int]) -> Sequence[FacetCount]:
        chosen = self._chosen.filters.chosen(facet)
        all = {**counts, **{name: 0 for name in chosen if name not in counts}}
        return [FacetCount(name, count, name in chosen) for name, count in all.items()]
