"""Words that were searched for: marked where the search finds them, in lists and on units, and led to."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from stored_run_builder import FILLING, SCALING, Plan, answer, built_run, case
from web_viewing import viewing

from harness.cache.rows import UnitId
from harness.outcomes import UnitOutcome
from harness.report.page_text import inline
from harness.web.found_words import FIRST_ID, finding, found, spans_of
from harness.web.viewing.beginnings import beginning
from harness.web.viewing.filters import Filters, unit_link, units_link
from harness.web.viewing.unit_texts import fold

UNIT = UnitId("m", "both", "c1", 1)


@pytest.mark.parametrize(
    ("text", "word", "marked"),
    [
        ("STRASSE Straße", "strasse", ["STRASSE", "Straße"]),
        ("Straße", "s", ["S", "ß"]),
        ("İstanbul", "i", ["İ"]),
        ("ﬁne", "f", ["ﬁ"]),
        ("左上 第一 左", "左", ["左", "左"]),
        ("aaaa", "aa", ["aa", "aa"]),
        ("\0<B>\u2028", "<b>", ["<B>"]),
        ("nothing", "x", []),
        ("", "x", []),
    ],
)
def test_a_word_is_marked_where_it_stands(text: str, word: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in spans_of(text, [word])] == marked


def test_what_the_search_finds_is_marked_and_nothing_else() -> None:
    drawn = random.Random(1)
    letters = "aAsS\u00df\u0130\u0131f\ufb01\ufb02\u03a3\u03c3\u03c2\u0345\u00e9"
    for _ in range(3_000):
        text = "".join(drawn.choices(letters, k=drawn.randint(0, 9)))
        word = "".join(drawn.choices(letters, k=drawn.randint(1, 3))).casefold()
        spans = spans_of(text, [word])
        assert bool(spans) == (fold(word) in fold(text)), (text, word)
        assert all(word in text[start:end].casefold() for start, end in spans), (text, word)


def test_marks_escape_what_they_hold_and_the_first_can_be_linked_to() -> None:
    with finding(["<b>", "x"]) as now:
        html = found("a<B>\0\u202ex") + found("xx")
    assert html.startswith(f'<bdi class="t">a<mark id="{FIRST_ID}">&lt;B&gt;</mark><span class="unseen">')
    assert html.count("<mark>") == 3 and now.count == 4
    assert found("a<B>") == inline("a<B>")  # nothing is searched for any more


def test_of_a_long_text_the_first_place_of_each_word_is_shown_wherever_it_is() -> None:
    text = "lower " + "filler " * 30_000 + "Straße und UPPER left " + "filler " * 100
    found = beginning(text, words=("strasse", "upper", "lower", "nowhere"))
    (further,) = found.further  # one excerpt has both, the beginning has the third
    assert "Straße und UPPER left" in further and further.startswith("…") and len(further) < 400
    assert beginning(text).further == ()


async def test_a_search_marks_its_words_in_the_list_and_on_the_unit_it_leads_to(tmp_path: Path) -> None:
    far = "word " * 40_000 + "the <Apical> Lesion is here" + " word" * 100
    plan = Plan([case("c1", SCALING, complaint="It HURTS"), case("c2", FILLING)], ("m",), attempts=3)
    async with built_run(tmp_path, plan) as built:
        await built.answers(UNIT, UnitOutcome.VALID, "no json", "no json", answer(SCALING, reasoning=far))
        await built.valid(UnitId("m", "both", "c2", 1), FILLING)
        async with viewing(built.store) as view:
            for _ in range(400):
                listed = await view.page(units_link("test-run", Filters(text="<APICAL> hurts C1")))
                if "being read" not in listed.text and "not been read" not in listed.text:
                    break
            filters = Filters(text="<APICAL> hurts C1 lesion")
            unit = await view.page(unit_link("test-run", UNIT, filters))
            plain = await view.page(unit_link("test-run", UNIT, Filters()))
            none = await view.page(unit_link("test-run", UNIT, Filters(text="zzz")))
    marked = re.findall(r"<mark[^>]*>(.*?)</mark>", listed.html)
    assert set(marked) == {"c1", "&lt;Apical&gt;", "HURTS"}
    assert "answer: …" in listed.text and "chief_complaint: It HURTS" in listed.text
    marked = re.findall(r"<mark[^>]*>(.*?)</mark>", unit.html)
    assert {"c1", "HURTS", "&lt;Apical&gt;", "Lesion"} <= set(marked)
    assert unit.html.count(f'<mark id="{FIRST_ID}">') == 1 and unit.key("f") == f"#{FIRST_ID}"
    assert "further on: …" in unit.text and len(unit.html) < 200_000
    assert "<mark" not in plain.html and plain.key("f") is None
    assert "nowhere in what this page shows" in none.text and none.key("f") is None
