"""What a list of units may be narrowed to: the values of each facet, what each would leave, its link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.web.viewing.facets import MOST_STRATA, FacetCount
from harness.web.viewing.filters import Facet, Filters, units_link
from harness.web.viewing.unit_index import Looked, UnitIndex

_SHOWN_VALUES: Final = 12
"""Values of a facet that are shown at once; the others can be unfolded."""
_TITLES: Final[Mapping[Facet, str]] = {
    "right": "right or wrong", "outcome": "outcome", "model": "model", "condition": "condition",
    "stage": "stage", "stratum": "stratum of cases",
}  # fmt: skip
_RIGHT_NAMES: Final = {"yes": "right", "no": "wrong", "none": "neither"}
_NOT_READ: Final = "neither, or not read yet"


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet, with the link that chooses it, or no longer does."""

    name: str
    units: int
    chosen: bool
    href: str


@dataclass(frozen=True, slots=True)
class FacetShown:
    """A facet with its values: the first of them, and those that are unfolded."""

    title: str
    first: Sequence[Choice]
    more: Sequence[Choice]
    cut: bool


def facets_shown(run: str, index: UnitIndex, looked: Looked, filters: Filters) -> Sequence[FacetShown]:
    """Return the facets of a run in which there is something to choose, or chosen."""
    found = []
    for facet in _TITLES:
        counts = looked.facets[facet]
        is_asked = bool(filters.chosen(facet))
        if not is_asked and (len(counts) < 2 or (facet == "right" and not index.has_right)):
            continue
        read, ended = index.reading
        found.append(_facet(run, facet, counts, filters, all_read=read == ended))
    return found


def chosen(run: str, filters: Filters) -> Iterator[tuple[str, str, str]]:
    """Yield what is chosen: its facet, its name, and the link without it."""
    for facet, title in _TITLES.items():
        for value in filters.chosen(facet):
            name = _RIGHT_NAMES.get(value, value) if facet == "right" else value
            yield title, name, units_link(run, filters.toggled(facet, value))
    if filters.text:
        yield "words", filters.text, units_link(run, filters.without("text"))


def _facet(
    run: str, facet: Facet, counts: Sequence[FacetCount], filters: Filters, *, all_read: bool
) -> FacetShown:
    names: Mapping[str, str] = {}
    if facet == "right":
        names = _RIGHT_NAMES if all_read else {**_RIGHT_NAMES, "none": _NOT_READ}
    choices = [
        Choice(
            names.get(one.value, one.value),
            one.units,
            one.chosen,
            units_link(run, filters.toggled(facet, one.value)),
        )
        for one in counts
    ]
    first = [one for place, one in enumerate(choices) if place < _SHOWN_VALUES or one.chosen]
    more = [one for one in choices if one not in first]
    return FacetShown(_TITLES[facet], first, more, facet == "stratum" and len(counts) >= MOST_STRATA)
