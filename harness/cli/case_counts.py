"""How many of what there are among cases, as `harness data check` and `import` print it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from harness.benchmarks.base import Case
from harness.canonical import JSON

_PLURALS = ("cases", "groups")


@dataclass(slots=True)
class CaseCounts:
    """Counts cases as they come by."""

    cases: int = 0
    media: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    groups: set[str] = field(default_factory=set)

    def add(self, case: Case) -> None:
        """Count one more case."""
        self.cases += 1
        for role, items in case.media.items():
            self.media[role] += len(items)
        self.tags.update(case.tags)
        if case.group is not None:
            self.groups.add(case.group)

    def counts(
        self, raters: Mapping[str, Mapping[str, JSON] | Sequence[JSON]] | None = None
    ) -> dict[str, int]:
        """Return what there is of each kind, zero counts left out except for the cases."""
        found = {"cases": self.cases}
        found |= {f"media: {role}": count for role, count in sorted(self.media.items()) if count}
        found |= {"groups": len(self.groups)} if self.groups else {}
        found |= {f"tag: {tag}": count for tag, count in sorted(self.tags.items())}
        found |= {
            f"answers of rater {name}": len(answers) for name, answers in sorted((raters or {}).items())
        }
        return found


def print_counts(counts: Mapping[str, int]) -> None:
    """Print counts, one a line."""
    for name, count in counts.items():
        click.echo(f"{count:>7}  {name.removesuffix('s') if count == 1 and name in _PLURALS else name}")
