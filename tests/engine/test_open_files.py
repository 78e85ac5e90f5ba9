"""How many requests the limit of open files allows at once."""

from __future__ import annotations

import pytest

from harness.open_files import RESERVED, most_in_flight
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool


@pytest.mark.parametrize(
    ("limit", "pools", "each", "most"),
    [
        (None, 3, 1, None),
        (128, 1, 1, 128 - RESERVED),
        (1024, 4, 1, (1024 - RESERVED) // 4),
        (1024, 4, 2, (1024 - RESERVED) // 8),
        (20, 5, 1, 1),
        (20, 0, 1, None),
    ],
)
def test_pools_share_what_the_program_itself_does_not_need(
    limit: int | None, pools: int, each: int, most: int | None
) -> None:  # F35
    assert most_in_flight(limit, pools, each) == most


@pytest.mark.parametrize(
    ("explicit", "most", "start", "held_back"),
    [
        (None, None, 16, False),
        (None, 600, 16, False),
        (None, 8, 8, True),
        (300, 8, 8, True),
        (4, 8, 4, False),
        (300, None, 300, False),
    ],
)
def test_a_pool_never_asks_for_more_than_the_machine_allows(
    explicit: int | None, most: int | None, start: int, held_back: bool
) -> None:
    pool = Pool("p", PoolLimits(max_in_flight=explicit, most_in_flight=most))
    assert (pool.status().limit, pool.held_back) == (start, held_back)
