"""Filters of units in links: any text survives, and a form without scripts says the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cache.rows import UnitId
from harness.web.links import Query
from harness.web.viewing.filters import Filters, unit_link, units_link

HOSTILE = (
    "<script>alert(1)</script>", "a/b?c&d=e#f%20g+h", "\0", "\ud800", "\u202eabc", "x" * 10_000, "..", " ",
    '"\'', "among=x&model=y", "左侧", "\u2028\r\n",
)  # fmt: skip


def query_of(link: str) -> Query:
    return Query(link.partition("?")[2].encode("ascii"))


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_survives_a_list_link_and_a_unit_link(name: str) -> None:
    filters = Filters(
        model=(name, "other"), condition=(name,), outcome=("valid",), stratum=(name,), right=("no",),
        text=name[:400], sort="worst",
    )  # fmt: skip

    assert Filters.read(query_of(units_link(name, filters, 3))) == filters
    unit = query_of(unit_link(name, UnitId(name, name, name, 2), filters))

    assert (unit.one("run"), unit.one("model"), unit.one("condition"), unit.one("case")) == (name,) * 4
    assert unit.one("repeat") == "2"
    assert Filters.carried(unit) == filters


def test_the_names_of_a_unit_are_no_filters_of_its_neighbours() -> None:
    link = unit_link("run", UnitId("alpha", "both", "c1"), Filters(outcome=("empty",)))

    assert Filters.carried(query_of(link)) == Filters(outcome=("empty",))
    assert Filters.carried(query_of(unit_link("run", UnitId("alpha", "both", "c1"), Filters()))) == Filters()


def test_a_form_adds_its_words_to_what_was_chosen_before() -> None:
    chosen = Filters(model=("a&b",), stage=("reformatter",), sort="latest")

    for words in ("tooth", "左侧 upper"):
        link = units_link("run", Filters(text=words)) + "&among=" + _quoted(chosen.packed())
        assert Filters.read(query_of(link)) == replace(chosen, text=words)
    assert chosen.packed().isascii()


def test_what_nobody_offers_is_left_out() -> None:
    found = Filters.read(Query(b"sort=sideways&text=" + b"x" * 9000 + b"&among=%26%26&unknown=1"))

    assert (found.sort, len(found.text)) == ("run", 500)
    assert not found.model


def test_a_query_that_is_no_text_is_read_with_marks() -> None:
    found = Query(b"run=%ff%fe&text=a%ed%a0%80b&case=left%80")

    assert (found.one("run"), found.one("case")) == ("\ufffd\ufffd", "left\ufffd")
    assert Filters.read(found).text.startswith("a\ufffd")


def test_filters_within_filters_are_read_once() -> None:
    found = Filters.read(Query(b"sort=worst&among=text=x%26" + b"among=" * 5_000))

    assert (found.sort, found.text) == ("worst", "x")


def test_words_are_looked_for_whatever_their_case_the_longest_first() -> None:
    assert Filters(text="  Upper TOOTH upper a ").words() == ("upper", "tooth", "a")
    assert Filters(text="STRASSE Straße").words() == ("strasse",)
    assert len(Filters(text=" ".join(map(str, range(100)))).words()) == 12


def test_choosing_twice_is_choosing_no_longer() -> None:
    once = Filters().toggled("model", "alpha")

    assert once.model == ("alpha",)
    assert once.toggled("model", "beta").model == ("alpha", "beta")
    assert once.toggled("model", "alpha") == Filters()
    assert once.narrows and Filters(text="x").narrows
    assert not Filters(text="  ", sort="worst").narrows
    assert Filters(text="x", model=("a",)).without("text") == once.without("model").toggled("model", "a")


def _quoted(text: str) -> str:
    return text.replace("%", "%25").replace("&", "%26").replace("=", "%3D")
