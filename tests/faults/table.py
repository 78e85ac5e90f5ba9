"""The scenarios that every change is tested with: each disturbance once, each misbehaviour several times."""

from __future__ import annotations

from faults.disturbances import DISTURBANCES
from faults.misbehaviours import MISBEHAVIOURS
from faults.scenario import CASES, Scenario, Treatment

TREATED = 6
"""Cases of each scenario that are treated badly; the first is not, so that the canary lives."""

STRIDE = 11
"""Steps through the misbehaviours, so that each scenario has some of every kind."""


def _scenario(number: int) -> Scenario:
    quick = [one for one in MISBEHAVIOURS if not one.slow]
    first = number * TREATED
    chosen = [quick[STRIDE * (first + place) % len(quick)] for place in range(TREATED)]
    step = (CASES - 2) // TREATED
    return Scenario(
        seed=number,
        disturb=DISTURBANCES[number],
        treatments={2 + place * step: Treatment(one) for place, one in enumerate(chosen)},
        at=7,
        in_flight=4,
    )


TABLE = {scenario.disturb.__name__: scenario for scenario in map(_scenario, range(len(DISTURBANCES)))}
"""Name of the disturbance -> its scenario."""
