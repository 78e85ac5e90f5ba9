"""What those see who look for consensus: the answers that raters graded differently, and what each said.

Raters are "A" and "B" here, in the order in which the grading names them: what was said counts, and not who
said it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from harness.benchmarks.sheets import SheetQuestion
from harness.canonical import JSON
from harness.errors import GradeRefusedError
from harness.grading.desk import Desk, Disagreement, Overview, SheetState, Shown
from harness.grading.standing import FAR_APART
from harness.phrases import count
from harness.web.grading.listing import listing
from harness.web.grading.rater import sheet_routes
from harness.web.grading.seated import position_of, seated
from harness.web.grading.sheet import key_of, view_of
from harness.web.grading.showing import show
from harness.web.links import Query
from harness.web.pages import page

_MANNERS: Final = (
    "You see the answers on which the raters differ, each rater's grades beside each other, and still "
    "nothing of whose answers these are. Talk about each one and give the grade that you agree on; it stands "
    "in place of theirs.",
    "What the raters said is kept, and Cohen's kappa is of that. Once an answer has a consensus they cannot "
    "change it.",
    "The keyboard is enough: each option has its key, the arrows go between questions, Enter goes on, and ? "
    "lists all keys.",
)


def routes() -> list[Route]:
    """Return the pages of the link for consensus."""
    return sheet_routes(_overview, _sheet)


async def _overview(request: Request) -> Response:
    who = seated(request)
    found = await who.desk.overview(who.seat)
    disputed = await who.desk.disagreements()
    first = await who.desk.next_open(who.seat)
    numbered = listing([_state(one) for one in disputed], Query(request.scope["query_string"]))
    places = {place: one.position for place, one in enumerate(disputed, 1)}
    return page(
        "grading/templates/overview.html",
        base=who.base,
        title=who.desk.task.title,
        heading="Consensus",
        words=_words(found, len(disputed), averages=who.desk.averages),
        total=0 if who.desk.averages else len(disputed),
        done=sum(_state(one) == "done" for one in disputed),
        start=None if first is None else f"{who.base}sheet/{first}",
        instructions=who.desk.task.instructions,
        manners=_MANNERS,
        sheets_heading="Answers on which the raters differ",
        sheets_note="Open any of them to look at it again or to change what was agreed.",
        positions=places,
        **numbered,
    )


def _state(one: Disagreement) -> SheetState:
    given = [dispute.consensus is not None for dispute in one.disputes]
    if one.is_settled and any(given):
        return "done"
    return "partly" if any(given) else "open"


def _words(found: Overview, disputed: int, *, averages: bool) -> Sequence[str]:
    if found.phase in {"calibration", "waiting"}:
        return ["Full grading is not open yet; there is nothing to agree on before."]
    if averages:
        some = f"On {count(disputed, 'answer')} they are {FAR_APART} points or more apart"
        return [
            "The raters' points count by their mean: nothing here needs a consensus.",
            f"{some}; points that you give there count instead of the mean."
            if disputed
            else f"So far they are nowhere {FAR_APART} points or more apart.",
        ]
    if found.disputes == found.settled:
        told = (
            "Every difference is settled."
            if disputed
            else "The raters differ on nothing that both graded so far."
        )
        more = (
            "" if found.phase == "done" else " They have not finished grading; look at this page again later."
        )
        return [told + more]
    left = found.disputes - found.settled
    return [f"{count(left, 'question')} of {count(disputed, 'answer')} still to be settled."]


async def _sheet(request: Request) -> Response:
    who = seated(request)
    shown = await who.desk.sheet(who.seat, position_of(request))
    places = [one.position for one in await who.desk.disagreements()]
    if shown.position not in places:
        raise GradeRefusedError("the raters do not differ on this answer (any more)")
    at = places.index(shown.position)
    more: dict[str, Any] = {
        "heading": "Difference",
        "place": at + 1,
        "total": len(places),
        "previous": places[at - 1] if at else None,
        "following": places[at + 1] if at + 1 < len(places) else None,
    }
    return show(request, who, shown, {**more, **_beside(who.desk, shown)})


def _beside(desk: Desk, shown: Shown) -> Mapping[str, Any]:
    """Return what stands beside the questions: what each rater said, and which questions are not asked."""
    if shown.sheet is None:
        return {}
    letters = dict(zip(desk.roster.names, _letters(len(desk.roster.names)), strict=True))
    by_name = {question.name: question for question in desk.task.questions}
    disputes = {one.question: one for one in shown.disputes}
    asked = view_of(shown.sheet, desk.task.questions, shown.grades).questions
    return {
        "questions": [one for one in asked if one.name in disputes],
        "both": {
            name: [(letters[rater], said(by_name[name], value)) for rater, value in one.grades.items()]
            for name, one in disputes.items()
        },
        "optional": {name for name, one in disputes.items() if not one.needed},
        "alike": [one for one in asked if one.name not in disputes],
        "comments": [(letters[rater], text) for rater, text in shown.comments.items()],
    }


def _letters(count: int) -> Sequence[str]:
    return [ascii_uppercase[n] if n < len(ascii_uppercase) else f"rater {n + 1}" for n in range(count)]


def said(question: SheetQuestion, value: JSON) -> str:
    """Return a grade in words: its key and its label, "yes" alone for y; the value where no option has it."""
    key = key_of(question, value)
    option = next((one for one in question.options if one.key == key), None)
    if option is None:
        return str(value)
    return option.label if option.label.startswith(option.key) else f"{option.key} {option.label}"
