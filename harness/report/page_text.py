r"""Texts on the page of a report: nothing but text, whatever somebody put into them.

Everything is escaped. Characters that are not seen, or that turn the order of what stands beside them, are
shown as the escapes of exported cells (`\u0000`, `\u202e`, `\r`), in a box of their own; a lone surrogate and
NUL, which no HTML file may hold, among them. A text that may run from right to left is isolated from what
stands around it. A long one is collapsed: its beginning is shown, and the whole on demand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from harness.report.plain_text import UNSEEN

PRINTED_LENGTH = 4_000
"""Characters up to which a collapsed text is printed whole; a longer one prints its beginning."""

_BEGINNING = 120
"""Characters of a collapsed text that are shown."""

_COUNTED_FROM = 1_000
"""Characters from which on a title that is cut says how many it has."""

_BREAKS_FROM = 16
"""Characters from which on a text may be broken within a path or a name, after a slash or an underscore."""

_BREAKS = re.compile(r"(?<=[/_])(?=\w)")

_PLAIN = re.compile(r"[!-~]+(?: [!-~]+)*")
"""Needs no isolation, no marks, and no care for its blanks."""


class Html(str):
    """HTML made of escaped texts, which Jinja2 puts into a page as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return itself: what Jinja2 asks for before it escapes."""
        return self


def shown(text: str, limit: int = PRINTED_LENGTH) -> Html:
    """Return a text as HTML for a place that takes blocks; from `limit` characters on it is collapsed."""
    if len(text) <= limit:
        return inline(text)
    kind = "long" if len(text) <= PRINTED_LENGTH else "long longest"
    whole = f'<div class="whole" tabindex="0" role="group" aria-label="the whole text">{inline(text)}</div>'
    return Html(
        f'{inline(text[:_BEGINNING])}<span class="cut">…</span>'
        f'<details class="{kind}"><summary>all {len(text):,} characters</summary>{whole}</details>'
    )


def inline(text: str, spans: Sequence[tuple[int, int]] = (), first_id: str = "") -> Html:
    """Return a whole text as HTML for a place that takes nothing but words.

    `spans` are places to be marked, as (start, end), in order and apart; the first may get an id.
    """
    if not spans and (not text or (len(text) < _BREAKS_FROM and _PLAIN.fullmatch(text))):
        return Html(escape(text))
    parts, at, id = [], 0, f' id="{escape(first_id)}"' if first_id else ""
    for start, end in spans:
        parts += [_piece(text[at:start]), f"<mark{id}>", _piece(text[start:end]), "</mark>"]
        at, id = end, ""
    return Html(f'<bdi class="t">{"".join(parts)}{_piece(text[at:])}</bdi>')


def brief(text: str, limit: int = 200) -> str:
    """Return a text in one line, cut at `limit` characters, for titles and labels; still to be escaped.

    A blank one is "(untitled)": a heading or a link without words would be passed over.
    """
    line = " ".join(text[: 4 * limit].split())
    cut = UNSEEN.sub(_escaped, line)
    if not cut:
        return "(untitled)"
    if len(cut) <= limit and len(text) <= 4 * limit:
        return cut
    count = f" ({len(text):,} characters)" if len(text) > _COUNTED_FROM else ""
    return f"{cut[:limit].rstrip()}…{count}"


def _piece(text: str) -> str:
    return UNSEEN.sub(_mark, _BREAKS.sub("<wbr>", escape(text)))


def _mark(match: re.Match[str]) -> str:
    return f'<span class="unseen">{_escaped(match)}</span>'


def _escaped(match: re.Match[str]) -> str:
    char = match.group()
    if char == "\r":
        return r"\r"
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
