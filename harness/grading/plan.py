"""What a grading is by agreement: which answers, by whom, in which order. Made once, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.cache.rows import UnitId
from harness.canonical import JSON, digest
from harness.errors import StoreError

VERSION: Final = 1
SEED: Final = 20_050


@dataclass(frozen=True, slots=True)
class Item:
    """One answer that is graded. `answer` is the digest of the prediction that stood when this was agreed."""

    unit: UnitId
    answer: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a grading.

    `models` and `conditions` are those whose answers were taken; `limit` how many answers at most, None: all.
    `calibration` is the number of sheets that all raters grade first, 0: none; `threshold` Cohen's kappa that
    they must reach on them. An item's number is its place in `items`. `not_graded`: why other units are not
    among them -> how many.
    """

    task: str
    raters: tuple[str, ...]
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    limit: int | None
    calibration: int
    threshold: float
    seed: int
    items: tuple[Item, ...]
    not_graded: Mapping[str, int]

    @property
    def gated(self) -> bool:
        """Tell whether full grading waits until the raters agree."""
        return len(self.raters) > 1 and self.calibration > 0

    def to_json(self) -> dict[str, JSON]:
        """Return the plan as the store keeps it."""
        return {
            "version": VERSION,
            "task": self.task,
            "raters": list(self.raters),
            "models": list(self.models),
            "conditions": list(self.conditions),
            "limit": self.limit,
            "calibration": self.calibration,
            "threshold": self.threshold,
            "seed": self.seed,
            "items": [
                [one.unit.model, one.unit.condition, one.unit.case_id, one.unit.repeat, one.answer]
                for one in self.items
            ],
            "not_graded": dict(self.not_graded),
        }


def read_plan(settings: Mapping[str, JSON]) -> Plan:
    """Undo `Plan.to_json`. Raises StoreError for a plan of a newer version, and for what is none."""
    found: Mapping[str, Any] = settings
    check_version(found, VERSION)
    try:
        return Plan(
            task=found["task"],
            raters=tuple(found["raters"]),
            models=tuple(found["models"]),
            conditions=tuple(found["conditions"]),
            limit=found["limit"],
            calibration=found["calibration"],
            threshold=float(found["threshold"]),
            seed=found["seed"],
            items=tuple(
                Item(UnitId(model, condition, case_id, repeat), answer)
                for model, condition, case_id, repeat, answer in found["items"]
            ),
            not_graded=found["not_graded"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("the settings of a grading are damaged; take it from a backup") from error


def check_version(stored: Mapping[str, JSON], known: int, *older: int) -> None:
    """Raise StoreError for settings, or a state, of a form that is neither `known` nor one of `older`."""
    version = stored.get("version")
    if version not in (known, *older):
        raise StoreError(
            f"this grading was made by another version of harness (its form is {version!r}, here {known}); "
            "use that one"
        )


def answer_digest(prediction: JSON) -> str:
    """Return what tells an answer from another one of the same unit."""
    return digest(prediction)[:32]


def differences(plan: Plan, asked: Mapping[str, JSON]) -> Iterator[str]:
    """Yield what somebody asks for that is not as it was agreed: setting -> value, those that were given."""
    agreed = plan.to_json()
    for name, value in asked.items():
        if agreed[name] != value:
            yield f"{name} is {_told(agreed[name])}, not {_told(value)}"


def _told(value: JSON) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return "not set" if value is None else str(value)
