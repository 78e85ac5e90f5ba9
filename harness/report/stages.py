"""How units ended, and at which stage answers were read: tables, and figures of shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.outcomes import INCOMPLETE, UNUSABLE, USABLE, UnitOutcome
from harness.phrases import count, titled
from harness.report.cells import count_cell, share_cell
from harness.report.document import Cell, Column, Figure, Part, Stacked, Table, TableRow
from harness.report.part_ids import PartIds
from harness.report.score_view import ConditionView, Json, row_name
from harness.report.truth import UNUSABLE_SHARE, unusable_share

_LEFT_OUT: Final = frozenset({UnitOutcome.NOT_APPLICABLE, UnitOutcome.CASE_ERROR})
"""Ends that are nobody's failure: the unit does not apply to the model, or its case cannot be sent."""

_GROUPS: Final = (
    ("usable", USABLE),
    ("unusable", UNUSABLE),
    ("nobody's answer", INCOMPLETE),
    ("left out", _LEFT_OUT),
)

FIRST: Final = "attempt-1"
REFORMATTER: Final = "reformatter"


def outcomes(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield how the units of each model ended, and the failures as shares of those that apply to it."""
    models = [row for row in view.models if row["n_units"]]
    if not models:
        return
    kinds = [kind for kind in UnitOutcome if any(row["outcomes"].get(kind) for row in models)]
    table = Table(
        ids.make(prefix, view.condition, "outcomes"),
        titled("How units ended", view.condition),
        [
            Column("units", "units", "all that the run wants of the model"),
            *(Column(str(kind), _spoken(kind)) for kind in kinds),
            Column("unusable.share", "unusable", "share of the answers that are unusable"),
        ],
        [_outcome_row(row, kinds) for row in models],
        caption=f"A unit is a case asked of a model once. {_meanings(kinds)}",
    )
    yield table
    yield from _failures(view, models, kinds, table, ids)


def _failures(
    view: ConditionView, models: Sequence[Json], kinds: Sequence[UnitOutcome], table: Table, ids: PartIds
) -> Iterator[Part]:
    """Yield the figure of failures; units that are left out are none, and not what shares are of."""
    failed = [kind for kind in kinds if kind not in USABLE | _LEFT_OUT]
    applied = [(row, of) for row in models if (of := _applicable(row))]
    if not failed or not applied:
        return
    left = [_spoken(kind) for kind in kinds if kind in _LEFT_OUT]
    yield Figure(
        ids.make(table.id, "figure"),
        titled("Failures by kind", view.condition),
        f"Shares of the units of {count(len(applied), 'model')} that ended as "
        f"{', '.join(map(_spoken, failed))}.",
        Stacked(
            [row_name(row) for row, _ in applied],
            {_spoken(kind): [row["outcomes"].get(kind, 0) / of for row, of in applied] for kind in failed},
            "share of the units that apply" if left else "share of units",
        ),
        table.id,
        f"Left out, as no failure of the model: {', '.join(left)}" if left else "",
    )


def _applicable(row: Json) -> int:
    return int(row["n_units"] - sum(row["outcomes"].get(kind, 0) for kind in _LEFT_OUT))


def _outcome_row(row: Json, kinds: Sequence[UnitOutcome]) -> TableRow:
    share = unusable_share(row)
    answers = sum(row["outcomes"].get(kind, 0) for kind in USABLE | UNUSABLE)
    above = share is not None and share > UNUSABLE_SHARE
    return TableRow(
        row_name(row),
        [
            count_cell(row["n_units"]),
            *(count_cell(row["outcomes"].get(kind, 0)) for kind in kinds),
            share_cell(share, answers, why_not="nobody answered", tone="warning" if above else "plain"),
        ],
        row["kind"],
    )


def _meanings(kinds: Sequence[UnitOutcome]) -> str:
    """Say what each kind of end means."""
    told = [(name, [_spoken(kind) for kind in kinds if kind in group]) for name, group in _GROUPS]
    return "; ".join(f"{name}: {', '.join(found)}" for name, found in told if found).capitalize()


def _spoken(kind: UnitOutcome) -> str:
    return str(kind).replace("_", " ")


def stages(
    view: ConditionView, effort: Mapping[tuple[str, str], Json], ids: PartIds, prefix: str
) -> Iterator[Part]:
    """Yield at which stage predictions were read; `effort`: (model, condition) -> its row."""
    found = [
        (row, one)
        for row in view.models
        if (one := effort.get((row["model"], view.condition))) is not None and one["units"]
    ]
    used = _stages_of([one for _, one in found])
    if not used:
        return
    table = Table(
        ids.make(prefix, view.condition, "stages"),
        titled("At which stage answers were read", view.condition),
        [
            Column("units", "units"),
            *(Column(stage, stage) for stage in used),
            Column("none", "no prediction", "unusable, nobody's answer, or left out"),
            Column("later.share", "after 1st", "share of the predictions that come after the first attempt"),
        ],
        [_stage_row(row, one, used) for row, one in found],
        caption="Later attempts ask the model again after an unusable answer; the reformatter is another "
        "model that restates the last answer in the schema",
    )
    yield table
    yield Figure(
        ids.make(table.id, "figure"),
        table.title,
        f"Shares of the units of {count(len(found), 'model')} read at {', '.join(used)}; the rest has no "
        "prediction.",
        Stacked(
            [row_name(row) for row, _ in found],
            {stage: [one["stages"].get(stage, 0) / one["units"] for _, one in found] for stage in used},
            "share of units",
        ),
        table.id,
    )


def _stages_of(rows: Sequence[Json]) -> list[str]:
    """Return the stages that there are, attempts by number, the reformatter last."""
    known = {stage for row in rows for stage in row["stages"]}
    attempts = sorted((one for one in known if one != REFORMATTER), key=lambda one: (len(one), one))
    return [*attempts, *(one for one in known if one == REFORMATTER)]


def _stage_row(row: Json, effort: Json, used: Sequence[str]) -> TableRow:
    counts = [effort["stages"].get(stage, 0) for stage in used]
    read = sum(counts)
    later = read - effort["stages"].get(FIRST, 0)
    cells: list[Cell] = [
        count_cell(effort["units"]),
        *map(count_cell, counts),
        count_cell(effort["units"] - read),
        share_cell(later / read if read else None, read, why_not="no prediction"),
    ]
    return TableRow(row_name(row), cells, row["kind"])
