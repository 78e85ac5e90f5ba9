"""The rows of the performance budget, each measured by one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from perf.processes import Loopback


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is done for each row; the smaller, the more a start-up weighs."""

    exchanges: int = 4_000
    images: int = 400
    image_bytes: int = 1_000_000
    replayed: int = 20_000
    cases: int = 20_000
    planned_units: int = 1_000_000
    in_flight: int = 512
    minutes: int = 10
    starts: int = 7


QUICK: Final = Sizes(
    exchanges=128, images=24, image_bytes=100_000, replayed=64, cases=100, planned_units=2_000, in_flight=48,
    minutes=3, starts=1,
)  # fmt: skip
"""Sizes that show that each row yields a number, and no more."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row as measured. `ours` in the unit of the budget; `bare` what a bare client needs, if it can.

    `met` None: sizes were too small for the budget to be judged.
    """

    what: str
    budget: str
    ours: float
    unit: str
    met: bool | None
    bare: float | None = None
    note: str = ""
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Ours over bare."""
        return self.ours / self.bare if self.bare else None


Measure = Callable[[Loopback, Sizes], Row]


def all_rows() -> dict[str, Measure]:
    """Return every row's name and how it is measured, in the order of the table."""
    from perf import exchange_rows, size_rows, time_rows

    return {
        "text-64": exchange_rows.text_64,
        "text-512": exchange_rows.text_512,
        "image": exchange_rows.image,
        "replay": size_rows.replay,
        "help": time_rows.start_up,
        "memory": size_rows.memory,
        "planning": size_rows.planning,
        "concurrency": exchange_rows.concurrency,
        "rate-limit": time_rows.rate_limit,
        "lag": exchange_rows.lag,
    }
