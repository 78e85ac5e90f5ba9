"""How a grading ends before its time: one without a grade is deleted, one with grades is withdrawn.

Grades belong to the run and are evidence: no way of ending a grading takes one away. Of a grading that is
withdrawn the links open nothing any more and lists leave it out; what was agreed, its rounds and its kappas
stay in the store, under another name, so that its own is free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from harness.benchmarks.sheets import COMMENT
from harness.benchmarks.steps import CONSENSUS
from harness.cache.grades import Grade
from harness.errors import ConfigError, StoreError
from harness.grading.desk import Desk
from harness.phrases import count

_TRIES: Final = 100


def of_grading(desk: Desk, history: Iterable[Grade]) -> list[Grade]:
    """Return those of a run's grades that this grading's seats gave, or somebody for them by a file."""
    units = {item.unit for item in desk.plan.items}
    raters = {*desk.roster.names, CONSENSUS}
    questions = {COMMENT, *(question.name for question in desk.task.questions)}
    return [one for one in history if one.unit in units and one.rater in raters and one.question in questions]


def grades_words(given: Mapping[str, int]) -> str:
    """Return how many grades there are, and by whom: "40 grades (alice 24, bob 16)"."""
    by = ", ".join(f"{rater} {n}" for rater, n in sorted(given.items()))
    return f"{count(sum(given.values()), 'grade')} ({by})"


async def end_grading(desk: Desk, *, withdraw: bool) -> Mapping[str, int]:
    """Delete a grading without a grade, or withdraw one with grades; return rater -> grades that stay.

    Changed grades count each time that they were given. Raises ConfigError where there are grades and
    `withdraw` is not said, StoreError. A grade that somebody gives at the same moment is seen.
    """
    for _ in range(_TRIES):
        await desk.reload()
        if desk.state.withdrawn_at_us is not None:
            raise ConfigError(f"grading {desk.name!r} was withdrawn already")
        known = await desk.store.grades_after(desk.stored.run.id, 0)
        given = Counter(
            one.rater for one in of_grading(desk, (grade for _, grade in known)) if _since(desk, one)
        )
        if given and not withdraw:
            raise ConfigError(_with_grades(desk, given))
        last = known[-1][0] if known else 0
        if given:
            state = replace(desk.state, seats=(), withdrawn_at_us=desk.now_us()).to_json()
            done = await desk.store.withdraw_grading(desk.grading, state, last)
        else:
            done = await desk.store.remove_grading(desk.grading, last)
        if done:
            return given
    raise StoreError(f"grading {desk.name!r} is changed by others all the time; try again")


def _since(desk: Desk, grade: Grade) -> bool:
    """Return whether a grade may be of this grading: a consensus from before it was made is another one's."""
    return grade.rater != CONSENSUS or grade.graded_at_us >= desk.grading.created_at_us


def _with_grades(desk: Desk, given: Mapping[str, int]) -> str:
    run = desk.stored.run.name
    return (
        f"grading {desk.name!r} has {grades_words(given)}, which nothing deletes; `--delete --yes` withdraws "
        "it: then its links open nothing and lists leave it out, but the grades stay with run "
        f"{run!r}: `harness grades export {run}` writes them, and `harness score {run}` goes on counting "
        "them unless its --grades names others"
    )
