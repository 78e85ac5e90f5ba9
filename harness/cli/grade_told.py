"""How a grading stands, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import say, tell
from harness.cli.tables import Column, named_lines
from harness.phrases import count

if TYPE_CHECKING:
    from harness.grading.plan import Plan

_PHASES = {
    "calibration": "calibration goes on",
    "waiting": "calibration is done; kappa does not reach the threshold, and you decide: another round "
    "(`--calibrate-again`), or full grading by hand (`--open REASON`)",
    "full": "full grading goes on",
    "done": "everything is graded and settled",
}


def print_gradings(facts: Sequence[Mapping[str, Any]], withdrawn: Sequence[str]) -> None:
    """Print the gradings of a store; those that were withdrawn are named aside."""
    if withdrawn:
        say(f"note: withdrawn, and not listed: {', '.join(withdrawn)}")
    if not facts:
        click.echo("no gradings yet")
        say("note: `harness grade RUN --task TASK --raters NAME,NAME` makes one")
        return
    columns = [
        Column("grading"),
        Column("run", shrink=True),
        Column("task"),
        Column("raters", shrink=True),
        Column("answers", right=True),
        Column("made"),
    ]
    rows = [
        (one["grading"], one["run"], one["task"], ", ".join(one["raters"]), one["items"], one["made"])
        for one in facts
    ]
    click.echo("\n".join(named_lines(columns, rows)))


def print_made(name: str, plan: Plan, run: str) -> None:
    """Tell on stderr what a new grading is about."""
    answers = count(len(plan.items), "answer")
    say(f"note: grading {name}: {answers} of run {run}, task {plan.task}, seed {plan.seed}")
    if plan.not_graded:
        why = ", ".join(f"{reason} {n}" for reason, n in sorted(plan.not_graded.items()))
        say(f"note: not graded: {why}")
    if plan.gated:
        sheets = min(plan.calibration, len(plan.items))
        say(
            f"note: first all raters grade the same {count(sheets, 'sheet')}; a kappa of at least "
            f"{plan.threshold:g} (Cohen's) opens the others"
        )


def print_status(facts: Mapping[str, Any]) -> None:
    """Print how a grading stands."""
    gone = {one["rater"] for one in facts["retired"]}
    raters = ", ".join(name for name in facts["raters"] if name not in gone)
    tell(f"{facts['grading']}: {count(facts['items'], 'answer')} of run {facts['run']}, by {raters}")
    for line in _lines(facts):
        tell(f"  {line}")


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield _phase(facts)
    for one in facts["progress"]:
        yield f"{one['rater']}: {one['done']} of {count(one['open'], 'sheet')} done"
    for one in facts["retired"]:
        yield f"{one['rater']}: {count(one['done'], 'sheet')} done, retired {one['at']}"
    yield from _rounds(facts["rounds"], facts["threshold"], over=facts["opened"] is not None)
    for one in facts["joined"]:
        yield from _joined(one, facts["threshold"], gone={left["rater"] for left in facts["retired"]})
    opened = facts["opened"]
    if opened is not None and opened["by"] == "lead":
        yield f"full grading was opened by hand, {opened['at']}: {opened['reason']}"
    if any(pair["pooled"]["n"] for pair in facts["agreement"]):
        yield "over all that is graded, before consensus:"
        yield from _agreement(facts["agreement"], None)
    if facts["disputes"]:
        yield f"{count(facts['disputes'], 'question')} in dispute, {facts['settled']} settled by consensus"
    yield from _answers(facts)


def _phase(facts: Mapping[str, Any]) -> str:
    left, progress = facts["disputes"] - facts["settled"], facts["progress"]
    here = {one["rater"] for one in progress}
    if not here:
        return "nobody grades here any more: add somebody (`--add-rater NAME`)"
    calibrating = [one for one in facts["joined"] if one["opened"] is None and one["rater"] in here]
    alone = [one for one in calibrating if one["rounds"][-1]["ended"] is None]
    graded = not calibrating and all(one["done"] == one["open"] for one in progress)
    if facts["phase"] == "full" and left and graded:
        return f"everything is graded; the consensus has {count(left, 'question')} to settle"
    if (facts["phase"] == "calibration" or alone) and len(progress) == 1:
        return (
            f"calibration wants two raters, and {progress[0]['rater']} is the only one left: add another one "
            "(`--add-rater NAME`), or open full grading by hand (`--open REASON`)"
        )
    return _PHASES[facts["phase"]]


def _rounds(
    rounds: Sequence[Mapping[str, Any]], threshold: float, whose: str = "", *, over: bool
) -> Iterator[str]:
    for one in rounds:
        open_end = "was not finished" if over else "goes on"
        when = open_end if one["ended"] is None else f"ended {one['ended']}"
        yield f"calibration{whose}, round {one['round']}: {count(one['items'], 'sheet')}, {when}"
        yield from _agreement(one["agreement"], threshold)


def _joined(one: Mapping[str, Any], threshold: float, gone: Collection[str]) -> Iterator[str]:
    rater, opened, rounds = one["rater"], one["opened"], one["rounds"]
    place = "" if one["in_place_of"] is None else f" in place of {one['in_place_of']}"
    yield f"{rater} joined{place}, {one['at']}"
    has_left = rater in gone
    yield from _rounds(rounds, threshold, f" of {rater} alone", over=opened is not None or has_left)
    if opened is None and not has_left and rounds[-1]["ended"] is not None:
        yield (
            f"  {rater} does not reach the threshold, and you decide: another round (`--calibrate-again`), "
            "full grading by hand (`--open REASON`), or none (`--retire NAME`)"
        )
    elif opened is not None and opened["by"] == "lead":
        yield f"  full grading was opened to {rater} by hand, {opened['at']}: {opened['reason']}"


def _agreement(pairs: Sequence[Mapping[str, Any]], threshold: float | None) -> Iterator[str]:
    for pair in pairs:
        yield f"  {' and '.join(pair['raters'])}: {_kappa(pair['pooled'], threshold)}"
        if len(pair["questions"]) > 1:
            for name, one in pair["questions"].items():
                yield f"    {name}: {_kappa(one, None)}"


def _kappa(one: Mapping[str, Any], threshold: float | None) -> str:
    if one["kappa"] is None:
        return f"no kappa: {one['reason']} (n {one['n']})"
    shown = f"kappa {one['kappa']:.3f}"
    if one["low"] is not None:
        shown += f" [{one['low']:.3f}, {one['high']:.3f}]"
    verdict = ""
    if threshold is not None:
        verdict = f", {'reaches' if one['kappa'] >= threshold else 'below'} {threshold:g}"
    return f"{shown}, equal {one['share']:.1%}, n {one['n']}{verdict}"


def _answers(facts: Mapping[str, Any]) -> Iterator[str]:
    if facts["without_answer"]:
        yield f"without an answer for now, being asked again: {facts['without_answer']}"
    if facts["other_answers"]:
        yield f"answered otherwise than when the grading was made: {facts['other_answers']}"
    if facts["names_hidden"]:
        answers = count(facts["answers_with_hidden_names"], "answer")
        yield f"names of models hidden: {facts['names_hidden']}, in {answers}"
