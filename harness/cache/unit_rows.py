"""How units and their links are laid out as rows."""

from __future__ import annotations

from sys import intern

from harness.cache.exchange_rows import packed_json, unpacked_json
from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.tables import UNIT, AnyRow
from harness.outcomes import UnitOutcome

STATE_COLUMNS = (
    UNIT.c.model,
    UNIT.c.condition,
    UNIT.c.case_id,
    UNIT.c.repeat,
    UNIT.c.outcome,
    UNIT.c.again_after,
    UNIT.c.error,
)
"""What `read_state` takes, in this order."""

_OUTCOMES = {outcome.value: outcome for outcome in UnitOutcome}

_PLACES_PER_EXCHANGE = 1024


def unit_key(run_id: int, unit: UnitId) -> dict[str, object]:
    """Return the columns that name a unit of a run."""
    return {
        "run_id": run_id,
        "model": unit.model,
        "condition": unit.condition,
        "case_id": unit.case_id,
        "repeat": unit.repeat,
    }


def state_row(run_id: int, state: UnitState) -> dict[str, object]:
    """Return the row of a unit's state."""
    return {
        **unit_key(run_id, state.unit),
        "outcome": None if state.outcome is None else state.outcome.value,
        "again_after": state.again_after,
        "error": None if state.error is None else packed_json(state.error),
    }


def read_state(row: AnyRow) -> UnitState:
    """Return the state in a row of `STATE_COLUMNS`."""
    model, condition, case_id, repeat, outcome, again_after, error = row
    return UnitState(
        # A run has few models and conditions and many units: one text each.
        UnitId(intern(model), intern(condition), case_id, repeat),
        None if outcome is None else _OUTCOMES[outcome],
        again_after,
        None if error is None else unpacked_json(error),
    )


def position(exchange_id: int) -> int:
    """Return where an exchange that has just been made stands among its unit's links."""
    return exchange_id * _PLACES_PER_EXCHANGE


def link_rows(run_id: int, unit: UnitId, links: tuple[Link, ...]) -> list[dict[str, object]]:
    """Return the rows of a unit's links, with positions that keep their order.

    A link stands where its exchange was made, except that it never stands before the one given
    before it: a stored answer may be older than the exchange that led to it.
    """
    rows: list[dict[str, object]] = []
    last = 0
    for link in links:
        last = max(last + 1, position(link.exchange_id))
        rows.append(
            {
                **unit_key(run_id, unit),
                "exchange_id": link.exchange_id,
                "position": last,
                "purpose": link.purpose,
                "attempt": link.attempt,
                "used": link.used,
            }
        )
    return rows
