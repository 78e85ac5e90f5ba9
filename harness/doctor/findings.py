"""What an examination comes to: findings, the calls behind them, and how bad it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from harness.messages import Usage
from harness.providers.limit_headers import LearnedLimits
from harness.providers.model_pages import Listing
from harness.settings import Model

CHECKS: Final = ("key", "endpoint", "model", "text", "image", "schema", "json", "limits", "served")
"""All checks, in the order in which they are told."""


class Level(StrEnum):
    """How a check ended; `SKIP`: there was nothing to check, or no way to."""

    OK = "ok"
    SKIP = "-"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP exchange of an examination; keys are masked in all that is kept of it.

    Times in seconds. `usd` None: nobody knows. `wait_s`: how long the provider said to wait.
    """

    check: str
    path: str
    status: int
    outcome: str
    total_s: float
    first_byte_s: float | None = None
    usage: Usage = field(default_factory=Usage)
    usd: float | None = 0.0
    served_model: str | None = None
    wait_s: float | None = None
    error: str | None = None
    body_start: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, what to do about it, and the call that it rests on."""

    check: str
    level: Level
    text: str
    advice: str | None = None
    call: Call | None = None


@dataclass(slots=True)
class Examined:
    """One model as it was found."""

    model: Model
    findings: dict[str, Finding] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    listing: Listing = field(default_factory=Listing)
    limits: LearnedLimits = field(default_factory=LearnedLimits)

    def note(self, finding: Finding) -> Finding:
        """Keep a finding; the last one of a check counts."""
        self.findings[finding.check] = finding
        return finding

    @property
    def in_order(self) -> tuple[Finding, ...]:
        """The findings in the order of `CHECKS`."""
        return tuple(self.findings[name] for name in CHECKS if name in self.findings)

    @property
    def level(self) -> Level:
        """The worst of all findings."""
        found = {finding.level for finding in self.findings.values()}
        return next((level for level in (Level.FAIL, Level.WARN) if level in found), Level.OK)

    @property
    def spent_usd(self) -> float:
        """USD of all calls whose cost is known."""
        return sum(call.usd or 0.0 for call in self.calls)

    @property
    def unpriced(self) -> int:
        """How many calls nobody knows the cost of."""
        return sum(call.usd is None for call in self.calls)


def counts(examined: Mapping[str, Examined]) -> dict[Level, int]:
    """Return how many models ended how, by their worst finding."""
    return {
        level: sum(one.level is level for one in examined.values())
        for level in (Level.OK, Level.WARN, Level.FAIL)
    }
