"""What a report shows of RadM-Bench beside its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.benchmarks.details import Breakdown, Detail, Flow
from harness.benchmarks.radm.cases import SUBSETS, SUBSPECIALTIES
from harness.benchmarks.radm.conditions import TEXT, TEXT_IMAGES, TEXT_VOLUME_FPS2, TEXT_VOLUME_FPS10
from harness.benchmarks.radm.ranking import MOST, TIERS, TOP
from harness.benchmarks.radm.scores import GRADED_ONLY, path_name

_LEVELS: Final = {"0": 0.0, "0.2 to 1": 0.2, "1.2 to 2": 1.2, "2.4 and 3": 2.4}
"""Scores are 0 to 1 in steps of .2, then 1.2, 1.6, 1.8, 2, 2.4 and 3."""


def _condition() -> Iterator[Detail]:
    yield Breakdown(
        "graded-only",
        "Graded answers alone, not all of them",
        {"score": f"{GRADED_ONLY}score", **{f"top-{k}": f"{GRADED_ONLY}top{k}" for k in TOP}},
        groups="metric",
        values="score (0 to 3) and accuracies of the graded answers alone, which are not all; unusable ones "
        "are not in them",
        figure=None,
        without="score",
    )
    yield Breakdown(
        "tiers",
        "Best tier of an answer",
        {f"tier {tier}": f"tier.{tier}.share" for tier in TIERS},
        groups="best tier",
        values="share of answers",
        figure="heat",
        better=None,
        best=None,
    )
    yield Breakdown(
        "top-k",
        "Top-k accuracy",
        {str(k): f"top{k}" for k in TOP},
        groups="k",
        values="accuracy",
        figure="lines",
    )
    for subset in SUBSETS:
        yield Breakdown(
            f"subspecialties-{subset}",
            f"Score by subspecialty, {subset}",
            {name: f"{subset}.{path_name(name)}.score" for name in SUBSPECIALTIES},
            groups="subspecialty",
            values="score",
            figure="heat",
            best=MOST,
        )
        yield Breakdown(
            f"rarity-{subset}",
            f"Score of rare and of common diseases, {subset}",
            {name: f"{subset}.{name}.score" for name in ("rare", "common")},
            groups="disease",
            values="score",
            figure="lines",
            best=MOST,
        )


CONDITION: Final[tuple[Detail, ...]] = tuple(_condition())
"""Of every condition; groups without a case have no values, and are not shown."""


def transition(before: str, after: str) -> tuple[Detail, ...]:
    """Return the flow of cases between two conditions; through the images too where volumes come after."""
    stages: list[tuple[str, ...]] = [(before, after)]
    if before == TEXT_IMAGES and after in (TEXT_VOLUME_FPS2, TEXT_VOLUME_FPS10):
        stages.append((TEXT, before, after))
    return tuple(
        Flow(
            "flow-" + "-".join(conditions),
            "Scores from " + " to ".join(conditions),
            conditions,
            path="score",
            levels=_LEVELS,
        )
        for conditions in stages
    )
