"""Each disturbance of our processes and their store, under a server that misbehaves in many ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from faults.misbehaviours import MISBEHAVIOURS
from faults.players import Players, played
from faults.table import TABLE

# Each row starts the program several times: a minute of two cores.
pytestmark = pytest.mark.slow

PLAYERS = 3


@pytest.fixture(scope="module")
def players() -> Iterator[Players]:
    with played(list(TABLE), players=PLAYERS, limit_s=600) as found:
        yield found


@pytest.mark.parametrize("name", TABLE)
def test_nothing_is_lost_or_paid_twice_and_the_end_is_right(
    name: str, players: Players
) -> None:  # F7 F20 F21 F23 F44 F46 F47
    result = players.result(name)
    assert result["failure"] is None, (
        f"{result['failure']}\nto play it alone: python tests/faults/play.py --keep {name}"
    )


def test_every_quick_misbehaviour_is_in_the_table() -> None:
    used = {one.misbehaviour.name for scenario in TABLE.values() for one in scenario.treatments.values()}
    assert used == {one.name for one in MISBEHAVIOURS if not one.slow}
