"""One sheet as a page, for a rater or for those who look for consensus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from harness.benchmarks.sheets import COMMENT
from harness.grading.desk import LONGEST_COMMENT, Shown
from harness.phrases import count
from harness.web.grading.seated import Seated
from harness.web.grading.sheet import PART, SUBJECT, Asked, view_of
from harness.web.links import Query
from harness.web.pages import page


def show(request: Request, who: Seated, shown: Shown, more: Mapping[str, Any] | None = None) -> Response:
    """Return the page of a sheet; `more` is what the consensus page has besides."""
    frame = {**_frame(who, shown), **(more or {})}
    if shown.sheet is None:
        return page("grading/templates/gone.html", told=shown.told, **frame)
    view = view_of(shown.sheet, who.desk.task.questions, shown.grades)
    values: dict[str, Any] = {
        "view": view,
        "questions": view.questions,
        "comment": shown.comment,
        "comment_field": COMMENT,
        "seen": shown.seen,
        "closed": shown.closed,
        "saved": Query(request.scope["query_string"]).one("saved") is not None,
        "media_words": media_words(shown),
        "part_lengths": PART,
        "subject_lengths": SUBJECT,
        "both": {},
        "optional": frozenset(),
        "alike": (),
        "comments": (),
        "longest_comment": LONGEST_COMMENT,
        "open_words": unanswered(view.questions),
    }
    return page("grading/templates/sheet.html", **(values | frame))


def _frame(who: Seated, shown: Shown) -> dict[str, Any]:
    """Return what stands around a sheet, whether it has an answer or not: its place and its neighbours."""
    return {
        "base": who.base,
        "title": who.desk.task.title,
        "heading": "Sheet",
        "place": shown.position,
        "position": shown.position,
        "total": shown.total,
        "address": f"{who.base}sheet/{shown.position}",
        "previous": shown.position - 1 if shown.position > 1 else None,
        "following": shown.position + 1 if shown.position < shown.total else None,
    }


def media_words(shown: Shown) -> str | None:
    """Say how many images and clips a case has; None: it has none."""
    kinds = Counter[str](one.medium.kind for one in shown.media)
    nouns = (("image", "image"), ("video", "clip"))
    words = [count(kinds[kind], noun) for kind, noun in nouns if kinds[kind]]
    return " and ".join(words) or None


def unanswered(questions: Sequence[Asked]) -> str:
    """Name the questions without an answer."""
    return ", ".join(one.label for one in questions if one.chosen is None)
