"""How far people have graded, in words: alike below tables of a terminal, in reports and in comparisons.

Of `graded` in the scores, see `harness.offline.grading_progress`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, Final, TypeAlias

from harness.phrases import count, listed

Json: TypeAlias = Mapping[str, Any]

NO_GRADE: Final = "no grade that counts"
"""What the reason of a number says that lacks grades."""

CONSENSUS: Final = "consensus"

_MADE: Final = {
    "consensus": "by consensus",
    "agreed": "on which raters agree",
    "mean": "the mean of raters",
    "single": "of an only rater",
}


def of_all(counts: Json) -> int:
    """Return how many answers all of their raters have graded."""
    return sum(n for key, n in counts["by_raters"].items() if _is_all(key))


def of_some(counts: Json) -> int:
    """Return how many answers some of their raters have graded, not all."""
    return sum(n for key, n in counts["by_raters"].items() if not _is_all(key) and not key.startswith("0 "))


def of_none(counts: Json) -> int:
    """Return how many answers that are to be graded nobody has graded."""
    return sum(n for key, n in counts["by_raters"].items() if key.startswith("0 "))


def _is_all(key: str) -> bool:
    done, of = key.split(" of ")
    return done == of != "0"


def graded_warnings(graded: Sequence[Json]) -> Iterator[str]:
    """Yield what must stand above numbers that rest on people's grades: not all are in, or of a sample."""
    for task in graded:
        # Of imported grades nobody knows what was to be graded.
        left = task["to_grade"] - of_all(task) if task["gradings"] else 0
        disputed = task["disputed"]
        open_ones = [
            *([f"{left:,} of {count(task['to_grade'], 'answer')} not graded by all raters"] if left else []),
            *([f"{disputed:,} in dispute without a consensus"] if disputed else []),
        ]
        if open_ones:
            title = "GRADING NOT FINISHED" if task["gradings"] else "GRADES NOT SETTLED"
            yield f"{title} ({task['task']}): {', '.join(open_ones)}"
        if is_sample(task):
            whole = count(task["usable"], "usable answer")
            yield f"A SAMPLE ({task['task']}): {task['to_grade']:,} of {whole} are graded by people"


def is_sample(task: Json) -> bool:
    """Tell whether people grade some of the answers that they could."""
    return bool(task["to_grade"] < task["usable"])


def graded_told(task: Json) -> Iterator[str]:
    """Yield in sentences who grades what of a task, how far they are, and what made the grades that count."""
    who = listed(task["raters"]) or "nobody yet"
    yield f"graded by people ({task['task']}): {_drawn(task)}; graded so far by: {who}"
    by = ", ".join(f"{key} raters {n:,}" for key, n in task["by_raters"].items() if n)
    if by:
        yield f"answers by how many raters graded all of it: {by}"
    if task["waiting"]:
        yield (
            f"waiting for another rater: {count(task['waiting'], 'answer')}; what is said of them so far "
            "does not count"
        )
    if task["disputed"]:
        yield (
            f"in dispute without a consensus: {count(task['disputed'], 'answer')} "
            f"({count(task['disputed_grades'], 'grade')}); these grades do not count"
        )
    partly = of_some(task)
    if partly and not task["waiting"]:
        yield (
            f"{count(partly, 'answer')} count by what some raters say: no grading here says that the others "
            "were to grade them too"
        )
    goes_on = grading_goes_on(task)
    if goes_on is not None:
        yield goes_on
    made = ", ".join(f"{n:,} {_MADE[how]}" for how, n in task["made"].items())
    yield f"what counts: {task['counts']}" + (f"; grades that count: {made}" if made else "")


def row_told(task: Json, model: str, condition: str) -> Iterator[str]:
    """Yield how far a model's answers in a condition are graded, where not all are, or not settled."""
    for row in task["rows"]:
        if (row["model"], row["condition"]) != (model, condition):
            continue
        done, disputed = of_all(row), row["disputed"]
        if row["to_grade"] and (done < row["usable"] or disputed):
            of = count(row["usable"], "usable answer")
            told = f"{done:,} of {of} graded by all raters ({task['task']})"
            yield told + (f", {disputed:,} of them in dispute" if disputed else "")


def rows_told(task: Json) -> Iterator[str]:
    """Yield how far whose answers are graded, where not all are."""
    for row in task["rows"]:
        done, waiting, disputed = of_all(row), row["waiting"], row["disputed"]
        if (done < row["to_grade"] and task["gradings"]) or disputed:
            more = [
                *([f"{waiting:,} wait for another rater"] if waiting else []),
                *([f"{disputed:,} in dispute"] if disputed else []),
            ]
            told = f"{row['model']} ({row['condition']}): {done:,} of {row['to_grade']:,} by all raters"
            yield ", ".join([told, *more])


def _drawn(task: Json) -> str:
    if not task["gradings"]:
        if is_sample(task):
            of = count(task["usable"], "usable answer")
            return f"imported grades of {task['to_grade']:,} of {of}; how these were chosen is not known here"
        of = count(task["to_grade"], "usable answer")
        return f"imported grades of {of}; no grading here says who was to grade what"
    told = []
    for one in task["gradings"]:
        what = count(one["answers"], "answer")
        if one["drawn_from"] is not None:
            of = count(one["drawn_from"], "answer")
            what = f"a random sample of {one['answers']:,} from {of}, drawn by seed {one['seed']}"
        left = f"; retired: {listed(one['retired'])}" if one["retired"] else ""
        told.append(f"grading {one['name']} ({listed(one['raters'])}{left}), {what}{_opened(one)}")
    return "; ".join(told)


def _opened(grading: Json) -> str:
    """Say that full grading was opened though raters did not agree as was asked, and why."""
    return "".join(
        f"; full grading was opened {'' if one['rater'] is None else 'to ' + one['rater'] + ' '}below the "
        f"threshold: {one['reason']}"
        for one in grading.get("opened_by_hand", ())
    )


def grading_goes_on(task: Json) -> str | None:
    """Return how to finish what raters of `harness grade` have not; None where nothing is open."""
    left = task["to_grade"] - of_all(task)
    if not task["gradings"] or not (left or task["disputed"]):
        return None
    names = " or ".join(f"`harness grade {quote(one['name'])}`" for one in task["gradings"])
    settles = "; its consensus link settles what is in dispute" if task["disputed"] else ""
    return f"{names} goes on with this grading{settles}"


def other_grades(score: Json) -> Iterator[tuple[str, str]]:
    """Yield which steps have grades of more answers than those that count here, each with the command."""
    for one in (score.get("grading") or {}).get("other_steps", ()):
        model = f"the {'SIMULATED ' if one['simulated'] else ''}model {one['model']}"
        of = count(one["usable"], "usable answer")
        have = f"{one['graded']:,} of {of} have grades of {model}, {one['counted']:,} those that count here"
        told = f"OTHER GRADES ARE STORED: {have}; scored by that model's:"
        yield told, f"harness score {quote(score['run']['name'])} --grades {quote(one['name'])}"


def ungraded_advice(score: Json) -> str | None:
    """Return how answers come to grades, where some have none and nothing else is said of how."""
    grading = score.get("grading")
    reasons = (row["as_answered"].get("score", {}).get("reason") for row in score["rows"])
    if grading is None or not any(reason and NO_GRADE in reason for reason in reasons):
        return None
    if grading["by"] == "model":
        return f"ask {grading['model']} once more for what it gave no grade (`--again unparsable,truncated`)"
    if grading["others"] or any(task["gradings"] for task in score.get("graded", ())):
        return None
    return (
        "answers without a grade: let people grade (`harness grade`), import grades "
        "(`harness grades import`), or ask a model (`harness step grade`)"
    )


def people_told(grading: Json, graded: Sequence[Json]) -> str:
    """Return whose grades those of people are: given in `harness grade`, or imported from elsewhere."""
    gradings = [one for task in graded for one in task["gradings"]]
    here = {rater for one in gradings for rater in (*one["raters"], *one["retired"], CONSENSUS)}
    own = [rater for rater in grading["raters"] if rater in here]
    elsewhere = [rater for rater in grading["raters"] if rater not in here]
    return "; ".join([
        *([f"people's ({', '.join(own)})"] if own else []),
        *([f"imported, of {', '.join(elsewhere)}"] if elsewhere or not own else []),
    ])  # fmt: skip
