"""Ids of parts: unique, harmless, and the same every time."""

from __future__ import annotations

import re

from report.report_examples import HOSTILE

from harness.report.part_ids import PartIds

SAFE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def test_ids_made_of_anybodys_text_are_names_of_files() -> None:
    ids = PartIds()
    made = [ids.make("run", text) for text in HOSTILE.values()]
    assert all(SAFE.fullmatch(one) and len(one) < 100 for one in made)
    assert len(set(made)) == len(made)


def test_the_same_words_again_are_another_id() -> None:
    ids = PartIds()
    assert [ids.make("A", "b"), ids.make("a-b"), ids.make("a", "B")] == ["a-b", "a-b-2", "a-b-3"]
    assert PartIds().make("attribute:caries") == "attribute-caries"


def test_an_id_that_a_counted_one_took_is_counted_on() -> None:
    ids = PartIds()
    assert [ids.make("a"), ids.make("a"), ids.make("a-2")] == ["a", "a-2", "a-2-2"]


def test_long_names_that_begin_alike_stay_apart() -> None:
    one, other = (PartIds().make("x" * 200 + end) for end in ("a", "b"))
    assert one != other
