"""What the lead of a grading sees: how far raters are and agree, and what there is to decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from harness.errors import ConfigError, GradeRefusedError
from harness.grading.agreement import Agreement, PairAgreement
from harness.grading.desk import Desk, Overview
from harness.grading.state import Round, State
from harness.moments import shown_moment
from harness.report.rounding import fixed, percent
from harness.web.grading.export import export
from harness.web.grading.seated import Seated, form_of, seated
from harness.web.links import whole_number
from harness.web.pages import page

_DECIMALS: Final = 3
_HEADINGS: Final = {
    "calibration": "Calibration is going on",
    "waiting": "Kappa does not reach the threshold: you decide",
    "full": "Full grading is open",
    "done": "Everything is graded and settled",
}


@dataclass(frozen=True, slots=True)
class Kappa:
    """One line of a table of agreement, in words. `value` is kappa itself; None: there is none."""

    who: str
    what: str
    kappa: str
    interval: str
    share: str
    n: int
    reason: str
    value: float | None


def routes() -> list[Route]:
    """Return the pages of the lead's link."""
    return [
        Route("/", _overview),
        Route("/progress", _progress),
        Route("/decide", _decide, methods=["POST"]),
        Route("/export", export),
    ]


async def _overview(request: Request) -> Response:
    who = seated(request)
    found = await who.desk.overview(who.seat)
    agreement = await who.desk.agreement()
    desk = who.desk
    return page(
        "grading/templates/lead.html",
        run=desk.stored.run.name,
        grading=desk.name,
        task=desk.task.title,
        plan=desk.plan,
        raters=desk.roster.active,
        rounds=list(_rounds(desk.state)),
        alone=[one.name for one in found.calibrating],
        threshold=fixed(desk.plan.threshold, 2),
        opened=_opened(desk.state),
        waits=found.phase == "waiting" or any(one.rounds[-1].ended_at_us for one in found.calibrating),
        may_open=desk.state.opened is None or bool(found.calibrating),
        left=_left(desk),
        agreement=[one for one in _kappas(agreement, desk) if one.n],
        links=list(_links(request, desk)),
        moment=shown_moment,
        not_graded=sorted(desk.plan.not_graded.items()),
        **_standing(who, found),
    )


async def _progress(request: Request) -> Response:
    who = seated(request)
    return page("grading/templates/progress.html", **_standing(who, await who.desk.overview(who.seat)))


def _standing(who: Seated, found: Overview) -> Mapping[str, Any]:
    heading = _HEADINGS[found.phase]
    if found.phase == "full" and found.graded:
        heading = "Everything is graded: the consensus is to settle the differences"
    return {"base": who.base, "heading": heading, "found": found, "averages": who.desk.averages}


def _rounds(state: State) -> Iterator[tuple[str, Round, Sequence[Kappa]]]:
    """Yield each round with its name: those of all raters, then those of who came later, by themselves."""
    for number, one in enumerate(state.rounds, 1):
        yield str(number), one, list(_kappas(one.pairs))
    for joined in state.joined:
        for number, one in enumerate(joined.rounds, 1):
            yield f"{joined.name}: {number}", one, list(_kappas(one.pairs))


def _left(desk: Desk) -> int:
    used = {number for one in desk.state.rounds for number in one.items}
    return len(desk.plan.items) - len(used)


def _opened(state: State) -> str | None:
    if state.opened is None:
        return None
    by = {
        "no gate": "since there was no calibration to pass",
        "agreement": "since the raters agreed well enough",
        "lead": f"opened by the lead: {state.opened.reason}",
    }
    return f"{by[state.opened.by]} ({shown_moment(state.opened.at_us)})"


def _links(request: Request, desk: Desk) -> Iterator[tuple[str, str]]:
    site = f"{request.url.scheme}://{request.headers['host']}"
    for seat in desk.seats:
        yield (seat.name if seat.role == "rater" else f"the {seat.role}"), f"{site}/g/{seat.token}/"


def _kappas(pairs: Sequence[PairAgreement], desk: Desk | None = None) -> Iterator[Kappa]:
    """Yield a line a pair of raters; with a desk, one a question too."""
    pooled_as = "" if desk is None else desk.task.pooled_as
    for pair in pairs:
        who = " and ".join(pair.raters)
        yield _kappa(who, pooled_as, pair.pooled)
        if desk is not None:
            for question in desk.task.questions:
                yield _kappa(who, question.title, pair.questions[question.name])


def _kappa(who: str, what: str, one: Agreement) -> Kappa:
    ends = (one.low, one.high)
    interval = "" if None in ends else " to ".join(fixed(end, _DECIMALS) for end in ends if end is not None)
    return Kappa(
        who,
        what,
        "-" if one.kappa is None else fixed(one.kappa, _DECIMALS),
        interval,
        "-" if one.share is None else percent(one.share),
        one.n,
        one.reason or "",
        one.kappa,
    )


async def _decide(request: Request) -> Response:
    """Open full grading by hand, or begin another round. Raises GradeRefusedError where it cannot be."""
    who, form = seated(request), await form_of(request)
    try:
        if form.get("what") == "open":
            await who.desk.open_by_hand(form.get("reason", ""))
        elif form.get("what") == "again":
            await who.desk.calibrate_again(_size(form.get("size", "")))
        else:
            raise GradeRefusedError("that is no decision of this page")
    except ConfigError as error:
        told = {"told": str(error), "address": who.base}
        return page("grading/templates/refused.html", 409, **told)
    return RedirectResponse(who.base, 303)


def _size(text: str) -> int | None:
    if not text.strip():
        return None
    size = whole_number(text)
    if size is None or not 0 < size < 1_000_000:
        raise GradeRefusedError(f"{text!r} is no number of sheets")
    return size
