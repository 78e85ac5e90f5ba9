"""How far the people agree who graded the same answers of a run: each pair of them, by question and pooled.

Of the grades that stand, and only those about the answers that stand. A consensus is no rater: it is what
raters came to. A grade that its question does not know, from before it was known, is none. Every task of
grading (see `harness.benchmarks.sheets`) is compared by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import combinations
from typing import TypeAlias

from harness.benchmarks.rater_agreement import Item, dimension, kappa_of
from harness.benchmarks.sheets import GradingTask
from harness.benchmarks.steps import is_consensus
from harness.cache.grades import Grade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON, canonical_json, digest
from harness.offline.new_answers import answered_since
from harness.offline.stored_run import StoredRun

_Said: TypeAlias = "Mapping[UnitId, Mapping[str, Mapping[str, JSON]]]"
"""Unit -> rater -> question -> the grade that stands."""


async def people_agreement(store: Store, stored: StoredRun) -> Mapping[str, JSON] | None:
    """Return the comparison as the scores have it; None where no two people graded the same."""
    tasks = stored.benchmark.gradings
    if not tasks:
        return None
    asked = {
        (question.name, canonical_json(option.value))
        for task in tasks.values()
        for question in task.questions
        for option in question.options
    }
    grades = [one for one in await store.grades(stored.run.id) if _counts(one, asked)]
    if len({one.rater for one in grades}) < 2:
        return None
    since = await answered_since(store, stored, {one.unit for one in grades})
    same = [one for one in grades if one.graded_at_us >= since.get(one.unit, 0)]
    pairs = dict(_pairs(stored, same, tasks))
    if not pairs:
        return None
    content = [[*astuple(one.unit), one.rater, one.question, one.value] for one in same]
    return {
        "grades": len(same),
        "grades_sha256": digest(content),
        "of_other_answers": len(grades) - len(same),
        "between_people": pairs,
    }


def _counts(grade: Grade, asked: set[tuple[str, bytes]]) -> bool:
    return (grade.question, canonical_json(grade.value)) in asked and not is_consensus(grade.rater)


def _pairs(
    stored: StoredRun, grades: Sequence[Grade], tasks: Mapping[str, GradingTask]
) -> Iterator[tuple[str, JSON]]:
    """Yield every pair of raters with what both graded, by task, which its name says if there are several."""
    said: dict[UnitId, dict[str, dict[str, JSON]]] = {}
    for grade in grades:
        said.setdefault(grade.unit, {}).setdefault(grade.rater, {})[grade.question] = grade.value
    groups = {unit: stored.case_index.group(unit.case_id) for unit in said}
    for first, second in combinations(sorted({one.rater for one in grades}), 2):
        for name, task in tasks.items():
            found = compared(task, said, groups, first, second)
            if found is not None:
                yield f"{first} and {second}" + (f" ({name})" if len(tasks) > 1 else ""), found


def compared(
    task: GradingTask, said: _Said, groups: Mapping[UnitId, str], first: str, second: str
) -> dict[str, JSON] | None:
    """Return how far two raters agree on what a task asks; None where both graded nothing.

    `groups`: unit -> what is resampled together. Raises KeyError for a grade that is no option.
    """
    items: dict[str, list[Item]] = {question.name: [] for question in task.questions}
    places = {
        question.name: {canonical_json(option.value): place for place, option in enumerate(question.options)}
        for question in task.questions
    }
    both = 0
    for unit, raters in said.items():
        one, other = raters.get(first, {}), raters.get(second, {})
        shared = [name for name in items if name in one and name in other]
        both += bool(shared)
        for name in shared:
            mine, theirs = (places[name][canonical_json(grades[name])] for grades in (one, other))
            items[name].append(Item(groups[unit], mine, theirs))
    return _found(task, items, both) if both else None


def _found(task: GradingTask, items: Mapping[str, Sequence[Item]], both: int) -> dict[str, JSON]:
    labels = {question.name: [option.value for option in question.options] for question in task.questions}
    alike = labels[task.pooled[0]]
    assert all(labels[name] == alike for name in task.pooled), "grades that are pooled are of one scale"
    pooled = [item for name in task.pooled for item in items[name]]
    of_all = _dimension(pooled, alike)
    threshold = task.threshold if task.calibration else None
    kappa = kappa_of(pooled, len(alike))
    reaches = None if kappa is None or threshold is None else kappa >= threshold
    if reaches is not None:
        of_all["note"] = f"kappa {'reaches' if reaches else 'is below'} {threshold:g}, which grading asks for"
    return {
        "task": task.name,
        "n_graded": both,
        "mean_accuracy": of_all["accuracy"],
        "kappa_threshold": threshold,
        "reaches_threshold": reaches,
        "dimensions": {
            task.pooled_as: of_all,
            **{name: _dimension(of_it, labels[name]) for name, of_it in items.items()},
        },
    }


def _dimension(items: Sequence[Item], labels: Sequence[JSON]) -> dict[str, JSON]:
    """Return how far two agree; labels that are whole numbers have distances."""
    worths = [label for label in labels if isinstance(label, int) and not isinstance(label, bool)]
    return dimension(items, labels, worths if len(worths) == len(labels) > 2 else None)
