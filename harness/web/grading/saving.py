"""What people say of a sheet, kept: an answer as it is given, or a whole form without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from harness.benchmarks.sheets import COMMENT
from harness.canonical import JSON
from harness.errors import GradeRefusedError
from harness.grading.desk import Shown
from harness.web.grading.seated import Seated, form_of, position_of, seated
from harness.web.grading.sheet import chosen_value
from harness.web.pages import HTMX_HEADER, page, render


async def save(request: Request) -> Response:
    """Keep what a form says. Where it is not taken the answer is 409, in words that a page can show."""
    who, position, form = seated(request), position_of(request), await form_of(request)
    plain = HTMX_HEADER not in request.headers
    try:
        kept = await _surely_kept(who, position, form)
    except GradeRefusedError as error:
        if not plain:
            return PlainTextResponse(str(error), 409)
        address = f"{who.base}sheet/{position}"
        return page("grading/templates/refused.html", 409, told=str(error), address=address)
    if plain:
        return RedirectResponse(_onward(who, position, form.get("then")), 303)
    return _saved(kept)


async def _surely_kept(who: Seated, position: int, form: Mapping[str, str]) -> Mapping[str, bool]:
    """Keep what a form says, in the store that was opened and that is at its place afterwards.

    An answer that stands already was perhaps written to a store that is gone: it is looked for there too.
    """
    names = form.keys() & {COMMENT, *(one.name for one in who.desk.task.questions)}
    try:
        await who.keeping.check()
        kept = await _keep(who, await who.desk.sheet(who.seat, position), form)
        await who.keeping.check()
    except GradeRefusedError:
        who.keeping.settled(who.seat.name, position, names)
        raise
    except Exception:
        who.keeping.not_saved(who.seat.name, position, names)
        raise
    who.keeping.settled(who.seat.name, position, names)
    return kept


def _onward(who: Seated, position: int, then: str | None) -> str:
    return f"{who.base}next?after={position}" if then == "next" else f"{who.base}sheet/{position}?saved=1"


async def _keep(who: Seated, before: Shown, form: Mapping[str, str]) -> Mapping[str, bool]:
    """Keep each answer of a form that is not what stands; return which it names and whether it changed."""
    found = {}
    for name, value in _values(who, form).items():
        stands = before.comment if name == COMMENT else before.grades.get(name)
        if stands != value:
            await who.desk.grade(who.seat, before.position, name, value, seen=form.get("seen", ""))
        elif form.get("seen", "") != before.seen:
            raise GradeRefusedError(
                "there is another answer on this sheet by now; read it again before you grade it"
            )
        found[name] = stands != value and stands not in (None, "")
    return found


def _values(who: Seated, form: Mapping[str, str]) -> Mapping[str, JSON]:
    found: dict[str, JSON] = {}
    if form.keys() - {"seen", "then", COMMENT, *(one.name for one in who.desk.task.questions)}:
        raise GradeRefusedError("this sheet has no such question by now; read it again before you grade it")
    for question in who.desk.task.questions:
        if question.name in form:
            try:
                found[question.name] = chosen_value(question, form[question.name])
            except KeyError as error:
                raise GradeRefusedError("a question does not have the answer that was given") from error
    if COMMENT in form:
        found[COMMENT] = form[COMMENT].replace("\r\n", "\n").replace("\0", "")
    return found


def _saved(kept: Mapping[str, bool]) -> Response:
    """Return what is put beside a question, its name as a header: nothing else is taken for success."""
    if not kept:
        return PlainTextResponse("the form names no question", 400)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    told = render("grading/templates/saved.html", changed=any(kept.values()), at=at)
    return HTMLResponse(told, headers={"x-saved": ",".join(kept)})
