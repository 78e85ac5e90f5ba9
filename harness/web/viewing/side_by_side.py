"""Several answers to one case side by side: those of models, of conditions, or of repeats."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from harness.cache.rows import UnitId
from harness.errors import HarnessError
from harness.offline.stored_run import StoredRun
from harness.web.found_words import finding
from harness.web.links import Query, link
from harness.web.media.shown import case_media
from harness.web.pages import page
from harness.web.viewing.beginnings import Beginning, beginning, readable
from harness.web.viewing.difference_parts import Labels, Texts
from harness.web.viewing.filters import Filters, unit_link, units_link
from harness.web.viewing.library import Library
from harness.web.viewing.unit_case import case_shown, is_asked
from harness.web.viewing.unit_difference import Compared, compared, reference_of
from harness.web.viewing.unit_evidence import UnitRead, UnitReader, asked_unit
from harness.web.viewing.unit_grades import UnitGrades, grades_of_units
from harness.web.viewing.unit_scores import UnitValue, unit_values

By: TypeAlias = Literal["model", "condition", "repeat"]

_BY: Final[tuple[By, ...]] = ("model", "condition", "repeat")
MOST_COLUMNS: Final = 8
"""Columns of one page: more are chosen from, not shown at once."""
_SHOWN_AT_FIRST: Final = 4
_MOST_TEXT: Final = 48_000
"""Characters of answers that the columns of one page show together."""


@dataclass(frozen=True, slots=True)
class Column:
    """One unit: its page, how it ended and why, what it predicted, and its first number, if any."""

    name: str
    unit: UnitId
    href: str
    read: UnitRead
    state: str
    stage: str | None
    reasons: Sequence[str]
    prediction: Beginning | None
    main: UnitValue | None
    compared: Compared | None


@dataclass(frozen=True, slots=True)
class Choice:
    """Which units are looked at: `columns` differ in `by`, and are all like `unit` otherwise."""

    by: By
    unit: UnitId
    known: Sequence[str]
    chosen: Sequence[str]

    def units(self) -> Sequence[UnitId]:
        """Return the units of the columns, in order."""
        return [self._with(name) for name in self.chosen]

    def _with(self, name: str) -> UnitId:
        match self.by:
            case "model":
                return replace(self.unit, model=name)
            case "condition":
                return replace(self.unit, condition=name)
            case "repeat":
                return replace(self.unit, repeat=int(name))


def routes(library: Library) -> list[Route]:
    """Return the routes of this module."""
    reader = UnitReader(library)

    async def case(request: Request) -> Response:
        query = Query(request.scope["query_string"])
        if query.one("at") is not None:
            return RedirectResponse(_of_form(query), 303)
        stored = await library.stored(query.one("run") or "latest")
        values = await _values(library, reader, stored, query)
        with finding(Filters.carried(query).words()):
            return page("viewing/templates/side_by_side.html", **values)

    return [Route("/case", case)]


async def _values(library: Library, reader: UnitReader, stored: StoredRun, query: Query) -> dict[str, Any]:
    choice, filters = _choice(stored, query), Filters.carried(query)
    reads = await reader.read_all(stored, choice.units())
    graded = await grades_of_units(library, reader, reads)
    columns = [
        await _column(library, read, grades, filters, name, len(reads))
        for read, grades, name in zip(reads, graded, choice.chosen, strict=True)
    ]
    unit, run = choice.unit, stored.run.name
    found = stored.case_index.case(stored.case_index.place(unit.case_id))
    before, after = await _cases_around(library, stored, unit, filters)
    shown = await asyncio.to_thread(case_shown, stored, found, unit.condition)

    def to(case_id: str | None) -> str | None:
        return None if case_id is None else _link(run, replace(unit, case_id=case_id), choice, query)

    return {
        "run": run,
        "unit": unit,
        "choice": choice,
        "all_by": _BY,
        "models": sorted(stored.manifest.models),
        "conditions": [name for name in stored.conditions if is_asked(stored, found, name)],
        "repeats": stored.manifest.repeats,
        "most": MOST_COLUMNS,
        "columns": columns,
        "case": shown,
        "fields": {name: beginning(text, words=filters.words()) for name, text in found.fields.items()},
        "reference": beginning(readable(dict(found.reference))),
        "reference_shown": reference_of(stored, found, unit.condition),
        "signs": _signs(columns),
        "previous": to(before),
        "next": to(after),
        "list": units_link(run, filters),
        "at": _link(run, unit, choice, query).partition("?")[2],
        "packed": _packed,
        "media": await case_media(
            library, stored, found, {one.name: one.read.readable_links for one in columns}
        ),
        "back": unit_link(run, columns[0].unit if columns else unit, filters),
    }


def _choice(stored: StoredRun, query: Query) -> Choice:
    """Return what a query chooses; names that the run does not have are left out, and too many."""
    given = query.one("by")
    by: By = given if given in _BY else "model"
    models = [name for name in query.all("model") if name in stored.manifest.models]
    unit = asked_unit(stored, _narrowed(query, models))
    case = stored.case_index.case(stored.case_index.place(unit.case_id))
    known: dict[By, list[str]] = {
        "model": sorted(stored.manifest.models),
        "condition": [name for name in stored.conditions if is_asked(stored, case, name)],
        "repeat": [str(number) for number in range(1, stored.manifest.repeats + 1)],
    }
    wanted = models if by == "model" and len(models) > 1 else query.all(f"show_{by}")
    chosen = [name for name in known[by] if name in wanted][:MOST_COLUMNS]
    if not chosen:
        first = [str(getattr(unit, by))]
        chosen = [name for name in known[by] if name in (first + known[by])[: _SHOWN_AT_FIRST + 1]]
        chosen = chosen[:_SHOWN_AT_FIRST] if first[0] in chosen[:_SHOWN_AT_FIRST] else first + chosen[:3]
    return Choice(by, unit, known[by], chosen)


def _narrowed(query: Query, models: Sequence[str]) -> Query:
    """Return the query of one unit: of several models the first."""
    one = {name: query.one(name) for name in ("condition", "case", "repeat")}
    return Query(link("", model=models[0] if models else None, **one)[1:].encode("ascii"))


async def _column(
    library: Library, read: UnitRead, grades: UnitGrades, filters: Filters, name: str, n: int
) -> Column:
    stored, unit = read.stored, read.unit
    kept = await library.store.kept_scores(stored.run.id, unit)

    def made() -> Column:
        result = read.replayed.result
        try:
            values = unit_values(read, grades.values, kept) or ()
        except (ValueError, HarnessError):
            values = ()
        prediction = None
        if result.prediction is not None:
            prediction = beginning(readable(result.prediction), _MOST_TEXT // max(1, n))
        return Column(
            name, unit, unit_link(stored.run.name, unit, filters), read, read.state_name, result.stage,
            read.reasons, prediction, values[0] if values else None,
            compared(read, grades.values, _MOST_TEXT // (4 * max(1, n))),
        )  # fmt: skip

    return await asyncio.to_thread(made)


def _signs(columns: Sequence[Column]) -> dict[str, bool]:
    """Return which signs the columns use: those of labels, those of texts that were compared."""
    parts = [part for one in columns if one.compared and one.prediction
             for part in one.compared.difference.parts]  # fmt: skip
    return {
        "labels": any(isinstance(part, Labels) and part.answered for part in parts),
        "texts": any(isinstance(part, Texts) and part.difference is not None for part in parts),
    }


async def _cases_around(
    library: Library, stored: StoredRun, unit: UnitId, filters: Filters
) -> tuple[str | None, str | None]:
    """Return the cases before and after a unit's in the list that it was reached from.

    Neither, where that list takes longer to read than a page may wait: others would be wrong.
    """
    if filters == Filters():
        return await asyncio.to_thread(_around, stored, unit)
    index = await library.patiently(stored.run.name)
    return (None, None) if index is None else await index.cases_around(unit, filters)


def _around(stored: StoredRun, unit: UnitId) -> tuple[str | None, str | None]:
    """Return the cases before and after a unit's, of those that its condition is asked of."""
    wanted, before, passed = stored.case_index.place(unit.case_id), None, False
    for place in stored.places(unit.condition):
        if passed:
            return before, stored.case_index.id(place)
        if place == wanted:
            passed = True
        else:
            before = stored.case_index.id(place)
    return before, None


def _packed(name: str) -> str:
    """Return a name as plain ASCII: what a form holds must survive it, whatever characters it has."""
    return quote(name, safe="", errors="surrogatepass")


def _of_form(query: Query) -> str:
    """Return the link of what was chosen in the form of a page, which says in `at` what it was about."""
    base = Query((query.one("at") or "").encode("latin-1", "replace"))
    found: dict[str, str | tuple[str, ...] | None] = {
        name: base.one(name) for name in ("run", "case", "model", "condition", "repeat", "by", "among")
    }
    for name in ("model", "condition", "repeat"):
        picked = query.one(f"pick_{name}")
        found[name] = found[name] if picked is None else unquote(picked, errors="surrogatepass")
    by = query.one("by")
    if by == found["by"]:
        shown = tuple(unquote(one, errors="surrogatepass") for one in query.all("show"))
        found[f"show_{by}"] = shown[:MOST_COLUMNS]
    return link("/case", **(found | {"by": by}))


def _link(run: str, unit: UnitId, choice: Choice, query: Query) -> str:
    """Return the link of the same columns for another case."""
    shown: dict[str, tuple[str, ...]] = {f"show_{choice.by}": tuple(choice.chosen)}
    return link(
        "/case", run=run, case=unit.case_id, condition=unit.condition, model=unit.model, repeat=unit.repeat,
        by=choice.by, among=query.one("among"), **shown,
    )  # fmt: skip
