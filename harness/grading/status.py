"""How a grading stands, as facts for its lead: nothing of them tells whose answers were graded how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.canonical import JSON
from harness.grading.agreement import PairAgreement
from harness.grading.desk import Desk, Overview
from harness.grading.state import Joined, Opened, Round
from harness.moments import shown_moment


async def status_of(desk: Desk) -> Mapping[str, Any]:
    """Return how a grading stands, JSON throughout; reads every answer once, to see which are others now.

    No model, condition, case or link is in it: who leads a grading stays as blind as its raters.
    """
    survey = await desk.survey()
    found = await desk.overview(desk.lead)
    return {
        **_agreed(desk),
        "phase": found.phase,
        "progress": [{"rater": one.rater, "done": one.done, "open": one.total} for one in found.raters],
        "retired": _retired(desk, found),
        "joined": [_joined(one) for one in desk.state.joined],
        "rounds": [_round(one, place) for place, one in enumerate(found.rounds, start=1)],
        "opened": _opened(desk.state.opened),
        "disputes": found.disputes,
        "settled": found.settled,
        "agreement": _pairs(await desk.agreement()),
        "without_answer": found.gone,
        "other_answers": survey.other_answers,
        "names_hidden": survey.names_hidden,
        "answers_with_hidden_names": survey.sheets_hiding,
    }


def _agreed(desk: Desk) -> Mapping[str, JSON]:
    plan = desk.plan
    return {
        "grading": desk.name,
        "run": desk.stored.run.name,
        "benchmark": desk.stored.manifest.benchmark,
        "task": plan.task,
        "raters": list(desk.roster.names),
        "items": len(plan.items),
        "not_graded": dict(plan.not_graded),
        "limit": plan.limit,
        "seed": plan.seed,
        "calibration": plan.calibration,
        "threshold": plan.threshold,
    }


def _retired(desk: Desk, found: Overview) -> list[Mapping[str, JSON]]:
    left = {one.name: shown_moment(one.at_us) for one in desk.state.retired}
    return [{"rater": one.rater, "at": left[one.rater], "done": one.done} for one in found.retired]


def _joined(one: Joined) -> Mapping[str, JSON]:
    return {
        "rater": one.name,
        "at": shown_moment(one.at_us),
        "in_place_of": one.in_place_of,
        "rounds": [_round(own, place) for place, own in enumerate(one.rounds, start=1)],
        "opened": _opened(one.opened),
    }


def _round(one: Round, place: int) -> Mapping[str, JSON]:
    ended = None if one.ended_at_us is None else shown_moment(one.ended_at_us)
    return {
        "round": place,
        "items": len(one.items),
        "begun": shown_moment(one.begun_at_us),
        "ended": ended,
        "agreement": _pairs(one.pairs),
    }


def _pairs(pairs: Sequence[PairAgreement]) -> list[JSON]:
    return [pair.to_json() for pair in pairs]


def _opened(opened: Opened | None) -> Mapping[str, JSON] | None:
    if opened is None:
        return None
    return {"at": shown_moment(opened.at_us), "by": opened.by, "reason": opened.reason}
