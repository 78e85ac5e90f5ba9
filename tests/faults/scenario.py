"""Scenarios: a misbehaving server crossed with a disturbance, drawn from a seed or written down."""

from __future__ import annotations

import gc
import random
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from faults import disturbances, misbehaviours
from faults.disturbances import Disturb
from faults.invariants import Undisturbed, check_all, check_half_way, check_right, records_by_case
from faults.scene import Scene, Treatment
from sweep_kit import harness, write_cases

CASES = 20
TRIES = 3
"""Runs until a scenario must have come to its end, once the server is kind and all is mended."""


@dataclass(frozen=True)
class Scenario:
    """What a seed means; the same one gives the same treatments, delays and moments."""

    seed: int
    disturb: Disturb
    treatments: Mapping[int, Treatment]
    at: int
    in_flight: int
    models: tuple[str, ...] = ("m",)
    options: tuple[str, ...] = ("--max-wait", "20")

    def __str__(self) -> str:
        treated = ", ".join(
            f"c{case:03} {one.misbehaviour.name} x{one.times}"
            for case, one in sorted(self.treatments.items())
        )
        return (
            f"{self.disturb.__name__} at {self.at}, {self.in_flight} in flight, models "
            f"{','.join(self.models)}; {treated or 'a good server'}"
        )


def drawn(seed: int) -> Scenario:
    """Draw a scenario: any disturbance, and up to eight cases treated in any ways."""
    chance = random.Random(seed)
    disturb = chance.choice(disturbances.DISTURBANCES)
    cases = chance.sample(range(CASES), chance.randint(0, 8))
    treatments = {
        case: Treatment(chance.choice(misbehaviours.MISBEHAVIOURS), chance.choice((1, 1, 1, 2, 9)))
        for case in cases
    }
    return Scenario(
        seed,
        disturb,
        treatments,
        at=chance.randint(1, CASES - 2),
        in_flight=chance.choice((1, 2, 4, 8, 16)),
        models=chance.choice((("m",), ("m",), ("a", "b"))),
    )


def _forget_own_sockets() -> None:
    """Let go of what a server of ours left open when it was stopped by force: its warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def play(scenario: Scenario, folder: Path, data: Path, undisturbed: Undisturbed) -> None:
    """Work through a scenario, bring it to its end with a kind server, and check everything."""
    scene = Scene(
        folder,
        data,
        CASES,
        in_flight=scenario.in_flight,
        models=scenario.models,
        treatments=scenario.treatments,
        chance=random.Random(scenario.seed),
        options=scenario.options,
    )
    with scene:
        scene.configure()
        aftermath = scenario.disturb(scene, scenario.at)
        _forget_own_sockets()
        if scene.store.exists():
            check_half_way(harness("status", "--store", scene.store), harness(*_score(scene)), scene)
        scene.kind = True
        given_up = [one for one in scene.treatments.values() if one.misbehaviour.unit == "not_applicable"]
        again = ("--again", "not_applicable") if given_up else ()
        if aftermath.may_pay_twice and again:  # the late word of a sleeper may stand over another's answer
            most = aftermath.may_pay_twice + len(given_up) * len(scenario.models)
            aftermath = replace(aftermath, may_pay_twice=most)
        for _ in range(TRIES):
            last = scene.run_here(*again)
            if last.code == 0:
                break
        exported = scene.export()
        check_all(scene, undisturbed, last, exported, aftermath)
        assert scene.elsewhere.arrivals == [], "a redirect was followed, with the key"


def _score(scene: Scene) -> list[str | Path]:
    return ["score", "--json", "--store", scene.store]


def undisturbed_run(folder: Path, data: Path, models: tuple[str, ...]) -> Undisturbed:
    """Run with a good server and nothing in the way."""
    with Scene(folder, data, CASES, models=models) as scene:
        scene.kind = True
        scene.configure()
        done = scene.run_here()
        assert done.code == 0, done.err
        records = records_by_case(scene.export())
        assert len(records) == CASES * len(models)
        check_right(records)
        assert len(scene.arrivals) == len(records)
    return Undisturbed(done.out, records)


def write_data(folder: Path) -> Path:
    """Write the case files that all scenarios share."""
    return write_cases(folder, CASES)
