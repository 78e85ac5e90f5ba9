"""Which units of a run are looked at, and in which order: all of it in a link, so that every view has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias, cast

from harness.cache.rows import UnitId
from harness.web.links import Query, link

Facet: TypeAlias = Literal["model", "condition", "outcome", "stage", "stratum", "right"]
Sort: TypeAlias = Literal["run", "worst", "latest"]

FACETS: Final[tuple[Facet, ...]] = ("model", "condition", "outcome", "stage", "stratum", "right")
SORTS: Final[tuple[Sort, ...]] = ("run", "worst", "latest")
NO_STAGE: Final = "none"
"""The stage of units that no answer was read for."""
OPEN: Final = "open"
"""The outcome of units that have not ended yet, begun or not."""

_LONGEST_TEXT: Final = 500
"""Characters of a search that are looked at: nobody types more, and each word costs a search."""
_MOST_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Filters:
    """Which units are looked at: of each facet one of its values, where any is chosen.

    `outcome` has names of outcomes, or "open"; `stage` those of stages ("attempt-1", "reformatter"), or
    "none"; `stratum` tags of cases; `right` "yes", "no", "none" (no value). `text`: words, all of which stand
    in the answer, the case's id, or its texts; whatever their case. `sort`: "run" is the order of the run,
    "worst" begins with what is wrong or has the worst value, "latest" with what was asked last.
    """

    model: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    stage: tuple[str, ...] = ()
    stratum: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    text: str = ""
    sort: Sort = "run"

    @classmethod
    def read(cls, query: Query) -> Filters:
        """Return what the query of a list says; `among` in it (see `packed`) gives what it does not say."""
        return cls.carried(query)._with(query)

    def _with(self, query: Query) -> Filters:
        found: dict[str, object] = {name: values for name in FACETS if (values := query.all(name))}
        text, sort = query.one("text"), query.one("sort")
        if text is not None:
            found["text"] = text[:_LONGEST_TEXT]
        if sort in SORTS:
            found["sort"] = sort
        return replace(self, **cast("Any", found))

    @classmethod
    def carried(cls, query: Query) -> Filters:
        """Return those that travel in the query of a unit's page, as `packed` wrote them there."""
        packed = query.one("among")
        return cls() if packed is None else cls()._with(_unpacked(packed))

    def query(self) -> dict[str, str | tuple[str, ...]]:
        """Return them as arguments of `link("/units", run=..., **filters.query())`."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found["sort"] = "" if self.sort == "run" else self.sort
        return {name: value for name, value in found.items() if value}

    def packed(self) -> str:
        """Return them as one text of plain ASCII, for `among` in a query that has names of its own."""
        return link("", **self.query())[1:]

    def words(self) -> tuple[str, ...]:
        """Return the words of `text` as they are looked for, the longest first: it finds least."""
        words = dict.fromkeys(self.text.casefold().split())
        return tuple(sorted(words, key=len, reverse=True)[:_MOST_WORDS])

    def chosen(self, facet: Facet) -> tuple[str, ...]:
        """Return the values that are chosen of a facet."""
        return cast("tuple[str, ...]", getattr(self, facet))

    def toggled(self, facet: Facet, value: str) -> Filters:
        """Return the same with one value of a facet chosen, or no longer."""
        chosen = self.chosen(facet)
        left = tuple(one for one in chosen if one != value) if value in chosen else (*chosen, value)
        return replace(self, **cast("Any", {facet: left}))

    def without(self, name: str) -> Filters:
        """Return the same without a facet or text."""
        return replace(self, **cast("Any", {name: "" if name == "text" else ()}))

    @property
    def narrows(self) -> bool:
        """Tell whether any unit may be left out by them."""
        return bool(self.text.split()) or any(self.chosen(facet) for facet in FACETS)


def units_link(run: str, filters: Filters, page: int = 1) -> str:
    """Return the link of a list of units, its pages from 1."""
    query: Mapping[str, str | int | tuple[str, ...] | None] = {
        **filters.query(),
        "page": page if page > 1 else None,
    }
    return link("/units", run=run, **query)


def unit_link(run: str, unit: UnitId, filters: Filters) -> str:
    """Return the link of a unit's page; the filters travel along, so that it knows its neighbours."""
    return link(
        "/unit", run=run, model=unit.model, condition=unit.condition, case=unit.case_id, repeat=unit.repeat,
        among=filters.packed(),
    )  # fmt: skip


def _unpacked(packed: str) -> Query:
    return Query(packed.encode("latin-1", "replace"))
