"""What a rater sees: what is asked, how far they are, one sheet at a time. Nothing of anybody else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from harness.grading.desk import Overview
from harness.phrases import count
from harness.web.grading.listing import listing
from harness.web.grading.media import media_routes
from harness.web.grading.saving import save
from harness.web.grading.seated import position_of, seated
from harness.web.grading.showing import show
from harness.web.links import Query, whole_number
from harness.web.pages import page

Page: TypeAlias = Callable[[Request], Awaitable[Response]]

_MANNERS: Final = (
    "Whose answers these are is hidden, and their order is shuffled for you alone. A name that an answer "
    'gives away is replaced by "[name hidden]". Grade each sheet by itself, and do not talk about sheets '
    "while you grade.",
    "Each answer is saved as you give it. You can stop at any time and go on later with the same link, and "
    "change what you said; every change is kept with its time.",
    "The keyboard is enough: each option has its key, the arrows go between questions, Enter goes on, and ? "
    "lists all keys.",
)
_HEADINGS: Final = {
    "calibration": "Calibration",
    "waiting": "Nothing to do for now",
    "full": "Grading",
    "done": "All done",
}


def routes() -> list[Route]:
    """Return the pages of a rater's link."""
    return sheet_routes(_overview, _sheet)


def sheet_routes(overview: Page, sheet: Page) -> list[Route]:
    """Return the pages of a seat that grades: its own overview and sheet, and what all such seats share."""
    return [
        Route("/", overview),
        Route("/next", _go_on),
        Route("/sheet/{position}", sheet),
        Route("/sheet/{position}", save, methods=["POST"]),
        *media_routes(),
    ]


async def _overview(request: Request) -> Response:
    who = seated(request)
    found = await who.desk.overview(who.seat)
    assert found.own is not None, "a rater has a progress of their own"
    states = await who.desk.sheet_states(who.seat)
    first = await who.desk.next_open(who.seat)
    return page(
        "grading/templates/overview.html",
        base=who.base,
        title=who.desk.task.title,
        heading=_HEADINGS[found.phase],
        words=_words(found),
        total=found.own.total,
        done=found.own.done,
        start=None if first is None else f"{who.base}sheet/{first}",
        instructions=who.desk.task.instructions,
        manners=_MANNERS,
        sheets_heading="Your sheets",
        sheets_note="Open any of them to look at it again or to change it.",
        **listing(states, Query(request.scope["query_string"])),
    )


def _words(found: Overview) -> Sequence[str]:
    own = found.own
    assert own is not None, "a rater has a progress of their own"
    if found.phase == "calibration":
        told = (
            "All raters grade the same sheets first, each alone. If you agree well enough, full grading "
            "opens by itself."
        )
        again = "" if found.round == 1 else f" This is round {found.round}, with other sheets than before."
        return [told + again]
    if found.phase == "waiting":
        return [
            "You have graded all sheets that are open. Full grading opens once the others have done so too "
            "and you agree well enough. If you do not, whoever leads the grading will speak to you. Look at "
            "this page again later."
        ]
    if found.phase == "full":
        return [f"{count(own.total - own.done, 'sheet')} to go."]
    return [
        "You have graded every sheet. Thank you. You can still change what you said, until a consensus is "
        "found."
    ]


async def _go_on(request: Request) -> Response:
    """Lead to the next sheet with something left to say; to the overview where there is none."""
    who = seated(request)
    after = whole_number(Query(request.scope["query_string"]).one("after")) or 0
    found = await who.desk.next_open(who.seat, after)
    return RedirectResponse(who.base if found is None else f"{who.base}sheet/{found}", 303)


async def _sheet(request: Request) -> Response:
    who = seated(request)
    shown = await who.desk.sheet(who.seat, position_of(request))
    return show(request, who, shown)
