"""Scenarios drawn at random: any disturbance, any misbehaviours, any moment.

Two hundred of them; HARNESS_TEST_SCENARIOS says how many of these, where time is short.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from faults.players import Players, played
from faults.scenario import drawn

SEEDS = range(1_000, 1_000 + int(os.environ.get("HARNESS_TEST_SCENARIOS", "200")))
PLAYERS = 4


@pytest.fixture(scope="module")
def players() -> Iterator[Players]:
    with played([str(seed) for seed in SEEDS], players=PLAYERS, limit_s=600) as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_scenario_ends_well(seed: int, players: Players) -> None:  # F7 F20 F21 F23 F44 F46 F47
    failure = players.result(str(seed))["failure"]
    assert failure is None, f"{failure}\nto play it alone: python tests/faults/play.py --keep {seed}"


def test_a_seed_always_gives_the_same_scenario() -> None:
    assert [drawn(seed) for seed in SEEDS] == [drawn(seed) for seed in SEEDS]
    assert len({str(drawn(seed)) for seed in SEEDS}) == len(SEEDS)
