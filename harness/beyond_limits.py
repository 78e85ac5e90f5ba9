"""Which cases are beyond what a model takes, and by which limit: told before anything is sent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from harness.benchmarks.base import Benchmark, Case
from harness.canonical import JSON
from harness.errors import MediaError, MediaLimitError, UnsupportedInputError
from harness.frames.needed import check_frames_can_be_made
from harness.identity import build
from harness.messages import Request
from harness.plans import ModelPlan, with_recipes
from harness.request_bytes import check_size


@dataclass(slots=True)
class Beyond:
    """Units of one model that would end as `not_applicable`, by the setting that says so."""

    counts: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    """Units that are asked at all: in a condition that only some cases have, these."""
    unreadable: int = 0
    """Units whose media cannot be sent to anyone."""
    first: dict[str, str] = field(default_factory=dict)
    """Setting -> the first case beyond it, and the sentence about it."""

    def add(self, case_id: str, error: MediaLimitError | UnsupportedInputError) -> None:
        """Count one unit."""
        limit = error.limit or "wire format"
        self.counts[limit] = self.counts.get(limit, 0) + 1
        self.first.setdefault(limit, f"case {case_id!r}: {error}")

    def told(self, model: str, what: str) -> Iterator[str]:
        """Give a sentence a limit; `what` is counted, as "cases"."""
        for limit, count in sorted(self.counts.items()):
            yield f"{model}: {what} beyond its {limit}: {count}; first: {self.first[limit]}"

    @property
    def total(self) -> int:
        """How many cannot be sent."""
        return self.unreadable + sum(self.counts.values())

    def to_json(self) -> Mapping[str, JSON]:
        """Return limit -> number."""
        return dict(self.counts)


def beyond_limits(
    benchmark: Benchmark, cases: Collection[Case], plan: ModelPlan, conditions: Collection[str]
) -> Beyond:
    """Return which cases a model cannot be asked in some of these conditions; may read images.

    A case counts once, and only if it is asked in one of them. Those that no model could be sent are counted
    apart.
    """
    found = Beyond()
    prompts = {name: benchmark.prompt(name) for name in conditions}
    check_frames_can_be_made(benchmark, cases, prompts, [plan.model])
    for case in cases:
        asked = [name for name in prompts if benchmark.asks(case, name)]
        found.asked += bool(asked)
        try:
            if asked and case.problem is not None:
                raise MediaError(case.problem)
            for condition in asked:
                messages = with_recipes(benchmark.render(case, condition, prompts[condition]), plan)
                built = build(Request(messages, params=plan.params), plan.model)
                check_size(built.wire, built.document, plan.model)
        except (MediaLimitError, UnsupportedInputError) as error:
            found.add(case.id, error)
        except MediaError:
            found.unreadable += 1
    return found
