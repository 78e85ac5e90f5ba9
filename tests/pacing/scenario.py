"""The list of simulated situations; each gives its figures, always the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from pacing.figures import Figure
from virtual_loop import run_virtual

Figures: TypeAlias = Callable[[], Awaitable[list[Figure]]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One situation, in a user's words."""

    title: str
    figures: Figures

    def run(self) -> list[Figure]:
        """Simulate it in virtual time. Raises StuckError where it would never end."""

        async def work() -> list[Figure]:
            return await self.figures()

        return run_virtual(work())


SCENARIOS: list[Scenario] = []


def scenario(title: str) -> Callable[[Figures], Figures]:
    """Put a function that gives figures on the list."""

    def listed(figures: Figures) -> Figures:
        SCENARIOS.append(Scenario(title, figures))
        return figures

    return listed
