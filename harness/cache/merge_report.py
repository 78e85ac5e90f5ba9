"""What joining two stores did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from harness.canonical import JSON

MOST_NAMED: Final = 20
"""Units that are named where ours and theirs disagree; the others are counted."""


@dataclass(slots=True)
class MergeReport:
    """Counts. `*_new`: taken over; `*_known`: there already.

    `renamed`: a run's name there -> its name here; `gradings_renamed` likewise. `units_updated`: units of
    ours that theirs finished or took further. `units_twice`: answered in both, apart from each other; ours
    stands. `conflicts` are those of them that ended differently, `conflicts_named` the first.
    `units_reopened`: their rounds of `--again` cannot be told apart here, so they are asked again.
    """

    dry_run: bool = False
    runs_new: int = 0
    runs_known: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    sessions_new: int = 0
    exchanges_new: int = 0
    exchanges_known: int = 0
    served_new: int = 0
    units_new: int = 0
    units_updated: int = 0
    units_known: int = 0
    units_twice: int = 0
    units_reopened: int = 0
    conflicts: int = 0
    conflicts_named: list[str] = field(default_factory=list)
    blobs_new: int = 0
    media_new: int = 0
    grades_new: int = 0
    gradings_new: int = 0
    gradings_updated: int = 0
    gradings_renamed: dict[str, str] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """True if everything was there already."""
        return not any(
            (
                self.runs_new, self.sessions_new, self.exchanges_new, self.served_new, self.units_new,
                self.units_updated, self.blobs_new, self.media_new, self.grades_new,
                self.gradings_new, self.gradings_updated,
            )
        )  # fmt: skip

    def to_json(self) -> Mapping[str, JSON]:
        """Return the report as `--json` prints it."""
        return asdict(self)

    def conflict(self, unit: str) -> None:
        """Count a unit that ended differently here and there."""
        self.conflicts += 1
        if len(self.conflicts_named) < MOST_NAMED:
            self.conflicts_named.append(unit)
